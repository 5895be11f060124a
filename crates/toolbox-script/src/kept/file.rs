//! The file of a kept script: a comment with JSON, above the script.

use serde::{Deserialize, Serialize};
use serde_json::Value;

const OPENS: &str = "/* toolbox-script ";
const CLOSES: &str = "*/";

/// The comment at the beginning of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) description: String,
    pub(super) input_schema: Value,
    #[serde(default)]
    pub(super) tools: Vec<String>,
}

impl Header {
    pub(super) fn begins(text: &str) -> bool {
        text.starts_with(OPENS)
    }

    /// Reads the comment of a file.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let json = text.strip_prefix(OPENS).and_then(|rest| Some(rest.split_once(CLOSES)?.0));
        let json = json.ok_or_else(|| format!("it does not begin with `{OPENS}{{…}} {CLOSES}`"))?;
        serde_json::from_str(json).map_err(|error| format!("its first comment: {error}"))
    }

    /// Returns a file of this comment and a script.
    pub(super) fn above(&self, script: &str) -> String {
        // Serializing such a value cannot fail.
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        // In JSON, `*/` stands in strings alone, where `/` has another spelling.
        let json = json.replace(CLOSES, "*\\/");
        format!("{OPENS}{json} {CLOSES}\n{}\n", script.trim_end())
    }
}
