use toolbox::toolset;

trait Issues {
    fn issues(&self) -> u32;
}

struct Github;

#[toolset]
impl Issues for Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) -> u32 {
        3
    }
}

fn main() {}
