//! Conversion of return values of tools into results.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::call::items::{Collected, JsonOf};
use crate::call::{Content, FailureKind, ToolError, ToolResult};
use crate::schema;

/// A value that is a tool's result by itself: text, content, a whole [`ToolResult`], or a `Result`
/// of one.
///
/// Functions with `#[tool]` may return more: any `Serialize` type. Implement this to decide how a
/// type of your own is written for the model.
///
/// ```
/// use toolbox::ToolResult;
/// use toolbox::call::IntoToolResult;
///
/// struct Table(Vec<[u32; 2]>);
///
/// impl IntoToolResult for Table {
///     fn into_tool_result(self) -> ToolResult {
///         let rows = self.0.iter().map(|[a, b]| format!("{a}\t{b}"));
///         ToolResult::new(rows.collect::<Vec<_>>().join("\n"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no result of a tool",
    label = "the model cannot read this",
    note = "return `String`, `Content`, `ToolResult`, or a `Result` of one, or implement `toolbox::call::IntoToolResult`",
    note = "if this is the future of an async closure, attach that with `call_async`"
)]
pub trait IntoToolResult {
    /// Returns the result of the call.
    fn into_tool_result(self) -> ToolResult;

    /// Returns the JSON Schema of the result, if its text is JSON that fits one.
    #[must_use]
    fn output_schema() -> Option<Value>
    where
        Self: Sized,
    {
        None
    }

    /// Puts the value among the items of a stream.
    #[doc(hidden)]
    fn put_into(self, items: &mut Collected)
    where
        Self: Sized,
    {
        items.put(self.into_tool_result());
    }
}

impl IntoToolResult for ToolResult {
    #[inline]
    fn into_tool_result(self) -> ToolResult {
        self
    }
}

impl IntoToolResult for String {
    #[inline]
    fn into_tool_result(self) -> ToolResult {
        ToolResult::new(self)
    }

    fn put_into(self, items: &mut Collected) {
        items.put_text(&self);
    }
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> ToolResult {
                ToolResult::new(String::from(self))
            }

            fn put_into(self, items: &mut Collected) {
                items.put_text(&self);
            }
        }
    )*};
}

texts!(&str, Box<str>, Cow<'_, str>);

impl IntoToolResult for char {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::new(self)
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            #[inline]
            fn into_tool_result(self) -> ToolResult {
                ToolResult::structured(self.to_string())
            }

            fn output_schema() -> Option<Value> {
                Some(serde_json::json!({ "type": "integer" }))
            }

            #[inline]
            fn put_into(self, items: &mut Collected) {
                items.put_scalar(itoa::Buffer::new().format(self));
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl IntoToolResult for bool {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::structured(self.to_string())
    }

    fn output_schema() -> Option<Value> {
        Some(serde_json::json!({ "type": "boolean" }))
    }

    fn put_into(self, items: &mut Collected) {
        items.put_scalar(if self { "true" } else { "false" });
    }
}

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            #[inline]
            fn into_tool_result(self) -> ToolResult {
                if self.is_finite() {
                    return ToolResult::structured(self.to_string());
                }
                let text = format!("the tool's output is {self}, which is no number in JSON");
                ToolResult::failure(FailureKind::InvalidOutput, text)
            }

            fn output_schema() -> Option<Value> {
                Some(serde_json::json!({ "type": "number" }))
            }
        }
    )*};
}

floats!(f32, f64);

impl IntoToolResult for Value {
    fn into_tool_result(self) -> ToolResult {
        match self {
            Self::String(text) => ToolResult::new(text),
            value => ToolResult::json(value.to_string()),
        }
    }

    fn put_into(self, items: &mut Collected) {
        match self {
            Self::String(text) => items.put_text(&text),
            value => items.put_json(
                &value,
                JsonOf::Any,
                |_| true,
                |value| ToolResult::json(value.to_string()),
            ),
        }
    }
}

impl IntoToolResult for Arc<str> {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::new(self.as_ref())
    }
}

macro_rules! shared {
    ($($shared:ident),*) => {$(
        /// What the pointer points at, which others may hold too.
        #[diagnostic::do_not_recommend]
        impl<T: Serialize + JsonSchema> IntoToolResult for $shared<T> {
            fn into_tool_result(self) -> ToolResult {
                structured(&*self)
            }

            fn output_schema() -> Option<Value> {
                (!schema::is_text::<T>()).then(schema::for_output::<T>)
            }
        }
    )*};
}

shared!(Arc, Rc);

impl IntoToolResult for () {
    /// Some providers refuse an empty result, so the result has a text.
    fn into_tool_result(self) -> ToolResult {
        ToolResult::new("ok")
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> ToolResult {
        self.into()
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> ToolResult {
        self.into()
    }
}

impl<T: IntoToolResult> IntoToolResult for Option<T> {
    fn into_tool_result(self) -> ToolResult {
        self.map_or_else(|| ToolResult::new("null"), T::into_tool_result)
    }
}

impl IntoToolResult for ToolError {
    fn into_tool_result(self) -> ToolResult {
        self.into()
    }
}

impl<T: IntoToolResult, E: IntoToolFailure> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> ToolResult {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => error.into_tool_failure(),
        }
    }

    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn put_into(self, items: &mut Collected) {
        match self {
            Ok(value) => value.put_into(items),
            Err(error) => items.put(error.into_tool_failure()),
        }
    }
}

/// An error that a closure may return; `#[tool]` functions may return any `Display`.
///
/// ```
/// use toolbox::call::IntoToolFailure;
/// use toolbox::{Tool, ToolResult};
///
/// struct Closed;
///
/// impl IntoToolFailure for Closed {
///     fn into_tool_failure(self) -> ToolResult {
///         ToolResult::error("the shop is closed until nine")
///     }
/// }
///
/// let tool = Tool::new("order", "Orders").call(|_| Err::<String, _>(Closed));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no error of a tool",
    label = "the model cannot read this as a failure",
    note = "return `String`, `toolbox::ToolError` or `Box<dyn std::error::Error + Send + Sync>`, which `?` turns any error into; or implement `toolbox::call::StructuredError` for `{Self}`",
    note = "functions with `#[tool]` may return any error that implements `Display`"
)]
pub trait IntoToolFailure {
    /// Returns the failure that the model receives.
    fn into_tool_failure(self) -> ToolResult;
}

/// An error whose fields are data for programs: it is serialized beside its message.
///
/// Implement it for an error type of your own, and return that from a tool. The model reads what
/// the error and its sources display; programs find the data in [`ToolResult::error_data`] and in
/// the events of agents, MCP clients in `structuredContent`.
///
/// ```
/// use serde::Serialize;
/// use toolbox::{tool, tools, ToolBox, ToolCall};
/// use toolbox::call::StructuredError;
///
/// #[derive(Debug, Serialize)]
/// #[serde(tag = "code", rename_all = "snake_case")]
/// enum BankError {
///     TooLittle { balance: u32 },
/// }
///
/// impl std::fmt::Display for BankError {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         let Self::TooLittle { balance } = self;
///         write!(f, "there are only {balance} in the account")
///     }
/// }
///
/// impl std::error::Error for BankError {}
/// impl StructuredError for BankError {}
///
/// /// Pays a sum out.
/// #[tool]
/// fn pay(sum: u32) -> Result<u32, BankError> {
///     sum.checked_sub(10).ok_or(BankError::TooLittle { balance: sum })
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let result = ToolBox::from(tools![pay]).call(ToolCall::new("1", "pay", r#"{"sum":3}"#)).await;
/// assert_eq!(result.text(), "there are only 3 in the account");
/// assert_eq!(result.error_data(), Some(&serde_json::json!({"code": "too_little", "balance": 3})));
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` gives no data with its message",
    label = "this is not an error with data",
    note = "implement `std::error::Error` and `serde::Serialize` for `{Self}`, and then `toolbox::call::StructuredError`"
)]
pub trait StructuredError: Error + Serialize + Send + Sync + Sized + 'static {
    /// Returns the kind of failure. Default: [reported](FailureKind::Reported), which the model can
    /// act on.
    fn kind(&self) -> FailureKind {
        FailureKind::Reported
    }
}

#[diagnostic::do_not_recommend]
impl<E: StructuredError> IntoToolFailure for E {
    fn into_tool_failure(self) -> ToolResult {
        let (kind, data) = (self.kind(), serde_json::to_value(&self).ok());
        let failure = ToolResult::failure(kind, crate::call::error::chain(&self)).with_error(self);
        match data {
            Some(data) => failure.with_structured_content(data),
            None => failure,
        }
    }
}

impl IntoToolFailure for ToolError {
    fn into_tool_failure(self) -> ToolResult {
        self.into()
    }
}

impl IntoToolFailure for String {
    fn into_tool_failure(self) -> ToolResult {
        ToolResult::error(self)
    }
}

impl IntoToolFailure for &str {
    fn into_tool_failure(self) -> ToolResult {
        ToolResult::error(self)
    }
}

impl IntoToolFailure for Box<dyn Error + Send + Sync> {
    fn into_tool_failure(self) -> ToolResult {
        reported(Arc::from(self))
    }
}

impl IntoToolFailure for std::convert::Infallible {
    fn into_tool_failure(self) -> ToolResult {
        match self {}
    }
}

macro_rules! errors {
    ($($type:ty),*) => {$(
        impl IntoToolFailure for $type {
            fn into_tool_failure(self) -> ToolResult {
                reported(Arc::new(self))
            }
        }
    )*};
}

errors!(
    std::io::Error,
    std::fmt::Error,
    serde_json::Error,
    std::num::ParseIntError,
    std::num::ParseFloatError,
    std::str::Utf8Error,
    std::string::FromUtf8Error
);

/// Reports an error to the model, with the causes behind it, and keeps it for logs.
pub(crate) fn reported(error: crate::call::SharedError) -> ToolResult {
    ToolResult::error(crate::call::chain(error.as_ref())).with_source(error)
}

/// Reports a value that can only be displayed; the alternate form shows the causes of `anyhow`-like
/// errors.
pub(crate) fn displayed(error: &dyn Display) -> ToolResult {
    ToolResult::error(format!("{error:#}"))
}

/// Returns the content of JSON text that is a string, and any other JSON text unchanged: text of
/// any type is written without quotes.
pub(crate) fn unquoted(json: String) -> String {
    match json.starts_with('"').then(|| serde_json::from_str(&json)) {
        Some(Ok(text)) => text,
        _ => json,
    }
}

/// Returns the result of a value whose JSON fits the schema of its type; text is told as it is.
pub(crate) fn structured<T: Serialize + JsonSchema>(value: &T) -> ToolResult {
    let finish = |json: String| match json.as_bytes().first() {
        Some(b'"' | b'n') if schema::is_text::<T>() => ToolResult::new(unquoted(json)),
        _ => ToolResult::typed(json),
    };
    serialized(value).map_or_else(|failure| failure, finish)
}

/// Puts a value with a schema among the items of a stream.
pub(crate) fn put_structured<T: Serialize + JsonSchema>(value: &T, items: &mut Collected) {
    let is_json = |first| !matches!(first, b'"' | b'n') || !schema::is_text::<T>();
    items.put_json(value, JsonOf::Schema, is_json, structured);
}

/// Writes a value as the JSON text of a result.
pub(crate) fn serialized<T: serde::Serialize>(value: &T) -> Result<String, ToolResult> {
    serde_json::to_string(value).map_err(|error| {
        ToolResult::failure(
            FailureKind::InvalidOutput,
            format!("the tool's output cannot be written as JSON: {error}"),
        )
        .with_error(error)
    })
}
