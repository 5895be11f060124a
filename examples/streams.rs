//! How do items of a tool go out before it ends?
//!
//! They go out as they come; the model gets what was collected.
//!
//! `cargo run -p toolbox-examples --example streams`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt as _};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc;
use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};

#[derive(Serialize, JsonSchema)]
struct Step {
    name: String,
    seconds: f64,
}

/// Deploys a service, and says what it did.
#[tool]
fn deploy(service: &str) -> impl Stream<Item = Result<Step, String>> {
    let steps = ["build", "upload", "restart"];
    stream::iter(steps).then(move |step| async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        match (service, step) {
            // What came before stays in the result.
            ("billing", "restart") => Err("the service does not answer".to_owned()),
            _ => Ok(Step { name: format!("{step} {service}"), seconds: 0.2 }),
        }
    })
}

/// Estimates the time of a deployment, better and better.
#[tool(collect = "last")]
fn estimate() -> impl Stream<Item = String> {
    stream::iter([9, 4, 3]).map(|minutes| format!("about {minutes} minutes"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![deploy, estimate]);
    for (name, arguments) in [
        ("deploy", r#"{"service": "shop"}"#),
        ("deploy", r#"{"service": "billing"}"#),
        ("estimate", "{}"),
    ] {
        println!("{name} {arguments}");
        // While four items wait to be read, the tool waits as well.
        let (outputs, mut items) = mpsc::channel(4);
        let context = ToolContext::new().with_outputs(outputs);
        let call = async {
            let call = ToolCall::new("call_1", name, arguments);
            // Without its context, the channel ends.
            toolbox.call_in(&{ context }, call).await
        };
        let read = async {
            while let Some(item) = items.recv().await {
                println!("  item {}: {}", item.index, item.text());
            }
        };
        let (result, ()) = tokio::join!(call, read);
        println!("  result: {}", result.text().replace('\n', "\n          "));
    }
}
