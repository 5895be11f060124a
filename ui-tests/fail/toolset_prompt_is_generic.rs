use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    fn review<T: Into<String>>(&self, code: T) -> String {
        code.into()
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
