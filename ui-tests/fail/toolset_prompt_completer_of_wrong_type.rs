use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    fn review(&self, #[arg(complete = Self::titles)] title: &str) -> String {
        title.to_owned()
    }

    fn titles(&self) -> Vec<String> {
        vec![self.0.to_owned()]
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
