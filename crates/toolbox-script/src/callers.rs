//! Tools that scripts call, and models do not.

use toolbox::Tool;
use toolbox::definition::Callers;

/// The mark of the calls that a script makes.
///
/// [`ToolContext::state`](toolbox::ToolContext::state) returns it in such a call. Calls of an agent
/// that a script calls are not the script's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CalledByScript;

/// Returns a tool that scripts alone may call. To all others it is not there: no list and no search
/// has it, and a call is answered as one of a tool that does not exist. Its
/// [`callers`](toolbox::ToolDefinition::callers) become programs.
///
/// Tools whose results are large, and of no use but to a program, cost no request a definition so.
///
/// ```
/// use toolbox::{Tool, ToolBox, ToolCall};
/// use toolbox_script::{Scripts, for_scripts_alone};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let rows = Tool::new("rows", "Returns all rows.").call(|_| "a\nb\nc");
/// let toolbox = ToolBox::from(for_scripts_alone(rows));
/// toolbox.register(Scripts::over(&toolbox));
///
/// let direct = toolbox.call(ToolCall::new("1", "rows", "{}")).await;
/// assert_eq!(direct.text(), "tool not found: rows");
/// let script = r#"return (await tools.rows()).split("\n").length"#;
/// let call = ToolCall::new("2", "run_script", serde_json::json!({ "script": script }));
/// assert_eq!(toolbox.call(call).await.text(), "3");
/// # }
/// ```
#[must_use]
pub fn for_scripts_alone(tool: Tool) -> Tool {
    tool.with_callers(Callers::Programs)
        .available_if(|context| context.state::<CalledByScript>().is_some())
}
