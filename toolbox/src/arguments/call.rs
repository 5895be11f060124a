//! A call as its handler receives it: the text of its arguments, its context, and the reading of
//! both.

mod fill;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;

use self::fill::{Aside, object_of};
use super::arena::Arena;
use super::describe;
use super::reader::{ArgumentReader, NO_KEY};
use super::signature::{ArgumentSignature, ArgumentSource, Described, Signature, SignatureBuilder};
use super::slot::Fill;
use super::specimen;
use crate::call::{ArgumentsError, FailureKind, Fault, FaultKind, Faults, Repair, ToolResult};
use crate::context::ToolContext;
use crate::dialect::SharedDefinition;
use crate::sync::Mutex;
use crate::text::argument_path;
use crate::validate::ReadError;
use crate::validate::{self, CheckOutcome, ValidationLimits};

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
    /// Set if this is no real call: the handler describes its signature into it.
    described: Option<&'call Mutex<Described>>,
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
            described: None,
        }
    }

    /// Returns a call that asks a tool's handler to describe itself into `described`.
    pub(crate) fn asking(
        context: &'given ToolContext,
        signature: &'given Signature,
        described: &'given Mutex<Described>,
    ) -> Self {
        Self { described: Some(described), ..Self::new(context, None, "", signature, 0) }
    }

    /// Adds the repairs of the arguments to the result, and the mark of the gate if it refused
    /// them.
    #[allow(clippy::inline_always, reason = "it has nothing to do for most calls")]
    #[inline(always)]
    pub(crate) fn conclude(self, result: &mut ToolResult) {
        let Self { arena, refused, .. } = self;
        if refused.into_inner() {
            result.mark_as_gate();
        }
        if let Some(repairs) = arena.into_repairs() {
            result.note_repairs(repairs);
        }
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
        if let Some(described) = self.described {
            return Err(self.describe(slots, builder, described));
        }
        match self.fill(self.text, slots) {
            Ok(()) => Ok(()),
            Err(failure) => self.check_fully(failure, &mut ArgumentSlots(slots)),
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
        let mut builder = SignatureBuilder::default();
        build(&mut builder);
        let mut answer = describe::describe(slots, builder);
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
            (Ok(()), Some(value)) => Ok(value),
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

    /// Checks the text against the schema, without deserializing it; returns the text to pass on.
    pub(crate) fn checked(&self) -> Result<&str, ToolResult> {
        if self.signature.unchecked {
            return Ok(self.text);
        }
        match validate::check_arguments(self.text, &self.signature.schema, &self.bounds()) {
            CheckOutcome::Valid => Ok(self.text),
            CheckOutcome::Repaired { text, repairs } => {
                self.arena.note(repairs);
                Ok(self.arena.keep(text))
            }
            CheckOutcome::Invalid { faults, .. } => Err(self.refuse(faults)),
        }
    }

    fn reader<'call>(&'call self, text: &'call str) -> ArgumentReader<'call> {
        ArgumentReader::new(text, &self.arena, self.depth).knowing(&self.signature.shapes)
    }

    fn bounds(&self) -> ValidationLimits {
        ValidationLimits { depth: self.depth }
    }

    /// Checks one argument against its schema, for faults that deserializing does not detect.
    #[cold]
    fn check(&self, name: &str, value: &str) -> Result<(), ReadFailure> {
        let schema = &self.signature.schema;
        let faults =
            validate::conforms(value, &schema["properties"][name], schema, name, &self.bounds());
        ReadFailure::from_faults(faults)
    }

    /// Runs the full check: finds every fault, or makes the safe repairs and reads again.
    #[cold]
    fn check_fully<'call>(
        &'call self,
        failure: ReadFailure,
        values: &mut dyn ReadTarget<'call>,
    ) -> Result<(), ToolResult> {
        if let ReadFailure::Unavailable(error) = failure {
            return Err((*error).into());
        }
        let (text, failure) =
            match validate::check_arguments(self.text, &self.signature.schema, &self.bounds()) {
                CheckOutcome::Invalid { mut faults, text } => {
                    if let Some(text) = text.filter(|_| faults.more() == 0) {
                        let known = faults.to_vec();
                        faults.append(self.refused_values(self.arena.keep(text), &known, values));
                    }
                    return Err(self.refuse(faults));
                }
                CheckOutcome::Valid => (self.text, failure),
                CheckOutcome::Repaired { text, repairs } => {
                    self.arena.note(repairs);
                    let text = self.arena.keep(text);
                    match values.read(self, text) {
                        Ok(()) => return Ok(()),
                        Err(failure) => (text, failure),
                    }
                }
            };
        if let ReadFailure::Unavailable(error) = failure {
            return Err((*error).into());
        }
        // An enum with a tag buffers its numbers, and takes no `3.0` for an integer afterwards.
        if let ReadFailure::Read = failure
            && let Some(plain) = validate::with_plain_integers(text)
            && values.read(self, self.arena.keep(plain)).is_ok()
        {
            return Ok(());
        }
        // The arguments fit the schema and not their types, so a type has a rule of its own.
        let refused = self.refused_values(text, &[], values);
        Err(match failure {
            _ if !refused.is_empty() => self.refuse(refused),
            ReadFailure::Faults(faults) => self.refuse(*faults),
            _ => self.refuse(Fault::new(
                FaultKind::Rejected,
                "",
                "must be an object that the tool can read",
            )),
        })
    }

    /// Finds the values that fit the schema and not their types, argument by argument.
    fn refused_values<'call>(
        &'call self,
        text: &'call str,
        known: &[Fault],
        values: &mut dyn ReadTarget<'call>,
    ) -> Faults {
        let text = match validate::with_plain_integers(text) {
            Some(plain) => self.arena.keep(plain),
            None => text,
        };
        values.refused(self, text, known)
    }

    /// Finds the values in the text of one argument that its type refuses.
    fn refused<'call>(
        &'call self,
        text: &'call str,
        schema: &serde_json::Value,
        path: &str,
        known: &[Fault],
        mut read: impl FnMut(&mut ArgumentReader<'call>) -> Result<(), ReadError>,
    ) -> Faults {
        let root = &self.signature.schema;
        let subject = validate::Subject { schema, root, path, depth: self.depth };
        validate::refused(text, subject, known, &|text| self.arena.keep(text), &mut |text| {
            let mut reader = ArgumentReader::new(text, &self.arena, self.depth);
            read(&mut reader).map_err(|error| error.at(0))
        })
    }

    /// Returns the text of each argument in the text of a call, with its index; flattened ones as
    /// an object.
    fn argument_texts<'call>(&'call self, text: &'call str) -> Vec<(usize, &'call str)> {
        let arguments = &self.signature.arguments;
        let mut texts = Vec::new();
        let mut aside = Aside::default();
        for (name, value) in validate::fields(text, self.depth) {
            let is = |argument: &ArgumentSignature| {
                argument.origin == ArgumentSource::Field && argument.name == name
            };
            match arguments.iter().position(is) {
                Some(index) if arguments[index].null_is_absent && value == "null" => {}
                Some(index) => texts.push((index, value)),
                None => drop(aside.put(&name, value, arguments)),
            }
        }
        let is_spread =
            |index: &usize| matches!(arguments[*index].origin, ArgumentSource::Fields { .. });
        for index in (0..arguments.len()).filter(is_spread) {
            let own = aside.objects.iter().find(|(owner, _)| *owner == index);
            let object = object_of(own.map_or(&[][..], |(_, fields)| fields));
            texts.push((index, self.arena.keep(object)));
        }
        texts
    }

    fn refuse(&self, faults: impl Into<Faults>) -> ToolResult {
        self.refused.store(true, Ordering::Relaxed);
        let name = self.definition.map_or("", |definition| &definition.name);
        let error = ArgumentsError::new(name, faults);
        ToolResult::refusal(FailureKind::InvalidArguments, error.to_string())
            .with_code(error.code())
            .with_error(error)
    }
}

/// A target that the arguments of a call are read into.
trait ReadTarget<'call> {
    /// Reads the whole text of a call.
    fn read(&mut self, call: &'call HandlerCall<'_>, text: &'call str) -> Result<(), ReadFailure>;

    /// Finds the values that fit the schema and not their types.
    fn refused(
        &mut self,
        call: &'call HandlerCall<'_>,
        text: &'call str,
        known: &[Fault],
    ) -> Faults;
}

/// A target with one slot for each argument.
struct ArgumentSlots<'slots, 'slot, 'call>(&'slots mut [&'slot mut dyn Fill<'call>]);

impl<'call> ReadTarget<'call> for ArgumentSlots<'_, '_, 'call> {
    fn read(&mut self, call: &'call HandlerCall<'_>, text: &'call str) -> Result<(), ReadFailure> {
        call.fill(text, self.0)
    }

    fn refused(
        &mut self,
        call: &'call HandlerCall<'_>,
        text: &'call str,
        known: &[Fault],
    ) -> Faults {
        let mut faults = Faults::default();
        let schema = &call.signature.schema;
        for (index, text) in call.argument_texts(text) {
            let argument = &call.signature.arguments[index];
            let (own, path) = match argument.origin {
                ArgumentSource::Fields { .. } => (&**schema, String::new()),
                _ => (&schema["properties"][&*argument.name], argument_path(&argument.name)),
            };
            let slot = &mut self.0[index];
            faults.append(call.refused(text, own, &path, known, |reader| slot.read(reader)));
        }
        faults
    }
}

/// A target for the whole argument object as one value.
struct WholeObject<'call, T>(Option<(T, &'call str)>);

impl<'call, T: Deserialize<'call>> ReadTarget<'call> for WholeObject<'call, T> {
    fn read(&mut self, call: &'call HandlerCall<'_>, text: &'call str) -> Result<(), ReadFailure> {
        self.0 = Some((call.whole(text)?, text));
        Ok(())
    }

    fn refused(
        &mut self,
        call: &'call HandlerCall<'_>,
        text: &'call str,
        known: &[Fault],
    ) -> Faults {
        let schema = &call.signature.schema;
        call.refused(text, schema, "", known, |reader| T::deserialize(reader).map(drop))
    }
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
