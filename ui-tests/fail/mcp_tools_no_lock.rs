mod config {
    toolbox::mcp_tools!("mcp_tools.no_lock.json");
}

mod older {
    toolbox::mcp_tools!("mcp_tools.lock.json");
}

fn main() {}
