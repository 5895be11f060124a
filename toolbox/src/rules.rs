//! The rules of types that derive `Validate`, as checks of arguments (features `garde` and
//! `validator`).
//!
//! `#[arg(check = toolbox::rules::garde)]` runs the rules of an argument, of the structs in it and
//! of their lists, before approval and before the tool. What they refuse stands in the list of
//! faults, each with the path of its value in the JSON.

#[cfg(feature = "validator")]
use crate::call::Violations;

/// Runs the rules of a type that derives `garde::Validate`.
///
/// ```
/// use garde::Validate;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolbox::{ToolBox, ToolCall, tool, tools};
///
/// #[derive(Deserialize, JsonSchema, Validate)]
/// #[serde(rename_all = "camelCase")]
/// struct Guest {
///     #[garde(length(min = 2))]
///     full_name: String,
///     #[garde(range(max = 12))]
///     nights: u32,
/// }
///
/// /// Books rooms.
/// #[tool]
/// fn book(#[arg(check = toolbox::rules::garde)] guests: Vec<Guest>) -> usize {
///     guests.len()
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let arguments = r#"{"guests":[{"fullName":"Ada","nights":99}]}"#;
/// let result = ToolBox::from(tools![book]).call(ToolCall::new("1", "book", arguments)).await;
/// assert!(result.text().contains("`guests[0].nights`"));
/// # }
/// ```
///
/// # Errors
///
/// What the rules refuse.
#[cfg(feature = "garde")]
pub fn garde<T>(value: &T) -> Result<(), crate::call::Violations>
where
    T: ::garde::Validate<Context: Default> + ?Sized,
{
    let mut report = ::garde::Report::new();
    let context = Default::default();
    value.validate_into(&context, &mut ::garde::Path::empty, &mut report);
    let all = report
        .iter()
        .fold(crate::call::Violations::new(), |all, (path, error)| all.at(path.to_string(), error));
    all.into_result()
}

/// Runs the rules of a type that derives `validator::Validate`.
///
/// A rule without a message is named with its bounds: `must keep the rule length (min 2)`.
///
/// # Errors
///
/// What the rules refuse.
#[cfg(feature = "validator")]
pub fn validator<T: ::validator::Validate + ?Sized>(value: &T) -> Result<(), Violations> {
    let Err(errors) = value.validate() else { return Ok(()) };
    let mut found = Vec::new();
    collect(&errors, "", &mut found);
    // The errors are in a map without an order.
    found.sort();
    let all =
        found.into_iter().fold(Violations::new(), |all, (path, message)| all.at(path, message));
    all.into_result()
}

#[cfg(feature = "validator")]
fn collect(errors: &::validator::ValidationErrors, path: &str, found: &mut Vec<(String, String)>) {
    use ::validator::ValidationErrorsKind;
    for (name, kind) in errors.errors() {
        let path = match (&**name, path) {
            // Rules of the struct as a whole, and the items of a list, have no field.
            ("__all__" | "_tmp_validator", path) => path.to_owned(),
            (name, "") => name.to_owned(),
            (name, path) => format!("{path}.{name}"),
        };
        match kind {
            ValidationErrorsKind::Struct(inner) => collect(inner, &path, found),
            ValidationErrorsKind::List(items) => {
                for (index, inner) in items {
                    collect(inner, &format!("{path}[{index}]"), found);
                }
            }
            ValidationErrorsKind::Field(all) => {
                found.extend(all.iter().map(|error| (path.clone(), message(error))));
            }
        }
    }
}

/// Returns the message of a rule, or its name with its bounds.
#[cfg(feature = "validator")]
fn message(error: &::validator::ValidationError) -> String {
    if let Some(message) = &error.message {
        return message.clone().into_owned();
    }
    let mut bounds: Vec<String> = error
        .params
        .iter()
        .filter(|(name, _)| *name != "value")
        .map(|(name, bound)| format!("{name} {bound}"))
        .collect();
    bounds.sort();
    let bounds =
        if bounds.is_empty() { String::new() } else { format!(" ({})", bounds.join(", ")) };
    format!("must keep the rule {}{bounds}", error.code)
}
