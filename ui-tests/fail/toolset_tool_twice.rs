use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool(read_only)]
    #[tool(idempotent)]
    fn issues(&self) -> u32 {
        3
    }
}

fn main() {}
