//! Rig: typed tools in a `ToolSet`.

use std::convert::Infallible;
use std::sync::LazyLock;

use rig_agent::tool::ToolSet;
use rig_core::message::ToolResultContent;
use rig_core::tool::{DynamicTool, Tool, ToolContext, ToolOutput};
use serde_json::Value;

use super::Call;
use crate::harness::ready;
use crate::workload::{self as work, Add, Order, Read, Write};

macro_rules! tool {
    ($ty:ident, $name:literal, $description:literal, $args:ty, |$arguments:pat_param| $body:expr) => {
        struct $ty;

        impl Tool for $ty {
            const NAME: &'static str = $name;
            type Args = $args;
            type Output = String;
            type Error = Infallible;

            fn description(&self) -> String {
                $description.to_owned()
            }

            fn parameters(&self) -> Value {
                schemars::schema_for!($args).to_value()
            }

            async fn call(
                &self,
                _: &mut ToolContext,
                $arguments: $args,
            ) -> Result<String, Infallible> {
                Ok($body)
            }
        }
    };
}

tool!(AddTool, "add", "Adds two numbers.", Add, |Add { a, b }| work::add(a, b).to_string());
tool!(OrderTool, "order", "Orders things.", Order, |order| super::order(order).to_string());
tool!(WriteTool, "write", "Writes a file.", Write, |Write { path, text }| work::write(
    &path, &text
)
.to_string());
tool!(ReadTool, "read", "Reads a file.", Read, |Read { path }| work::read(&path));

static TOOLS: LazyLock<ToolSet> = LazyLock::new(|| {
    let mut tools = ToolSet::default();
    tools.add_tool(AddTool);
    tools.add_tool(OrderTool);
    tools.add_tool(WriteTool);
    tools.add_tool(ReadTool);
    for name in super::others(4) {
        let name = name.try_into().expect("a name that is not empty");
        tools.add_dynamic_tool(DynamicTool::new(
            name,
            "Adds two numbers.",
            AddTool.parameters(),
            |_| Box::pin(async { Ok(ToolOutput::text("")) }),
        ));
    }
    tools
});

pub type Prepared = (&'static str, String);

pub fn prepared(call: Call) -> Prepared {
    (call.name, (call.arguments)().to_owned())
}

pub fn call((name, arguments): Prepared) -> String {
    let mut context = ToolContext::new();
    let output =
        ready(TOOLS.execute(name, arguments, &mut context)).into_result().expect("a result");
    match output.into_content().into_iter().next() {
        Some(ToolResultContent::Text(text)) => text.text,
        _ => panic!("no text"),
    }
}

pub fn list() -> String {
    serde_json::to_string(&TOOLS.tool_definitions()).expect("a list")
}
