//! The path, line and column of a byte offset in JSON text.

use super::disclosure::PathSegment;
use crate::text::string_end;

/// The most levels of a path; deeper ones are left out.
const DEEPEST: usize = 128;
/// Returns the line and column of an offset, both from 1; a column counts characters.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    // Every byte but those that continue a character starts one.
    let column = before[line_start..].iter().filter(|&&byte| byte & 0xC0 != 0x80).count() + 1;
    (line, column)
}

enum OpenContainer<'a> {
    /// The key that was read last, and a flag that is `true` if the next string is a key.
    Object(Option<&'a str>, bool),
    Array(usize),
}

/// Returns the steps to the value that starts at or contains this byte offset.
///
/// A key belongs to its value, and so does the space up to the next comma; a closing bracket
/// belongs to its container. The text need not be valid: the path is that of the part before the
/// first syntax error.
pub(super) fn steps_at(text: &str, offset: usize) -> Vec<PathSegment<'static>> {
    let bytes = text.as_bytes();
    let mut levels: Vec<OpenContainer<'_>> = Vec::new();
    let mut uncounted = 0_usize;
    let mut at = 0;
    while at < bytes.len() && at <= offset {
        match bytes[at] {
            b'{' | b'[' | b',' if at == offset => break,
            b'{' | b'[' if levels.len() >= DEEPEST => uncounted += 1,
            b'{' => levels.push(OpenContainer::Object(None, true)),
            b'[' => levels.push(OpenContainer::Array(0)),
            b'}' | b']' if uncounted > 0 => uncounted -= 1,
            b'}' | b']' => {
                levels.pop();
            }
            b',' if uncounted == 0 => match levels.last_mut() {
                Some(OpenContainer::Object(key, names)) => (*key, *names) = (None, true),
                Some(OpenContainer::Array(index)) => *index += 1,
                None => {}
            },
            b':' if uncounted == 0 => {
                if let Some(OpenContainer::Object(_, names)) = levels.last_mut() {
                    *names = false;
                }
            }
            b'"' => {
                let end = string_end(bytes, at);
                if let Some(OpenContainer::Object(key @ None, true)) = levels.last_mut()
                    && uncounted == 0
                {
                    *key = text.get(at..end);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    levels.iter().filter_map(step).collect()
}

/// Returns the step into an open container; `None` if no key was read yet.
fn step(level: &OpenContainer<'_>) -> Option<PathSegment<'static>> {
    match *level {
        OpenContainer::Object(quoted, _) => {
            let quoted = quoted?;
            let key = serde_json::from_str(quoted);
            let key = key.unwrap_or_else(|_| quoted.trim_matches('"').to_owned());
            Some(PathSegment::Name(key.into()))
        }
        OpenContainer::Array(index) => Some(PathSegment::Index(index)),
    }
}
