use toolbox::tool;

#[derive(Default, serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    limit: u32,
}

/// Searches.
#[tool]
fn search(#[arg(flatten, default)] filter: Filter) -> u32 {
    filter.limit
}

fn main() {}
