//! One call as its tool sees it: the text of its arguments, its context, and how they are read.

use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Deserialize;

use super::about::{self, About, ArgumentSignature, Described, Place, Signature};
use super::arena::Arena;
use super::argument::Absent;
use super::cold::{self, Bounds, Fault, FaultKind, Faults, Repair, Verdict};
use super::reader::{ReadError, Reader};
use super::slot::Fill;
use crate::context::ToolContext;
use crate::error::FailureKind;
use crate::result::ToolResult;

/// One call on its way into a tool.
#[derive(Debug)]
pub struct Call<'tool> {
    pub(crate) context: ToolContext,
    text: String,
    signature: &'tool Signature,
    depth: usize,
    arena: Arena,
    repairs: OnceLock<Vec<Repair>>,
    /// Set when the call is none: the tool is asked what its signature is.
    described: Option<&'tool Mutex<Described>>,
}

impl<'tool> Call<'tool> {
    pub(crate) fn new(
        context: ToolContext,
        text: String,
        signature: &'tool Signature,
        depth: usize,
    ) -> Self {
        Self {
            context,
            text,
            signature,
            depth,
            arena: Arena::new(),
            repairs: OnceLock::new(),
            described: None,
        }
    }

    /// Returns a call that asks a tool's handler to describe itself into `described`.
    pub(crate) fn asking(signature: &'tool Signature, described: &'tool Mutex<Described>) -> Self {
        let call = Self::new(ToolContext::new(), String::new(), signature, 0);
        Self { described: Some(described), ..call }
    }

    /// Returns the context, and what was repaired in the arguments.
    pub(crate) fn into_parts(self) -> (ToolContext, Vec<Repair>) {
        (self.context, self.repairs.into_inner().unwrap_or_default())
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
        about: &dyn Fn(&mut About),
    ) -> Result<(), ToolResult> {
        if let Some(described) = self.described {
            return Err(describe(slots, about, described));
        }
        match self.fill(&self.text, slots) {
            Ok(()) => Ok(()),
            Err(trouble) => self.again(trouble, |call, text| call.fill(text, slots)),
        }
    }

    /// Reads the whole argument object as one value.
    pub(crate) fn read_whole<'call, T: Deserialize<'call>>(&'call self) -> Result<T, ToolResult> {
        let mut value = None;
        let mut read = |call: &'call Self, text: &'call str| {
            value = Some(call.whole(text)?);
            Ok(())
        };
        let outcome = match read(self, &self.text) {
            Ok(()) => Ok(()),
            Err(trouble) => self.again(trouble, read),
        };
        match (outcome, value) {
            (Err(result), _) => Err(result),
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => {
                Err(ToolResult::failure(FailureKind::InvalidArguments, "no arguments"))
            }
        }
    }

    fn whole<'call, T: Deserialize<'call>>(&'call self, text: &'call str) -> Result<T, Trouble> {
        let mut reader = Reader::new(text, &self.arena, self.depth);
        let value = T::deserialize(&mut reader)?;
        if let Some(argument) = self.signature.arguments.first()
            && argument.policing.must_check(reader.take_unpoliced())
        {
            let faults = cold::conforms(
                text,
                &self.signature.schema,
                &self.signature.schema,
                "",
                &self.bounds(),
            );
            Trouble::from_faults(faults)?;
        }
        end(&mut reader)?;
        Ok(value)
    }

    /// Checks the text against the schema, without reading it into anything; returns the text to hand on.
    pub(crate) fn checked(&self) -> Result<&str, ToolResult> {
        match cold::examine(&self.text, &self.signature.schema, &self.bounds()) {
            Verdict::Sound => Ok(&self.text),
            Verdict::Repaired { text, repairs } => {
                let _ = self.repairs.set(repairs);
                Ok(self.arena.keep(text))
            }
            Verdict::Faulty(faults) => Err(self.refuse(faults)),
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds { depth: self.depth }
    }

    /// The first look: straight into the slots, stopping at the first fault.
    fn fill<'call>(
        &'call self,
        text: &'call str,
        slots: &mut [&mut dyn Fill<'call>],
    ) -> Result<(), Trouble> {
        let mut reader = Reader::new(text, &self.arena, self.depth);
        let arguments = &self.signature.arguments[..];
        let mut filled = 0_u64;
        let mut next = 0;
        let mut spread: Option<Spread<'_>> = None;
        let mut nulls = Vec::new();
        if reader.peek_token() != Some(b'{') {
            return Err(Trouble::Refused);
        }
        reader.enter()?;
        let mut first = true;
        while reader.peek_token() != Some(b'}') {
            if !first {
                reader.expect(b',')?;
                reader.peek_token();
            }
            first = false;
            let key_start = reader.position();
            let key = reader.string()?;
            reader.expect(b':')?;
            let byte = reader.peek_token();
            let start = reader.position();
            // Models give arguments in the order of the schema, so the next one is tried first.
            let Some(index) = find(arguments, key.as_str(), next) else {
                spread.get_or_insert_with(|| Spread::new(arguments)).take(
                    key.as_str(),
                    key_start,
                    &mut reader,
                )?;
                continue;
            };
            if filled & (1 << index) != 0 {
                return Err(Trouble::Refused);
            }
            let argument = &arguments[index];
            next = index + 1;
            if byte == Some(b'n') && argument.null_is_absent {
                reader.skip()?;
                nulls.push(Repair::null_left_out(&argument.name));
                continue;
            }
            filled |= 1 << index;
            slots[index].read(&mut reader).map_err(|error| error.at(start))?;
            if argument.policing.must_check(reader.take_unpoliced()) {
                self.check(&argument.name, reader.text_from(start))?;
            }
        }
        reader.leave(b'}')?;
        end(&mut reader)?;
        if let Some(spread) = spread {
            filled |= self.gather(spread, slots)?;
        }
        for (index, slot) in slots.iter_mut().enumerate() {
            if filled & (1 << index) == 0 {
                self.absent(&arguments[index], &mut **slot)?;
            }
        }
        if !nulls.is_empty() {
            // After a second look, its own notes stand.
            let _ = self.repairs.set(nulls);
        }
        Ok(())
    }

    fn absent<'call>(
        &'call self,
        argument: &ArgumentSignature,
        slot: &mut dyn Fill<'call>,
    ) -> Result<(), Trouble> {
        if let Place::Fields(_) = argument.origin {
            let mut reader = Reader::new("{}", &self.arena, self.depth);
            return Ok(slot.read(&mut reader)?);
        }
        slot.absent(&self.context).map_err(|absent| match absent {
            Absent::Required => Trouble::Refused,
            Absent::Unavailable(error) => Trouble::Unavailable(error),
        })
    }

    /// Fills the flattened arguments from the fields that belong to them.
    fn gather<'call>(
        &'call self,
        spread: Spread<'call>,
        slots: &mut [&mut dyn Fill<'call>],
    ) -> Result<u64, Trouble> {
        let mut filled = 0;
        for (index, fields) in spread.objects {
            let argument = &self.signature.arguments[index];
            if argument.policing.must_check(true) {
                for (name, value) in &fields {
                    self.check(name, value)?;
                }
            }
            let object = fields
                .iter()
                .map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name.as_str())));
            let text = format!("{{{}}}", object.collect::<Vec<_>>().join(","));
            let mut reader = Reader::new(self.arena.keep(text), &self.arena, self.depth);
            // The offset is one in the gathered text: the cold pass finds the place by itself, or by the message.
            slots[index].read(&mut reader).map_err(Trouble::Read)?;
            filled |= 1 << index;
        }
        Ok(filled)
    }

    /// Holds one argument against its schema, for what reading it cannot see.
    #[cold]
    fn check(&self, name: &str, value: &str) -> Result<(), Trouble> {
        let schema = &self.signature.schema;
        let faults =
            cold::conforms(value, &schema["properties"][name], schema, name, &self.bounds());
        Trouble::from_faults(faults)
    }

    /// The second look: finds every fault, or repairs what is safe to repair and reads again.
    #[cold]
    fn again<'call>(
        &'call self,
        trouble: Trouble,
        mut read: impl FnMut(&'call Self, &'call str) -> Result<(), Trouble>,
    ) -> Result<(), ToolResult> {
        if let Trouble::Unavailable(error) = trouble {
            return Err((*error).into());
        }
        let (text, trouble) =
            match cold::examine(&self.text, &self.signature.schema, &self.bounds()) {
                Verdict::Faulty(faults) => return Err(self.refuse(faults)),
                Verdict::Sound => (self.text.as_str(), trouble),
                Verdict::Repaired { text, repairs } => {
                    let _ = self.repairs.set(repairs);
                    let text = self.arena.keep(text);
                    match read(self, text) {
                        Ok(()) => return Ok(()),
                        Err(trouble) => (text, trouble),
                    }
                }
            };
        // An enum with a tag buffers its numbers, and takes no `3.0` for an integer afterwards.
        if let Trouble::Read(_) = trouble
            && let Some(plain) = cold::with_plain_integers(text)
            && read(self, self.arena.keep(plain)).is_ok()
        {
            return Ok(());
        }
        Err(match trouble {
            Trouble::Unavailable(error) => (*error).into(),
            Trouble::Faults(faults) => self.refuse(faults),
            // The schema is content and the type is not: a rule of the type's own.
            Trouble::Read(error) => {
                let path =
                    error.offset().map_or_else(String::new, |offset| cold::path_at(text, offset));
                self.refuse(Fault::new(FaultKind::Rejected, path, error.message()))
            }
            Trouble::Refused => {
                self.refuse(Fault::new(FaultKind::Rejected, "", "an object that the tool can read"))
            }
        })
    }

    fn refuse(&self, faults: impl Into<Faults>) -> ToolResult {
        let error = cold::ArgumentsError::new(self.context.tool_name(), faults);
        ToolResult::failure(FailureKind::InvalidArguments, error.to_string())
            .with_code(error.code())
            .with_error(error)
    }
}

/// Why the first look did not end well.
#[derive(Debug)]
enum Trouble {
    Read(ReadError),
    Faults(Faults),
    /// Something that the second look words better: a missing or unknown argument, no object at all.
    Refused,
    Unavailable(Box<crate::error::ToolError>),
}

impl Trouble {
    fn from_faults(faults: Faults) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self::Faults(faults)) }
    }
}

impl From<ReadError> for Trouble {
    #[cold]
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Checks that nothing but white space follows.
#[inline]
fn end(reader: &mut Reader<'_>) -> Result<(), Trouble> {
    if reader.peek_token().is_none() { Ok(()) } else { Err(Trouble::Refused) }
}

/// Returns the index of the field `name`, trying `guess` first.
#[inline]
fn find(arguments: &[ArgumentSignature], name: &str, guess: usize) -> Option<usize> {
    let is =
        |argument: &ArgumentSignature| argument.origin == Place::Field && argument.name == name;
    if arguments.get(guess).is_some_and(is) {
        return Some(guess);
    }
    arguments.iter().position(is)
}

/// The fields of flattened arguments, as they come.
struct Spread<'call> {
    objects: Vec<(usize, Vec<(String, &'call str)>)>,
    signature: &'call [ArgumentSignature],
}

impl<'call> Spread<'call> {
    fn new(signature: &'call [ArgumentSignature]) -> Self {
        Self { objects: Vec::new(), signature }
    }

    fn take(
        &mut self,
        name: &str,
        key_start: usize,
        reader: &mut Reader<'call>,
    ) -> Result<(), Trouble> {
        let owner = self.signature.iter().position(|argument| {
            matches!(&argument.origin, Place::Fields(names) if names.iter().any(|own| own == name))
        });
        let Some(owner) = owner else {
            return Err(ReadError::new("an unknown argument", key_start).into());
        };
        let start = reader.position();
        reader.skip()?;
        let value = reader.text_from(start);
        let at = match self.objects.iter().position(|(index, _)| *index == owner) {
            Some(at) => at,
            None => {
                self.objects.push((owner, Vec::new()));
                self.objects.len() - 1
            }
        };
        self.objects[at].1.push((name.to_owned(), value));
        Ok(())
    }
}

#[cold]
fn describe(
    slots: &mut [&mut dyn Fill<'_>],
    say: &dyn Fn(&mut About),
    described: &Mutex<Described>,
) -> ToolResult {
    let mut about = About::default();
    say(&mut about);
    *described.lock().unwrap_or_else(PoisonError::into_inner) = about::describe(slots, about);
    ToolResult::new("")
}
