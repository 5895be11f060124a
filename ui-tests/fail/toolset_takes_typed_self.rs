use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    async fn issues(self: Self) -> u32 {
        3
    }
}

fn main() {}
