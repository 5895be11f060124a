//! JSON text with half a surrogate pair, which is valid JSON and no text.

use std::borrow::Cow;

use memchr::memmem;

use super::json::string_end;

/// Returns JSON text with U+FFFD in place of each escape that is half of a surrogate pair, so that
/// a character that was cut in two costs itself alone, and the number of them.
///
/// The halves in arguments of calls stay, in the members of `arguments`, each with the first byte
/// of its value. Such arguments become the text of them, in which a half is an escape that their
/// reader refuses, or completes with the next piece.
pub(crate) fn mend_halves<'t>(json: &'t str, arguments: &[(&str, u8)]) -> (Cow<'t, str>, usize) {
    if !may_have_halves(json.as_bytes()) {
        return (Cow::Borrowed(json), 0);
    }
    let bytes = json.as_bytes();
    let mut mended = String::new();
    let (mut copied, mut count, mut at) = (0, 0, 0);
    // The name before the colon, where a value begins.
    let mut member = "";
    while let Some(&byte) = bytes.get(at) {
        let is_kept = !member.is_empty() && arguments.contains(&(member, byte));
        match byte {
            b'"' => {
                let end = string_end(bytes, at);
                for half in halves(&bytes[at..end]) {
                    let half = at + half;
                    mended.push_str(&json[copied..half]);
                    mended.push(if is_kept { '\\' } else { '\u{fffd}' });
                    copied = if is_kept { half } else { half + 6 };
                    count += usize::from(!is_kept);
                }
                member = json[at..end].trim_matches('"');
                at = end;
            }
            b'{' if is_kept => {
                let end = object_end(bytes, at);
                if halves(&bytes[at..end]).next().is_some() {
                    mended.push_str(&json[copied..at]);
                    mended.push_str(&serde_json::Value::from(&json[at..end]).to_string());
                    copied = end;
                }
                at = end;
            }
            byte => {
                if byte != b':' && !byte.is_ascii_whitespace() {
                    member = "";
                }
                at += 1;
            }
        }
    }
    if copied == 0 {
        return (Cow::Borrowed(json), 0);
    }
    mended.push_str(&json[copied..]);
    (Cow::Owned(mended), count)
}

/// Returns `true` if there is an escape of a surrogate, halves and pairs alike.
fn may_have_halves(json: &[u8]) -> bool {
    memmem::find(json, br"\ud").is_some() || memmem::find(json, br"\uD").is_some()
}

/// Returns the offset behind the object that starts at `start`.
fn object_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the offsets of the escapes in JSON that are half of a pair.
fn halves(json: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(escape) = memchr::memchr(b'\\', json.get(at..)?) {
            let start = at + escape;
            let pair = [surrogate(json, start), surrogate(json, start + 6)];
            at = start
                + match pair {
                    [Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)] => 12,
                    [Some(_), _] => 6,
                    [None, _] => 2,
                };
            if let ([Some(_), _], 6) = (pair, at - start) {
                return Some(start);
            }
        }
        None
    })
}

/// Returns the surrogate whose escape stands at an offset.
fn surrogate(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(br"\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let code = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..=0xDFFF).contains(&code).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::mend_halves;

    #[test]
    fn halves_of_characters_are_replaced() {
        let cases = [
            (r#"{"a":"x"}"#, r#"{"a":"x"}"#, 0),
            (r#"["cut \ud83d"]"#, "[\"cut \u{fffd}\"]", 1),
            (r#"["\ud83d\ude00"]"#, r#"["\ud83d\ude00"]"#, 0),
            (r#"["\uD83D\uDE00\uDE00"]"#, "[\"\\uD83D\\uDE00\u{fffd}\"]", 1),
            (r#"["\ude00\ud83d"]"#, "[\"\u{fffd}\u{fffd}\"]", 2),
            (r#"["\ud83dA"]"#, "[\"\u{fffd}A\"]", 1),
            (r#"["\ud83d\n"]"#, "[\"\u{fffd}\\n\"]", 1),
            // An escaped backslash before `ud83d` is text.
            (r#"["\\ud83d"]"#, r#"["\\ud83d"]"#, 0),
            (r#"["\\\ud83d"]"#, "[\"\\\\\u{fffd}\"]", 1),
            (r#"{"\udc00":1}"#, "{\"\u{fffd}\":1}", 1),
            // Arguments keep what their reader refuses.
            (
                r#"{"args":{"a":"\ud83d"},"b":"\ud83d"}"#,
                "{\"args\":\"{\\\"a\\\":\\\"\\\\ud83d\\\"}\",\"b\":\"\u{fffd}\"}",
                1,
            ),
            (r#"{"args" : "{\"a\":\"\ud83d"}"#, r#"{"args" : "{\"a\":\"\\ud83d"}"#, 0),
            (r#"{"text":"args","b":"\ud83d"}"#, "{\"text\":\"args\",\"b\":\"\u{fffd}\"}", 1),
            (r#"{"input":"\ud83d"}"#, "{\"input\":\"\u{fffd}\"}", 1),
            (r#"{"args":null,"b":"\ud83d"}"#, "{\"args\":null,\"b\":\"\u{fffd}\"}", 1),
            // What is no JSON stays for its reader to refuse.
            (r#"["\ud8"#, r#"["\ud8"#, 0),
            (r#"["\ud83d"#, "[\"\u{fffd}", 1),
            (r#"["\u+d83"]"#, r#"["\u+d83"]"#, 0),
        ];
        for (json, mended, count) in cases {
            let found = mend_halves(json, &[("args", b'{'), ("args", b'"'), ("input", b'{')]);
            assert_eq!((found.0.as_ref(), found.1), (mended, count), "{json}");
        }
    }
}
