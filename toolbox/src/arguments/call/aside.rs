//! The fields of an argument object that belong to flattened arguments, and nulls that count as
//! absent.

use super::super::reader::ArgumentReader;
use super::super::signature::{ArgumentSignature, ArgumentSource};
use crate::call::Repair;
use crate::validate::ReadError;

/// Data that few calls have: fields of flattened arguments, and nulls that count as absent.
#[derive(Default)]
pub(super) struct Aside<'call> {
    pub(super) objects: Vec<(usize, Vec<(String, &'call str)>)>,
    pub(super) nulls: Vec<Repair>,
}

impl<'call> Aside<'call> {
    /// Keeps the value of a field that is no argument by itself.
    pub(super) fn take(
        &mut self,
        name: &str,
        key_start: usize,
        arguments: &[ArgumentSignature],
        reader: &mut ArgumentReader<'call>,
    ) -> Result<(), ReadError> {
        let start = reader.position();
        reader.skip()?;
        if self.put(name, reader.text_from(start), arguments) {
            Ok(())
        } else {
            Err(ReadError::new("an unknown argument", key_start))
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
