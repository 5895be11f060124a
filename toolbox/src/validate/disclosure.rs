//! What a message may say of a value: the names on its path, and itself.
//!
//! A value is secret if any schema that may apply to it says so, whichever of them it is at fault
//! with: the mark and the rule may stand in two branches of an `allOf`, or in a pattern and a
//! property.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::json::{JsonKind, Node};
use super::references::References;
use super::schema::{has_secret_field, is_secret, says_secret};
use super::secrets::{HIDDEN, applicable, holds_secret, names_are_secret, of_field, of_item};
use super::value::{self, holds_json};
use crate::text::{join, nearest, push_index, push_key};

/// A step from a value to one within it.
#[derive(Clone)]
pub(super) enum PathSegment<'a> {
    Name(Cow<'a, str>),
    Index(usize),
}

/// The part of a value that may be said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Disclosure {
    All,
    /// Its kind alone: it holds a secret, or stands in the place of a value that would.
    Kind,
    Nothing,
}

/// A value in a document, as far as it may be said.
pub(super) struct Disclosed {
    pub(super) path: String,
    pub(super) value: Disclosure,
}

/// The value that steps start from.
#[derive(Clone, Copy)]
pub(super) struct PathOrigin<'r, 's> {
    pub(super) schema: &'s Value,
    pub(super) refs: &'r References<'s>,
    /// Its own path.
    pub(super) path: &'r str,
}

impl PathOrigin<'_, '_> {
    /// Returns what may be said of the value at the end of some steps.
    pub(super) fn disclose<'a>(self, steps: impl Iterator<Item = PathSegment<'a>>) -> Disclosed {
        let holds_secret = if std::ptr::eq(self.schema, self.refs.root) {
            self.refs.root_holds_secret()
        } else {
            is_secret(self.schema, self.refs)
        };
        let mut trail = holds_secret.then(|| Trail::new(self));
        let mut path = self.path.to_owned();
        for step in steps {
            match step {
                PathSegment::Name(name) => {
                    if trail.as_mut().is_some_and(|trail| trail.enter_field(&name)) {
                        path = join(&path, HIDDEN);
                    } else {
                        push_key(&mut path, &name);
                    }
                }
                PathSegment::Index(index) => {
                    push_index(&mut path, index);
                    if let Some(trail) = &mut trail {
                        trail.enter_item(index);
                    }
                }
            }
        }
        Disclosed { path, value: trail.map_or(Disclosure::All, |trail| trail.value()) }
    }
}

/// The schemas that may apply to a value, on the way to it.
struct Trail<'r, 's> {
    refs: &'r References<'s>,
    /// `None` if they are too many.
    schemas: Option<Vec<&'s Map<String, Value>>>,
    /// `true` if a value around it is secret.
    is_within_secret: bool,
}

impl<'r, 's> Trail<'r, 's> {
    fn new(origin: PathOrigin<'r, 's>) -> Self {
        let schemas = applicable(vec![origin.schema], origin.refs);
        Self { refs: origin.refs, schemas, is_within_secret: false }
    }

    /// Returns `true` if the name of the field must not be said.
    fn enter_field(&mut self, name: &str) -> bool {
        let Some(all) = &self.schemas else { return true };
        self.is_within_secret |= all.iter().any(|schema| says_secret(schema));
        let fields = of_field(all, name);
        let declared =
            || all.iter().filter_map(|schema| schema.get("properties")?.as_object()).flatten();
        let is_declared = declared().any(|(declared, _)| declared == name);
        // Where no field is declared, an object may stand in the place of what holds the secret.
        let holds_secrets = || {
            let is_for_others = declared().next().is_none();
            all.iter().any(|schema| {
                has_secret_field(schema, self.refs)
                    || is_for_others && holds_secret(schema, self.refs)
            })
        };
        // Beside a secret, a name that nobody declares may be it, but for a slip of one that is.
        let is_doubtful = || {
            self.is_within_secret
                || fields.is_empty()
                    && holds_secrets()
                    && nearest(name, declared().map(|(declared, _)| declared.as_str())).is_none()
        };
        let is_hidden = names_are_secret(all, self.refs) || !is_declared && is_doubtful();
        self.schemas = applicable(fields, self.refs);
        is_hidden
    }

    fn enter_item(&mut self, index: usize) {
        let Some(all) = &self.schemas else { return };
        self.is_within_secret |= all.iter().any(|schema| says_secret(schema));
        self.schemas = applicable(of_item(all, index), self.refs);
    }

    fn value(&self) -> Disclosure {
        match &self.schemas {
            Some(all) if !self.is_within_secret && !all.is_empty() => {
                if all.iter().any(|schema| says_secret(schema)) {
                    Disclosure::Nothing
                } else if all.iter().any(|schema| holds_secret(schema, self.refs)) {
                    Disclosure::Kind
                } else {
                    Disclosure::All
                }
            }
            _ => Disclosure::Nothing,
        }
    }
}

/// Displays a value as far as that is allowed.
pub(super) fn show(node: Node<'_>, disclosure: Disclosure) -> String {
    let is_empty = node.fields().next().is_none();
    match (disclosure, node.kind()) {
        (Disclosure::All, _) | (Disclosure::Kind, JsonKind::Array) => value::show(node),
        (Disclosure::Kind, JsonKind::Object) if is_empty => value::show(node),
        // Its names may be secrets in the wrong place.
        (Disclosure::Kind, JsonKind::Object) => "an object".to_owned(),
        (Disclosure::Kind, JsonKind::String) if holds_json(node) => value::show(node),
        _ => HIDDEN.to_owned(),
    }
}
