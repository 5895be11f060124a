fn all(toolbox: &toolbox::ToolBox) {
    toolbox.resources().register("docs://manual");
}

fn main() {}
