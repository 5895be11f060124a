//! Text of a call as its tool sees it: what was escaped is what was meant, and what was not is lent
//! and not copied.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::{Tool, ToolBox, tool};

use support::{call, now};

/// Repeats.
#[tool]
fn lent(s: &str) -> String {
    s.to_owned()
}

/// Repeats.
#[tool]
fn owned(s: String) -> String {
    s
}

/// Repeats.
#[tool]
fn either(s: Cow<'_, str>) -> String {
    s.into_owned()
}

/// Repeats.
#[tool]
fn any(s: Value) -> String {
    s.as_str().unwrap_or_default().to_owned()
}

/// Repeats the key.
#[tool]
fn keyed(s: std::collections::BTreeMap<String, u8>) -> String {
    s.into_keys().collect()
}

/// Every way in which a tool may ask for a text.
fn every_way() -> Vec<Tool> {
    let schema = json!({"type": "object", "properties": {"s": {"type": "string"}}});
    vec![
        lent::tool(),
        owned::tool(),
        either::tool(),
        any::tool(),
        Tool::from_map("mapped", "", schema, |map: &std::collections::HashMap<String, Value>| {
            map["s"].as_str().unwrap_or_default().to_owned()
        }),
    ]
}

/// Checks that text written as `written` between quotes arrives as `meant`, however it is asked
/// for.
#[track_caller]
fn arrives(written: &str, meant: &str) {
    assert_eq!(serde_json::from_str::<String>(&format!("\"{written}\"")).unwrap(), meant);
    for tool in every_way() {
        let result = call(&tool, format!("{{\"s\":\"{written}\"}}"));
        assert!(!result.is_error(), "{}: {}", tool.name(), result.text());
        assert_eq!(result.text(), meant, "{} on {written}", tool.name());
    }
    let result = call(&keyed::tool(), format!("{{\"s\":{{\"{written}\":1}}}}"));
    assert_eq!(result.text(), meant, "as a key: {written}");
}

const ESCAPES: &[(&str, &str)] = &[
    (r"\n", "\n"),
    (r"\t", "\t"),
    (r"\r", "\r"),
    (r"\b", "\u{8}"),
    (r"\f", "\u{c}"),
    (r"\/", "/"),
    (r"\\", "\\"),
    (r#"\""#, "\""),
    (r"\u0041", "A"),
    (r"\u00e4", "ä"),
    (r"\u00E4", "ä"),
    (r"\u20ac", "€"),
    (r"\u000a", "\n"),
    (r"\u0000", "\0"),
    (r"\ud83e\udd80", "🦀"),
    (r"\uD83E\uDD80", "🦀"),
    (r"\uffff", "\u{ffff}"),
];

#[test]
fn each_escape_is_the_character_it_stands_for_wherever_it_stands() {
    for (written, meant) in ESCAPES {
        // Before and behind words of every length: a reader may look at several bytes at a time.
        for before in 0..20 {
            for behind in [0, 1, 7, 8, 9, 40] {
                let (before, behind) = ("x".repeat(before), "y".repeat(behind));
                arrives(&format!("{before}{written}{behind}"), &format!("{before}{meant}{behind}"));
            }
        }
        arrives(&written.repeat(30), &meant.repeat(30));
    }
}

#[test]
fn escapes_beside_each_other_do_not_touch_each_other() {
    for (one, first) in ESCAPES {
        for (two, second) in ESCAPES {
            arrives(&format!("{one}{two}"), &format!("{first}{second}"));
            arrives(&format!("ä{one}€€€{two}n"), &format!("ä{first}€€€{second}n"));
        }
    }
    let (mut written, mut meant) = (String::new(), String::new());
    for round in 0..40 {
        for (one, first) in ESCAPES {
            let plain = "z".repeat(round);
            let _ = write!(written, "{plain}{one}");
            let _ = write!(meant, "{plain}{first}");
        }
    }
    arrives(&written, &meant);
}

#[test]
fn escapes_arrive_at_every_distance_in_long_texts() {
    for distance in (0..140).chain([500, 1000, 1020, 1024, 1030, 5000]) {
        let run = "x".repeat(distance);
        for (written, meant) in [(r"\n", "\n"), (r"\ud83e\udd80", "🦀")] {
            let times = 2 + 4000 / (distance + 2);
            arrives(
                &format!("{run}{written}").repeat(times),
                &format!("{run}{meant}").repeat(times),
            );
        }
    }
    for shift in 0..80 {
        let start = "ä".repeat(shift);
        let (written, meant) = (r"ab\n".repeat(400), "ab\n".repeat(400));
        arrives(&format!("{start}{written}"), &format!("{start}{meant}"));
    }
}

#[test]
fn a_long_text_that_is_cut_off_is_refused_wherever_that_is() {
    let text = r"abc\n\u00e4ä\ud83e\udd80".repeat(60);
    for (at, _) in text.char_indices() {
        let result = call(&owned::tool(), format!("{{\"s\":\"{}", &text[..at]));
        assert!(result.is_error(), "cut off at {at}");
    }
}

/// Says how much room a text has that it does not use.
#[tool]
fn room(s: String, rest: String) -> usize {
    let _ = rest;
    s.capacity() - s.len()
}

#[test]
fn a_text_keeps_little_room_that_it_does_not_use() {
    let rest = "y".repeat(100_000);
    for length in [0, 10, 70, 300, 2000] {
        let run = "x".repeat(length);
        let text = format!(r#"{{"s":"{run}\n{run}\n{run}\n{run}","rest":"{rest}"}}"#);
        let free: usize = call(&room::tool(), text).text().parse().unwrap();
        assert!(free <= 4 * length + 3, "{free} bytes beside 4 times {length}");
    }
}

/// Says where its text begins.
#[tool]
fn place(a: &str, b: Option<&str>) -> String {
    let at = |text: &str| text.as_ptr().addr().to_string();
    format!("{} {}", at(a), b.map(at).unwrap_or_default())
}

#[test]
fn text_without_escapes_is_lent_from_the_call() {
    // A span has its own copy of the arguments.
    let _untraced = support::untraced();
    let toolbox = ToolBox::from(place::tool());
    for length in [0, 1, 6, 7, 8, 9, 31, 32, 33, 100, 10_000] {
        for filling in ["x", "ä", "漢"] {
            let (a, b) = (filling.repeat(length), filling.repeat(length + 1));
            for text in [
                format!(r#"{{"a":"{a}","b":"{b}"}}"#),
                format!(r#" {{ "a" : "{a}" , "b" : "{b}" }} "#),
                format!(r#"{{"b":"{b}","a":"{a}"}}"#),
            ] {
                let at = |key: &str| {
                    let key = text.find(key).unwrap() + key.len();
                    text.as_ptr().addr() + key + text[key..].find('"').unwrap() + 1
                };
                let expected = format!("{} {}", at("\"a\""), at("\"b\""));
                let told = now(toolbox.execute("place", text.as_str())).unwrap();
                assert_eq!(told, expected, "{length} times {filling}");
                // The text of a call is moved, and not copied either.
                let held = Arguments::from(text.clone());
                let (held_at, moved_by) = (held.as_str().as_ptr().addr(), text.as_ptr().addr());
                let result = now(toolbox.call(toolbox::ToolCall::new("1", "place", held)));
                let told: usize = result.text().split(' ').next().unwrap().parse().unwrap();
                assert_eq!(told - held_at, at("\"a\"") - moved_by);
            }
        }
    }
}

#[test]
fn a_control_character_is_escaped_or_refused_wherever_it_stands() {
    for control in (0..0x20_u8).map(char::from) {
        for before in [0, 1, 7, 8, 30, 100] {
            let (before, behind) = ("x".repeat(before), "y".repeat(9));
            for text in [
                format!("{before}{control}{behind}"),
                format!("{before}\\n{control}{behind}"),
                format!("{before}{control}\\n{behind}"),
                format!("\\u0041{before}{behind}{control}"),
            ] {
                for tool in every_way() {
                    let result = call(&tool, format!("{{\"s\":\"{text}\"}}"));
                    assert!(result.is_error(), "{} on {text:?}", tool.name());
                }
            }
        }
    }
    for open in ["a", "a\\n", "a\\n\\", "\\u00", "\\ud83e"] {
        for tool in every_way() {
            assert!(call(&tool, format!("{{\"s\":\"{open}")).is_error(), "{}", tool.name());
        }
    }
}
