use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(self: &mut Self) -> u32 {
        3
    }
}

fn main() {}
