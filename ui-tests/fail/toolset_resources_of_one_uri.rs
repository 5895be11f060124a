use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// A book.
    #[resource("books://{id}")]
    fn book(&self, id: u32) -> String {
        format!("{id}")
    }

    /// Another book.
    #[resource("books://{id}")]
    fn other(&self, id: u32) -> String {
        format!("{id}")
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
