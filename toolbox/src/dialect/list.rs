//! Lists of definitions that are cheap to clone and lowered once for each provider.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::definition::ToolDefinition;
use crate::dialect::{Dialect, Loss, Lowered, list, lower};

/// The definitions that go with one request to a model, in order.
///
/// Cloning costs a reference count, and the list of each provider is lowered and serialized once
/// for all clones. A box hands out the same value until it changes
/// ([`ToolBox::definitions`](crate::ToolBox::definitions)); a list of one's own comes from
/// `Vec<ToolDefinition>` or an iterator. Serializes to an array.
#[derive(Clone, Default)]
pub struct Definitions(Arc<DefinitionsInner>);

#[derive(Default)]
struct DefinitionsInner {
    definitions: Arc<[ToolDefinition]>,
    lists: [OnceLock<Arc<DefinitionList>>; Dialect::ALL.len()],
}

impl Definitions {
    /// Returns the list as one provider takes it, lowered and serialized once.
    #[must_use]
    pub fn lowered(&self, dialect: Dialect) -> Arc<DefinitionList> {
        let index = Dialect::ALL.iter().position(|own| *own == dialect).unwrap_or_default();
        let list = self.0.lists[index]
            .get_or_init(|| Arc::new(DefinitionList::new(self.shared(), dialect)));
        Arc::clone(list)
    }

    /// Returns the definitions as a shared slice.
    #[must_use]
    pub fn shared(&self) -> Arc<[ToolDefinition]> {
        Arc::clone(&self.0.definitions)
    }
}

impl Deref for Definitions {
    type Target = [ToolDefinition];

    fn deref(&self) -> &[ToolDefinition] {
        &self.0.definitions
    }
}

impl Serialize for Definitions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.definitions.serialize(serializer)
    }
}

impl PartialEq for Definitions {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.definitions == other.0.definitions
    }
}

impl AsRef<[ToolDefinition]> for Definitions {
    fn as_ref(&self) -> &[ToolDefinition] {
        self
    }
}

impl<'a> IntoIterator for &'a Definitions {
    type Item = &'a ToolDefinition;
    type IntoIter = std::slice::Iter<'a, ToolDefinition>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<ToolDefinition> for Definitions {
    fn from_iter<I: IntoIterator<Item = ToolDefinition>>(definitions: I) -> Self {
        Self(Arc::new(DefinitionsInner {
            definitions: definitions.into_iter().collect(),
            ..DefinitionsInner::default()
        }))
    }
}

impl From<Vec<ToolDefinition>> for Definitions {
    fn from(definitions: Vec<ToolDefinition>) -> Self {
        definitions.into_iter().collect()
    }
}

impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|definition| &definition.name)).finish()
    }
}

/// The tools of a box as one provider takes them: lowered, and serialized once.
pub struct DefinitionList {
    dialect: Dialect,
    definitions: Arc<[ToolDefinition]>,
    lowered: Vec<Lowered>,
    /// The whole list, serialized on first use; not used for deferred tools.
    json: OnceLock<Box<RawValue>>,
    /// The index of each tool, by its own name and by the name it is sent under.
    positions: OnceLock<HashMap<String, usize>>,
    /// Each tool as a deferred one, serialized on first use.
    deferred: OnceLock<Vec<Box<RawValue>>>,
}

impl DefinitionList {
    fn new(definitions: Arc<[ToolDefinition]>, dialect: Dialect) -> Self {
        Self {
            dialect,
            lowered: definitions.iter().map(|definition| lower(definition, dialect)).collect(),
            definitions,
            json: OnceLock::new(),
            positions: OnceLock::new(),
            deferred: OnceLock::new(),
        }
    }

    /// Returns the provider's whole `tools` value as JSON text, ready to be spliced into a request.
    #[must_use]
    pub fn json(&self) -> &str {
        self.raw().get()
    }

    /// Returns the same text as something serde splices into a larger document.
    #[must_use]
    pub fn raw(&self) -> &RawValue {
        // A JSON value always serializes.
        self.json.get_or_init(|| {
            serde_json::value::to_raw_value(&list(&self.lowered)).unwrap_or_default()
        })
    }

    /// Returns the list as a value.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        list(&self.lowered)
    }

    /// Returns each tool as it was lowered, in order.
    #[must_use]
    pub fn tools(&self) -> &[Lowered] {
        &self.lowered
    }

    /// Returns the name a call goes by in a request with this list.
    ///
    /// A model calls a tool by its alias, so a transcript may contain the alias. It is sent
    /// unchanged, unless it is the own name of another tool, which has another alias for that
    /// reason.
    pub(crate) fn sent_name<'n>(&self, name: &'n str) -> std::borrow::Cow<'n, str> {
        use std::borrow::Cow;

        match crate::dialect::outbound_name(name, self.dialect) {
            Cow::Owned(alias)
                if crate::dialect::fits(name, self.dialect)
                    && !self.lowered.iter().any(|tool| tool.name == alias) =>
            {
                Cow::Borrowed(name)
            }
            sent => sent,
        }
    }

    /// Returns the dialect the list is written in.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns each tool as it was lowered, beside its definition.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&ToolDefinition, &Lowered)> {
        self.definitions.iter().zip(&self.lowered)
    }

    /// Returns the position of a tool, by its own name, or else by the name it is sent under.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let positions = self.positions.get_or_init(|| {
            let mut positions = HashMap::with_capacity(self.lowered.len());
            for (at, definition) in self.definitions.iter().enumerate() {
                positions.entry(definition.name.clone()).or_insert(at);
            }
            for (at, tool) in self.lowered.iter().enumerate() {
                positions.entry(tool.name.clone()).or_insert(at);
            }
            positions
        });
        positions.get(name).copied()
    }

    /// Returns the definition at a position.
    pub(crate) fn definition(&self, position: usize) -> &ToolDefinition {
        &self.definitions[position]
    }

    /// Returns each tool as JSON text in Anthropic's form for tools that are loaded when a search
    /// refers to them.
    pub(crate) fn deferred(&self) -> &[Box<RawValue>] {
        self.deferred.get_or_init(|| {
            let deferred = |tool: &Lowered| {
                let mut tool = tool.tool.clone();
                if let Some(fields) = tool.as_object_mut() {
                    // The service accepts no examples beside a tool search.
                    fields.remove("input_examples");
                    fields.insert("defer_loading".to_owned(), true.into());
                }
                serde_json::value::to_raw_value(&tool).unwrap_or_default()
            };
            self.lowered.iter().map(deferred).collect()
        })
    }

    /// Returns the keywords that the dialect could not express, each with the name of its tool.
    pub fn losses(&self) -> impl Iterator<Item = (&str, &Loss)> {
        self.lowered
            .iter()
            .flat_map(|tool| tool.losses.iter().map(move |loss| (tool.name.as_str(), loss)))
    }
}

impl fmt::Debug for DefinitionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefinitionList")
            .field("dialect", &self.dialect)
            .field("tools", &self.lowered.len())
            .field("bytes", &self.json().len())
            .finish_non_exhaustive()
    }
}
