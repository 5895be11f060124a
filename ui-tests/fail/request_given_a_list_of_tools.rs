use toolbox::model::{History, ModelRequest};
use toolbox::dialect::Dialect;
use toolbox::ToolBox;

fn main() {
    let toolbox = ToolBox::new();
    let list = toolbox.definitions_for(Dialect::OpenAiChat);
    let _ = ModelRequest::new(History::from("Hello")).with_tools(list);
}
