//! Calls, with their arguments as JSON text.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;

/// One call that a model wants made: an id, a tool's name, and the arguments as JSON text.
///
/// Reads from what providers send: `OpenAI`'s
/// `{"id", "type", "function": {"name", "arguments": "…"}}` and the flat
/// `{"id", "name", "arguments"}`, with the arguments as JSON text or as an object. Writes the flat
/// form.
///
/// ```
/// use toolbox::ToolCall;
///
/// let wire = r#"{
///     "id": "call_1",
///     "type": "function",
///     "function": {"name": "greet", "arguments": "{\"name\":\"World\"}"}
/// }"#;
/// let call: ToolCall = serde_json::from_str(wire)?;
/// assert_eq!(call, ToolCall::new("call_1", "greet", r#"{"name":"World"}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCall {
    /// The id that ties the result to the call, as the provider sent it.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments: JSON text, valid or not.
    pub arguments: Arguments,
    /// The line of the calling script at which the call stands, from 1; `None` for a call of a
    /// model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl From<&ToolCall> for ToolCall {
    fn from(call: &ToolCall) -> Self {
        call.clone()
    }
}

impl ToolCall {
    /// Returns a call from its three parts.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Arguments>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), line: None }
    }

    /// Returns the call at a line of the script that makes it, from 1.
    ///
    /// Events say the line ([`Event::line`](crate::event::Event::line)), and so does the context of
    /// the call ([`ToolContext::line`](crate::ToolContext::line)). It changes nothing else.
    ///
    /// ```
    /// use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};
    ///
    /// /// Returns the line of the script that calls.
    /// #[tool]
    /// fn line(context: &ToolContext) -> Option<u32> {
    ///     context.line()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let call = ToolCall::new("script-1", "line", "{}").at_line(Some(7));
    /// assert_eq!(ToolBox::from(tools![line]).call(call).await.text(), "7");
    /// # }
    /// ```
    #[must_use]
    pub fn at_line(mut self, line: Option<u32>) -> Self {
        self.line = line;
        self
    }
}

/// Reads the line of a call: a stranger's call may have anything under that name, and is one all
/// the same.
pub(crate) fn line_or_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_u64().and_then(|line| u32::try_from(line).ok()).filter(|&line| line > 0))
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct ToolCallIn {
            #[serde(default)]
            id: String,
            name: Option<String>,
            #[serde(default)]
            arguments: Arguments,
            #[serde(default, deserialize_with = "line_or_none")]
            line: Option<u32>,
            function: Option<FunctionIn>,
        }
        #[derive(Deserialize)]
        struct FunctionIn {
            name: String,
            #[serde(default)]
            arguments: Arguments,
        }
        let wire = ToolCallIn::deserialize(deserializer)?;
        match (wire.function, wire.name) {
            (Some(function), _) => Ok(Self::new(wire.id, function.name, function.arguments)),
            (None, Some(name)) => Ok(Self::new(wire.id, name, wire.arguments).at_line(wire.line)),
            (None, None) => Err(serde::de::Error::missing_field("name")),
        }
    }
}

/// The arguments of a call: the JSON text that the model wrote, untouched.
///
/// Serializes as a string that holds the text.
///
/// ```
/// use serde_json::json;
/// use toolbox::call::Arguments;
///
/// let arguments = Arguments::from(json!({"city": "Paris"}));
/// assert_eq!(arguments.as_str(), r#"{"city":"Paris"}"#);
/// let (city,): (String,) = (arguments.parse::<serde_json::Value>().unwrap()["city"].to_string(),);
/// assert_eq!(city, "\"Paris\"");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Arguments(String);

impl Arguments {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }

    /// Reads the text into a type of your own.
    ///
    /// # Errors
    ///
    /// The error of `serde_json` if the text does not fit.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(&self.0)
    }
}

/// Types that can be the arguments of a call made by the program: JSON text, or a value to
/// serialize.
///
/// ```
/// use serde_json::json;
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let toolbox = ToolBox::from(tools![add]);
/// assert_eq!(toolbox.execute("add", r#"{"a": 2, "b": 3}"#).await, Ok("5".to_owned()));
/// assert_eq!(toolbox.execute("add", json!({"a": 2, "b": 4})).await, Ok("6".to_owned()));
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a call",
    label = "this is neither JSON text nor an object",
    note = "give JSON text (`&str`, `Arguments`), a `serde_json::Value`, or a map of them"
)]
pub trait AsArguments {
    /// Returns the JSON text.
    fn as_arguments(&self) -> Cow<'_, str>;
}

impl AsArguments for str {
    #[inline]
    fn as_arguments(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

impl AsArguments for String {
    fn as_arguments(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

impl AsArguments for Arguments {
    fn as_arguments(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl AsArguments for Value {
    fn as_arguments(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl<S: BuildHasher> AsArguments for HashMap<String, Value, S> {
    fn as_arguments(&self) -> Cow<'_, str> {
        let entries: Vec<String> = self
            .iter()
            .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
            .collect();
        Cow::Owned(format!("{{{}}}", entries.join(",")))
    }
}

impl<T: AsArguments + ?Sized> AsArguments for &T {
    #[inline]
    fn as_arguments(&self) -> Cow<'_, str> {
        (**self).as_arguments()
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<&Value> for Arguments {
    fn from(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}

impl<'de> Deserialize<'de> for Arguments {
    /// Takes a string as the text itself, and any other JSON value as its own text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get().starts_with('"') {
            let text: Cow<'_, str> =
                serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
            return Ok(Self(text.into_owned()));
        }
        Ok(Self(String::from(Box::<str>::from(raw))))
    }
}
