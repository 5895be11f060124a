use toolbox::toolset;

struct Github {
    count: std::cell::Cell<u32>,
}

#[toolset]
impl Github {
    /// Counts the issues.
    #[tool]
    fn count(&self) -> u32 {
        self.count.get()
    }
}

fn main() {}
