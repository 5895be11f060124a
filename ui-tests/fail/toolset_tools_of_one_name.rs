use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) -> u32 {
        3
    }

    /// Lists the open issues.
    #[tool(name = "issues")]
    fn open_issues(&self) -> u32 {
        2
    }
}

fn main() {}
