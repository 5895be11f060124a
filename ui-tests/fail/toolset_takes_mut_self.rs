use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&mut self) -> u32 {
        3
    }
}

fn main() {}
