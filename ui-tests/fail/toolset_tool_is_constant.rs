use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    const ISSUES: u32 = 3;
}

fn main() {}
