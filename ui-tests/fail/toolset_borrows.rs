use toolbox::toolset;

struct Github<'a> {
    token: &'a str,
}

#[toolset]
impl<'a> Github<'a> {
    /// Counts the issues.
    #[tool]
    fn count(&self) -> usize {
        self.token.len()
    }
}

fn main() {}
