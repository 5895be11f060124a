//! The official MCP SDK: a router that is stored, called in the process, without a transport.
//!
//! The context of a request is made beforehand, as the transport's work; the text is read into the
//! map that the router takes.

use std::sync::LazyLock;

use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::{ToolCallContext, schema_for_type};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ContentBlock, NumberOrString, Tool};
use rmcp::service::{RequestContext, RunningService};
use rmcp::{RoleServer, ServerHandler};
use schemars::JsonSchema;
use tokio::runtime::Runtime;

use super::Call;
use crate::harness::ready;
use crate::workload::{self as work, Add, Order, Read, Write};

pub struct Server;

impl ServerHandler for Server {}

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().build().expect("a runtime"));

/// A server whose peer the contexts of requests name; it is never spoken to.
static RUNNING: LazyLock<RunningService<RoleServer, Server>> = LazyLock::new(|| {
    let _entered = RUNTIME.enter();
    let (near, far) = tokio::io::duplex(64);
    std::mem::forget(far);
    rmcp::service::serve_directly(Server, near, None)
});

static ROUTER: LazyLock<ToolRouter<Server>> = LazyLock::new(|| {
    let mut router = ToolRouter::new();
    let sum = |Parameters(Add { a, b }): Parameters<Add>| work::add(a, b).to_string();
    router.add_route(ToolRoute::new(tool::<Add>("add", "Adds two numbers."), sum));
    router.add_route(ToolRoute::new(
        tool::<Order>("order", "Orders things."),
        |Parameters(order): Parameters<Order>| super::order(order).to_string(),
    ));
    router.add_route(ToolRoute::new(
        tool::<Write>("write", "Writes a file."),
        |Parameters(Write { path, text }): Parameters<Write>| work::write(&path, &text).to_string(),
    ));
    router.add_route(ToolRoute::new(
        tool::<Read>("read", "Reads a file."),
        |Parameters(Read { path }): Parameters<Read>| work::read(&path),
    ));
    for name in super::others(4) {
        router.add_route(ToolRoute::new(tool::<Add>(&name, "Adds two numbers."), sum));
    }
    router
});

fn tool<T: JsonSchema + 'static>(name: &str, description: &'static str) -> Tool {
    Tool::new(name.to_owned(), description, schema_for_type::<T>())
}

pub type Prepared = (RequestContext<RoleServer>, &'static str, &'static str);

pub fn prepared(call: Call) -> Prepared {
    let peer = RUNNING.peer().clone();
    (RequestContext::new(NumberOrString::Number(1), peer), call.name, (call.arguments)())
}

pub fn call((context, name, arguments): Prepared) -> String {
    let arguments = serde_json::from_str(arguments).expect("an object");
    let request = CallToolRequestParams::new(name).with_arguments(arguments);
    let answer = ready(ROUTER.call(ToolCallContext::new(&Server, request, context)));
    let Ok(CallToolResponse::Complete(result)) = answer else { panic!("the call fails") };
    let Some(ContentBlock::Text(text)) = result.content.into_iter().next() else {
        panic!("no text")
    };
    text.text
}

pub fn list() -> String {
    serde_json::to_string(&ROUTER.list_all()).expect("a list")
}
