//! Questions of tools: a message, a type, and the answer as a value of that type.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::ToolContext;
use super::observer::CallReport;
use super::question::{Answer, ONLY_FIELD, Question, QuestionForm, form_of_one};
use crate::future::BoxFuture;
use crate::schema::for_input;
use crate::text::cut;
use crate::validate::{ValidationLimits, conforms};

/// The number of times that a person is asked for an answer that fits.
const ATTEMPTS: usize = 3;

/// The maximum length of a message or a URL, in bytes.
const MAX_MESSAGE: usize = 8 << 10;

/// The maximum length of the description of a fault, in bytes.
const MAX_FAULT: usize = 300;

/// A question of a tool that is about to be put; await it for the answer. See [`ToolContext::ask`].
#[must_use = "a question is put when it is awaited"]
pub struct Ask<'a, T> {
    context: &'a ToolContext,
    message: String,
    key: String,
    options: Vec<String>,
    answer: PhantomData<fn() -> T>,
}

impl ToolContext {
    /// Asks the person on whose behalf the call is made, and returns the answer as a `T`.
    ///
    /// The question goes to the asker of the call ([`ToolContext::with_asker`]), which for a call
    /// over MCP is the user of the client if the client can ask; else to that of the
    /// [box](crate::ToolBoxBuilder::asker). `T` is a struct of plain fields, each of which becomes
    /// a field of the form, or a single value. An answer that does not fit is asked for again,
    /// three times in all. The time that the person takes does not count against the timeout of the
    /// tool or of the box.
    ///
    /// Do not ask for passwords, keys or payment data: a form is read by the programs between.
    /// Use [`ToolContext::ask_to_open`] for a page of your own instead. A field whose schema says
    /// `"format": "password"` or `"writeOnly": true` is refused.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use toolbox::context::{Answer, AskError, Question};
    /// use toolbox::{tool, tools, ToolBox, ToolCall, ToolContext};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// enum Account {
    ///     Private,
    ///     Shared,
    /// }
    ///
    /// /// Pays a bill.
    /// #[tool]
    /// async fn pay(cents: u64, context: &ToolContext) -> Result<String, AskError> {
    ///     let account = context.ask::<Account>("Which account?").await?;
    ///     Ok(match account {
    ///         Account::Private => format!("paid {cents} from your own account"),
    ///         Account::Shared => format!("paid {cents} from the shared account"),
    ///     })
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let toolbox = ToolBox::from(tools![pay]);
    /// let context = ToolContext::new().with_asker(|question: Question| async move {
    ///     assert_eq!(question.options(), ["Private", "Shared"]);
    ///     Answer::from("Shared")
    /// });
    /// let result = toolbox.call_in(&context, ToolCall::new("1", "pay", r#"{"cents": 5}"#)).await;
    /// assert_eq!(result.text(), "paid 5 from the shared account");
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`AskError`]: the person declines, nobody can be asked, or no answer fits. Returned from a
    /// tool, it tells the model so.
    ///
    /// # Cancellation
    ///
    /// Dropping the future takes the question back.
    pub fn ask<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<String>) -> Ask<'_, T> {
        Ask {
            context: self,
            message: message.into(),
            key: String::new(),
            options: Vec::new(),
            answer: PhantomData,
        }
    }

    /// Asks the person to open a page in a browser, such as one to sign in. Returns once the person
    /// agrees, which does not mean that the page was used: its server knows that.
    ///
    /// # Errors
    ///
    /// [`AskError`], as for [`ToolContext::ask`]; [`AskError::Unfit`] for a URL that is not
    /// `https`, or `http` to this machine.
    pub async fn ask_to_open(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<(), AskError> {
        let url = url.into();
        if !is_page(&url) {
            return Err(AskError::Unfit("the URL is not one of `https`".to_owned()));
        }
        let question = Question::new(message.into(), QuestionForm::Url(url), self.clone());
        self.put(question).await.map(drop)
    }

    /// Puts a question, and returns the value of its answer.
    pub(crate) async fn put(&self, question: Question) -> Result<Value, AskError> {
        value_of(self.answer_to(question).await)
    }

    /// Puts a question, reports it, and returns its answer. Where nobody answers, and the call
    /// belongs to a run that can pause, the run pauses and this call ends here.
    pub(crate) async fn answer_to(&self, question: Question) -> Answer {
        let asked = self.observer().map(|_| (question.origin().to_owned(), question.key.clone()));
        self.report(|| CallReport::QuestionAsked(&question));
        let answer = self.put_question(question).await;
        if let Some((origin, key)) = asked {
            let (origin, key, answer) = (origin.as_str(), key.as_str(), &answer);
            self.report(|| CallReport::QuestionAnswered { origin, key, answer });
        }
        answer
    }

    /// Puts a question of which no observer is to hear, and which pauses no run.
    pub(super) async fn put_unreported(&self, question: Question) -> Result<Value, AskError> {
        let asker = self.asker().ok_or(AskError::Nobody)?;
        value_of(asker.ask(question).await)
    }
}

/// Returns the value of an answer, if the question was answered.
fn value_of(answer: Answer) -> Result<Value, AskError> {
    match answer {
        Answer::Accepted(value) => Ok(value),
        Answer::Declined => Err(AskError::Declined),
        Answer::Dismissed => Err(AskError::Dismissed),
        Answer::Nobody => Err(AskError::Nobody),
    }
}

impl<T> fmt::Debug for Ask<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("message", &self.message).finish_non_exhaustive()
    }
}

impl<T> Ask<'_, T> {
    /// Names the question within its call, for programs. Default: none.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// Suggests answers to a question for a text. The person may give another.
    pub fn suggest(mut self, options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }
}

impl<'a, T: DeserializeOwned + JsonSchema> IntoFuture for Ask<'a, T> {
    type Output = Result<T, AskError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { context, mut message, key, options, .. } = self;
        let form = Form::of::<T>(options);
        message.truncate(cut(&message, MAX_MESSAGE).len());
        Box::pin(async move {
            if let Some(field) = secret_field(&form.schema) {
                let text = format!("`{field}` is a secret, which is not asked for in a form");
                return Err(AskError::Unfit(text));
            }
            let mut fault = String::new();
            for attempt in 0..ATTEMPTS {
                let message = match attempt {
                    0 => message.clone(),
                    _ => format!("{message}\n\nThe last answer does not fit: {fault}"),
                };
                let form_of_answer = QuestionForm::Fields(form.schema.clone());
                let question = Question::new(message, form_of_answer, context.clone());
                let answer = context.put(Question { key: key.clone(), ..question }).await?;
                match form.read(answer) {
                    Ok(read) => return Ok(read),
                    Err(unfit) => fault = unfit,
                }
            }
            Err(AskError::Unfit(fault))
        })
    }
}

/// The form of the answer to a question of a tool.
struct Form {
    /// The schema of an object.
    schema: Value,
    /// `true` if the type is that of the only field.
    is_of_field: bool,
}

impl Form {
    fn of<T: JsonSchema>(options: Vec<String>) -> Self {
        let mut schema = for_input::<T>();
        if schema.get("type").is_some_and(|kind| kind == "object") {
            return Self { schema, is_of_field: false };
        }
        if !options.is_empty() {
            schema["examples"] = Value::from(options);
        }
        Self { schema: form_of_one(schema), is_of_field: true }
    }

    /// Reads an answer, or returns why it does not fit.
    fn read<T: DeserializeOwned>(&self, answer: Value) -> Result<T, String> {
        let mut answer = match (self.only_field(), answer) {
            (Some(field), value) if !value.is_object() => {
                Value::Object(Map::from_iter([(field.to_owned(), value)]))
            }
            (_, answer) => answer,
        };
        let limits = ValidationLimits::default();
        let faults = conforms(&answer.to_string(), &self.schema, &self.schema, "", &limits);
        if let Some(fault) = faults.first() {
            return Err(cut(&fault.to_string(), MAX_FAULT).to_owned());
        }
        let read = if self.is_of_field { answer[ONLY_FIELD].take() } else { answer };
        serde_json::from_value(read).map_err(|error| cut(&error.to_string(), MAX_FAULT).to_owned())
    }

    /// Returns the name of the only field.
    fn only_field(&self) -> Option<&str> {
        let mut names = self.schema.get("properties")?.as_object()?.keys();
        let first = names.next()?;
        names.next().is_none().then_some(first)
    }
}

/// Returns the first field that a schema marks as a secret.
fn secret_field(form: &Value) -> Option<&str> {
    let is_secret = |schema: &Value| {
        schema.get("format").is_some_and(|format| format == "password")
            || schema.get("writeOnly").is_some_and(|mark| *mark == Value::Bool(true))
    };
    let fields = form.get("properties")?.as_object()?;
    fields.iter().find(|(_, schema)| is_secret(schema)).map(|(name, _)| name.as_str())
}

/// Returns `true` for a URL that a person may be sent to: of `https`, or of this machine, without
/// a name before the host.
pub(crate) fn is_page(url: &str) -> bool {
    let authority = |rest: &str| rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned();
    let has_sound_text =
        url.len() <= MAX_MESSAGE && url.bytes().all(|byte| byte.is_ascii_graphic());
    let has_sound_host = if let Some(rest) = url.strip_prefix("https://") {
        let authority = authority(rest);
        !authority.is_empty() && !authority.contains(['@', '\\'])
    } else if let Some(rest) = url.strip_prefix("http://") {
        let authority = authority(rest);
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &authority,
        };
        matches!(host, "localhost" | "127.0.0.1" | "[::1]")
    } else {
        false
    };
    has_sound_text && has_sound_host
}

/// The reason why a question has no answer.
///
/// ```
/// use toolbox::context::AskError;
/// use toolbox::ToolContext;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let answer = ToolContext::new().ask::<bool>("Go on?").await;
/// assert_eq!(answer, Err(AskError::Nobody));
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The person was asked, and does not want to answer.
    Declined,
    /// The question was closed without a decision.
    Dismissed,
    /// There is no person to ask.
    Nobody,
    /// The question cannot be put, or no answer fits its type; the text is the reason.
    Unfit(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declined => f.write_str("the user does not want to answer"),
            Self::Dismissed => f.write_str("the user closed the question without an answer"),
            Self::Nobody => f.write_str("there is nobody to ask"),
            Self::Unfit(reason) => write!(f, "the question has no answer: {reason}"),
        }
    }
}

impl std::error::Error for AskError {}
