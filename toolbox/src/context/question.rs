//! Questions to a person, and those who can put them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::context::{ToolContext, now};
use super::state::StateMap;
use crate::future::BoxFuture;
use crate::sync::Mutex;

/// A question to a person: of a tool ([`ToolContext::ask`]), of a model (`ask_user`), of an MCP
/// server, or about a call that needs [approval](super::AskApproval).
///
/// Its texts were written by a tool, a model or a server. Display them as text, beside its
/// [`origin`](Self::origin).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// The name of the question within its call, such as `account`; empty if it has none.
    pub key: String,
    /// The text of the question.
    pub message: String,
    /// The form of its answer.
    pub form: QuestionForm,
    /// The MCP server that asks, if it is not the program itself.
    pub server: Option<String>,
    /// The context of the call, with its tool, principal and conversation.
    pub context: ToolContext,
}

/// The form of the answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionForm {
    /// An object of this schema, filled in by the person.
    Fields(Value),
    /// A page that the person opens in a browser. The answer says whether the person agrees to open
    /// it, and holds no value.
    ///
    /// Show the whole URL, open it only with consent, and do not fetch it.
    Url(String),
}

/// The name of the only field of a form, if its type is not an object.
pub(crate) const ONLY_FIELD: &str = "answer";

impl Question {
    pub(crate) fn new(message: String, form: QuestionForm, context: ToolContext) -> Self {
        Self { key: String::new(), message, form, server: None, context }
    }

    /// Returns the name of who asks: the server, or the tool of the call.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.server.as_deref().unwrap_or_else(|| self.context.tool_name())
    }

    /// Returns the name and the schema of the only field, if the form has one.
    #[must_use]
    pub fn only_field(&self) -> Option<(&str, &Value)> {
        let QuestionForm::Fields(schema) = &self.form else { return None };
        let mut fields = schema.get("properties")?.as_object()?.iter();
        let (name, schema) = fields.next()?;
        fields.next().is_none().then_some((name.as_str(), schema))
    }

    /// Returns the answers to choose from, or suggested ones, of a form with one field of text.
    #[must_use]
    pub fn options(&self) -> Vec<&str> {
        let Some((_, schema)) = self.only_field() else { return Vec::new() };
        let list = ["enum", "examples"].into_iter().find_map(|key| schema.get(key)?.as_array());
        let list = list.map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(Value::as_str).collect()
    }
}

/// The answer to a [`Question`].
///
/// ```
/// use serde_json::json;
/// use toolbox::context::Answer;
///
/// // The value of a form, or of its only field.
/// assert_eq!(Answer::from("Tuesday"), Answer::Accepted(json!("Tuesday")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// The person filled in the form, or agreed to open the page. A value that is no object is that
    /// of the form's only field.
    Accepted(Value),
    /// The person was asked, and does not want to answer.
    Declined,
    /// The question was closed without a decision.
    Dismissed,
    /// There is no person to ask.
    Nobody,
}

impl<T: Into<Value>> From<T> for Answer {
    fn from(value: T) -> Self {
        Self::Accepted(value.into())
    }
}

/// Puts questions to a person: any async closure from a [`Question`] to an [`Answer`].
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::context::{Answer, Question};
///
/// let toolbox = ToolBox::builder().asker(|question: Question| async move {
///     println!("{} asks: {}", question.origin(), question.message);
///     match question.options().first() {
///         Some(option) => Answer::from(*option), // a program waits for a choice here
///         None => Answer::Declined,
///     }
/// });
/// # toolbox.build().unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot put questions to a person",
    label = "this is no asker",
    note = "an asker is an async closure: `|question: Question| async move {{ Answer::Nobody }}`"
)]
pub trait Asker: Send + Sync + 'static {
    /// Puts one question. The future is dropped when the answer is no longer awaited.
    fn ask(&self, question: Question) -> BoxFuture<'static, Answer>;
}

#[diagnostic::do_not_recommend]
impl<F, Fut> Asker for F
where
    F: Fn(Question) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    fn ask(&self, question: Question) -> BoxFuture<'static, Answer> {
        Box::pin(self(question))
    }
}

/// An asker, with the time for which its questions were open.
#[derive(Clone)]
pub(crate) struct SharedAsker {
    asker: Arc<dyn Asker>,
    open_time: Arc<OpenTime>,
}

impl SharedAsker {
    pub(crate) fn new(asker: Arc<dyn Asker>) -> Self {
        Self { asker, open_time: Arc::default() }
    }

    /// Puts a question, and counts the time until the answer.
    pub(crate) async fn ask(&self, question: Question) -> Answer {
        let _open = self.open_time.begin();
        self.asker.ask(question).await
    }

    /// Stores it in the state of a box.
    pub(crate) fn store_in(self, state: &mut StateMap) {
        state.insert(Arc::new(self));
    }
}

impl StateMap {
    /// Returns `true` if it holds the asker of a box.
    pub(crate) fn has_asker(&self) -> bool {
        self.find_ref::<SharedAsker>().is_some()
    }
}

/// The time for which questions were open: a call that waits for a person is not slow.
#[derive(Default)]
pub(crate) struct OpenTime(Mutex<OpenSpans>);

#[derive(Default)]
struct OpenSpans {
    open: u32,
    since: Option<Instant>,
    closed: Duration,
}

/// A question that is open until this is dropped.
struct OpenQuestion<'a>(&'a OpenTime);

impl OpenTime {
    fn begin(&self) -> OpenQuestion<'_> {
        let mut spans = self.0.lock();
        spans.open += 1;
        spans.since.get_or_insert_with(now);
        OpenQuestion(self)
    }

    /// Returns the time for which questions were open so far.
    pub(crate) fn total(&self) -> Duration {
        let spans = self.0.lock();
        spans.closed + spans.since.map_or(Duration::ZERO, |since| now() - since)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut spans = self.0.0.lock();
        spans.open -= 1;
        if spans.open == 0
            && let Some(since) = spans.since.take()
        {
            spans.closed += now() - since;
        }
    }
}

impl ToolContext {
    /// Lets tools ask a person by `asker`, also those of agents below. It comes before that of the
    /// [box](crate::ToolBoxBuilder::asker).
    #[must_use]
    pub fn with_asker(self, asker: impl Asker) -> Self {
        self.with_shared_asker(SharedAsker::new(Arc::new(asker)))
    }

    pub(crate) fn with_shared_asker(self, asker: SharedAsker) -> Self {
        self.with_extension(asker)
    }

    /// Returns the asker of the call, else of its box.
    pub(crate) fn asker(&self) -> Option<&SharedAsker> {
        let of_box = || self.state.as_deref()?.find_ref();
        self.extension().or_else(of_box).or_else(|| self.fallback_state()?.find_ref())
    }

    /// Returns the time for which questions of this context were open, if there is an asker.
    pub(crate) fn open_time(&self) -> Option<&OpenTime> {
        self.asker().map(|asker| &*asker.open_time)
    }

    /// Returns `true` if there is an asker.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.asker().is_some() || self.can_pause()
    }
}

/// Returns the schema of a form of one field.
pub(crate) fn form_of_one(schema: Value) -> Value {
    let mut schema = schema;
    let definitions = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
    let mut form = json!({
        "type": "object",
        "properties": Map::from_iter([(ONLY_FIELD.to_owned(), schema)]),
        "required": [ONLY_FIELD],
        "additionalProperties": false,
    });
    if let Some(definitions) = definitions {
        form["$defs"] = definitions;
    }
    form
}
