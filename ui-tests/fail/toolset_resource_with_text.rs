use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// A book.
    #[resource = "books://all"]
    fn book(&self) -> String {
        self.0.to_owned()
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
