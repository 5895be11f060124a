//! The full check of a call: of arguments that could not be read, and of those that are not read.

use std::sync::atomic::Ordering;

use serde::Deserialize;

use super::super::reader::ArgumentReader;
use super::super::signature::{ArgumentSignature, ArgumentSource};
use super::super::slot::Fill;
use super::aside::{Aside, object_of};
use super::{Asked, HandlerCall, ReadFailure};
use crate::call::{ArgumentsError, FailureKind, Fault, FaultKind, Faults, ToolResult, Violations};
use crate::text::argument_path;
use crate::validate::{self, CheckOutcome, ReadError};

impl HandlerCall<'_> {
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

    /// Checks one argument against its schema, for faults that deserializing does not detect.
    #[cold]
    pub(super) fn check(&self, name: &str, value: &str) -> Result<(), ReadFailure> {
        let schema = &self.signature.schema;
        let faults =
            validate::conforms(value, &schema["properties"][name], schema, name, &self.bounds());
        ReadFailure::from_faults(faults)
    }

    /// Runs the full check: finds every fault, or makes the safe repairs and reads again.
    #[cold]
    pub(super) fn check_fully<'call>(
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

    /// Runs the checks of one's own on arguments that were read.
    #[cold]
    pub(super) fn check_slots<'call>(
        &'call self,
        slots: &mut [&mut dyn Fill<'call>],
    ) -> Result<(), ToolResult> {
        if slots.iter().all(|slot| slot.check().is_ok()) {
            return Ok(());
        }
        let faults = self.refused_values(self.text_read(), &[], &mut ArgumentSlots(slots));
        if faults.is_empty() { Ok(()) } else { Err(self.refuse(faults)) }
    }

    /// Returns the text that valid arguments were read from: the call's own, or that repaired.
    fn text_read(&self) -> &str {
        match validate::check_arguments(self.text, &self.signature.schema, &self.bounds()) {
            CheckOutcome::Repaired { text, .. } => self.arena.keep(text),
            CheckOutcome::Valid | CheckOutcome::Invalid { .. } => self.text,
        }
    }

    /// Returns what a check of several arguments found, as faults.
    fn violated(&self, violations: &Violations) -> Faults {
        let (schema, depth) = (&*self.signature.schema, self.depth);
        let subject = validate::Subject { schema, root: schema, path: "", depth };
        let text = self.text_read();
        validate::violated(text, subject, violations)
    }

    /// Runs a check over several arguments, and adds what it finds to what is wrong already.
    ///
    /// # Errors
    ///
    /// The refusal of the arguments.
    #[doc(hidden)]
    pub fn agree(
        &self,
        read: Result<(), ToolResult>,
        check: impl FnOnce() -> Result<(), Violations>,
    ) -> Result<(), ToolResult> {
        let was_read = match self.asked {
            None => None,
            Some(Asked::Signature(_)) => return read,
            Some(Asked::Reading(was_read)) => Some(was_read),
        };
        let Err(violations) = check() else { return read };
        let found = self.violated(&violations);
        if found.is_empty() {
            return read;
        }
        let is_read =
            read.is_ok() || was_read.is_some_and(|was_read| was_read.load(Ordering::Relaxed));
        let mut faults = Faults::default();
        if let Err(refusal) = &read
            && !is_read
        {
            let known = refusal.source().and_then(|source| source.downcast_ref::<ArgumentsError>());
            let Some(known) = known else { return read };
            faults = known.faults().clone();
        }
        faults.append(found);
        if let Some(was_read) = was_read {
            was_read.store(false, Ordering::Relaxed);
        }
        Err(self.refuse(faults))
    }

    /// Returns `true` if arguments have values that fit: those of the call were read, or are read
    /// now, beside others that were refused.
    #[doc(hidden)]
    pub fn have_values<'call>(
        &'call self,
        read: &Result<(), ToolResult>,
        slots: &mut [(&str, &mut dyn Fill<'call>)],
    ) -> bool {
        let refusal = match (read, self.asked) {
            (Ok(()), _) => return true,
            (Err(_), Some(Asked::Signature(_))) => return false,
            (Err(_), Some(Asked::Reading(was_read))) if was_read.load(Ordering::Relaxed) => {
                return true;
            }
            (Err(refusal), _) => refusal,
        };
        let known = refusal.source().and_then(|source| source.downcast_ref::<ArgumentsError>());
        let Some(known) = known.filter(|known| known.faults().more() == 0) else { return false };
        let texts = self.argument_texts(self.text);
        slots.iter_mut().all(|(name, slot)| {
            let arguments = &self.signature.arguments;
            let Some(index) = arguments.iter().position(|own| own.name == *name) else {
                return false;
            };
            if known.faults().iter().any(|fault| concerns(fault, &arguments[index])) {
                return false;
            }
            match texts.iter().find(|(at, _)| *at == index) {
                Some((_, text)) => {
                    let mut reader = ArgumentReader::new(text, &self.arena, self.depth);
                    slot.read(&mut reader).is_ok()
                }
                None => slot.absent(self.context).is_ok(),
            }
        })
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

/// Returns `true` if a fault may be one of an argument.
fn concerns(fault: &Fault, argument: &ArgumentSignature) -> bool {
    let is_within = |name: &str| {
        let rest = fault.path.strip_prefix(&argument_path(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    fault.path.is_empty()
        || match &argument.origin {
            ArgumentSource::Fields { names, rest } => {
                *rest || names.iter().any(|name| is_within(name))
            }
            _ => is_within(&argument.name),
        }
}

/// A target that the arguments of a call are read into.
pub(super) trait ReadTarget<'call> {
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
pub(super) struct ArgumentSlots<'slots, 'slot, 'call>(
    pub(super) &'slots mut [&'slot mut dyn Fill<'call>],
);

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
            faults.append(call.refused(text, own, &path, known, |reader| {
                slot.read(reader)?;
                slot.check()
            }));
        }
        faults
    }
}

/// A target for the whole argument object as one value.
pub(super) struct WholeObject<'call, T>(pub(super) Option<(T, &'call str)>);

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
