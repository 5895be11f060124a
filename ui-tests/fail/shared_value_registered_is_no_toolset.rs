use std::sync::Arc;

use toolbox::ToolBox;
use toolbox::tool::Toolset;

struct Github;

fn serve(tools: impl Toolset) -> ToolBox {
    ToolBox::from(Arc::new(tools))
}

fn main() {
    serve(Github);
}
