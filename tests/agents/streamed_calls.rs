//! Streamed calls, in the many ways in which services write them: a stream gives exactly the calls
//! that were made, or the reply is refused and none of them is run.
//!
//! The cells of each table are all combinations of its dimensions. A cell that is not in the list
//! of those that may be refused has to come out whole.

mod chat;
mod others;

use std::collections::BTreeMap;

use serde_json::Value;
use toolbox::model::Delta;
use toolbox::wire::{Format, ResponseStream};

/// A call that the writer of a stream means: a name, and arguments, which are empty for none.
type Meant = (&'static str, &'static str);

const A: &str = r#"{"a":[1]}"#;
const B: &str = r#"{"b":{"c":"}{"}}"#;
const C: &str = r#"{"d":[]}"#;

/// Replies of one to three calls: of other tools and of one tool, with arguments and without.
const REPLIES: [&[Meant]; 17] = [
    &[("wipe", A)],
    &[("wipe", B)],
    &[("wipe", "")],
    &[("wipe", A), ("list", B)],
    &[("wipe", "{}"), ("list", A)],
    &[("wipe", ""), ("list", A)],
    &[("wipe", A), ("list", "")],
    &[("wipe", ""), ("list", "")],
    &[("wipe", A), ("wipe", B)],
    &[("wipe", A), ("wipe", A)],
    &[("wipe", ""), ("wipe", A)],
    &[("wipe", A), ("wipe", "")],
    &[("wipe", ""), ("wipe", "")],
    &[("wipe", A), ("list", B), ("read", C)],
    &[("wipe", A), ("list", B), ("wipe", C)],
    &[("wipe", C), ("wipe", A), ("wipe", B)],
    &[("wipe", ""), ("list", ""), ("read", B)],
];

/// What came out of a stream.
#[derive(Debug, PartialEq)]
enum Read {
    /// The calls, and the same by its deltas.
    Calls,
    Refused,
    /// Neither: other calls were made, or shown.
    Wrong(String),
}

fn read<F: Format>(events: &[Value], meant: &[Meant]) -> Read {
    let mut stream = F::Stream::default();
    let mut deltas = Vec::new();
    for event in events {
        let text = event.to_string();
        if stream.event(&text, &mut |delta| deltas.push(delta)).is_err() {
            return Read::Refused;
        }
    }
    let Ok(response) = stream.finish() else { return Read::Refused };
    if !response.reply.finish.allows_calls() {
        return Read::Refused;
    }
    let calls = response.reply.tool_calls();
    let calls: Vec<_> =
        calls.map(|call| (call.name.clone(), arguments(call.arguments.as_str()))).collect();
    let expected: Vec<_> =
        meant.iter().map(|(name, text)| ((*name).to_owned(), arguments(text))).collect();
    let shown = shown(&deltas);
    if calls == expected && shown == expected {
        return Read::Calls;
    }
    Read::Wrong(format!("calls {calls:?}, shown {shown:?}, meant {expected:?}"))
}

/// The calls that deltas tell of.
fn shown(deltas: &[Delta]) -> Vec<(String, Value)> {
    let mut calls: Vec<(usize, String, String)> = Vec::new();
    for delta in deltas {
        match delta {
            Delta::Call { index, name, .. } => calls.push((*index, name.clone(), String::new())),
            Delta::Arguments { index, text } => {
                let call = calls.iter_mut().find(|(own, _, _)| own == index);
                call.expect("a call of this index").2.push_str(text);
            }
            _ => {}
        }
    }
    calls.sort_by_key(|(index, _, _)| *index);
    calls.into_iter().map(|(_, name, text)| (name, arguments(&text))).collect()
}

fn arguments(text: &str) -> Value {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The cells of a table, by what came out of them.
#[derive(Default)]
struct Table {
    whole: usize,
    /// The cells that were refused, by the reason for which they may be.
    refused: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Table {
    /// Notes a cell: `may_be_refused` is the reason why it cannot be told apart, if it cannot.
    fn note(
        &mut self,
        cell: &dyn std::fmt::Debug,
        read: Read,
        may_be_refused: Option<&'static str>,
    ) {
        match (read, may_be_refused) {
            (Read::Calls, _) => self.whole += 1,
            (Read::Refused, Some(reason)) => *self.refused.entry(reason).or_default() += 1,
            (Read::Refused, None) => self.wrong.push(format!("refused: {cell:?}")),
            (Read::Wrong(what), _) => self.wrong.push(format!("{cell:?}: {what}")),
        }
    }

    #[track_caller]
    #[allow(clippy::print_stdout, reason = "the counts are shown with the test")]
    fn check(self, form: &str, whole: usize, refused: &[(&'static str, usize)]) {
        let of = self.whole + self.refused.values().sum::<usize>() + self.wrong.len();
        println!("{form}: {of} cells, {} whole, refused {:?}", self.whole, self.refused);
        let shown: Vec<_> = self.wrong.iter().take(12).collect();
        assert!(self.wrong.is_empty(), "{form}: {} wrong, such as {shown:#?}", self.wrong.len());
        let refused: BTreeMap<_, _> = refused.iter().copied().collect();
        assert_eq!((self.whole, self.refused), (whole, refused), "{form}");
    }
}
