use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    fn review(&self, code: &str) -> usize {
        code.len()
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
