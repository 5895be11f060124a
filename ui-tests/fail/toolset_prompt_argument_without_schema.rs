use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    fn review(&self, at: std::time::Instant) -> String {
        format!("{at:?}{}", self.0)
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
