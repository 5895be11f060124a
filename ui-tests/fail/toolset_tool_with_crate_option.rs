use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool(crate = toolbox)]
    fn issues(&self) -> u32 {
        3
    }
}

fn main() {}
