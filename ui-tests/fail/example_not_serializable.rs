use toolbox::tool;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    limit: u32,
}

/// Searches.
#[tool(example(filter = Filter { limit: 3 }))]
fn search(filter: Filter) -> u32 {
    filter.limit
}

fn main() {}
