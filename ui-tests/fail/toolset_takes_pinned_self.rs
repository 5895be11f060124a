use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(self: std::pin::Pin<&Self>) -> u32 {
        3
    }
}

fn main() {}
