//! Paths: `filters[2].since`, and the path of a byte offset.

use std::fmt::Write as _;

use super::fault::printable;
use super::node::string_end;

/// Deeper levels are left out of a path: nobody reads them.
const DEEPEST: usize = 128;
/// A longer key is cut.
const LONGEST_KEY: usize = 64;

/// Appends a key to a path; a key that is no identifier is written `["odd key"]`.
pub(super) fn push_key(path: &mut String, key: &str) {
    let plain = key.len() <= LONGEST_KEY
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && key.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if plain {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        let quoted = key.chars().take(LONGEST_KEY + 1).collect::<String>();
        let quoted = printable(&quoted, LONGEST_KEY).replace('"', "\\\"");
        let _ = write!(path, "[\"{quoted}\"]");
    }
}

/// The path of an argument.
pub(crate) fn argument_path(name: &str) -> String {
    let mut path = String::new();
    push_key(&mut path, name);
    path
}

/// Appends an index to a path.
pub(super) fn push_index(path: &mut String, index: usize) {
    let _ = write!(path, "[{index}]");
}

/// Puts `inner` below `outer`.
pub(super) fn join(outer: &str, inner: &str) -> String {
    let dot = !(outer.is_empty() || inner.is_empty() || inner.starts_with('['));
    format!("{outer}{}{inner}", if dot { "." } else { "" })
}

/// The line and column of an offset, both from 1; a column counts characters.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    // Every byte but those that continue a character starts one.
    let column = before[line_start..].iter().filter(|&&byte| byte & 0xC0 != 0x80).count() + 1;
    (line, column)
}

enum Level<'a> {
    /// The key that was read last, and whether the next string is a key.
    Object(Option<&'a str>, bool),
    Array(usize),
}

/// The path of the value that starts at or contains this byte offset.
///
/// A key belongs to its value, and so does the space up to the next comma; a closing bracket
/// belongs to its container. Any text will do: what is not JSON gives the path of what could be
/// read before it.
pub(crate) fn path_at(text: &str, offset: usize) -> String {
    let bytes = text.as_bytes();
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut uncounted = 0_usize;
    let mut at = 0;
    while at < bytes.len() && at <= offset {
        match bytes[at] {
            b'{' | b'[' | b',' if at == offset => break,
            b'{' | b'[' if levels.len() >= DEEPEST => uncounted += 1,
            b'{' => levels.push(Level::Object(None, true)),
            b'[' => levels.push(Level::Array(0)),
            b'}' | b']' if uncounted > 0 => uncounted -= 1,
            b'}' | b']' => {
                levels.pop();
            }
            b',' if uncounted == 0 => match levels.last_mut() {
                Some(Level::Object(key, names)) => (*key, *names) = (None, true),
                Some(Level::Array(index)) => *index += 1,
                None => {}
            },
            b':' if uncounted == 0 => {
                if let Some(Level::Object(_, names)) = levels.last_mut() {
                    *names = false;
                }
            }
            b'"' => {
                let end = string_end(bytes, at);
                if let Some(Level::Object(key @ None, true)) = levels.last_mut()
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
    render(&levels)
}

fn render(levels: &[Level<'_>]) -> String {
    let mut path = String::new();
    for level in levels {
        match level {
            Level::Object(None, _) => {}
            Level::Object(Some(quoted), _) => match serde_json::from_str::<String>(quoted) {
                Ok(key) => push_key(&mut path, &key),
                Err(_) => push_key(&mut path, quoted.trim_matches('"')),
            },
            Level::Array(index) => push_index(&mut path, *index),
        }
    }
    path
}
