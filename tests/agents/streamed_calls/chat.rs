//! Chat Completions: the form with the most imitators.

use serde_json::{Map, Value, json};
use toolbox::wire::OpenAiChat;

use super::{Meant, REPLIES, Read, Table, read};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Index {
    Right,
    Zero,
    Missing,
    From1,
    From5,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Id {
    First,
    Each,
    Missing,
    Empty,
    NewInEach,
    /// All calls have one and the same.
    Same,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Name {
    Once,
    Each,
    ThenEmpty,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    /// All in one piece.
    Whole,
    /// In pieces, the first with the beginning of the arguments.
    Pieces,
    /// In pieces, the first without arguments.
    Opened,
    /// All in the second piece, after one without.
    OpenedWhole,
    /// None, whatever the reply has.
    None,
    /// In pieces, before one with the name.
    BeforeName,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    index: Index,
    id: Id,
    name: Name,
    cut: Cut,
    is_interleaved: bool,
    /// All pieces in one chunk, with the reason in it.
    is_one_chunk: bool,
    meant: &'static [Meant],
}

impl Cell {
    fn meant(&self) -> Vec<Meant> {
        let none = self.cut == Cut::None;
        self.meant.iter().map(|(name, text)| (*name, if none { "" } else { *text })).collect()
    }

    /// The pieces of one call, as JSON.
    fn pieces(&self, place: usize, (name, text): Meant) -> Vec<Value> {
        let mut texts = match self.cut {
            Cut::Whole | Cut::None => vec![text],
            Cut::Pieces | Cut::BeforeName => cut(text),
            Cut::Opened => [vec![""], cut(text)].concat(),
            Cut::OpenedWhole => vec!["", text],
        };
        if self.cut == Cut::BeforeName {
            texts.push("");
        }
        let last = texts.len() - 1;
        let piece = |(at, text): (usize, &&str)| {
            let is_named = match (self.name, self.cut) {
                (Name::Each, Cut::BeforeName) => at > 0 || last == 0,
                (Name::Each, _) => true,
                (Name::Last, _) | (_, Cut::BeforeName) => at == last,
                (Name::Once | Name::ThenEmpty, _) => at == 0,
            };
            let mut function = Map::new();
            if is_named {
                function.insert("name".into(), name.into());
            } else if self.name == Name::ThenEmpty {
                function.insert("name".into(), "".into());
            }
            function.insert("arguments".into(), (*text).into());
            let mut piece = Map::from_iter([("function".to_owned(), Value::Object(function))]);
            match self.index {
                Index::Right => drop(piece.insert("index".into(), place.into())),
                Index::Zero => drop(piece.insert("index".into(), 0.into())),
                Index::Missing => {}
                Index::From1 => drop(piece.insert("index".into(), (place + 1).into())),
                Index::From5 => drop(piece.insert("index".into(), (place + 5).into())),
                Index::Text => drop(piece.insert("index".into(), place.to_string().into())),
            }
            let id = match self.id {
                Id::First => (at == 0).then(|| format!("call_{place}")),
                Id::Each => Some(format!("call_{place}")),
                Id::Missing => None,
                Id::Empty => Some(String::new()),
                Id::NewInEach => Some(format!("call_{place}_{at}")),
                Id::Same => (at == 0).then(|| "call".to_owned()),
            };
            piece.extend(id.map(|id| ("id".to_owned(), id.into())));
            Value::Object(piece)
        };
        texts.iter().enumerate().map(piece).collect()
    }

    fn events(&self) -> Vec<Value> {
        let calls = self.meant().into_iter().enumerate();
        let calls: Vec<_> = calls.map(|(place, call)| self.pieces(place, call)).collect();
        let most = calls.iter().map(Vec::len).max().unwrap_or_default();
        let pieces: Vec<Value> = if self.is_interleaved {
            let turns = (0..most).flat_map(|turn| calls.iter().filter_map(move |of| of.get(turn)));
            turns.cloned().collect()
        } else {
            calls.concat()
        };
        if self.is_one_chunk {
            return vec![chunk(&pieces, "tool_calls")];
        }
        let mut events: Vec<Value> =
            pieces.iter().map(|piece| chunk(std::slice::from_ref(piece), "")).collect();
        events.push(chunk(&[], "tool_calls"));
        events
    }

    /// The reason why a cell cannot be told apart from one with other calls, if it cannot.
    fn ambiguity(&self) -> Option<&'static str> {
        let meant = self.meant();
        let is_indexed = !matches!(self.index, Index::Zero | Index::Missing);
        let has_ids = matches!(self.id, Id::First | Id::Each | Id::Same);
        if is_indexed && has_ids {
            return None;
        }
        let is_late = self.name == Name::Last || self.cut == Cut::BeforeName;
        let in_pieces = !matches!(self.cut, Cut::Whole | Cut::None);
        let has_blank = meant.iter().any(|(_, text)| text.is_empty());
        let mut names: Vec<_> = meant.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        let has_twins = names.len() < meant.len();
        let is_one = meant.len() == 1;
        match self.id {
            _ if is_one && has_ids => None,
            Id::First | Id::Each if !has_blank && !self.is_interleaved && !is_late => None,
            Id::Each if !has_blank && !is_late && !has_twins => None,
            Id::First | Id::Each if has_blank => Some("calls without arguments and an index"),
            Id::First | Id::Each => Some("pieces of several calls without an index"),
            _ if is_late && in_pieces => Some("arguments before a name without an id"),
            _ if self.name == Name::Each && in_pieces => Some("a repeated name without an id"),
            Id::NewInEach if has_blank && in_pieces => {
                Some("an id of its own for a piece that says nothing")
            }
            Id::NewInEach if self.index == Index::Missing && in_pieces => {
                Some("an id of its own for each piece without an index")
            }
            _ if is_indexed || is_one => None,
            _ if self.is_interleaved && in_pieces => Some("interleaved without an index or an id"),
            _ if has_blank => Some("calls without arguments, an index and an id"),
            _ if has_twins => Some("calls of one name without an index and an id"),
            _ => None,
        }
    }
}

fn chunk(pieces: &[Value], finish: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": pieces}, "finish_reason": finish}]})
}

/// Cuts arguments where it is most easily mistaken: after a colon or a bracket.
fn cut(text: &'static str) -> Vec<&'static str> {
    let ends = text.match_indices([':', '[', '{']).map(|(at, _)| at + 1);
    let mut pieces = Vec::new();
    let mut from = 0;
    for end in ends.filter(|end| *end > 1 && *end < text.len()) {
        pieces.push(&text[from..end]);
        from = end;
    }
    pieces.push(&text[from..]);
    pieces
}

#[test]
fn a_stream_of_chat_completions_gives_the_calls_that_were_made_or_none() {
    let mut table = Table::default();
    let indices =
        [Index::Right, Index::Zero, Index::Missing, Index::From1, Index::From5, Index::Text];
    let ids = [Id::First, Id::Each, Id::Missing, Id::Empty, Id::NewInEach, Id::Same];
    let names = [Name::Once, Name::Each, Name::ThenEmpty, Name::Last];
    let cuts = [Cut::Whole, Cut::Pieces, Cut::Opened, Cut::OpenedWhole, Cut::None, Cut::BeforeName];
    for index in indices {
        for id in ids {
            for name in names {
                // To share an id is to be one call, where nothing else tells two apart.
                let is_shared = id == Id::Same && matches!(index, Index::Zero | Index::Missing);
                // Read as others are, which have all names and ids.
                let is_shifted = matches!(index, Index::From1 | Index::From5 | Index::Text);
                if is_shared || (is_shifted && (name == Name::ThenEmpty || id == Id::Empty)) {
                    continue;
                }
                for cut in cuts {
                    for meant in REPLIES {
                        for (is_interleaved, is_one_chunk) in [(false, false), (true, true)] {
                            if is_interleaved && meant.len() == 1 {
                                continue;
                            }
                            let cell =
                                Cell { index, id, name, cut, is_interleaved, is_one_chunk, meant };
                            let read = read::<OpenAiChat>(&cell.events(), &cell.meant());
                            table.note(&cell, read, cell.ambiguity());
                        }
                    }
                }
            }
        }
    }
    let refused = [
        ("a repeated name without an id", 1202),
        ("an id of its own for a piece that says nothing", 316),
        ("an id of its own for each piece without an index", 96),
        ("arguments before a name without an id", 1926),
        ("calls of one name without an index and an id", 56),
        ("calls without arguments and an index", 819),
        ("calls without arguments, an index and an id", 920),
        ("interleaved without an index or an id", 368),
        ("pieces of several calls without an index", 331),
    ];
    table.check("Chat Completions", 14240, &refused);
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list of cases")]
fn a_piece_that_no_table_has_is_of_one_call_or_refused() {
    let pieces = |all: Value| all.as_array().unwrap().clone();
    let f = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let cases: [(&str, Value, Option<&[Meant]>); 22] = [
        (
            "the name in each piece, and neither index nor id",
            json!([{"function": f("wipe", json!("{\"a\":"))}, {"function": f("wipe", json!("1}"))}]),
            Some(&[("wipe", r#"{"a":1}"#)]),
        ),
        (
            "the same, with arguments after the name",
            json!([{"function": f("wipe", json!(""))}, {"function": f("wipe", json!("{\"a\":1}"))}]),
            None,
        ),
        (
            "two calls at one index, the first without arguments",
            json!([{"index": 0, "id": "", "function": f("wipe", json!(""))},
                {"index": 0, "id": "", "function": f("list", json!("{\"a\":1}"))}]),
            Some(&[("wipe", ""), ("list", r#"{"a":1}"#)]),
        ),
        (
            "a name in two pieces",
            json!([{"index": 0, "id": "c", "function": f("we", json!(""))},
                {"index": 0, "function": f("ather", json!("{}"))}]),
            None,
        ),
        (
            "a name in two pieces, without an id",
            json!([{"index": 0, "function": f("we", json!(""))}, {"index": 0, "function": f("ather", json!(""))},
                {"index": 0, "function": {"arguments": "{}"}}]),
            None,
        ),
        (
            "an object after a whole one",
            json!([{"index": 0, "id": "c", "function": f("wipe", json!("{}"))},
                {"index": 0, "function": f("", json!("{\"a\":1}"))}]),
            None,
        ),
        (
            "a call again, under its id",
            json!([{"index": 0, "id": "c", "function": f("wipe", json!("{}"))},
                {"index": 0, "id": "c", "function": f("wipe", json!("{}"))}]),
            None,
        ),
        (
            "a call again, without an id",
            json!([{"index": 0, "function": f("wipe", json!("{}"))}, {"index": 0, "function": f("wipe", json!("{}"))}]),
            None,
        ),
        (
            "equal calls at two indices",
            json!([{"index": 0, "function": f("wipe", json!("{}"))}, {"index": 1, "function": f("wipe", json!("{}"))}]),
            Some(&[("wipe", "{}"), ("wipe", "{}")]),
        ),
        (
            "arguments as an object",
            json!([{"index": 0, "function": f("wipe", json!({"a": 1}))}]),
            Some(&[("wipe", r#"{"a":1}"#)]),
        ),
        (
            "an object after a text",
            json!([{"index": 0, "id": "c", "function": f("wipe", json!("{\"a\":"))},
                {"index": 0, "function": {"arguments": {"b": 1}}}, {"index": 0, "function": {"arguments": "}"}}]),
            None,
        ),
        (
            "null as a word of the arguments, and as none",
            json!([{"index": 0, "function": f("wipe", json!("{\"a\":"))}, {"index": 0, "function": {"arguments": "null"}},
                {"index": 0, "function": {"arguments": null}}, {"index": 0, "function": {"arguments": "}"}}]),
            Some(&[("wipe", r#"{"a":null}"#)]),
        ),
        (
            "no arguments but null",
            json!([{"index": 0, "function": f("wipe", Value::Null)}]),
            Some(&[("wipe", "")]),
        ),
        (
            "pieces without a function",
            json!([{"index": 0, "id": "c"}, {"index": 0, "function": f("wipe", json!("{}"))}, {"index": 0}]),
            Some(&[("wipe", "{}")]),
        ),
        (
            "a call without a name",
            json!([{"index": 0, "id": "c", "function": {"arguments": "{}"}}]),
            None,
        ),
        ("a place without a call", json!([{"index": 0}]), Some(&[])),
        (
            "an index for each piece",
            json!([{"index": 0, "id": "c", "function": f("wipe", json!(""))}, {"index": 1, "id": "c", "function": {"arguments": "{}"}}]),
            None,
        ),
        (
            "an index that is none, which is left out",
            json!([{"index": "first", "function": f("wipe", json!("{}"))}]),
            Some(&[("wipe", "{}")]),
        ),
        (
            "ids that come back",
            json!([{"index": 0, "id": "a", "function": f("wipe", json!("{\"a\":["))},
                {"index": 0, "id": "b", "function": f("wipe", json!("["))}, {"index": 0, "id": "a", "function": {"arguments": "]]}"}}]),
            None,
        ),
        (
            "custom calls of one name",
            json!([{"index": 0, "custom": {"name": "sql", "input": "a"}}, {"index": 0, "custom": {"name": "sql", "input": "b"}}]),
            None,
        ),
        (
            "calls of which the first was not finished",
            json!([{"index": 0, "id": "a", "function": f("wipe", json!("{\"a\":"))},
                {"index": 0, "id": "b", "function": f("list", json!("{}"))}]),
            None,
        ),
        (
            "a call whose arguments were cut, which is refused when it is read",
            json!([{"index": 0, "id": "a", "function": f("wipe", json!("{\"a\":"))}]),
            Some(&[("wipe", "{\"a\":")]),
        ),
    ];
    for (case, all, expected) in cases {
        let all = pieces(all);
        let mut apart: Vec<Value> =
            all.iter().map(|piece| chunk(std::slice::from_ref(piece), "")).collect();
        apart.push(chunk(&[], "tool_calls"));
        for events in [apart, vec![chunk(&all, "stop")]] {
            let came = read::<OpenAiChat>(&events, expected.unwrap_or_default());
            let right = if expected.is_some() { Read::Calls } else { Read::Refused };
            assert_eq!(came, right, "{case}");
        }
    }
}

/// A stream by its name and its chunks, and the calls that come out of it.
type StreamCase<'a> = (&'a str, Vec<Value>, Option<&'a [Meant]>);

#[test]
fn the_end_of_a_stream_is_that_of_its_calls() {
    let call =
        |index: u64| json!({"index": index, "function": {"name": "wipe", "arguments": "{}"}});
    let (first, second) = (&[call(0)][..], &[call(1)][..]);
    let older =
        json!({"choices": [{"delta": {"function_call": {"name": "wipe", "arguments": "{}"}}}]});
    let other = json!({"choices": [{"index": 1, "delta": {"tool_calls": second}}]});
    let unnumbered = json!({"choices": [{"delta": {}}, {"delta": {"tool_calls": second}}]});
    let bare = chunk(&[json!({"index": 0, "function": {"name": "wipe"}})], "");
    let end = chunk(&[], "tool_calls");
    let one: &[Meant] = &[("wipe", "{}")];
    let two: &[Meant] = &[("wipe", "{}"), ("wipe", "{}")];
    let cases: [StreamCase<'_>; 12] = [
        ("no reason", vec![chunk(first, "")], None),
        ("no piece", vec![end.clone()], Some(&[])),
        ("a piece with the reason", vec![chunk(first, "stop")], Some(one)),
        ("a reason in each chunk", vec![chunk(first, "stop"), chunk(second, "stop")], Some(two)),
        ("a call after the reason", vec![chunk(first, "stop"), chunk(second, "")], None),
        ("the last chunk twice", vec![chunk(first, "stop"), chunk(first, "stop")], None),
        ("the end twice", vec![chunk(first, ""), end.clone(), end.clone()], Some(one)),
        ("the older form", vec![older.clone(), end.clone()], Some(one)),
        ("both forms", vec![older, chunk(first, "stop")], None),
        ("a second choice", vec![chunk(first, ""), other, end.clone()], Some(one)),
        ("a second choice without an index", vec![chunk(first, ""), unnumbered, end], Some(one)),
        ("a reason that is not known, before arguments", vec![bare, chunk(&[], "gone")], None),
    ];
    for (case, events, expected) in cases {
        let right = if expected.is_some() { Read::Calls } else { Read::Refused };
        assert_eq!(read::<OpenAiChat>(&events, expected.unwrap_or_default()), right, "{case}");
    }
}
