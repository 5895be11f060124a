//! The items of a stream, and what its deltas say of the calls among them.
//!
//! An item that is done, or in the last event, decides. Before that, a piece belongs to the call
//! that both of its marks name, the id of the item and its index, or the only one that one of them
//! does: proxies rename ids, and give several items one index. A piece that may belong to several
//! calls waits for the items.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::response::{CUSTOM_CALL, SEARCH_CALL, is_by_service};
use crate::context::promotion::SEARCH_TOOL;
use crate::model::Delta;
use crate::wire::WireError;
use crate::wire::openai::custom::{INPUT_END, input_piece};
use crate::wire::openai::invalid;

/// The item that an event names.
#[derive(Clone, Copy)]
pub(super) struct ItemMark<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
}

/// The items of a stream so far.
#[derive(Default)]
pub(super) struct StreamedItems {
    /// Items that are done, in the order they came.
    done: Vec<(Option<u64>, Value)>,
    /// The items that are done, by their ids.
    done_ids: HashMap<String, usize>,
    calls: Vec<LiveCall>,
    /// The calls that are not done, in order.
    open: Vec<usize>,
    /// The indices of the deltas of all calls.
    parts: HashSet<u64>,
    /// The number of items that have begun.
    begun: u64,
    /// The number of searches that have begun, and are announced when they are done.
    waiting: usize,
}

/// The most calls that are open while pieces are matched to them; beyond, they wait for the items.
const MOST_OPEN: usize = 256;

/// A call whose deltas are emitted.
struct LiveCall {
    /// The index that its deltas carry.
    part: u64,
    index: Option<u64>,
    item_id: String,
    call_id: String,
    name: String,
    /// The arguments that were emitted.
    sent: String,
}

impl StreamedItems {
    pub(super) fn len(&self) -> usize {
        self.done.len()
    }

    /// Begins an item.
    pub(super) fn add(&mut self, index: Option<u64>, item: &Value, emit: &mut dyn FnMut(Delta)) {
        // It may get its id only when it is done.
        let waits = text(item, "type") == SEARCH_CALL && text(item, "call_id").is_empty();
        let part = index.unwrap_or(self.begun);
        self.begun = self.begun.wrapping_add(1);
        let Some(name) = called(item) else { return };
        if waits {
            self.waiting += 1;
        } else {
            self.announce(part, index, item, name, emit);
        }
    }

    pub(super) fn add_arguments(
        &mut self,
        mark: ItemMark<'_>,
        text: &str,
        emit: &mut dyn FnMut(Delta),
    ) {
        if let Some(call) = self.marked(mark) {
            call.send(text, emit);
        }
    }

    /// Takes the whole arguments of a call.
    pub(super) fn end_arguments(
        &mut self,
        mark: ItemMark<'_>,
        text: &str,
        emit: &mut dyn FnMut(Delta),
    ) {
        if let Some(call) = self.marked(mark).filter(|call| call.sent.is_empty()) {
            call.send(text, emit);
        }
    }

    /// Takes a piece of a text that stands in place of JSON, as the JSON that the call is read as.
    pub(super) fn add_input(
        &mut self,
        mark: ItemMark<'_>,
        text: &str,
        emit: &mut dyn FnMut(Delta),
    ) {
        if let Some(call) = self.marked(mark) {
            let piece = input_piece(text, call.sent.is_empty());
            call.send(&piece, emit);
        }
    }

    /// Ends an item.
    pub(super) fn end(
        &mut self,
        index: Option<u64>,
        item: Value,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let id = [text(&item, "call_id"), text(&item, "id")].into_iter().find(|id| !id.is_empty());
        if let Some(id) = id {
            let before = self.done_ids.insert(id.to_owned(), self.done.len());
            if let Some((_, other)) = before.and_then(|before| self.done.get(before)) {
                if *other == item {
                    // The same event again.
                    return Ok(());
                }
                if called(other) == called(&item) && arguments(other) == arguments(&item) {
                    return Err(invalid("it is not clear whether a call was made or sent twice"));
                }
            }
        }
        self.settle(index, &item, emit)?;
        self.done.push((index, item));
        Ok(())
    }

    /// Takes the items of the last event: those that were not done are, and each that was is among
    /// them.
    pub(super) fn complete(
        &mut self,
        items: &[Value],
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let mut done: HashMap<(String, String), Vec<usize>> = HashMap::new();
        for (place, call) in self.calls.iter().enumerate().rev() {
            if self.open.binary_search(&place).is_err() {
                let key = (call.name.clone(), call.call_id.clone());
                done.entry(key).or_default().push(place);
            }
        }
        for (position, item) in (0..).zip(items) {
            let Some(name) = called(item) else { continue };
            let key = (name.to_owned(), text(item, "call_id").to_owned());
            match done.get_mut(&key).and_then(Vec::pop) {
                Some(place) => self.calls[place].fit(item, emit)?,
                None => self.settle(Some(position), item, emit)?,
            }
        }
        if !items.is_empty() && done.values().any(|left| !left.is_empty()) {
            return Err(invalid("the last event leaves out a call that was done"));
        }
        if self.open.is_empty() && self.waiting == 0 { Ok(()) } else { Err(WireError::CutOff) }
    }

    /// Returns the items that are done, in the order of their indices where each has its own.
    pub(super) fn into_done(mut self) -> Vec<Value> {
        let mut indices: Vec<_> = self.done.iter().map(|(index, _)| *index).collect();
        indices.sort_unstable();
        indices.dedup();
        if indices.len() == self.done.len() && !indices.contains(&None) {
            self.done.sort_by_key(|(index, _)| *index);
        }
        self.done.into_iter().map(|(_, item)| item).collect()
    }

    /// Ends the call of an item, if it is one: emits what was not emitted of it.
    fn settle(
        &mut self,
        index: Option<u64>,
        item: &Value,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let Some(name) = called(item) else { return Ok(()) };
        let place = match self.begun_as(index, item, name) {
            Some(place) => place,
            None => {
                let part = index.unwrap_or(self.begun);
                self.begun = self.begun.wrapping_add(1);
                if text(item, "type") == SEARCH_CALL {
                    self.waiting = self.waiting.saturating_sub(1);
                }
                self.announce(part, index, item, name, emit);
                self.calls.len() - 1
            }
        };
        self.open.retain(|open| *open != place);
        let call = &mut self.calls[place];
        if call.call_id.is_empty() {
            text(item, "call_id").clone_into(&mut call.call_id);
        }
        call.fit(item, emit)
    }

    /// Returns the open call that an item is: the one with its call id, else with its id, else at
    /// its index.
    fn begun_as(&self, index: Option<u64>, item: &Value, name: &str) -> Option<usize> {
        let (id, call_id) = (text(item, "id"), text(item, "call_id"));
        let find = |fits: &dyn Fn(&LiveCall) -> bool| {
            let mut open = self.open.iter().copied();
            open.find(|at| self.calls[*at].name == name && fits(&self.calls[*at]))
        };
        let is_free = |call: &LiveCall| call.call_id.is_empty() || call_id.is_empty();
        find(&|call| !call_id.is_empty() && call.call_id == call_id)
            .or_else(|| find(&|call| !id.is_empty() && call.item_id == id && is_free(call)))
            .or_else(|| find(&|call| index.is_some() && call.index == index && is_free(call)))
            .or_else(|| find(&|call| index.is_none() && is_free(call)))
    }

    /// Returns the call that an event names, if it is clear which.
    fn marked(&mut self, mark: ItemMark<'_>) -> Option<&mut LiveCall> {
        if self.open.len() > MOST_OPEN {
            return None;
        }
        let places = |fits: &dyn Fn(&LiveCall) -> bool| -> Vec<usize> {
            self.open.iter().copied().filter(|at| fits(&self.calls[*at])).collect()
        };
        let id = mark.id.filter(|id| !id.is_empty());
        let of_id = places(&|call| id.is_some_and(|id| call.item_id == id));
        let at_index = places(&|call| mark.index.is_some() && call.index == mark.index);
        let place = match (&of_id[..], &at_index[..]) {
            ([], []) if mark.index.is_none() && self.open.len() == 1 => self.open[0],
            ([place], []) | ([], [place]) => *place,
            (of_id, at_index) => {
                let mut both = of_id.iter().filter(|place| at_index.contains(place));
                *both.next().filter(|_| both.next().is_none())?
            }
        };
        Some(&mut self.calls[place])
    }

    fn announce(
        &mut self,
        part: u64,
        index: Option<u64>,
        item: &Value,
        name: &str,
        emit: &mut dyn FnMut(Delta),
    ) {
        let mut part = part;
        while !self.parts.insert(part) {
            part = self.begun;
            self.begun = self.begun.wrapping_add(1);
        }
        let (item_id, call_id) = (text(item, "id").to_owned(), text(item, "call_id").to_owned());
        let name = name.to_owned();
        emit(Delta::Call { index: number(part), id: call_id.clone(), name: name.clone() });
        self.open.push(self.calls.len());
        self.calls.push(LiveCall { part, index, item_id, call_id, name, sent: String::new() });
    }
}

impl LiveCall {
    fn send(&mut self, text: &str, emit: &mut dyn FnMut(Delta)) {
        if !text.is_empty() {
            self.sent.push_str(text);
            emit(Delta::Arguments { index: number(self.part), text: text.to_owned() });
        }
    }

    /// Emits the rest of the arguments.
    fn fit(&mut self, item: &Value, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        let whole = arguments(item);
        if let Some(rest) = whole.strip_prefix(self.sent.as_str()) {
            let rest = rest.to_owned();
            self.send(&rest, emit);
            return Ok(());
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        if read(&self.sent).is_some_and(|sent| read(&whole) == Some(sent)) {
            return Ok(());
        }
        Err(invalid("the pieces of a call do not add up to the call"))
    }
}

/// Returns the name of the tool that an item calls, if it is a call.
fn called(item: &Value) -> Option<&str> {
    match text(item, "type") {
        "function_call" | CUSTOM_CALL => Some(text(item, "name")),
        SEARCH_CALL if !is_by_service(item) => Some(SEARCH_TOOL),
        _ => None,
    }
}

/// Returns the arguments of a call, as they are read from its item.
fn arguments(item: &Value) -> Cow<'_, str> {
    if text(item, "type") == CUSTOM_CALL {
        return (input_piece(text(item, "input"), true) + INPUT_END).into();
    }
    match item.get("arguments") {
        None | Some(Value::Null) => "".into(),
        Some(Value::String(text)) => text.into(),
        // A search has an object here.
        Some(other) => other.to_string().into(),
    }
}

fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the index of an item's part: items become parts one by one.
fn number(part: u64) -> usize {
    usize::try_from(part).unwrap_or(usize::MAX)
}
