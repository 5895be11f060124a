//! People in tests: who answers questions, and who approves calls.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::call::ToolCall;
use crate::context::{Answer, ApprovalRequest, Approver, Asker, Decision, Question};
use crate::future::BoxFuture;
use crate::sync::Mutex;

/// A person who answers questions from a script, and remembers what was asked; clones share both.
///
/// What is asked beyond the script is dismissed.
///
/// ```
/// use serde_json::json;
/// use toolbox::context::Answer;
/// use toolbox::testing::ScriptedPerson;
/// use toolbox::ToolBox;
///
/// let person = ScriptedPerson::new().answers("Tuesday").declines();
/// let toolbox = ToolBox::builder().asker(person.clone());
/// # toolbox.build().unwrap();
/// assert!(person.questions().is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct ScriptedPerson(Arc<Mutex<PersonScript>>);

#[derive(Debug, Default)]
struct PersonScript {
    answers: VecDeque<Answer>,
    questions: Vec<String>,
}

impl ScriptedPerson {
    /// Returns a person who dismisses every question.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers the next question: with the value of its form, or of the form's only field.
    #[must_use]
    pub fn answers(self, answer: impl Into<Answer>) -> Self {
        self.0.lock().answers.push_back(answer.into());
        self
    }

    /// Declines to answer the next question.
    #[must_use]
    pub fn declines(self) -> Self {
        self.answers_with(Answer::Declined)
    }

    /// Closes the next question without a decision.
    #[must_use]
    pub fn dismisses(self) -> Self {
        self.answers_with(Answer::Dismissed)
    }

    fn answers_with(self, answer: Answer) -> Self {
        self.0.lock().answers.push_back(answer);
        self
    }

    /// Returns the texts of the questions so far.
    #[must_use]
    pub fn questions(&self) -> Vec<String> {
        self.0.lock().questions.clone()
    }

    /// Returns the number of answers that nothing asked for.
    #[must_use]
    pub fn answers_left(&self) -> usize {
        self.0.lock().answers.len()
    }
}

#[diagnostic::do_not_recommend]
impl Asker for ScriptedPerson {
    fn ask(&self, question: Question) -> BoxFuture<'static, Answer> {
        let mut script = self.0.lock();
        script.questions.push(question.message);
        let answer = script.answers.pop_front().unwrap_or(Answer::Dismissed);
        Box::pin(std::future::ready(answer))
    }
}

/// An approver that decides one way, and remembers what it was asked; clones share that.
///
/// ```
/// use serde_json::json;
/// use toolbox::testing::{RecordingApprover, call};
/// use toolbox::{ToolBox, tool};
///
/// /// Pays.
/// #[tool(approval)]
/// fn pay(cents: u32) -> String {
///     format!("{cents} paid")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let approver = RecordingApprover::denying("not today");
/// let toolbox = ToolBox::builder().tool(pay::tool()).approver(approver.clone()).build()?;
/// call(&toolbox, "pay", json!({"cents": 5})).await.fails("tool.not_approved").says("not today");
/// assert_eq!(approver.calls()[0].arguments.as_str(), r#"{"cents":5}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RecordingApprover {
    decision: Decision,
    calls: Arc<Mutex<Vec<ToolCall>>>,
}

impl RecordingApprover {
    /// Returns an approver that approves every call.
    #[must_use]
    pub fn approving() -> Self {
        Self::deciding(Decision::Approve)
    }

    /// Returns an approver that denies every call, for this reason.
    #[must_use]
    pub fn denying(reason: impl Into<String>) -> Self {
        Self::deciding(Decision::Deny(reason.into()))
    }

    /// Returns an approver that decides every call like this.
    #[must_use]
    pub fn deciding(decision: Decision) -> Self {
        Self { decision, calls: Arc::default() }
    }

    /// Returns the calls that it was asked about, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<ToolCall> {
        self.calls.lock().clone()
    }
}

#[diagnostic::do_not_recommend]
impl Approver for RecordingApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Decision> {
        let (id, name) = (request.context.call_id(), request.tool_name());
        self.calls.lock().push(ToolCall::new(id, name, request.arguments.clone()));
        Box::pin(std::future::ready(self.decision.clone()))
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("test")
    }
}
