//! The formats whose calls have a beginning and an end of their own, or come whole.

use serde_json::{Value, json};
use toolbox::wire::{Anthropic, Gemini, GeminiInteractions, OpenAiResponses};

use super::{A, Meant, REPLIES, Table, arguments, read};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Index {
    Right,
    Zero,
    Missing,
    From5,
    Text,
}

const INDICES: [Index; 5] = [Index::Right, Index::Zero, Index::Missing, Index::From5, Index::Text];

impl Index {
    /// Adds the index of a part to an event.
    fn to(self, mut event: Value, key: &str, place: usize) -> Value {
        let index = match self {
            Self::Right => place.into(),
            Self::Zero => 0.into(),
            Self::Missing => return event,
            Self::From5 => (place + 5).into(),
            Self::Text => place.to_string().into(),
        };
        event[key] = index;
        event
    }

    fn tells(self) -> bool {
        !matches!(self, Self::Zero | Self::Missing)
    }
}

/// Puts the events of several calls one after another, or in turns.
fn joined(calls: &[Vec<Value>], is_interleaved: bool) -> Vec<Value> {
    if !is_interleaved {
        return calls.concat();
    }
    let most = calls.iter().map(Vec::len).max().unwrap_or_default();
    (0..most).flat_map(|turn| calls.iter().filter_map(move |of| of.get(turn).cloned())).collect()
}

fn halves(text: &'static str) -> Vec<&'static str> {
    let at = text.find(':').map_or(text.len(), |at| at + 1);
    vec![&text[..at], &text[at..]]
}

/// Where the arguments of a call come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Input {
    Start,
    Pieces,
    Whole,
    /// At its start, and again after it.
    Both,
    /// At its start, and others after it.
    Other,
}

const INPUTS: [Input; 5] = [Input::Start, Input::Pieces, Input::Whole, Input::Both, Input::Other];

impl Input {
    fn start(self, text: &str) -> Value {
        match self {
            Self::Start | Self::Both | Self::Other => arguments(text),
            Self::Pieces | Self::Whole => json!({}),
        }
    }

    fn pieces(self, text: &'static str) -> Vec<&'static str> {
        match self {
            Self::Start => Vec::new(),
            Self::Pieces => halves(text),
            Self::Whole | Self::Both => vec![text],
            Self::Other => vec![r#"{"other":true}"#],
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Blocks {
    index: Index,
    input: Input,
    has_stops: bool,
    has_end: bool,
    is_interleaved: bool,
    meant: &'static [Meant],
}

impl Blocks {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for index in INDICES {
            for input in INPUTS {
                for bits in 0..8 {
                    let (has_stops, has_end, is_interleaved) =
                        (bits & 1 == 0, bits & 2 == 0, bits & 4 != 0);
                    if !has_end && index != Index::Right {
                        continue;
                    }
                    all.extend(REPLIES.map(|meant| Self {
                        index,
                        input,
                        has_stops,
                        has_end,
                        is_interleaved,
                        meant,
                    }));
                }
            }
        }
        all
    }

    fn ambiguity(&self) -> Option<&'static str> {
        match () {
            () if !self.has_end => Some("no end of the reply"),
            () if !self.has_stops => Some("no end of a call"),
            () if self.is_interleaved && self.meant.len() > 1 && !self.index.tells() => {
                Some("calls at the same time without an index")
            }
            () if self.input == Input::Other
                && self.meant.iter().any(|(_, text)| !matches!(*text, "" | "{}")) =>
            {
                Some("two kinds of arguments")
            }
            () => None,
        }
    }

    /// The calls that the stream says: where pieces follow after an empty start, they are it.
    fn said(&self) -> Vec<Meant> {
        let said = |(name, text): &Meant| match self.input {
            Input::Other if matches!(*text, "" | "{}") => (*name, r#"{"other":true}"#),
            _ => (*name, *text),
        };
        self.meant.iter().map(said).collect()
    }
}

#[test]
fn a_stream_of_anthropic_gives_the_calls_that_were_made_or_none() {
    let mut table = Table::default();
    for cell in Blocks::all() {
        let calls: Vec<Vec<Value>> = (0..)
            .zip(cell.meant)
            .map(|(place, (name, text))| {
                let block = json!({"type": "tool_use", "id": format!("t{place}"), "name": name,
                    "input": cell.input.start(text)});
                let mut events =
                    vec![json!({"type": "content_block_start", "content_block": block})];
                events.extend(cell.input.pieces(text).into_iter().map(|piece| {
                    json!({"type": "content_block_delta",
                        "delta": {"type": "input_json_delta", "partial_json": piece}})
                }));
                if cell.has_stops {
                    events.push(json!({"type": "content_block_stop"}));
                }
                events.into_iter().map(|event| cell.index.to(event, "index", place)).collect()
            })
            .collect();
        let mut events = vec![json!({"type": "message_start", "message": {}})];
        events.extend(joined(&calls, cell.is_interleaved));
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
        if cell.has_end {
            events.push(json!({"type": "message_stop"}));
        }
        table.note(&cell, read::<Anthropic>(&events, &cell.said()), cell.ambiguity());
    }
    let refused = [
        ("calls at the same time without an index", 140),
        ("no end of a call", 850),
        ("no end of the reply", 340),
        ("two kinds of arguments", 116),
    ];
    table.check("Anthropic", 594, &refused);
}

#[test]
fn a_stream_of_interactions_gives_the_calls_that_were_made_or_none() {
    let mut table = Table::default();
    for cell in Blocks::all() {
        for has_steps in [false, true] {
            let calls: Vec<Vec<Value>> = (0..)
                .zip(cell.meant)
                .map(|(place, (name, text))| {
                    let step = json!({"type": "function_call", "id": format!("t{place}"), "name": name,
                        "arguments": cell.input.start(text)});
                    let mut events = vec![json!({"event_type": "step.start", "step": step})];
                    events.extend(cell.input.pieces(text).into_iter().map(|piece| {
                        json!({"event_type": "step.delta",
                            "delta": {"type": "arguments_delta", "arguments": piece}})
                    }));
                    if cell.has_stops {
                        events.push(json!({"event_type": "step.stop"}));
                    }
                    events.into_iter().map(|event| cell.index.to(event, "index", place)).collect()
                })
                .collect();
            let mut events = joined(&calls, cell.is_interleaved);
            if cell.has_end {
                let steps: Vec<Value> = (0..)
                    .zip(cell.said())
                    .map(|(place, (name, text))| {
                        json!({"type": "function_call", "id": format!("t{place}"), "name": name,
                            "arguments": arguments(text)})
                    })
                    .collect();
                let steps = if has_steps { json!(steps) } else { Value::Null };
                events.push(json!({"event_type": "interaction.completed",
                    "interaction": {"status": "requires_action", "steps": steps}}));
            }
            let came = read::<GeminiInteractions>(&events, &cell.said());
            table.note(&(cell, has_steps), came, cell.ambiguity());
        }
    }
    let refused = [
        ("calls at the same time without an index", 280),
        ("no end of a call", 1700),
        ("no end of the reply", 680),
        ("two kinds of arguments", 232),
    ];
    table.check("Interactions", 1188, &refused);
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ItemId {
    Right,
    Missing,
    /// The events after the first have another.
    Renamed,
    NewInEach,
}

/// What of the arguments comes before their items.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    Pieces,
    /// All, in the event that ends them.
    Whole,
    /// In pieces, and again in the event that ends them.
    Both,
}

#[test]
fn a_stream_of_responses_gives_the_calls_that_were_made_or_none() {
    let mut table = Table::default();
    let ids = [ItemId::Right, ItemId::Missing, ItemId::Renamed, ItemId::NewInEach];
    let befores = [Before::Nothing, Before::Pieces, Before::Whole, Before::Both];
    for index in INDICES {
        for id in ids {
            for before in befores {
                for bits in 0..16 {
                    let is = |bit: u8| bits & bit != 0;
                    let (has_done, has_items, is_interleaved, has_end) =
                        (is(1), is(2), is(4), is(8));
                    if !has_end && (index, id) != (Index::Right, ItemId::Right) {
                        continue;
                    }
                    for meant in REPLIES {
                        let items: Vec<Value> = (0..)
                            .zip(meant)
                            .map(|(place, (name, text))| {
                                json!({"type": "function_call", "id": format!("fc_{place}"),
                                    "call_id": format!("call_{place}"), "name": name, "arguments": text})
                            })
                            .collect();
                        let calls: Vec<Vec<Value>> = (0..)
                            .zip(meant)
                            .map(|(place, (_, text))| {
                                let item = &items[place];
                                responses_events(item, text, before, has_done)
                                    .into_iter()
                                    .enumerate()
                                    .map(|(at, mut event)| {
                                        match id {
                                            ItemId::Right => {}
                                            ItemId::Missing => drop(
                                                event.as_object_mut().unwrap().remove("item_id"),
                                            ),
                                            ItemId::Renamed => {
                                                rename(&mut event, at, &format!("x_{place}"));
                                            }
                                            ItemId::NewInEach => {
                                                rename(&mut event, at, &format!("x_{place}_{at}"));
                                            }
                                        }
                                        index.to(event, "output_index", place)
                                    })
                                    .collect()
                            })
                            .collect();
                        let mut events = joined(&calls, is_interleaved);
                        if has_end {
                            let output = if has_items { items } else { Vec::new() };
                            events.push(json!({"type": "response.completed", "response": {"status": "completed", "output": output}}));
                        }
                        let cell = (index, id, before, has_done, has_items, is_interleaved, meant);
                        let reason = match () {
                            () if !has_end => Some("no end of the reply"),
                            () if !(has_done || has_items) => Some("no item that is done"),
                            () => None,
                        };
                        table.note(&cell, read::<OpenAiResponses>(&events, meant), reason);
                    }
                }
            }
        }
    }
    let refused = [("no end of the reply", 544), ("no item that is done", 2720)];
    table.check("Responses", 8160, &refused);
}

fn responses_events(
    item: &Value,
    text: &'static str,
    before: Before,
    has_done: bool,
) -> Vec<Value> {
    let id = &item["id"];
    let mut added = item.clone();
    added["arguments"] = "".into();
    let mut events = vec![json!({"type": "response.output_item.added", "item": added})];
    if matches!(before, Before::Pieces | Before::Both) {
        events.extend(halves(text).into_iter().map(|piece| {
            json!({"type": "response.function_call_arguments.delta", "item_id": id, "delta": piece})
        }));
    }
    if matches!(before, Before::Whole | Before::Both) {
        events.push(json!({"type": "response.function_call_arguments.done", "item_id": id, "arguments": text}));
    }
    if has_done {
        events.push(json!({"type": "response.output_item.done", "item": item}));
    }
    events
}

/// Gives the item of an event another id, but for the first event.
fn rename(event: &mut Value, at: usize, id: &str) {
    if at > 0 {
        let place = if event.get("item").is_some() {
            &mut event["item"]["id"]
        } else {
            &mut event["item_id"]
        };
        *place = id.into();
    }
}

#[test]
fn a_stream_of_gemini_gives_the_calls_that_were_made_or_none() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Id {
        Right,
        Missing,
        Empty,
        Equal,
    }
    let mut table = Table::default();
    for id in [Id::Right, Id::Missing, Id::Empty, Id::Equal] {
        for bits in 0..16 {
            let is = |bit: u8| bits & bit != 0;
            let (is_one_chunk, has_end, is_end_apart, has_none) = (is(1), is(2), is(4), is(8));
            for meant in REPLIES {
                let parts: Vec<Value> = (0..)
                    .zip(meant)
                    .map(|(place, (name, text))| {
                        let mut call = json!({"name": name, "args": arguments(text)});
                        if has_none && text.is_empty() {
                            call["args"] = Value::Null;
                        }
                        match id {
                            Id::Right => call["id"] = place.to_string().into(),
                            Id::Missing => {}
                            Id::Empty => call["id"] = "".into(),
                            Id::Equal => call["id"] = "c".into(),
                        }
                        json!({"functionCall": call})
                    })
                    .collect();
                let chunk = |parts: &[Value], is_end: bool| {
                    let finish = if is_end { "STOP".into() } else { Value::Null };
                    json!({"candidates": [{"content": {"parts": parts}, "finishReason": finish}]})
                };
                let chunks: Vec<&[Value]> =
                    if is_one_chunk { vec![&parts] } else { parts.chunks(1).collect() };
                let last = chunks.len() - 1;
                let mut events: Vec<Value> = chunks
                    .iter()
                    .enumerate()
                    .map(|(at, parts)| chunk(parts, has_end && !is_end_apart && at == last))
                    .collect();
                if has_end && is_end_apart {
                    events.push(chunk(&[], true));
                }
                let reason = (!has_end).then_some("no end of the reply");
                let cell = (id, is_one_chunk, is_end_apart, meant);
                table.note(&cell, read::<Gemini>(&events, meant), reason);
            }
        }
    }
    table.check("Gemini", 544, &[("no end of the reply", 544)]);
    let pieces = json!({"functionCall": {"name": "wipe", "partialArgs": [], "willContinue": true}});
    for part in
        [pieces, json!({"functionCall": {}}), json!({"functionCall": {"name": "", "args": {}}})]
    {
        let events =
            [json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})];
        assert_eq!(read::<Gemini>(&events, &[("wipe", A)]), super::Read::Refused);
    }
}
