//! Questions of servers to the user, put by the asker of the call that they belong to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::text;
use crate::context::ask::is_page;
use crate::context::{Answer, Question, QuestionForm, ToolContext};
use crate::mcp::elicitation::{ELICITATION, result_of};
use crate::text::cut;
use crate::validate::{ValidationLimits, conforms};

/// The maximum number of times that a server asks within one call.
const MAX_ROUNDS: u32 = 16;

/// The maximum number of questions at once.
const MAX_QUESTIONS: usize = 16;

/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 64;

/// The maximum length of a message, in bytes.
const MAX_MESSAGE: usize = 4096;

/// The number of times that the user is asked for an answer that fits.
const ATTEMPTS: usize = 3;

/// The capabilities that are declared where a user can be asked.
pub(super) fn capabilities() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} } })
}

/// A request of a server for input, in place of the result of a call.
#[derive(Debug, Default)]
pub(super) struct InputRequired {
    pub(super) requests: Map<String, Value>,
    pub(super) state: Option<String>,
    /// `true` if it is the data of an error: the answers are not sent.
    pub(super) of_error: bool,
}

impl InputRequired {
    /// Returns the pages that a server of an older version wants opened before it takes a call, by
    /// the data of its error. The call is then made again as it was.
    pub(super) fn of_pages(data: &Value) -> Option<Self> {
        let pages = data.get("elicitations")?.as_array()?.iter().take(MAX_QUESTIONS);
        let request = |page: &Value| json!({ "method": ELICITATION, "params": page });
        let numbered = pages.enumerate().map(|(at, page)| (at.to_string(), request(page)));
        let requests: Map<String, Value> = numbered.collect();
        (!requests.is_empty()).then_some(Self { requests, state: None, of_error: true })
    }
}

/// The answers with which a call is made again.
#[derive(Debug, Clone, Default)]
pub(super) struct InputAnswers {
    pub(super) responses: Option<BTreeMap<String, Value>>,
    pub(super) state: Option<String>,
}

/// The maximum number of sign-ins within one call.
#[cfg(feature = "mcp-oauth")]
const MAX_SIGN_INS: u32 = 2;

/// The rounds of one call.
#[derive(Default)]
pub(super) struct CallRounds {
    rounds: u32,
    #[cfg(feature = "mcp-oauth")]
    sign_ins: u32,
}

impl CallRounds {
    pub(super) fn is_first(&self) -> bool {
        self.rounds == 0
    }

    /// Counts one more sign-in; returns `false` if there were too many.
    #[cfg(feature = "mcp-oauth")]
    pub(super) fn signs_in(&mut self) -> bool {
        self.sign_ins += 1;
        self.sign_ins <= MAX_SIGN_INS
    }

    /// Answers a request for input. Returns `None` if it cannot be answered: nobody is there, it is
    /// not for the user, or there were too many.
    pub(super) async fn answer(
        &mut self,
        server: &str,
        required: &InputRequired,
        context: &ToolContext,
    ) -> Option<InputAnswers> {
        self.rounds += 1;
        let asks_user =
            |request: &Value| request.get("method").is_some_and(|method| method == ELICITATION);
        let InputRequired { requests, state, of_error } = required;
        if self.rounds > MAX_ROUNDS
            || requests.len() > MAX_QUESTIONS
            || !requests.values().all(asks_user)
            || !(requests.is_empty() || context.can_ask())
        {
            return None;
        }
        if requests.is_empty() {
            // The server needs time, and nothing else.
            let pause = Duration::from_millis(100).saturating_mul(1 << self.rounds.min(5));
            tokio::time::sleep(pause).await;
            return state.clone().map(|state| InputAnswers { responses: None, state: Some(state) });
        }
        let mut responses = BTreeMap::new();
        for (key, request) in requests {
            let params = request.get("params").cloned().unwrap_or_default();
            responses.insert(key.clone(), elicit(server, params, context).await);
        }
        if *of_error {
            let agrees = |answer: &Value| answer["action"] == "accept";
            return responses.values().all(agrees).then(InputAnswers::default);
        }
        Some(InputAnswers { responses: Some(responses), state: state.clone() })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ElicitParams {
    #[serde(default)]
    mode: Option<String>,
    message: String,
    #[serde(default)]
    requested_schema: Option<Value>,
    #[serde(default)]
    url: Option<String>,
}

/// Puts one question of a server, and returns the result in the form of the protocol.
pub(super) async fn elicit(server: &str, params: Value, context: &ToolContext) -> Value {
    let question = match read(server, params, context) {
        Ok(question) => question,
        Err(reason) => {
            tracing::warn!(server, reason, "a question of a server is not put to the user");
            return json!({ "action": "decline" });
        }
    };
    let message = question.message.clone();
    let mut question = question;
    for _ in 0..ATTEMPTS {
        if !context.can_ask() {
            break;
        }
        let answer = context.answer_to(question.clone()).await;
        let result = with_defaults(result_of(&question, &answer), &question.form);
        let (QuestionForm::Fields(schema), Answer::Accepted(_)) = (&question.form, &answer) else {
            return result;
        };
        let filled = result.get("content").map(Value::to_string).unwrap_or_default();
        let limits = ValidationLimits::default();
        let faults = conforms(&filled, schema, schema, "", &limits);
        let Some(fault) = faults.first() else { return result };
        let fault = text::clean(cut(&fault.to_string(), 300)).into_owned();
        question.message = format!("{message}\n\nThe last answer does not fit: {fault}");
    }
    json!({ "action": "cancel" })
}

/// Reads a question, or returns why it is not put.
fn read(server: &str, params: Value, context: &ToolContext) -> Result<Question, String> {
    let params = ElicitParams::deserialize(params).map_err(|error| error.to_string())?;
    let form = match (params.mode.as_deref(), params.requested_schema, params.url) {
        (None | Some("form"), Some(mut schema), _) => {
            if let Some(field) = unfit_field(&schema) {
                return Err(field);
            }
            text::clean_schema(&mut schema);
            QuestionForm::Fields(schema)
        }
        (Some("url"), _, Some(url)) if is_page(&url) => QuestionForm::Url(url),
        (Some("url"), _, _) => return Err("its URL is not one of `https`".to_owned()),
        _ => return Err("it is neither a form nor a URL".to_owned()),
    };
    let message = text::clean(cut(&params.message, MAX_MESSAGE)).into_owned();
    let mut question = Question::new(message, form, context.clone());
    question.server = Some(server.to_owned());
    Ok(question)
}

/// Returns why a form is not shown: it is none of plain fields, or asks for a secret.
fn unfit_field(schema: &Value) -> Option<String> {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return Some("its form has no fields".to_owned());
    };
    if fields.len() > MAX_FIELDS {
        return Some(format!("its form has {} fields", fields.len()));
    }
    let unfit = |(name, schema): (&String, &Value)| {
        let shown = text::clean(cut(name, 100)).into_owned();
        let is_plain = schema.get("type").and_then(Value::as_str).is_some_and(|kind| {
            matches!(kind, "string" | "number" | "integer" | "boolean" | "array")
        });
        if !is_plain || schema.get("properties").is_some() {
            return Some(format!("its field `{shown}` is not a plain one"));
        }
        is_secret(name, schema).then(|| format!("its field `{shown}` asks for a secret"))
    };
    fields.iter().find_map(unfit)
}

/// Returns `true` if a field asks for something that must not pass through a form.
fn is_secret(name: &str, schema: &Value) -> bool {
    const WORDS: [&str; 17] = [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "secret",
        "apikey",
        "accesskey",
        "privatekey",
        "accesstoken",
        "authtoken",
        "bearertoken",
        "refreshtoken",
        "creditcard",
        "cardnumber",
        "cvv",
        "seedphrase",
        "pincode",
    ];
    const WHOLE: [&str; 5] = ["pin", "otp", "token", "cvc", "iban"];
    let marked = schema.get("format").is_some_and(|format| format == "password")
        || schema.get("writeOnly").is_some_and(|mark| *mark == Value::Bool(true));
    let texts = ["title", "description"].map(|key| schema.get(key).and_then(Value::as_str));
    let folded = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let name = folded(name);
    let title = texts[0].map(folded).unwrap_or_default();
    let description = texts[1].map(folded).unwrap_or_default();
    marked
        || WHOLE.iter().any(|word| name == *word || title == *word)
        || WORDS
            .iter()
            .any(|word| [&name, &title, &description].iter().any(|text| text.contains(word)))
}

/// Fills fields without a value from the defaults of their schema.
fn with_defaults(mut result: Value, form: &QuestionForm) -> Value {
    let QuestionForm::Fields(schema) = form else { return result };
    let fields = schema.get("properties").and_then(Value::as_object);
    if let Some(content) = result.get_mut("content").and_then(Value::as_object_mut) {
        for (name, field) in fields.into_iter().flatten() {
            if let Some(default) = field.get("default").filter(|_| !content.contains_key(name)) {
                content.insert(name.clone(), default.clone());
            }
        }
    }
    result
}
