//! Values of a type as JSON, and the outline of JSON text.

use serde::Serialize;
use serde_json::Value;

/// Returns a value as JSON; `None` if it has no such form, or is nested too deeply to be read.
///
/// By way of its text, so that a type is compiled for one serializer.
pub(crate) fn json_value(value: &impl Serialize) -> Option<Value> {
    let text = serde_json::to_string(value).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns the offset behind the string that starts at `start`; the end of the text if it is not
/// closed.
pub(crate) fn string_end(bytes: &[u8], start: usize) -> usize {
    // Most strings are short: a plain loop ends before a vectored search would start.
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns `true` if a text nests deeper than `levels`; no value is read.
pub(crate) fn nests_deeper(text: &str, levels: usize) -> bool {
    let bytes = text.as_bytes();
    // Most texts have fewer brackets than levels.
    if memchr::memchr2_iter(b'{', b'[', bytes).nth(levels).is_none() {
        return false;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > levels {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    false
}
