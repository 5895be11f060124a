use toolbox::toolset;

struct Github;

#[toolset(name = "github")]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) -> u32 {
        3
    }
}

fn main() {}
