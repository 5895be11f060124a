//! The tools that a front end offers.

use serde_json::{Value, json};
use toolbox::agent::PendingCall;
use toolbox::call::Arguments;
use toolbox::context::{ApprovalRequest, Decision};
use toolbox::{Tool, ToolBox, ToolError};

use crate::request::{RequestError, malformed};

/// A tool as a front end offers it, unread.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    pub(crate) name: Value,
    pub(crate) description: Value,
    pub(crate) schema: Value,
}

impl Offer {
    fn read(mut self) -> Result<Tool, RequestError> {
        let name = self.name.as_str().ok_or_else(|| malformed("a tool has no name"))?;
        match (&self.schema, &self.schema["type"]) {
            (Value::Null, _) => self.schema = json!({"type": "object"}),
            (Value::Object(_), Value::Null) => self.schema["type"] = "object".into(),
            (Value::Object(_), kind) if kind == "object" => {}
            _ => return Err(malformed(format!("the schema of tool {name:?} is of no object"))),
        }
        let description = self.description.as_str().unwrap_or_default();
        let not_here =
            |_: Arguments| Err::<String, _>(ToolError::reported("it runs in the front end"));
        let tool = Tool::try_raw(name, description, self.schema, not_here);
        let tool = tool.map_err(|error| malformed(format!("a tool: {error}")))?;
        // What a page returns need not be its user's own words.
        Ok(tool.untrusted().with_approver(|_: ApprovalRequest| async { Decision::Defer }))
    }
}

/// The tools that a front end offers, as tools whose calls wait for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfferedTools(Vec<Tool>);

impl OfferedTools {
    /// Reads at most so many offers, and leaves out those whose names a box has. None is read where
    /// none is taken.
    pub(crate) fn read(
        offers: Vec<Offer>,
        most: usize,
        toolbox: &ToolBox,
    ) -> Result<Self, RequestError> {
        if most == 0 {
            return Ok(Self::default());
        }
        if offers.len() > most {
            let count = offers.len();
            return Err(malformed(format!(
                "it offers {count} tools, and at most {most} are taken"
            )));
        }
        let tools: Result<Vec<_>, _> = offers.into_iter().map(Offer::read).collect();
        Ok(Self(tools?.into_iter().filter(|tool| !toolbox.has(tool.name())).collect()))
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.0.clone()
    }

    /// Returns `true` if a call that waits is one of these tools', for the front end to make.
    pub(crate) fn have(&self, call: &PendingCall) -> bool {
        call.path.is_empty() && self.0.iter().any(|tool| tool.name() == call.tool)
    }
}
