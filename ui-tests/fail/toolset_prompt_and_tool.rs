use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    #[tool]
    fn review(&self, code: &str) -> String {
        format!("{}{code}", self.0)
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
