use toolbox::tool;

struct Database;

/// Searches.
#[tool]
async fn search(query: &str, database: &Database) -> usize {
    let _ = database;
    query.len()
}

fn main() {}
