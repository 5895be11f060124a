use toolbox::{Tool, ToolBox};

fn main() {
    ToolBox::new().register(Tool::new("search", "Searches.").param("query", "string", "Words"));
}
