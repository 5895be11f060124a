use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// A book.
    #[resource("books://all")]
    const BOOK: &str = "Dune";
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
