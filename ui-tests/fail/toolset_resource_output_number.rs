use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// A book.
    #[resource("books://count")]
    fn count(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
