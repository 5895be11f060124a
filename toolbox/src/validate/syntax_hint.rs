//! Messages for the usual syntax errors of models, which say what to change.
//!
//! A message quotes single characters and known words only, since the text around a syntax error
//! may belong to a secret.

use super::disclosure::PathOrigin;
use super::path::{line_and_column, steps_at};
use crate::call::{Fault, FaultKind};
use crate::text::quote;
use crate::validate::json::{SyntaxError, Want};

/// Describes a syntax error in `inner`, which starts at `base` of `whole` and is read from `origin`
/// on.
pub(super) fn fault(
    whole: &str,
    base: usize,
    inner: &str,
    error: SyntaxError,
    origin: PathOrigin<'_, '_>,
) -> Fault {
    let site = Site { text: inner, at: error.at.min(inner.len()), want: error.want };
    let path = origin.disclose(steps_at(inner, site.at).into_iter()).path;
    let mut fault = Fault::new(FaultKind::Syntax, path, expected(error.want))
        .received(site.found())
        .suggest(site.advice());
    fault.position = Some(line_and_column(whole, base + site.at));
    fault
}

fn expected(want: Want) -> &'static str {
    match want {
        Want::Value => "a value",
        Want::ItemOrEnd => "a value or `]`",
        Want::Key => "a name in double quotes",
        Want::KeyOrEnd => "a name in double quotes or `}`",
        Want::Colon => "`:`",
        Want::CommaOrBrace => "`,` or `}`",
        Want::CommaOrBracket => "`,` or `]`",
        Want::End => "the end of the arguments",
        Want::Quote => "`\"` at the end of a string",
        Want::Plain => "a character that may stand in a string",
        Want::Escape => {
            "one of `\"`, `\\`, `/`, `b`, `f`, `n`, `r`, `t`, `u` and four digits after a backslash"
        }
        Want::Surrogate => "a whole surrogate pair such as `\\ud83d\\ude00`",
        Want::Digit => "a number as JSON writes it",
    }
}

/// Words of other languages, and their counterparts in JSON.
const FOREIGN: &[(&str, &str)] = &[
    ("True", "write `true`"),
    ("TRUE", "write `true`"),
    ("False", "write `false`"),
    ("FALSE", "write `false`"),
    ("None", "write `null`, or leave the argument out"),
    ("NULL", "write `null`, or leave the argument out"),
    ("Null", "write `null`, or leave the argument out"),
    ("nil", "write `null`, or leave the argument out"),
    ("undefined", "write `null`, or leave the argument out"),
    ("NaN", "JSON has no such number: send a finite number, or leave the argument out"),
    ("Infinity", "JSON has no such number: send a finite number, or leave the argument out"),
    ("-Infinity", "JSON has no such number: send a finite number, or leave the argument out"),
    ("inf", "JSON has no such number: send a finite number, or leave the argument out"),
    ("-inf", "JSON has no such number: send a finite number, or leave the argument out"),
];

struct Site<'a> {
    text: &'a str,
    at: usize,
    want: Want,
}

impl<'a> Site<'a> {
    fn rest(&self) -> &'a str {
        // The rest is empty if the offset of an error in an escape is not a character boundary.
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wants_value(&self) -> bool {
        matches!(self.want, Want::Value | Want::ItemOrEnd)
    }

    fn wants_key(&self) -> bool {
        matches!(self.want, Want::Key | Want::KeyOrEnd)
    }

    /// Returns the last byte before the error that is not white space.
    fn before(&self) -> Option<u8> {
        self.text.as_bytes()[..self.at]
            .iter()
            .rev()
            .find(|byte| !byte.is_ascii_whitespace())
            .copied()
    }

    fn found(&self) -> String {
        let rest = self.rest();
        if let Some((word, _)) = self.foreign() {
            return format!("`{word}`");
        }
        match rest.chars().next() {
            None => "the end of the text".to_owned(),
            Some('\n') => "a line break".to_owned(),
            Some('\t') => "a tab".to_owned(),
            Some('`') if rest.starts_with("```") => "a code fence".to_owned(),
            Some('<') if rest.starts_with("<|") => "`<|`".to_owned(),
            Some(c) => format!("`{}`", quote(&c.to_string(), 10)),
        }
    }

    /// Returns a word of another language in place of a value.
    fn foreign(&self) -> Option<(&'static str, &'static str)> {
        if self.want == Want::Digit {
            // The parser has read the sign.
            let from = self.text[..self.at].strip_suffix('-').map(str::len)?;
            return FOREIGN.iter().find(|(word, _)| self.text[from..].starts_with(word)).copied();
        }
        let word: &str = word(self.rest());
        self.wants_value().then(|| FOREIGN.iter().find(|(known, _)| *known == word).copied())?
    }

    fn advice(&self) -> Option<String> {
        let rest = self.rest();
        if rest.is_empty() {
            return Some(self.cut_off());
        }
        if self.want == Want::Plain {
            return Some(match rest.as_bytes()[0] {
                b'\n' => "write a line break in a string as `\\n`".to_owned(),
                b'\r' => "write a carriage return in a string as `\\r`".to_owned(),
                b'\t' => "write a tab in a string as `\\t`".to_owned(),
                byte => format!("write the control character in a string as `\\u{byte:04x}`"),
            });
        }
        if let Some((_, advice)) = self.foreign() {
            return Some(advice.to_owned());
        }
        let advice = match self.want {
            Want::Escape => "write a backslash in a string as `\\\\`",
            Want::Surrogate => "write the character itself, or both halves of its pair",
            Want::Digit => {
                "write a number as `0.5`, `-3` or `1e3`: digits on both sides of the point, no leading zeros"
            }
            Want::End => self.trailing(),
            _ => self.between_values()?,
        };
        Some(advice.to_owned())
    }

    /// Describes a text that was cut off. Such a call never runs, however complete it looks: the
    /// rest could change its meaning.
    fn cut_off(&self) -> String {
        let place = match self.want {
            Want::Quote => "inside a string",
            Want::CommaOrBrace | Want::Key | Want::KeyOrEnd | Want::Colon => "inside an object",
            Want::CommaOrBracket | Want::ItemOrEnd => "inside an array",
            Want::Digit => "inside a number",
            _ => "before the value",
        };
        format!(
            "the text is cut off {place}: send the whole call again, shorter if it was too long"
        )
    }

    fn trailing(&self) -> &'static str {
        let rest = self.rest();
        if rest.starts_with('{') || rest.starts_with(",{") || rest.starts_with(", {") {
            let again = rest.trim_start_matches([',', ' ']).trim_end();
            match self.text.get(..self.at).map(str::trim) {
                Some(before) if is_same(before, again) => {
                    "this is the same object twice: send it once"
                }
                _ => "these are two objects: make two calls",
            }
        } else if rest.starts_with("<|") || rest.starts_with("</") || rest.starts_with("[/") {
            "a chat token stands after the object: send the object alone"
        } else if rest.starts_with("```") {
            "send the object alone, without a code fence"
        } else if starts_comment(rest) {
            "JSON has no comments: leave it out"
        } else if rest.starts_with(['}', ']']) {
            "there is one bracket too many: check that each opens and closes once"
        } else {
            "send the object alone, with no text behind it"
        }
    }

    fn between_values(&self) -> Option<&'static str> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if starts_comment(rest) {
            return Some("JSON has no comments: leave it out");
        }
        if rest.starts_with("```") {
            return Some("send the object alone, without a code fence");
        }
        if rest.starts_with("<|") {
            return Some("a chat token stands inside the arguments: leave it out");
        }
        match first {
            '\u{feff}' => return Some("leave out the byte order mark"),
            '\'' => return Some("write strings and names in double quotes, not single quotes"),
            '“' | '”' | '„' | '‘' | '’' => {
                return Some("write strings and names in straight double quotes");
            }
            '}' | ']' if self.before() == Some(b',') => {
                return Some("leave out the comma before the closing bracket");
            }
            '}' | ']' if self.before() == Some(b':') => {
                return Some("a name has no value: add one, or leave the name out");
            }
            '}' | ']' => return Some("a bracket is closed by the wrong kind of bracket"),
            _ => {}
        }
        if self.wants_key() {
            return self.key(first);
        }
        if self.wants_value() {
            return Some(match first {
                ',' => "a value is missing: add one, or leave out the comma",
                '+' | '.' => {
                    "write a number as `0.5`, `-3` or `1e3`, without `+` and with a digit before the point"
                }
                _ if self.before().is_none() => "send one JSON object, with no text before it",
                _ => "write text in double quotes",
            });
        }
        if self.want == Want::Colon {
            return Some("write each argument as `\"name\": value`");
        }
        Some(match (self.before(), first) {
            (Some(b'"'), '"') => {
                "put a comma between two values, and a backslash before a quote inside a string"
            }
            (Some(b'"'), ':') => "a name stands where a value should end: put a comma before it",
            (Some(b'"'), _) => {
                "write a quote inside a string as `\\\"`, and put a comma between two values"
            }
            _ => "put a comma between two values",
        })
    }

    fn key(&self, first: char) -> Option<&'static str> {
        if !(first.is_alphabetic() || matches!(first, '_' | '$')) {
            return (first == ',').then_some("leave out the second comma");
        }
        let behind = &self.rest()[word(self.rest()).len()..];
        if behind.starts_with('"') {
            return Some("a name lacks the double quote before it");
        }
        Some("write each name in double quotes")
    }
}

fn starts_comment(text: &str) -> bool {
    text.starts_with("//") || text.starts_with("/*") || text.starts_with('#')
}

fn word(text: &str) -> &str {
    let is_part = |(at, c): &(usize, char)| {
        c.is_alphanumeric() || matches!(c, '_' | '$') || (*at == 0 && *c == '-')
    };
    let end = text.char_indices().find(|part| !is_part(part)).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// Returns `true` if two texts are the same value.
fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    one == other || read(one).is_some_and(|one| read(other) == Some(one))
}
