//! JSON in the text of a reply: bare, in a fence, or between words.

use serde_json::{Deserializer, Value};

/// The longest text that is searched for a document between words, in bytes.
const LONGEST: usize = 256 << 10;

/// The maximum number of positions tried as the start of a document. A failed attempt reads
/// everything up to its fault.
const MOST_STARTS: usize = 1000;

/// A reason why a text holds no single document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// There is none.
    Absent,
    /// There are several different ones.
    Several,
}

/// Returns the one JSON document in a text that `may_be` what is looked for.
///
/// A text that is JSON, or a fence around JSON, may hold any value. Between words only objects are
/// looked for, and arrays and empty objects that have their lines for themselves: a number in a
/// sentence, a footnote `[1]` and an empty check box are no answers. The same document twice counts
/// once.
pub(super) fn document(text: &str, may_be: impl Fn(&Value) -> bool) -> Result<Value, Unread> {
    let text = text.trim_start_matches('\u{feff}').trim();
    for whole in [Some(text), inside_fence(text)].into_iter().flatten() {
        if let Ok(value) = serde_json::from_str(whole) {
            return Ok(value);
        }
    }
    if text.len() > LONGEST {
        return Err(Unread::Absent);
    }
    let mut found = None;
    let (mut at, mut starts) = (0, 0);
    while let Some(start) = text[at..].find(['{', '[']).map(|start| at + start) {
        starts += 1;
        if starts > MOST_STARTS {
            return Err(Unread::Absent);
        }
        let mut values = Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            at = start + 1;
            continue;
        };
        at = start + values.byte_offset();
        let is_filled = value.as_object().is_some_and(|object| !object.is_empty());
        if !may_be(&value) || !(is_filled || is_alone(text, start, at)) {
            continue;
        }
        match &found {
            None => found = Some(value),
            Some(other) if *other == value => {}
            Some(_) => return Err(Unread::Several),
        }
    }
    found.ok_or(Unread::Absent)
}

/// Returns a text that begins like an object, or the content of a fence that does: what it lacks
/// can be said.
pub(super) fn begun(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let candidates = [Some(text), inside_fence(text)];
    candidates.into_iter().flatten().find(|text| text.starts_with('{'))
}

/// Returns `true` if only blanks stand beside a piece of a text, on the lines where it begins and
/// ends.
fn is_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].rsplit('\n').next().unwrap_or_default();
    let after = text[end..].split('\n').next().unwrap_or_default();
    before.trim().is_empty() && after.trim().is_empty()
}

/// Returns the content of a fence that spans the whole text.
fn inside_fence(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("```")?.strip_suffix("```")?;
    let (_, body) = inside.split_once('\n')?;
    (!body.contains("```")).then(|| body.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_one_document_is_found_whatever_stands_around_it() {
        let object = || Ok(json!({"a": [1, "}{"]}));
        let cases = [
            (r#"{"a":[1,"}{"]}"#, object()),
            ("\u{feff} {\"a\":[1,\"}{\"]}\n", object()),
            ("```json\n{\"a\":[1,\"}{\"]}\n```", object()),
            ("```\n{\"a\":[1,\"}{\"]}```", object()),
            ("Here it is:\n\n```json\n{\"a\":[1,\"}{\"]}\n```\nAnything else?", object()),
            (r#"I say {"a":[1,"}{"]}, because {it} is [so."#, object()),
            (r#"{"a":[1,"}{"]} and again {"a": [1, "}{"]}"#, object()),
            // A list of sources is no object.
            (r#"As in [1] and [2]: {"a":[1,"}{"]}"#, object()),
            ("I would use {} for it: {\"a\":[1,\"}{\"]}", object()),
            ("```json\n7\n```", Ok(json!(7))),
            ("So:\n{}\n", Ok(json!({}))),
            ("I would use {} for it.", Err(Unread::Absent)),
            ("null", Ok(json!(null))),
            ("It is 7.", Err(Unread::Absent)),
            ("", Err(Unread::Absent)),
            (r#"{"a": 1"#, Err(Unread::Absent)),
            (r#"{"a": 1} or {"a": 2}"#, Err(Unread::Several)),
            ("```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```", Err(Unread::Several)),
            (r#"{"a":1}{"a":2}{"a":3}"#, Err(Unread::Several)),
        ];
        for (text, expected) in cases {
            assert_eq!(document(text, Value::is_object), expected, "{text}");
        }
    }

    #[test]
    fn an_array_has_its_lines_for_itself() {
        let list = || Ok(json!(["a", "b"]));
        let cases = [
            ("[\"a\",\n \"b\"]", list()),
            ("Here:\n\n[\"a\",\n \"b\"]\nDone.", list()),
            ("Here:\n```\n[\"a\",\"b\"]\n```", list()),
            ("As in [1], and [2] as well.\n[\"a\",\"b\"]", list()),
            ("As in [1].", Err(Unread::Absent)),
            ("- [ ] to do", Err(Unread::Absent)),
            ("[1]\n[2]", Err(Unread::Several)),
        ];
        for (text, expected) in cases {
            assert_eq!(document(text, Value::is_array), expected, "{text}");
        }
    }

    #[test]
    fn a_text_made_to_be_slow_is_not() {
        for piece in ["[", "{\"", "{\"a\":", "[1,", "{\"a\":[\"", "[\"[\",", "```"] {
            let text = piece.repeat(crate::size(LONGEST / 8, LONGEST) / piece.len());
            assert!(document(&text, Value::is_object).is_err());
        }
        let flat = format!("{}{}", "[".repeat(120), "1,".repeat(LONGEST / 2 - 60));
        assert!(document(&flat, Value::is_object).is_err());
        let far = format!("{}{{\"a\":1}}", " ".repeat(LONGEST));
        assert!(document(&far, Value::is_object).is_ok(), "all of it is the document");
        assert_eq!(document(&format!("So:{far}"), Value::is_object), Err(Unread::Absent));
    }
}
