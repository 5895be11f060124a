//! A server over standard streams, with tools that do what tools should not.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

use std::sync::Arc;

use tokio::sync::Notify;
use toolbox::mcp::{ServeError, Service};
use toolbox::{State, ToolBox, tool, tools};

/// Prints.
#[tool]
#[allow(clippy::print_stdout, reason = "it is what the test is about")]
fn prints() -> &'static str {
    println!("from a tool");
    "printed"
}

/// Stops the server.
#[tool]
fn stops(stop: State<Notify>) -> &'static str {
    stop.notify_one();
    "stopping"
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let stop = Arc::new(Notify::new());
    let builder = ToolBox::builder().tools(tools![prints, stops]).shared_state(Arc::clone(&stop));
    let toolbox = builder.build().expect("the tools fit together");
    Service::new(toolbox).serve_stdio_until(stop.notified()).await
}
