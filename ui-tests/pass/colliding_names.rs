//! Names that an expansion uses too.
use toolbox::{ToolBox, ToolCall, tool, tools};

/// Has an argument of its own name.
#[tool]
fn query(query: &str) -> String {
    query.to_owned()
}

/// Takes the names of an expansion's variables.
#[tool]
async fn names(
    call: u8,
    about: u8,
    #[arg(default = 4)] slot0: u8,
    value: u8,
    error: u8,
    tool: u8,
    this: u8,
    refusal: u8,
    default0: u8,
) -> u8 {
    call + about + slot0 + value + error + tool + this + refusal + default0
}

/// Is called like a variable of an expansion.
#[tool]
fn value2(value: u8) -> Result<u8, String> {
    Ok(value)
}

/// Is called like a trait's method.
#[tool(name = "finish")]
fn tool_finish(finish: u8) -> u8 {
    finish
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![query, names, value2, tool_finish]);
    let result = toolbox.call(ToolCall::new("1", "query", r#"{"query":"x"}"#)).await;
    assert_eq!(result.text(), "x");
    let arguments = r#"{"call":1,"about":1,"value":1,"error":1,"tool":1,"this":1,"refusal":1,"default0":1}"#;
    assert_eq!(toolbox.call(ToolCall::new("1", "names", arguments)).await.text(), "12");
    assert_eq!(constants::tools().len(), 2);
}

#[allow(non_upper_case_globals, dead_code)]
mod constants {
    use toolbox::{tool, toolset};

    const value: u8 = 1;
    const error: u8 = 1;
    const call: u8 = 1;
    const about: u8 = 1;
    const refusal: u8 = 1;
    const set: u8 = 1;
    const this: u8 = 1;
    const convert: u8 = 1;
    const default0: u8 = 1;
    const slot0: u8 = 1;

    /// Stands among constants that an expansion has variables of.
    #[tool(example(number = slot0))]
    async fn among(#[arg(default = value)] number: u8) -> Result<u8, String> {
        Ok(number)
    }

    struct Set;

    #[toolset]
    impl Set {
        /// Stands among them, too.
        #[tool]
        fn within(&self, number: u8) -> u8 {
            number
        }
    }

    pub fn tools() -> Vec<toolbox::Tool> {
        let toolbox = toolbox::ToolBox::from(toolbox::tools![among]);
        toolbox.register(Set);
        toolbox.tools()
    }
}
