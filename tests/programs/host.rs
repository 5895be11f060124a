//! A host of the servers in a configuration file, until its input ends.

use std::io::Read as _;

use toolbox::ToolBox;
use toolbox::mcp::{Config, Servers};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn main() {
    let path = std::env::args().nth(1).expect("a configuration");
    let (config, problems) = Config::read(path);
    assert!(problems.is_empty(), "{problems:?}");
    let toolbox = ToolBox::new();
    let builder = Servers::builder().servers(config.servers().iter().cloned());
    let servers = builder.mount(&toolbox).await.expect("the names are valid");
    let _ = std::io::stdin().read(&mut [0]);
    servers.close().await;
}
