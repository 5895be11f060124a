//! The whole of a result as JSON, to leave the process and return.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{Extra, Flags, ResultParts, ToolResult};
use crate::call::{Arguments, Content, FailureKind, JobId, Repair, chain};

/// A [`ToolResult`] as it crosses processes: everything but the id of its call, with the underlying
/// error as text.
///
/// What a transcript stores is less: this form has the structured content, the `_meta`, the repairs
/// and the code of a failure as well.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, each with a name of its own")]
pub(crate) struct CarriedResult<'a> {
    content: Cow<'a, [Content]>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    silent: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pending: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_structured: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_json: bool,
    /// The code of the kind of failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Cow<'a, str>>,
    /// The code of the failure, where it is not that of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    of_gate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    for_user: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    references: Cow<'a, [String]>,
    #[serde(default, skip_serializing_if = "is_zero")]
    omitted_bytes: usize,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    structured: Option<Cow<'a, Value>>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Cow<'a, Map<String, Value>>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_empty(names: &[String]) -> bool {
    names.is_empty()
}

/// Reads a value that is there, even if it is null.
fn present<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Cow<'static, Value>>, D::Error> {
    Value::deserialize(source).map(|value| Some(Cow::Owned(value)))
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

impl<'a> CarriedResult<'a> {
    /// Borrows everything that crosses processes.
    pub(crate) fn of(result: &'a ToolResult) -> Self {
        let flags = result.flags;
        let kind = result.failure_kind().map(FailureKind::code);
        let mut carried = Self {
            content: Cow::Borrowed(result.content()),
            silent: flags.silent,
            pending: flags.pending,
            is_structured: flags.structured,
            is_json: flags.json,
            kind: kind.map(Cow::Borrowed),
            ..Self::default()
        };
        let Some(extra) = &result.extra else { return carried };
        carried.code = extra.code.filter(|code| Some(*code) != kind).map(Cow::Borrowed);
        carried.of_gate = extra.of_gate;
        carried.for_user = extra.for_user.as_deref().map(Cow::Borrowed);
        carried.source = extra.source.as_ref().map(|source| chain(source.as_ref()));
        carried.repairs = extra
            .repairs
            .iter()
            .map(|repair| (Cow::Borrowed(&*repair.path), Cow::Borrowed(&*repair.what)))
            .collect();
        carried.job = extra.job.as_ref().map(|job| Cow::Borrowed(job.as_str()));
        carried.edited = extra.edited.as_ref().map(|edited| Cow::Borrowed(edited.as_str()));
        carried.references = Cow::Borrowed(&extra.references);
        carried.omitted_bytes = extra.omitted_bytes;
        carried.structured = extra.structured.as_ref().map(Cow::Borrowed);
        carried.meta = Some(&extra.meta).filter(|meta| !meta.is_empty()).map(Cow::Borrowed);
        carried
    }

    /// Returns the result, without the id of a call.
    pub(crate) fn into_result(self) -> ToolResult {
        let kind = self.kind.as_deref().map(|code| FailureKind::of_code(code).0);
        let code = self.code.as_deref().map(|code| FailureKind::of_code(code).1);
        let mut parts = self.content.into_owned();
        let content = match (parts.pop(), parts.is_empty()) {
            (Some(only), true) => ResultParts::One(only),
            (last, _) => {
                parts.extend(last);
                ResultParts::Many(parts)
            }
        };
        let flags = Flags {
            silent: self.silent,
            error: kind.is_some(),
            pending: self.pending,
            structured: self.is_structured,
            json: self.is_json,
        };
        let extra = Extra {
            for_user: self.for_user.map(Cow::into_owned),
            kind,
            code,
            source: self.source.map(|text| Arc::new(RemoteError(text)) as _),
            repairs: self.repairs.into_iter().map(|(path, what)| Repair::new(path, what)).collect(),
            job: self.job.map(|job| JobId::from_text(job.into_owned())),
            edited: self.edited.map(|edited| Arguments::from(edited.into_owned())),
            references: self.references.into_owned(),
            omitted_bytes: self.omitted_bytes,
            of_gate: self.of_gate,
            structured: self.structured.map(Cow::into_owned),
            meta: self.meta.map(Cow::into_owned).unwrap_or_default(),
        };
        let has_extra = kind.is_some() || extra.is_some();
        let extra = has_extra.then(|| Box::new(extra));
        ToolResult { call_id: String::new(), content, flags, extra }
    }
}

impl Extra {
    fn is_some(&self) -> bool {
        self.of_gate
            || self.omitted_bytes > 0
            || self.for_user.is_some()
            || self.source.is_some()
            || self.job.is_some()
            || self.edited.is_some()
            || self.structured.is_some()
            || !(self.repairs.is_empty() && self.references.is_empty() && self.meta.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::FaultKind;

    /// Every fact of a result, also those that `PartialEq` leaves out.
    fn facts(result: &ToolResult) -> String {
        format!(
            "{:?} {:?} {:?} {:?} {:?}",
            result.content(),
            result.flags,
            (result.failure_kind(), result.code(), result.text()),
            result.source().map(ToString::to_string),
            result.extra.as_ref().map(|extra| (
                &extra.for_user,
                &extra.repairs,
                &extra.job,
                &extra.edited,
                &extra.references,
                (extra.omitted_bytes, extra.of_gate, &extra.structured, &extra.meta),
            )),
        )
    }

    #[track_caller]
    fn returns(result: &ToolResult) {
        let text = serde_json::to_string(&CarriedResult::of(result)).unwrap();
        let carried: CarriedResult<'_> = serde_json::from_str(&text).unwrap();
        let back = carried.into_result();
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
            returns(&ToolResult::failure(kind, "no").with_structured_content(Value::Null));
            returns(&ToolResult::refusal(kind, "no"));
        }
        for fault in FaultKind::ALL {
            let failure = ToolResult::failure(FailureKind::InvalidArguments, "no");
            returns(&failure.with_code(fault.code()));
        }
        let mut whole = ToolResult::user("a")
            .with_error(std::io::Error::other("below"))
            .with_edited(Arguments::from("{ \"a\" : 1 }"))
            .with_references(vec!["b".into()])
            .with_structured_content(serde_json::json!({"z": 1, "a": [null, 0.1]}))
            .with_meta("x/y", 3);
        whole.note_repairs(vec![Repair::new("p", "w")]);
        whole.extra().omitted_bytes = 7;
        returns(&whole);
        returns(&ToolResult::from(vec![Content::text("a"), Content::image(b"b", "image/png")]));
    }

    #[test]
    fn a_field_of_a_later_version_is_not_dropped() {
        for text in [r#"{"content":[],"secret":true}"#, "{}", "[]", "[[],true,1]"] {
            assert!(serde_json::from_str::<CarriedResult<'_>>(text).is_err(), "{text}");
        }
    }
}
