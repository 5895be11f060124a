use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// A book.
    #[resource("books://all")]
    fn book(&self, page: u32) -> String {
        format!("{} {page}", self.0)
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
