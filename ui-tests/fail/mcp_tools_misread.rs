toolbox::mcp_tools!(files);

toolbox::mcp_tools!("mcp_tools.lock.json", server = "files");

toolbox::mcp_tools!("mcp_tools.lock.json", servers = "files");

fn main() {}
