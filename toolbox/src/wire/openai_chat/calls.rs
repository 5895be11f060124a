//! Puts the calls of a stream together from their pieces.
//!
//! Services differ in what they say with a piece: an index that is right, always zero or missing;
//! an id once, in each piece, new in each piece or never; a name once, in each piece or last. So a
//! piece is read against the call that the pieces of its place belong to so far:
//!
//! - A piece with an id that this place knows continues the call of that id.
//! - A piece with another name begins a call, and so does one with a name once the call has a name
//!   and complete JSON. A name that repeats before that is the same call.
//! - What can be read in two ways is refused, and the whole reply with it: a guess would run a call
//!   that nobody made, or lose one. That is a name that changes before any arguments while the
//!   service gives ids (it may be one name in two pieces), a repeated name before any arguments
//!   without an id, an object that follows complete JSON without a name, and a call that repeats
//!   the one before it at the same place.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::response::{EchoedCall, marked_custom};
use crate::call::ToolCall;
use crate::model::Delta;
use crate::wire::WireError;
use crate::wire::openai::custom::{INPUT_END, input_piece};
use crate::wire::openai::invalid;
use crate::wire::pieces::{JsonProgress, JsonText};

/// The text of a piece.
pub(super) enum PieceText {
    /// A piece of JSON text.
    Json(String),
    /// A JSON value in place of its text, which is all of it.
    Value(String),
    /// A piece of the text that a custom tool takes.
    Input(String),
}

impl Default for PieceText {
    fn default() -> Self {
        Self::Json(String::new())
    }
}

impl PieceText {
    fn as_str(&self) -> &str {
        let (Self::Json(text) | Self::Value(text) | Self::Input(text)) = self;
        text
    }

    fn is_blank(&self) -> bool {
        self.as_str().trim().is_empty()
    }

    /// Returns `true` if the arguments of a call may begin with it; other pieces do so only where
    /// an object is within another.
    fn begins(&self) -> bool {
        !matches!(self, Self::Input(_)) && self.as_str().trim_start().starts_with('{')
    }

    fn is_whole(&self) -> bool {
        JsonText::of(self.as_str()).progress() == JsonProgress::Whole
    }
}

/// A piece of a call. Empty ids and names are none.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) text: PieceText,
    pub(super) extra: Option<Map<String, Value>>,
}

/// The calls of a stream so far.
#[derive(Default)]
pub(super) struct StreamedCalls {
    calls: Vec<CallSoFar>,
    /// The last call of each index; a map, because an index may be any number.
    at: HashMap<u64, usize>,
    /// The last call of each id at an index.
    known: HashMap<(u64, String), usize>,
    /// The last call of each id, whatever its index.
    by_id: HashMap<String, usize>,
    /// The call that had the last piece.
    latest: Option<usize>,
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is seen in a piece, and stays")]
struct CallSoFar {
    /// The index that its deltas carry.
    part: usize,
    /// `true` if it has an index.
    is_indexed: bool,
    /// The first id.
    id: String,
    name: String,
    json: JsonText,
    /// The bytes of the arguments that were emitted: none before the name is known.
    emitted: usize,
    is_announced: bool,
    is_custom: bool,
    extra: Option<Map<String, Value>>,
    /// The ids that its pieces had.
    ids: usize,
    /// `true` while each piece had an id that no piece before it had.
    is_renamed_by_each: bool,
    /// `true` if another call has pieces at the same place, so that either may have one that
    /// belongs to the other.
    is_beside: bool,
    /// The call at the same place that it repeats the name of, where no id tells them apart.
    repeats: Option<usize>,
    /// `true` if only arguments show that it is a call of its own.
    needs_arguments: bool,
    /// `true` if its name and its arguments came in pieces of their own.
    is_apart: bool,
    /// `true` if a piece without its name came after one with it.
    has_unnamed: bool,
    /// `true` if it is one call only as long as each of its pieces has its id.
    needs_ids: bool,
    /// `true` if a call before it at the same place has no arguments yet.
    is_after_blank: bool,
}

/// The call that a piece belongs to.
enum PiecePlace {
    Of(usize),
    /// A call that the piece begins; see [`CallSoFar::repeats`] and
    /// [`CallSoFar::needs_arguments`].
    New {
        repeats: Option<usize>,
        needs_arguments: bool,
    },
    /// The piece says nothing.
    Nothing(usize),
}

const BEGUN: PiecePlace = PiecePlace::New { repeats: None, needs_arguments: false };

impl StreamedCalls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Takes a piece. `before` is the number of parts of the reply before its calls.
    pub(super) fn take(
        &mut self,
        piece: Piece,
        before: usize,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let place = match self.place(&piece)? {
            PiecePlace::Nothing(place) => {
                let call = &mut self.calls[place];
                call.extra = piece.extra.or_else(|| call.extra.take());
                return Ok(());
            }
            PiecePlace::Of(place) => place,
            PiecePlace::New { repeats, needs_arguments } => {
                let place = self.begin(piece.index, before);
                self.check_name(place, piece.name.as_deref())?;
                let call = &mut self.calls[place];
                (call.repeats, call.needs_arguments) = (repeats, needs_arguments);
                place
            }
        };
        self.latest = Some(place);
        if let Some(index) = piece.index {
            self.at.insert(index, place);
            self.calls[place].is_indexed = true;
        }
        let is_known = self.note_id(place, piece.index, piece.id.clone());
        let call = &mut self.calls[place];
        call.is_apart |= match piece.name {
            Some(_) => call.name.is_empty() && call.is_begun(),
            None => !call.name.is_empty() && call.is_blank() && !piece.text.is_blank(),
        };
        call.has_unnamed |= !call.name.is_empty() && piece.name.is_none();
        call.needs_ids |= is_known
            && call.name.is_empty()
            && piece.name.is_none()
            && (piece.text.is_blank() || piece.text.begins());
        if call.name.is_empty() {
            call.name = piece.name.unwrap_or_default();
        }
        call.extra = piece.extra.or_else(|| call.extra.take());
        call.add(piece.text)?;
        call.emit(emit);
        Ok(())
    }

    /// Ends the arguments of custom calls, which come as a text without an end of its own.
    pub(super) fn end_inputs(&mut self, emit: &mut dyn FnMut(Delta)) {
        let open = |call: &&mut CallSoFar| call.is_custom && !call.is_input_ended();
        for call in self.calls.iter_mut().filter(open) {
            let start =
                if call.json.as_str().is_empty() { input_piece("", true) } else { String::new() };
            call.json.push(&(start + INPUT_END));
            call.emit(emit);
        }
    }

    /// Returns why the calls may not be run, if they may not: one of them has a piece that may
    /// belong to another, or lacks one.
    pub(super) fn doubt(&self) -> Option<WireError> {
        self.calls.iter().filter(|call| !call.is_nothing()).find_map(|call| {
            let what = if call.name.is_empty() {
                "a call has no name"
            } else if call.needs_arguments && call.is_blank() {
                "it is not clear whether a piece is a call without arguments or the end of one"
            } else if call.repeats.is_some_and(|other| self.calls[other].is_same(call)) {
                "it is not clear whether a call was made twice or sent twice"
            } else if (call.is_beside || call.ids > 1) && !call.is_well_formed() {
                "the pieces of several calls cannot be told apart"
            } else {
                return None;
            };
            Some(invalid(what))
        })
    }

    /// Returns `true` if a call has no arguments, which it may still have got.
    pub(super) fn has_blank(&self) -> bool {
        self.calls.iter().any(|call| call.is_blank() && !call.is_nothing())
    }

    pub(super) fn into_calls(self) -> Vec<EchoedCall> {
        let calls = self.calls.into_iter().filter(|call| !call.is_nothing());
        calls.map(CallSoFar::into_call).collect()
    }

    fn begin(&mut self, index: Option<u64>, before: usize) -> usize {
        let place = self.calls.len();
        let beside = match index {
            Some(index) => self.at.get(&index).copied(),
            None => self.latest,
        };
        let beside = beside.map(|beside| &mut self.calls[beside]);
        let is_beside = beside.is_some();
        let is_after_blank = beside.is_some_and(|call| {
            call.is_beside = true;
            call.is_blank() || call.is_after_blank
        });
        self.calls.push(CallSoFar {
            part: place + before,
            is_beside,
            is_after_blank,
            is_renamed_by_each: true,
            ..CallSoFar::default()
        });
        place
    }

    /// Checks that no call at the same place waits for arguments under the name of one that begins.
    fn check_name(&self, begun: usize, name: Option<&str>) -> Result<(), WireError> {
        if !self.calls[begun].is_after_blank {
            return Ok(());
        }
        let waits = |call: &CallSoFar| call.is_beside && call.is_blank() && call.is_named(name);
        if self.calls[..begun].iter().any(waits) { Err(repeated_name()) } else { Ok(()) }
    }

    /// Notes the id of a piece; returns `true` if the call had it before.
    fn note_id(&mut self, place: usize, index: Option<u64>, id: Option<String>) -> bool {
        let call = &mut self.calls[place];
        let Some(id) = id else {
            call.is_renamed_by_each = false;
            return false;
        };
        let known = match index {
            Some(index) => self.known.insert((index, id.clone()), place),
            None => self.by_id.get(&id).copied(),
        };
        let is_known = known == Some(place);
        if is_known {
            call.is_renamed_by_each = false;
        } else {
            call.ids += 1;
        }
        if call.id.is_empty() {
            call.id.clone_from(&id);
        }
        self.by_id.insert(id, place);
        is_known
    }

    /// Returns the call that a piece belongs to.
    fn place(&self, piece: &Piece) -> Result<PiecePlace, WireError> {
        let of_id = |id: &String| match piece.index {
            // Ids may repeat where indices tell calls apart.
            Some(index) if self.at.contains_key(&index) => self.known.get(&(index, id.clone())),
            Some(_) => self.by_id.get(id).filter(|place| !self.calls[**place].is_indexed),
            None => self.by_id.get(id),
        };
        if let Some(place) = piece.id.as_ref().and_then(of_id) {
            return self.of_known_id(*place, piece);
        }
        let latest = match piece.index {
            Some(index) => self.at.get(&index).copied(),
            None => self.latest,
        };
        let Some(latest) = latest else {
            if piece.index.is_none() && piece.id.is_none() && piece.name.is_none() {
                return Err(invalid("a piece of a call belongs to no call"));
            }
            return Ok(BEGUN);
        };
        let call = &self.calls[latest];
        let says_nothing = piece.name.is_none() && piece.text.is_blank();
        let place = match &piece.id {
            None if says_nothing => return Ok(PiecePlace::Nothing(latest)),
            Some(_) if call.ids > 0 && says_nothing => {
                let is_same = call.name.is_empty() && call.is_blank();
                return Ok(if is_same { PiecePlace::Of(latest) } else { BEGUN });
            }
            Some(_) if call.ids > 0 && piece.index.is_none() => self.of_new_key(latest, piece),
            Some(_) if call.ids > 0 => self.of_new_id(latest, piece),
            None if call.ids > 1 || call.needs_ids => {
                Err(invalid("the pieces of a call have ids and none"))
            }
            _ => self.of_place(latest, piece),
        }?;
        if matches!(place, PiecePlace::Of(_)) && call.is_after_blank && !piece.text.is_blank() {
            return Err(invalid("arguments may be of this call or of the one before it"));
        }
        Ok(place)
    }

    /// Places a piece whose id a call has already.
    fn of_known_id(&self, place: usize, piece: &Piece) -> Result<PiecePlace, WireError> {
        let call = &self.calls[place];
        if call.ids > 1 {
            return Err(invalid("the ids of a call change and come back"));
        }
        let ended = call.is_ended();
        match piece.name.as_deref() {
            Some(name) if call.is_named_else(name) && ended => Ok(BEGUN),
            Some(name) if call.is_named_else(name) => Err(in_two_pieces()),
            Some(_) if ended && !call.name.is_empty() && !piece.text.is_blank() => {
                Err(invalid("a call that is complete comes again under the same id"))
            }
            _ if ended && piece.text.begins() => Err(after_the_end()),
            _ => Ok(PiecePlace::Of(place)),
        }
    }

    /// Places a piece without an index and with an id that no call has: the id is all that tells
    /// calls apart.
    fn of_new_key(&self, place: usize, piece: &Piece) -> Result<PiecePlace, WireError> {
        let call = &self.calls[place];
        if call.is_blank() && call.is_named(piece.name.as_deref()) {
            return Err(repeated_name());
        }
        Ok(BEGUN)
    }

    /// Places a piece with an id that its index does not have yet: another call, if the service
    /// numbers all alike, or the same one, if it gives each piece an id.
    fn of_new_id(&self, place: usize, piece: &Piece) -> Result<PiecePlace, WireError> {
        let call = &self.calls[place];
        let is_named = call.is_named(piece.name.as_deref());
        if piece.name.as_deref().is_some_and(|name| call.is_named_else(name)) {
            let needs_arguments = call.is_apart && call.ids > 1;
            return Ok(PiecePlace::New { repeats: None, needs_arguments });
        }
        if call.is_ended() {
            return match (&piece.name, piece.text.is_blank()) {
                (Some(_), true) if call.name.is_empty() && call.ids > 1 => {
                    Ok(PiecePlace::Of(place))
                }
                (Some(_), true) if call.name.is_empty() => Err(after_the_end()),
                // With an id of its own it is no repetition.
                (Some(_), true) => Ok(PiecePlace::New { repeats: None, needs_arguments: true }),
                _ if piece.text.begins() => Ok(BEGUN),
                _ => Err(after_the_end()),
            };
        }
        if is_named && (call.is_blank() || call.has_unnamed) {
            return Err(repeated_name());
        }
        let may_begin = is_named && (piece.text.begins() || piece.text.is_blank());
        if !call.is_renamed_by_each || may_begin || call.may_end_before(piece) {
            return Err(invalid("the ids of the pieces of a call do not fit together"));
        }
        Ok(PiecePlace::Of(place))
    }

    /// Places a piece by where it comes alone: it has no id, or the call has none yet.
    fn of_place(&self, place: usize, piece: &Piece) -> Result<PiecePlace, WireError> {
        let call = &self.calls[place];
        let (ended, begins) = (call.is_ended(), piece.text.begins());
        let is_anonymous = call.ids == 0;
        let Some(name) = piece.name.as_deref() else {
            return match () {
                () if ended && begins && piece.id.is_some() => Ok(BEGUN),
                () if ended && begins || call.may_end_before(piece) => Err(after_the_end()),
                () => Ok(PiecePlace::Of(place)),
            };
        };
        if call.name.is_empty() {
            let fits = piece.text.is_blank() || !(ended || call.may_end_before(piece));
            return if fits { Ok(PiecePlace::Of(place)) } else { Err(after_the_end()) };
        }
        match (call.name == name, is_anonymous) {
            (true, false) if ended && !piece.text.is_blank() => Err(after_the_end()),
            (true, false) if call.has_unnamed => Err(repeated_name()),
            (true, true) if call.is_blank() || call.is_custom => Err(repeated_name()),
            // A name that is not in each piece may be that of another call.
            (true, true) if call.has_unnamed && !ended => Err(repeated_name()),
            (true, true) if ended && (begins || piece.text.is_blank()) => {
                Ok(PiecePlace::New { repeats: Some(place), needs_arguments: true })
            }
            (true, true) if ended || begins || piece.text.is_blank() => Err(after_the_end()),
            (true, _) => Ok(PiecePlace::Of(place)),
            (false, false) => Err(in_two_pieces()),
            (false, true) if call.is_blank() && piece.id.is_none() && !piece.text.is_whole() => {
                Err(in_two_pieces())
            }
            // A name that comes last may be that of the arguments before it.
            (false, true) => Ok(PiecePlace::New {
                repeats: None,
                needs_arguments: call.is_apart && piece.id.is_none(),
            }),
        }
    }
}

fn after_the_end() -> WireError {
    invalid("a piece of arguments may belong to another call than the one before it")
}

fn in_two_pieces() -> WireError {
    invalid("the name of a call changes: it may be one name in two pieces, or two calls")
}

fn repeated_name() -> WireError {
    invalid("the name of a call without arguments comes again: it may be one call, or two")
}

impl CallSoFar {
    fn is_blank(&self) -> bool {
        self.json.progress() == JsonProgress::Blank && !self.is_custom
    }

    /// Returns `true` if arguments have begun.
    fn is_begun(&self) -> bool {
        !self.is_blank()
    }

    /// Returns `true` if a piece may be the beginning of another call, though the arguments are not
    /// complete: the name, which would tell, comes after them.
    fn may_end_before(&self, piece: &Piece) -> bool {
        // A service that gives ids gives one to each call.
        let may_be_other = self.ids == 0 || piece.id.is_some();
        may_be_other && self.name.is_empty() && self.is_begun() && piece.text.begins()
    }

    /// Returns `true` if the arguments are complete.
    fn is_ended(&self) -> bool {
        matches!(self.json.progress(), JsonProgress::Whole | JsonProgress::Beyond)
    }

    fn is_named(&self, name: Option<&str>) -> bool {
        !self.name.is_empty() && name == Some(&self.name)
    }

    fn is_named_else(&self, name: &str) -> bool {
        !self.name.is_empty() && self.name != name
    }

    /// Returns `true` if no piece said anything of it.
    fn is_nothing(&self) -> bool {
        self.name.is_empty() && self.ids == 0 && self.json.as_str().is_empty()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.json.as_str().trim() == other.json.as_str().trim()
    }

    fn is_well_formed(&self) -> bool {
        let text = self.json.as_str();
        self.is_blank() || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    }

    fn is_input_ended(&self) -> bool {
        self.json.progress() == JsonProgress::Whole
    }

    fn add(&mut self, text: PieceText) -> Result<(), WireError> {
        match text {
            PieceText::Json(text) => self.json.push(&text),
            PieceText::Value(text) if self.is_blank() => self.json.push(&text),
            PieceText::Input(_) if self.is_input_ended() => return Err(after_the_end()),
            PieceText::Input(text) => {
                self.is_custom = true;
                if !text.is_empty() {
                    let text = input_piece(&text, self.json.as_str().is_empty());
                    self.json.push(&text);
                }
            }
            PieceText::Value(_) => return Err(after_the_end()),
        }
        Ok(())
    }

    /// Emits what is known, once it is known whose it is.
    fn emit(&mut self, emit: &mut dyn FnMut(Delta)) {
        if self.name.is_empty() {
            return;
        }
        if !self.is_announced {
            self.is_announced = true;
            let (id, name) = (self.id.clone(), self.name.clone());
            emit(Delta::Call { index: self.part, id, name });
        }
        let text = &self.json.as_str()[self.emitted..];
        if !text.is_empty() {
            emit(Delta::Arguments { index: self.part, text: text.to_owned() });
            self.emitted = self.json.as_str().len();
        }
    }

    fn into_call(self) -> EchoedCall {
        let text = self.json.into_string();
        let arguments = if text.trim() == "null" { String::new() } else { text };
        let call = ToolCall::new(self.id, self.name, arguments);
        if self.is_custom { marked_custom(call) } else { (call, self.extra) }
    }
}
