use toolbox::{ToolBox, tools, toolset};

struct Notes;

#[toolset]
impl Notes {
    /// Lists the notes.
    #[tool]
    fn list(&self) -> u32 {
        0
    }
}

fn main() {
    let _ = ToolBox::from(tools![Notes::list]);
}
