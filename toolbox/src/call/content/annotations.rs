//! Annotations and metadata of a content part.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Hints of a content part for the client that receives it, as the Model Context Protocol defines
/// them.
///
/// ```
/// use toolbox::Content;
/// use toolbox::call::{Role, ContentAnnotations};
///
/// let hints = ContentAnnotations::new().with_audience([Role::User]).with_priority(0.5);
/// let part = Content::text("Saved as draft 7.").with_annotations(hints);
/// assert_eq!(
///     serde_json::to_value(part)?["annotations"],
///     serde_json::json!({"audience": ["user"], "priority": 0.5}),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ContentAnnotations {
    /// The intended readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// The importance, from 0 (optional) to 1 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// The time of the last change, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl ContentAnnotations {
    /// Returns empty annotations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the intended readers.
    #[must_use]
    pub fn with_audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
        self.audience = Some(audience.into_iter().collect());
        self
    }

    /// Sets the importance, from 0 (optional) to 1 (required).
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the time of the last change, in ISO 8601, such as `2026-01-12T15:00:58Z`.
    #[must_use]
    pub fn with_last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }
}

/// A side of a conversation: a reader that a content part is meant for, or the one who says a
/// message.
///
/// ```
/// use toolbox::Content;
/// use toolbox::call::{Role, ContentAnnotations};
///
/// let for_people = ContentAnnotations::new().with_audience([Role::User]);
/// let log = Content::text("took 12 ms").with_annotations(for_people);
/// assert!(log.annotations().is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person in front of the client.
    User,
    /// The model.
    Assistant,
}

/// The annotations and the `_meta` of a content part; most parts have neither.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Attributes(Option<Box<Set>>);

#[derive(Debug, Clone, Default, PartialEq)]
struct Set {
    annotations: Option<ContentAnnotations>,
    meta: Map<String, Value>,
    /// The one who says the part, in a message of a prompt.
    role: Option<Role>,
}

impl Attributes {
    /// Reads the attributes of a part. Annotations that do not follow the protocol are left out.
    pub(super) fn read(annotations: Option<&Value>, meta: Option<&Value>) -> Self {
        let annotations = annotations.and_then(|value| ContentAnnotations::deserialize(value).ok());
        let meta = meta.and_then(Value::as_object).cloned().unwrap_or_default();
        let is_some = annotations.is_some() || !meta.is_empty();
        Self(is_some.then(|| Box::new(Set { annotations, meta, role: None })))
    }

    pub(crate) fn annotations(&self) -> Option<&ContentAnnotations> {
        self.0.as_ref()?.annotations.as_ref()
    }

    pub(crate) fn meta(&self) -> Option<&Map<String, Value>> {
        self.0.as_ref().map(|set| &set.meta).filter(|meta| !meta.is_empty())
    }

    pub(super) fn set_annotations(&mut self, annotations: ContentAnnotations) {
        self.0.get_or_insert_default().annotations = Some(annotations);
    }

    pub(super) fn insert_meta(&mut self, key: String, value: Value) {
        self.0.get_or_insert_default().meta.insert(key, value);
    }

    /// Sets the one who says the part; without it, that is the user.
    pub(crate) fn set_role(&mut self, role: Role) {
        if role != Role::User {
            self.0.get_or_insert_default().role = Some(role);
        }
    }

    /// Takes the one who says the part.
    pub(crate) fn take_role(&mut self) -> Option<Role> {
        let set = self.0.as_mut()?;
        let role = set.role.take();
        if *set == Box::default() {
            self.0 = None;
        }
        role
    }

    /// Returns the number of bytes they take as JSON, with their keys.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.0.as_ref().map_or(0, |set| set.size())
    }
}

impl Set {
    fn size(&self) -> usize {
        let json = |value: serde_json::Result<String>| value.map_or(0, |text| text.len());
        let annotations = self.annotations.as_ref().map_or(0, |annotations| {
            r#","annotations":"#.len() + json(serde_json::to_string(annotations))
        });
        let meta = if self.meta.is_empty() {
            0
        } else {
            r#","_meta":"#.len() + json(serde_json::to_string(&self.meta))
        };
        annotations + meta
    }
}
