//! Fetches a page as a program of somebody else would: with a proxy in its environment, or with
//! little memory.

#![allow(clippy::print_stdout, reason = "the test that starts it reads what it says")]

use std::net::Ipv4Addr;

use toolbox::builtin::http::Http;
use toolbox::{ToolBox, ToolCall};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let port = url.split('/').nth(2).and_then(|host| host.rsplit(':').next()?.parse().ok());
    let http = Http::new().allow_address(Ipv4Addr::new(127, 0, 0, 2).into()).allow_ports(port);
    let toolbox = ToolBox::from(http);
    let call = ToolCall::new("1", "http_fetch", serde_json::json!({"url": url}));
    println!("{}", toolbox.call(call).await.text());
}
