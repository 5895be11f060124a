use toolbox::{ToolBox, toolset};

struct Github;

impl Github {
    fn new() -> Self {
        Self
    }
}

#[toolset]
impl Github {
    /// Lists the issues.
    #[tool]
    fn issues(&self) -> u32 {
        3
    }
}

fn main() {
    ToolBox::new().register(Github::new);
}
