use toolbox::tool;

struct Github;

impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) -> String {
        String::new()
    }
}

fn main() {}
