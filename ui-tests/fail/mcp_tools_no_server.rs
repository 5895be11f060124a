toolbox::mcp_tools!("mcp_tools.lock.json", servers = ["flies", "github"]);

fn main() {}
