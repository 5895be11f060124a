use toolbox::tool;

struct Github;

impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(state: &str) -> String {
        state.to_owned()
    }
}

fn main() {}
