use toolbox::toolset;

struct Github;

#[toolset(with = "limited")]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) {}
}

fn main() {}
