toolbox::mcp_tools!("tools.lock.json");

fn main() {}
