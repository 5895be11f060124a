use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Finds a book.
    #[tool]
    fn find(&self, #[arg(complete = Self::titles)] title: &str) -> String {
        title.to_owned()
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
