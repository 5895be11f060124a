//! Reading of an argument object into the slots of a call.

use super::super::argument::Absent;
use super::super::reader::ArgumentReader;
use super::super::signature::{ArgumentSignature, ArgumentSource};
use super::super::slot::Fill;
use super::{HandlerCall, ReadFailure, end};
use crate::call::Repair;
use crate::validate::{self, ReadError};

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
    pub(super) fn fill<'call>(
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
        for (index, (argument, slot)) in arguments.iter().zip(slots).enumerate() {
            if bits & (1 << index) == 0 {
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

/// Data that few calls have: fields of flattened arguments, and nulls that count as absent.
#[derive(Default)]
pub(super) struct Aside<'call> {
    pub(super) objects: Vec<(usize, Vec<(String, &'call str)>)>,
    nulls: Vec<Repair>,
}

impl<'call> Aside<'call> {
    /// Keeps the value of a field that is no argument by itself.
    fn take(
        &mut self,
        name: &str,
        key_start: usize,
        arguments: &[ArgumentSignature],
        reader: &mut ArgumentReader<'call>,
    ) -> Result<(), ReadFailure> {
        let start = reader.position();
        reader.skip()?;
        if self.put(name, reader.text_from(start), arguments) {
            Ok(())
        } else {
            Err(ReadError::new("an unknown argument", key_start).into())
        }
    }

    /// Adds a field to the argument that it belongs to; returns whether there is one.
    pub(super) fn put(
        &mut self,
        name: &str,
        value: &'call str,
        arguments: &[ArgumentSignature],
    ) -> bool {
        let has = |argument: &ArgumentSignature| matches!(&argument.origin, ArgumentSource::Fields { names, .. } if names.iter().any(|own| own == name));
        let takes_rest = |argument: &ArgumentSignature| {
            matches!(argument.origin, ArgumentSource::Fields { rest: true, .. })
        };
        let owner =
            arguments.iter().position(has).or_else(|| arguments.iter().position(takes_rest));
        let Some(owner) = owner else { return false };
        let at = match self.objects.iter().position(|(index, _)| *index == owner) {
            Some(at) => at,
            None => {
                self.objects.push((owner, Vec::new()));
                self.objects.len() - 1
            }
        };
        self.objects[at].1.push((name.to_owned(), value));
        true
    }
}

/// Writes an object with these fields.
pub(super) fn object_of(fields: &[(String, &str)]) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name.as_str())));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
