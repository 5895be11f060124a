use toolbox::toolset;

struct Github;

#[toolset(crate = "toolbox")]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) -> u32 {
        3
    }
}

fn main() {}
