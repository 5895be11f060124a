use toolbox::tool;

#[tool(description = " ")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
