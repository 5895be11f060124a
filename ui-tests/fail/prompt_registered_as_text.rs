fn all(toolbox: &toolbox::ToolBox) {
    toolbox.prompts().register("review");
}

fn main() {}
