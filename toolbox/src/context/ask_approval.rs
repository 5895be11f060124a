//! An approver that asks a person.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::approval::{ApprovalRequest, Approver, Decision};
use super::ask::AskError;
use super::question::{Question, QuestionForm};
use crate::call::Arguments;
use crate::future::BoxFuture;
use crate::text::{clean, cut};

/// The maximum length of the arguments that a question about a call holds, in bytes.
const MAX_ARGUMENTS: usize = 4 << 10;

/// An approver that asks the person on whose behalf a call is made, by the asker of the call or of
/// the box: see [`ToolContext::ask`](crate::ToolContext::ask).
///
/// The question shows the tool and its arguments; the form takes a decision, a reason and other
/// arguments. A person who declines denies the call. Where there is nobody to ask, the decision is
/// [`Decision::Defer`].
///
/// The user of an MCP client decides on the calls of that client. Give calls that someone else has
/// to allow an approver of their own.
///
/// ```
/// use toolbox::context::{Answer, AskApproval, Question};
/// use toolbox::{tool, tools, ToolBox, ToolCall};
///
/// /// Sends money.
/// #[tool(approval)]
/// fn pay(cents: u64) -> String {
///     format!("paid {cents}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let toolbox = ToolBox::builder()
///     .tools(tools![pay])
///     .approver(AskApproval)
///     .asker(|question: Question| async move {
///         assert!(question.message.contains(r#"{"cents":5}"#));
///         Answer::from(serde_json::json!({"decision": "approve"}))
///     })
///     .build()
///     .unwrap();
/// let result = toolbox.call(ToolCall::new("1", "pay", r#"{"cents":5}"#)).await;
/// assert_eq!(result.text(), "paid 5");
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct AskApproval;

impl Approver for AskApproval {
    /// Returns `person`.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("person")
    }

    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Decision> {
        Box::pin(async move {
            let form = QuestionForm::Fields(form());
            let mut question = Question::new(message(&request), form, request.context.clone());
            "approval".clone_into(&mut question.key);
            // The call's own reports say that a decision is asked for, and what it is.
            match request.context.put_unreported(question).await {
                Ok(answer) => decision(answer),
                Err(AskError::Nobody) => Decision::Defer,
                Err(error) => Decision::Deny(error.to_string()),
            }
        })
    }
}

fn message(request: &ApprovalRequest) -> String {
    let shown = clean(request.arguments.as_str());
    let arguments = cut(&shown, MAX_ARGUMENTS);
    let rest = shown.len() - arguments.len();
    let mut text = format!("May tool `{}` run with {arguments}", request.tool_name());
    if rest > 0 {
        text = format!("{text} … ({rest} more bytes)");
    }
    text.push('?');
    if request.is_tainted() {
        text.push_str(" The model has read text of untrusted sources.");
    }
    text
}

fn form() -> Value {
    json!({
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": ["approve", "deny", "edit", "defer"]},
            "reason": {"type": "string", "description": "With `deny`: the reason, for the model"},
            "arguments": {"type": "string", "description": "With `edit`: the new arguments, as JSON"},
        },
        "required": ["decision"],
        "additionalProperties": false,
    })
}

fn decision(answer: Value) -> Decision {
    let mut fields = match answer {
        Value::String(word) => Map::from_iter([("decision".to_owned(), Value::String(word))]),
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let decided = fields.remove("decision");
    let reason = fields.remove("reason");
    let arguments = fields.remove("arguments");
    match (decided.as_ref().and_then(Value::as_str), reason, arguments) {
        (Some("approve"), ..) => Decision::Approve,
        (Some("defer"), ..) => Decision::Defer,
        (Some("deny"), Some(Value::String(reason)), _) if !reason.is_empty() => {
            Decision::Deny(reason)
        }
        (Some("deny"), None | Some(Value::String(_)), _) => {
            Decision::Deny("the user denied the call".to_owned())
        }
        (Some("edit"), _, Some(Value::String(arguments))) => {
            Decision::Edit(Arguments::from(arguments))
        }
        _ => Decision::Deny("the user's decision cannot be read".to_owned()),
    }
}
