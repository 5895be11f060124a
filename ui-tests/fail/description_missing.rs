use toolbox::tool;

#[tool]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
