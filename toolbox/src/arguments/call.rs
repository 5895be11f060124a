//! A call as its handler receives it: the text of its arguments, its context, and the reading of
//! both.

mod aside;
mod full_check;
mod output;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::{Map, json};

use self::aside::{Aside, object_of};
use self::full_check::{ArgumentSlots, ReadTarget, WholeObject};
use super::arena::Arena;
use super::argument::Absent;
use super::describe::{self, Times};
use super::reader::{ArgumentReader, NO_KEY};
use super::signature::{ArgumentSignature, ArgumentSource, Described, Signature, SignatureBuilder};
use super::slot::Fill;
use super::specimen;
use crate::call::{FailureKind, Faults, Repair, ToolResult};
use crate::context::ToolContext;
use crate::dialect::SharedDefinition;
use crate::sync::Mutex;
use crate::validate::{self, ReadError, ValidationLimits};

/// A call that is passed to a tool's handler.
#[derive(Debug)]
pub struct HandlerCall<'call> {
    pub(crate) context: &'call ToolContext,
    /// The definition of the tool, which a context that is not used lacks.
    definition: Option<&'call SharedDefinition>,
    text: &'call str,
    signature: &'call Signature,
    depth: usize,
    arena: Arena,
    /// `true` if the arguments were refused, so that no code of the tool's own ran.
    refused: AtomicBool,
    /// Set if this is no real call.
    asked: Option<Asked<'call>>,
}

/// What a handler is asked for in place of running.
#[derive(Debug, Clone, Copy)]
enum Asked<'call> {
    /// To store its signature.
    Signature(&'call Mutex<Described>),
    /// To read its arguments, and to say that they were read.
    Reading(&'call AtomicBool),
}

impl<'given> HandlerCall<'given> {
    #[inline]
    pub(crate) fn new(
        context: &'given ToolContext,
        definition: Option<&'given SharedDefinition>,
        text: &'given str,
        signature: &'given Signature,
        depth: usize,
    ) -> Self {
        Self {
            context,
            definition,
            text,
            signature,
            depth,
            arena: Arena::new(),
            refused: AtomicBool::new(false),
            asked: None,
        }
    }

    /// Returns a call that asks a tool's handler to describe itself into `described`.
    pub(crate) fn asking(
        context: &'given ToolContext,
        signature: &'given Signature,
        described: &'given Mutex<Described>,
    ) -> Self {
        let asked = Some(Asked::Signature(described));
        Self { asked, ..Self::new(context, None, "", signature, 0) }
    }

    /// Returns the call as one that only reads its arguments.
    pub(crate) fn only_reading(self, was_read: &'given AtomicBool) -> Self {
        Self { asked: Some(Asked::Reading(was_read)), ..self }
    }

    /// Adds the repairs of the arguments to the result, and the mark of the gate if it refused
    /// them; holds what a type wrote against the output schema of the tool.
    #[allow(clippy::inline_always, reason = "it has nothing to do for most calls")]
    #[inline(always)]
    pub(crate) fn conclude(self, result: &mut ToolResult) {
        let Self { arena, refused, definition, .. } = self;
        if let Some(json) = result.take_typed()
            && let Some(failure) = definition.and_then(|own| output::misfit(json, own))
        {
            *result = failure;
        }
        if refused.into_inner() {
            result.mark_as_gate();
        }
        if let Some(repairs) = arena.into_repairs() {
            result.note_repairs(repairs);
        }
    }

    /// Returns `true` if the tool has an output schema.
    #[allow(dead_code, reason = "modules of features ask")]
    pub(crate) fn has_output_schema(&self) -> bool {
        self.definition.is_some_and(|own| own.output_schema.is_some())
    }

    /// Returns the repairs of the arguments.
    pub(crate) fn into_repairs(self) -> Vec<Repair> {
        self.arena.into_repairs().unwrap_or_default()
    }

    /// Fills the slots from the text of the call and from its context.
    ///
    /// # Errors
    ///
    /// The result that answers the call, if the arguments do not fit.
    #[doc(hidden)]
    #[inline]
    pub fn read<'call>(
        &'call self,
        slots: &mut [&mut dyn Fill<'call>],
        builder: &dyn Fn(&mut SignatureBuilder),
    ) -> Result<(), ToolResult> {
        if let Some(asked) = self.asked {
            return Err(self.answer(asked, slots, builder));
        }
        self.read_slots(slots)
    }

    /// Fills the slots as [`read`](Self::read) does, and runs their checks.
    ///
    /// # Errors
    ///
    /// The result that answers the call, if the arguments do not fit, or a check refuses them.
    #[doc(hidden)]
    pub fn read_checked<'call>(
        &'call self,
        slots: &mut [&mut dyn Fill<'call>],
        builder: &dyn Fn(&mut SignatureBuilder),
    ) -> Result<(), ToolResult> {
        self.read(slots, builder)?;
        self.check_slots(slots)
    }

    #[inline]
    fn read_slots<'call>(
        &'call self,
        slots: &mut [&mut dyn Fill<'call>],
    ) -> Result<(), ToolResult> {
        match self.fill(self.text, slots) {
            Ok(()) => Ok(()),
            Err(failure) => self.check_fully(failure, &mut ArgumentSlots(slots)),
        }
    }

    /// Does what is asked in place of running, and returns a result that ends the handler.
    #[cold]
    fn answer<'call>(
        &'call self,
        asked: Asked<'_>,
        slots: &mut [&mut dyn Fill<'call>],
        builder: &dyn Fn(&mut SignatureBuilder),
    ) -> ToolResult {
        match asked {
            Asked::Signature(described) => self.describe(slots, builder, described),
            Asked::Reading(was_read) => {
                match self.read_slots(slots).and_then(|()| self.check_slots(slots)) {
                    Ok(()) => {
                        was_read.store(true, Ordering::Relaxed);
                        ToolResult::new("")
                    }
                    Err(refusal) => refusal,
                }
            }
        }
    }

    /// Stores the tool's signature in `described`, and returns an empty result.
    #[cold]
    fn describe<'call>(
        &'call self,
        slots: &mut [&mut dyn Fill<'call>],
        build: &dyn Fn(&mut SignatureBuilder),
        described: &Mutex<Described>,
    ) -> ToolResult {
        let describe = |slots: &[&mut dyn Fill<'call>], times| {
            let mut builder = SignatureBuilder::default();
            build(&mut builder);
            describe::describe(slots, builder, times)
        };
        let mut answer = describe(slots, Times::AsText);
        if answer.signature.has_times && !self.reads_times(slots, &answer.signature) {
            answer = describe(slots, Times::AsObjects);
        }
        let schema = &answer.signature.schema;
        for (slot, argument) in slots.iter_mut().zip(&answer.signature.arguments) {
            let own = match argument.origin {
                ArgumentSource::Field => &schema["properties"][&*argument.name],
                _ => continue,
            };
            let Some(specimen) = specimen::with_maps(own, schema) else { continue };
            let text = self.arena.keep(specimen.to_string());
            let read = slot.read(&mut ArgumentReader::new(
                text,
                &self.arena,
                ValidationLimits::default().depth,
            ));
            if read.is_err_and(|error| error.message() == NO_KEY) {
                answer.mistakes.push(format!(
                    "argument `{}` holds a map that no model can fill in: {NO_KEY}, so key it by `String`, a number or an enum of plain variants, or take a list of pairs",
                    argument.name
                ));
            }
        }
        *described.lock() = answer;
        ToolResult::new("")
    }

    /// Returns `true` if times as text reach the types that they are for: what serde holds back
    /// until it knows the rest, as in an untagged enum, is past the reader by then.
    fn reads_times<'call>(
        &'call self,
        slots: &mut [&mut dyn Fill<'call>],
        signature: &Signature,
    ) -> bool {
        slots.iter_mut().zip(&signature.arguments).all(|(slot, argument)| {
            let own = match &argument.origin {
                ArgumentSource::Field => signature.schema["properties"][&*argument.name].clone(),
                ArgumentSource::Fields { names, .. } => {
                    let field = |name: &String| (name.clone(), signature.schema["properties"][name].clone());
                    json!({"type": "object", "properties": names.iter().map(field).collect::<Map<_, _>>()})
                }
                ArgumentSource::Program => return true,
            };
            let mut read = |text: String| {
                let (text, depth) = (self.arena.keep(text), ValidationLimits::default().depth);
                slot.read(&mut ArgumentReader::new(text, &self.arena, depth)).is_ok()
            };
            specimen::with_times(&own, &signature.schema)
                .all(|specimen| specimen::takes_text(specimen, &mut read))
        })
    }

    /// Reads the whole argument object as one value.
    pub(crate) fn read_whole<'call, T: Deserialize<'call>>(&'call self) -> Result<T, ToolResult> {
        self.read_whole_text().map(|(value, _)| value)
    }

    /// Reads the whole argument object as one value, and returns the text that it was read from:
    /// the call's own, or that text repaired.
    pub(crate) fn read_whole_text<'call, T: Deserialize<'call>>(
        &'call self,
    ) -> Result<(T, &'call str), ToolResult> {
        let mut whole = WholeObject(None);
        let outcome = match whole.read(self, self.text) {
            Ok(()) => Ok(()),
            Err(failure) => self.check_fully(failure, &mut whole),
        };
        match (outcome, whole.0) {
            (Err(result), _) => Err(result),
            (Ok(()), Some(value)) => match self.asked {
                Some(Asked::Reading(was_read)) => {
                    was_read.store(true, Ordering::Relaxed);
                    Err(ToolResult::new(""))
                }
                _ => Ok(value),
            },
            (Ok(()), None) => {
                Err(ToolResult::failure(FailureKind::InvalidArguments, "no arguments"))
            }
        }
    }

    fn whole<'call, T: Deserialize<'call>>(
        &'call self,
        text: &'call str,
    ) -> Result<T, ReadFailure> {
        let mut reader = self.reader(text);
        let value = T::deserialize(&mut reader)?;
        if let Some(argument) = self.signature.arguments.first()
            && reader.must_check(argument.policing)
        {
            let faults = validate::conforms(
                text,
                &self.signature.schema,
                &self.signature.schema,
                "",
                &self.bounds(),
            );
            ReadFailure::from_faults(faults)?;
        }
        end(&mut reader)?;
        Ok(value)
    }

    fn reader<'call>(&'call self, text: &'call str) -> ArgumentReader<'call> {
        ArgumentReader::new(text, &self.arena, self.depth).knowing(&self.signature.shapes)
    }

    fn bounds(&self) -> ValidationLimits {
        ValidationLimits { depth: self.depth, reads_seconds: self.signature.has_times }
    }
}

/// The part of an object that was read so far.
#[derive(Default)]
struct Filled<'call> {
    /// A bit for each slot that has a value.
    slots: u64,
    aside: Option<Box<Aside<'call>>>,
}

impl Filled<'_> {
    /// Notes a null that counts as absent.
    #[cold]
    fn note_null(&mut self, name: &str) {
        let aside = self.aside.get_or_insert_default();
        aside.nulls.push(Repair::null_left_out(name));
    }
}

impl HandlerCall<'_> {
    /// Reads the text straight into the slots, and stops at the first fault.
    fn fill<'call>(
        &'call self,
        text: &'call str,
        slots: &mut [&mut dyn Fill<'call>],
    ) -> Result<(), ReadFailure> {
        // The object itself is a level, which the reader does not enter.
        let Some(depth) = self.depth.checked_sub(1) else { return Err(ReadFailure::Refused) };
        let mut reader = ArgumentReader::new(text, &self.arena, depth);
        reader = reader.knowing(&self.signature.shapes);
        let (mut filled, mut bit) = (Filled::default(), 1);
        // Models write arguments in the order of the schema and without blanks, so that is tried
        // first.
        for (argument, slot) in self.signature.arguments.iter().zip(slots.iter_mut()) {
            if !reader.take_lead(&argument.lead) {
                break;
            }
            self.read_value(argument, bit, &mut **slot, &mut reader, &mut filled)?;
            bit <<= 1;
        }
        if bit == 1 || !reader.is_at_last_brace() {
            let next = bit.trailing_zeros() as usize;
            filled = self.fill_in_any_order(next, &mut reader, slots, filled)?;
        }
        if filled.slots == self.signature.all && filled.aside.is_none() {
            return Ok(());
        }
        self.fill_rest(filled, text, slots)
    }

    /// Reads the rest of an object whose first `next` fields were read, whatever its order.
    #[inline(never)]
    fn fill_in_any_order<'call>(
        &'call self,
        mut next: usize,
        reader: &mut ArgumentReader<'call>,
        slots: &mut [&mut dyn Fill<'call>],
        mut filled: Filled<'call>,
    ) -> Result<Filled<'call>, ReadFailure> {
        let arguments = &self.signature.arguments[..];
        let mut is_first = next == 0;
        loop {
            let index = match arguments.get(next) {
                Some(argument) if !is_first && reader.take_lead(&argument.lead) => next,
                _ => match self.find(reader, is_first, &mut filled.aside)? {
                    NextField::Argument(index) => index,
                    NextField::Spread => {
                        is_first = false;
                        continue;
                    }
                    NextField::End => break,
                },
            };
            is_first = false;
            let bit = 1 << index;
            if filled.slots & bit != 0 {
                return Err(ReadFailure::Refused);
            }
            next = index + 1;
            self.read_value(&arguments[index], bit, &mut *slots[index], reader, &mut filled)?;
        }
        end(reader)?;
        Ok(filled)
    }

    /// Reads the value of an argument into its slot, which has a bit of its own.
    #[allow(clippy::inline_always, reason = "else its arguments go through memory")]
    #[inline(always)]
    fn read_value<'call>(
        &'call self,
        argument: &ArgumentSignature,
        bit: u64,
        slot: &mut dyn Fill<'call>,
        reader: &mut ArgumentReader<'call>,
        filled: &mut Filled<'call>,
    ) -> Result<(), ReadFailure> {
        if argument.null_is_absent && reader.take_null() {
            filled.note_null(&argument.name);
            return Ok(());
        }
        let start = reader.position();
        slot.read(reader)?;
        filled.slots |= bit;
        if reader.must_check(argument.policing) {
            self.check(&argument.name, reader.text_from(start))?;
        }
        Ok(())
    }

    /// Fills the slots that no field of the object was read into.
    #[inline(never)]
    fn fill_rest<'call>(
        &'call self,
        filled: Filled<'call>,
        text: &str,
        slots: &mut [&mut dyn Fill<'call>],
    ) -> Result<(), ReadFailure> {
        let mut bits = filled.slots;
        if let Some(aside) = filled.aside {
            bits |= self.gather(*aside, text, slots)?;
        }
        let arguments = &self.signature.arguments;
        let is_reading = matches!(self.asked, Some(Asked::Reading(_)));
        for (index, (argument, slot)) in arguments.iter().zip(slots).enumerate() {
            // What the program supplies is not asked for in vain.
            let is_spared = is_reading && argument.origin == ArgumentSource::Program;
            if bits & (1 << index) == 0 && !is_spared {
                self.absent(argument, &mut **slot)?;
            }
        }
        Ok(())
    }

    /// Finds the next field whatever the order, behind any blanks.
    #[inline(never)]
    fn find<'call>(
        &'call self,
        reader: &mut ArgumentReader<'call>,
        is_first: bool,
        aside: &mut Option<Box<Aside<'call>>>,
    ) -> Result<NextField, ReadFailure> {
        let is_there = if is_first {
            reader.expect(b'{')?;
            reader.peek_token() != Some(b'}')
        } else {
            reader.next_field()?
        };
        if !is_there {
            reader.expect(b'}')?;
            return Ok(NextField::End);
        }
        let start = reader.position();
        let key = reader.string()?;
        reader.expect(b':')?;
        reader.peek_token();
        let arguments = &self.signature.arguments;
        let is = |argument: &ArgumentSignature| {
            !argument.lead.is_empty() && argument.name == key.as_str()
        };
        if let Some(index) = arguments.iter().position(is) {
            return Ok(NextField::Argument(index));
        }
        aside.get_or_insert_default().take(key.as_str(), start, arguments, reader)?;
        Ok(NextField::Spread)
    }

    fn absent<'call>(
        &'call self,
        argument: &ArgumentSignature,
        slot: &mut dyn Fill<'call>,
    ) -> Result<(), ReadFailure> {
        if let ArgumentSource::Fields { .. } = argument.origin {
            let mut reader = ArgumentReader::new("{}", &self.arena, self.depth);
            return Ok(slot.read(&mut reader)?);
        }
        slot.absent(self.context).map_err(|absent| match absent {
            Absent::Required => ReadFailure::Refused,
            Absent::Unavailable(error) => ReadFailure::Unavailable(error),
        })
    }

    /// Fills the flattened arguments from the fields that belong to them, and notes the nulls that
    /// count as absent.
    fn gather<'call>(
        &'call self,
        aside: Aside<'call>,
        text: &str,
        slots: &mut [&mut dyn Fill<'call>],
    ) -> Result<u64, ReadFailure> {
        if !aside.nulls.is_empty() {
            // After a full check, its own notes are kept.
            self.arena.note(aside.nulls);
        }
        let mut filled = 0;
        for (index, fields) in aside.objects {
            let argument = &self.signature.arguments[index];
            if let ArgumentSource::Fields { rest: true, .. } = argument.origin {
                // Only the whole schema has the keywords that bound a field which is not a named
                // argument.
                let schema = &self.signature.schema;
                let faults = validate::conforms(text, schema, schema, "", &self.bounds());
                ReadFailure::from_faults(faults)?;
            } else {
                for (name, value) in &fields {
                    self.check(name, value)?;
                }
            }
            let text = self.arena.keep(object_of(&fields));
            let mut reader = ArgumentReader::new(text, &self.arena, self.depth);
            slots[index].read(&mut reader)?;
            filled |= 1 << index;
        }
        Ok(filled)
    }
}

/// The next item in an argument object.
enum NextField {
    /// The value of an argument.
    Argument(usize),
    /// A field of a flattened argument, which was kept.
    Spread,
    /// The end of the object.
    End,
}

/// The reason why reading the arguments failed.
#[derive(Debug)]
enum ReadFailure {
    /// A type refused a value.
    Read,
    Faults(Box<Faults>),
    /// A fault that the full check describes better: a missing or unknown argument, no object at
    /// all.
    Refused,
    Unavailable(Box<crate::call::ToolError>),
}

impl ReadFailure {
    fn from_faults(faults: Faults) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self::Faults(Box::new(faults))) }
    }
}

impl From<ReadError> for ReadFailure {
    #[cold]
    fn from(_: ReadError) -> Self {
        Self::Read
    }
}

/// Checks that nothing but white space follows.
#[inline]
fn end(reader: &mut ArgumentReader<'_>) -> Result<(), ReadFailure> {
    if reader.peek_token().is_none() { Ok(()) } else { Err(ReadFailure::Refused) }
}
