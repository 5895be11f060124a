//! The whole of a result as JSON, to return from another process at once.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::chain;
use super::result::{StoredResult, StoredResultRef, ToolResult};
use super::tool_call::Arguments;

/// A result, to be sent: its stored form, and what no transcript keeps.
#[derive(Debug, Serialize)]
pub(crate) struct CarriedResultRef<'a> {
    stored: StoredResultRef<'a>,
    /// `true` if the text is JSON, which must not be cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    json: bool,
    /// The underlying error as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<&'a str>,
}

/// A result, as it was received.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CarriedResult<'a> {
    stored: StoredResult,
    #[serde(default)]
    json: bool,
    #[serde(default)]
    source: Option<String>,
    #[serde(default, borrow)]
    edited: Option<Cow<'a, str>>,
}

/// The error below a result of another process.
#[derive(Debug)]
struct RemoteError(String);

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RemoteError {}

impl<'a> From<&'a ToolResult> for CarriedResultRef<'a> {
    fn from(result: &'a ToolResult) -> Self {
        Self {
            stored: result.into(),
            json: result.is_json(),
            source: result.source().map(|source| chain(source.as_ref())),
            edited: result.edited().map(Arguments::as_str),
        }
    }
}

impl From<CarriedResult<'_>> for ToolResult {
    fn from(carried: CarriedResult<'_>) -> Self {
        let mut result = Self::from(carried.stored);
        if carried.json {
            result = result.marked_as_json();
        }
        if let Some(source) = carried.source {
            result = result.with_source(Arc::new(RemoteError(source)));
        }
        match carried.edited {
            Some(edited) => result.with_edited(Arguments::from(edited.into_owned())),
            None => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Content, FailureKind, FaultKind, JobId, Repair};

    /// Every fact of a result, also those that `PartialEq` leaves out.
    fn facts(result: &ToolResult) -> String {
        format!(
            "{:?}",
            (
                (result.content(), result.text(), result.own_user_text(), result.is_json()),
                (result.is_error(), result.is_silent(), result.is_pending(), result.is_of_gate()),
                (result.failure_kind(), result.code(), result.source().map(ToString::to_string)),
                (result.structured_content(), result.structured_text(), result.error_data()),
                (result.meta(), result.references(), result.repairs(), result.edited()),
                (result.omitted_bytes(), result.job(), result.handle()),
            )
        )
    }

    #[track_caller]
    fn returns(result: &ToolResult) {
        let text = serde_json::to_string(&CarriedResultRef::from(result)).unwrap();
        let carried: CarriedResult<'_> = serde_json::from_str(&text).unwrap();
        let back = ToolResult::from(carried);
        assert_eq!(facts(&back), facts(result), "{text}");
        assert_eq!(&back, result);
    }

    #[test]
    fn every_fact_of_a_result_returns() {
        returns(&ToolResult::new(""));
        returns(&ToolResult::from(Vec::new()));
        returns(&ToolResult::structured("{\"a\":1.0}".into()));
        returns(&ToolResult::json("[1]".into()));
        returns(&ToolResult::background("later").with_job(JobId::new()));
        for kind in FailureKind::ALL {
            returns(&ToolResult::failure(kind, "no").with_structured_content(()));
            returns(&ToolResult::refusal(kind, "no"));
        }
        for fault in FaultKind::ALL {
            let failure = ToolResult::failure(FailureKind::InvalidArguments, "no");
            returns(&failure.with_code(fault.code()));
        }
        let mut whole = ToolResult::user("a")
            .with_error(std::io::Error::other("below"))
            .with_edited(Arguments::from("{ \"a\" : \"\\n\" }"))
            .with_references(vec!["b".into()])
            .with_structured_content(serde_json::json!({"z": 1, "a": [null, 0.1]}))
            .with_meta("x/y", 3);
        whole.set_handle("r7".to_owned());
        whole.note_repairs(vec![Repair::new("p", "w")]);
        returns(&whole);
        returns(&ToolResult::from(vec![Content::text("a"), Content::image(b"b", "image/png")]));
    }

    #[test]
    fn another_shape_is_no_result() {
        for text in
            [r#"{"stored":{"content":[]},"secret":true}"#, "{}", "[]", r#"{"stored":{}}"#, "null"]
        {
            assert!(serde_json::from_str::<CarriedResult<'_>>(text).is_err(), "{text}");
        }
    }
}
