//! The optional members of a definition in a server's list, of which one of a wrong form is left
//! out and told, so that it costs nothing else.

use serde_json::{Map, Value};

/// Reads the optional members of one definition.
pub(super) struct OptionalMembers<'a> {
    members: Option<&'a Map<String, Value>>,
    left_out: Vec<String>,
}

impl<'a> OptionalMembers<'a> {
    pub(super) fn of(definition: &'a Value) -> Self {
        Self { members: definition.as_object(), left_out: Vec::new() }
    }

    /// Takes a text.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.read(name, "text", |value| value.as_str().map(str::to_owned))
    }

    /// Takes a number of bytes, which may be a text.
    pub(super) fn size(&mut self, name: &str) -> Option<u64> {
        self.read(name, "number", |value| match value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        })
    }

    /// Takes a yes or no.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        self.read(name, "boolean", Value::as_bool)
    }

    /// Takes an object.
    pub(super) fn object(&mut self, name: &str) -> Option<&'a Map<String, Value>> {
        self.read(name, "object", Value::as_object)
    }

    /// Takes a list.
    pub(super) fn list(&mut self, name: &str) -> Option<&'a Vec<Value>> {
        self.read(name, "list", Value::as_array)
    }

    /// Takes the members of an object among the members.
    pub(super) fn within<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let members = self.object(name)?;
        let mut inner = Self { members: Some(members), left_out: Vec::new() };
        let value = read(&mut inner);
        self.left_out.extend(inner.left_out.into_iter().map(|inner| format!("{name}.{inner}")));
        Some(value)
    }

    fn read<T>(
        &mut self,
        name: &str,
        kind: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.members?.get(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.left_out.push(format!("{name} (no {kind})"));
        }
        read
    }

    /// Returns a notice of what was left out; `None` if nothing was.
    pub(super) fn left_out(self) -> Option<String> {
        let what = self.left_out.join(", ");
        let notice = || format!("its definition has members of a wrong form, left out: {what}");
        (!what.is_empty()).then(notice)
    }
}
