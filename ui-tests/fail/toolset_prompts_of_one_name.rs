use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    fn review(&self, code: &str) -> String {
        code.to_owned()
    }

    /// Asks for a second review.
    #[prompt(name = "review")]
    fn again(&self, code: &str) -> String {
        code.to_owned()
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
