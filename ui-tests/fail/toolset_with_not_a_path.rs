use toolbox::toolset;

struct Github;

#[toolset(with = |_, tool| tool)]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) {}
}

fn main() {}
