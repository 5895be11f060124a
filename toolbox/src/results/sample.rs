//! A short sample of a JSON document that shows its shape: keys, types, lengths, first elements.

use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::text::floor_boundary;

/// The detail of a sample.
#[derive(Clone, Copy)]
struct Detail {
    /// The levels of objects and arrays that are opened.
    depth: usize,
    keys: usize,
    /// The elements of an array that are shown.
    elements: usize,
    /// The characters of a text.
    text: usize,
}

const DETAILS: [Detail; 6] = [
    Detail { depth: 6, keys: 40, elements: 2, text: 160 },
    Detail { depth: 5, keys: 25, elements: 1, text: 80 },
    Detail { depth: 4, keys: 16, elements: 1, text: 60 },
    Detail { depth: 3, keys: 10, elements: 1, text: 40 },
    Detail { depth: 2, keys: 6, elements: 1, text: 30 },
    Detail { depth: 1, keys: 4, elements: 1, text: 20 },
];

/// Returns the most detailed sample of at most `bytes`, or `None` if the text is no JSON object or
/// array.
pub(super) fn sample(text: &str, bytes: usize) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut last = None;
    for detail in DETAILS {
        let mut out = SampleText { text: String::new(), most: 4 * bytes.max(256) };
        let seed = Sample { detail, level: 0, out: &mut out };
        let mut json = serde_json::Deserializer::from_str(text);
        if seed.deserialize(&mut json).is_err() || json.end().is_err() {
            return None;
        }
        let fits = out.text.len() <= bytes;
        last = Some(out.text);
        if fits {
            break;
        }
    }
    last.map(|mut text| {
        if text.len() > bytes {
            text.truncate(floor_boundary(&text, bytes));
            text.push('…');
        }
        text
    })
}

/// The text of a sample, which stops to grow at a bound: a document may have any number of keys.
struct SampleText {
    text: String,
    most: usize,
}

impl SampleText {
    fn push(&mut self, text: &str) {
        if self.text.len() < self.most {
            self.text.push_str(text);
        }
    }

    fn line(&mut self, level: usize) {
        self.push("\n");
        for _ in 0..level {
            self.push("  ");
        }
    }

    /// Writes a text with its length, if it is cut.
    fn text(&mut self, text: &str, most: usize) {
        let shown: String = text.chars().take(most).collect();
        let quoted = serde_json::to_string(&shown).unwrap_or_default();
        self.push(&quoted);
        if shown.len() < text.len() {
            self.push(&format!("… ({} bytes)", text.len()));
        }
    }
}

struct Sample<'a> {
    detail: Detail,
    level: usize,
    out: &'a mut SampleText,
}

impl<'de> DeserializeSeed<'de> for Sample<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sample<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.out.push("null");
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.out.push(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.out.push(&value.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.out.push(&value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.out.push(&value.to_string());
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.out.text(value, self.detail.text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { detail, level, out } = self;
        let shown = if level < detail.depth { detail.elements } else { 0 };
        let mut count = 0_usize;
        out.push("[");
        while count < shown {
            // The element is written once it is known to be there.
            let mut inner = SampleText { text: String::new(), most: out.most };
            let seed = Sample { detail, level: level + 1, out: &mut inner };
            if seq.next_element_seed(seed)?.is_none() {
                break;
            }
            if count > 0 {
                out.push(",");
            }
            out.line(level + 1);
            out.push(&inner.text);
            count += 1;
        }
        let written = count;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        if count > written {
            if written > 0 {
                out.push(",");
                out.line(level + 1);
                out.push(&format!("… {count} in all"));
            } else {
                out.push(&format!("… {count} in all"));
            }
        }
        if written > 0 {
            out.line(level);
        }
        out.push("]");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { detail, level, out } = self;
        let shown = if level < detail.depth { detail.keys } else { 0 };
        let (mut count, mut more) = (0_usize, String::new());
        out.push("{");
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            count += 1;
            if count > shown {
                // Names of further keys say more than their number.
                if more.len() < 4 * detail.text {
                    let _ = write!(more, " {}", serde_json::to_string(&*key).unwrap_or_default());
                }
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if count > 1 {
                out.push(",");
            }
            out.line(level + 1);
            out.text(&key, detail.text);
            out.push(": ");
            map.next_value_seed(Sample { detail, level: level + 1, out })?;
        }
        let written = count.min(shown);
        if count > written {
            if written > 0 {
                out.push(",");
                out.line(level + 1);
            }
            out.push(&format!("… {count} keys in all:{more}"));
        }
        if written > 0 {
            out.line(level);
        }
        out.push("}");
        Ok(())
    }
}
