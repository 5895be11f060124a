//! The form of the text that a tool takes in place of JSON.

use serde::{Deserialize, Serialize};

/// The form of the text that a tool takes in place of JSON: code, a query, a patch.
///
/// `OpenAI` Responses has such tools (`custom`), and keeps the model to the grammar. A tool is sent
/// as one if its only argument is a required text named `input`; that argument gets the text. Other
/// tools, and other providers, keep the schema, and the grammar is among the losses.
///
/// ```
/// use serde_json::json;
/// use toolbox::definition::Grammar;
/// use toolbox::dialect::{Dialect, lower};
/// use toolbox::{Tool, tool};
///
/// /// Runs a query.
/// #[tool]
/// fn query(input: &str) -> String {
///     format!("no rows for {input}")
/// }
///
/// let query = query::tool().with_grammar(Grammar::Regex("SELECT .+".to_owned()));
/// let lowered = lower(query.definition(), Dialect::OpenAiResponses);
/// let format = json!({"type": "grammar", "syntax": "regex", "definition": "SELECT .+"});
/// assert_eq!(lowered.tool["format"], format);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "syntax", content = "definition")]
#[non_exhaustive]
pub enum Grammar {
    /// Any text.
    Text,
    /// A grammar in the syntax of Lark.
    Lark(String),
    /// A regular expression, in the syntax of Rust.
    Regex(String),
}
