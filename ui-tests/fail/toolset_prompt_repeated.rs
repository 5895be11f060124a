use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    #[prompt(title = "Review")]
    fn review(&self, code: &str) -> String {
        code.to_owned()
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
