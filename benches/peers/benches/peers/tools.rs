//! tools-rs: a collection of functions over JSON values, with what its macro does inside written
//! out.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tools_rs::{CallId, FunctionCall, ToolCollection};

use super::Call;
use crate::harness::ready;
use crate::workload::{self as work, Add, Read, Write};

static TOOLS: LazyLock<ToolCollection> = LazyLock::new(|| {
    let mut tools = ToolCollection::new();
    add(&mut tools, "add", "Adds two numbers.", |Add { a, b }| work::add(a, b));
    add(&mut tools, "order", "Orders things.", super::order);
    add(&mut tools, "write", "Writes a file.", |Write { path, text }| work::write(&path, &text));
    add(&mut tools, "read", "Reads a file.", |Read { path }| work::read(&path));
    for name in super::others(4) {
        let name: &'static str = name.leak();
        add(&mut tools, name, "Adds two numbers.", |Add { a, b }| work::add(a, b));
    }
    tools
});

fn add<I, O>(
    tools: &mut ToolCollection,
    name: &'static str,
    description: &'static str,
    function: impl Fn(I) -> O + Copy + Send + Sync + 'static,
) where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    O: serde::Serialize + Send + 'static,
{
    let schema = schemars::schema_for!(I).to_value();
    let run = move |arguments: Value| -> tools_rs_future::BoxFuture {
        Box::pin(async move {
            let arguments: I =
                serde_json::from_value(arguments).map_err(tools_rs::DeserializationError::from)?;
            serde_json::to_value(function(arguments))
                .map_err(|error| tools_rs::ToolError::Runtime(error.to_string()))
        })
    };
    tools.register_raw(name, description, schema, run, ()).ok().expect("a new name");
}

mod tools_rs_future {
    use std::pin::Pin;

    pub type BoxFuture = Pin<
        Box<dyn Future<Output = Result<serde_json::Value, tools_rs::ToolError>> + Send + 'static>,
    >;
}

pub type Prepared = (CallId, String, &'static str);

pub fn prepared(call: Call) -> Prepared {
    (CallId::from(String::from("call_1")), call.name.to_owned(), (call.arguments)())
}

pub fn call((id, name, arguments): Prepared) -> String {
    let arguments = serde_json::from_str(arguments).expect("JSON");
    let call = FunctionCall { id: Some(id), name, arguments };
    match ready(TOOLS.call(call)).ok().expect("a result").result {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

pub fn list() -> String {
    serde_json::to_string(&TOOLS.json().ok().expect("a list")).expect("a list")
}
