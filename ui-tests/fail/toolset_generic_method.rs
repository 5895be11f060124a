use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues<T: ToString>(&self, of: T) -> String {
        of.to_string()
    }
}

fn main() {}
