use toolbox::tool;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    limit: u32,
}

/// Searches.
#[tool]
fn search(#[arg(default)] filter: &Filter) -> u32 {
    filter.limit
}

fn main() {}
