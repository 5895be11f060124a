use toolbox::toolset;

type Owned<T> = Box<T>;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    async fn issues(self: Owned<Self>) -> u32 {
        3
    }
}

fn main() {}
