//! Lists of definitions that are cheap to clone and lowered once for each provider.

use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, Index};
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

use crate::definition::ToolDefinition;
use crate::dialect::grouped::{grouped, namespace_in};
use crate::dialect::{Dialect, ListedTool, Loss, Lowered, SharedDefinition, list, lower};

/// The definitions that go with one request to a model, in order.
///
/// Cloning costs a reference count, and each definition is lowered and serialized once for each
/// provider, however many lists it is in. A box hands out the same value until it changes
/// ([`ToolBox::definitions`](crate::ToolBox::definitions)); a list of one's own comes from
/// `Vec<ToolDefinition>` or an iterator. Serializes to an array.
///
/// ```
/// use serde_json::json;
/// use toolbox::ToolDefinition;
/// use toolbox::dialect::Definitions;
///
/// let ping = ToolDefinition::new("ping", "Checks a host", json!({"type": "object"}));
/// let definitions = Definitions::from(vec![ping]);
/// assert_eq!(definitions.len(), 1);
/// assert_eq!(definitions[0].name, "ping");
/// assert!(definitions.iter().all(|definition| !definition.deferred));
/// ```
#[derive(Clone, Default)]
pub struct Definitions(Arc<DefinitionsInner>);

#[derive(Default)]
struct DefinitionsInner {
    definitions: Arc<[SharedDefinition]>,
    lists: [OnceLock<Arc<DefinitionList>>; Dialect::ALL.len()],
}

impl Definitions {
    /// Returns the list as one provider takes it, serialized once.
    #[must_use]
    pub fn lowered(&self, dialect: Dialect) -> Arc<DefinitionList> {
        let list = self.0.lists[dialect.index()].get_or_init(|| {
            Arc::new(DefinitionList::new(Arc::clone(&self.0.definitions), dialect))
        });
        Arc::clone(list)
    }

    /// Returns the number of definitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.definitions.len()
    }

    /// Returns `true` if there are no definitions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.definitions.is_empty()
    }

    /// Returns the definition at a position.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<&ToolDefinition> {
        self.0.definitions.get(position).map(Deref::deref)
    }

    /// Returns the definitions, in order.
    #[must_use]
    pub fn iter(&self) -> DefinitionsIter<'_> {
        DefinitionsIter(self.0.definitions.iter())
    }

    /// Returns a copy of each definition.
    #[must_use]
    pub fn to_vec(&self) -> Vec<ToolDefinition> {
        self.iter().cloned().collect()
    }

    /// Returns the definitions with the lists that they share.
    pub(crate) fn shared(&self) -> &[SharedDefinition] {
        &self.0.definitions
    }
}

/// An iterator over [`Definitions`], in order.
#[derive(Debug, Clone)]
pub struct DefinitionsIter<'a>(std::slice::Iter<'a, SharedDefinition>);

impl<'a> Iterator for DefinitionsIter<'a> {
    type Item = &'a ToolDefinition;

    fn next(&mut self) -> Option<&'a ToolDefinition> {
        self.0.next().map(Deref::deref)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for DefinitionsIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(Deref::deref)
    }
}

impl ExactSizeIterator for DefinitionsIter<'_> {}

impl Index<usize> for Definitions {
    type Output = ToolDefinition;

    fn index(&self, position: usize) -> &ToolDefinition {
        &self.0.definitions[position]
    }
}

impl Serialize for Definitions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl PartialEq for Definitions {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.iter().eq(other.iter())
    }
}

impl<'a> IntoIterator for &'a Definitions {
    type Item = &'a ToolDefinition;
    type IntoIter = DefinitionsIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Definitions {
    type Item = ToolDefinition;
    type IntoIter = std::vec::IntoIter<ToolDefinition>;

    /// Returns a copy of each definition; lists of definitions share them.
    fn into_iter(self) -> Self::IntoIter {
        self.to_vec().into_iter()
    }
}

impl FromIterator<SharedDefinition> for Definitions {
    fn from_iter<I: IntoIterator<Item = SharedDefinition>>(definitions: I) -> Self {
        // Their number is not known before, and a list is kept: so it is made to its length.
        let definitions: Vec<SharedDefinition> = definitions.into_iter().collect();
        Self(Arc::new(DefinitionsInner {
            definitions: definitions.into(),
            ..DefinitionsInner::default()
        }))
    }
}

impl FromIterator<ToolDefinition> for Definitions {
    fn from_iter<I: IntoIterator<Item = ToolDefinition>>(definitions: I) -> Self {
        definitions.into_iter().map(SharedDefinition::from).collect()
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

/// The text before and behind the tools of Gemini.
const FRAME: (&str, &str) = (r#"[{"functionDeclarations":["#, "]}]");

/// The tools of a box as one provider takes them: lowered, and serialized once.
pub struct DefinitionList {
    dialect: Dialect,
    definitions: Arc<[SharedDefinition]>,
    /// The whole list, written on first use.
    json: OnceLock<Box<str>>,
    /// The index of each tool, by its own name and by the name it is sent under.
    positions: OnceLock<HashMap<String, usize>>,
}

impl DefinitionList {
    fn new(definitions: Arc<[SharedDefinition]>, dialect: Dialect) -> Self {
        Self { dialect, definitions, json: OnceLock::new(), positions: OnceLock::new() }
    }

    /// Returns the provider's whole `tools` value as JSON text, written on first use.
    ///
    /// To splice it into a larger document, serialize the list itself: that copies each tool once.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get_or_init(|| {
            if self.has_namespaces() {
                // A document of texts always serializes.
                return serde_json::to_string(self).unwrap_or_default().into();
            }
            let (open, close) = if self.is_framed() { FRAME } else { ("[", "]") };
            let len: usize = self.tools().map(|tool| tool.json.get().len() + 1).sum();
            let mut text = String::with_capacity(open.len() + len + close.len());
            text.push_str(open);
            for (at, tool) in self.tools().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(tool.json.get());
            }
            text.push_str(close);
            text.into()
        })
    }

    /// Returns `true` if the tools stand within an object, as Gemini takes them.
    fn is_framed(&self) -> bool {
        self.dialect == Dialect::Gemini && !self.definitions.is_empty()
    }

    /// Returns `true` if some of the tools stand within a namespace.
    pub(crate) fn has_namespaces(&self) -> bool {
        self.definitions.iter().any(|own| namespace_in(own, self.dialect).is_some())
    }

    /// Returns the list as a value.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        let lowered: Vec<Lowered> =
            self.definitions.iter().map(|definition| lower(definition, self.dialect)).collect();
        list(&lowered)
    }

    /// Returns each tool as it was lowered, in order.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &ListedTool> {
        self.definitions.iter().map(|definition| definition.listed(self.dialect))
    }

    /// Returns the tool at a position.
    pub(crate) fn tool(&self, position: usize) -> &ListedTool {
        self.definitions[position].listed(self.dialect)
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
                    && !self.tools().any(|tool| *tool.name == *alias) =>
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
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&ToolDefinition, &ListedTool)> {
        self.definitions.iter().map(Deref::deref).zip(self.tools())
    }

    /// Returns the position of a tool, by its own name, or else by the name it is sent under.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let positions = self.positions.get_or_init(|| {
            let mut positions = HashMap::with_capacity(self.definitions.len());
            for (at, definition) in self.definitions.iter().enumerate() {
                positions.entry(definition.name.clone()).or_insert(at);
            }
            for (at, tool) in self.tools().enumerate() {
                positions.entry(tool.name.to_string()).or_insert(at);
            }
            positions
        });
        positions.get(name).copied()
    }

    /// Returns the definition at a position.
    pub(crate) fn definition(&self, position: usize) -> &ToolDefinition {
        &self.definitions[position]
    }

    /// Returns the keywords that the dialect could not express, each with the name of its tool.
    pub fn losses(&self) -> impl Iterator<Item = (&str, &Loss)> {
        self.tools().flat_map(|tool| tool.losses.iter().map(move |loss| (&*tool.name, loss)))
    }
}

/// Serializes to the provider's whole `tools` value; `serde_json` splices the text of each tool.
impl Serialize for DefinitionList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_framed() {
            serializer.collect_seq([Framed { function_declarations: Entries(self) }])
        } else {
            Entries(self).serialize(serializer)
        }
    }
}

/// The tools of a list, in the object that Gemini's `generateContent` takes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Framed<'a> {
    function_declarations: Entries<'a>,
}

/// The tools of a list, as an array.
struct Entries<'a>(&'a DefinitionList);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let dialect = self.0.dialect;
        let tools = self.0.pairs();
        let tools = tools.map(|(own, tool)| (namespace_in(own, dialect), &tool.json));
        serializer.collect_seq(grouped(tools))
    }
}

impl fmt::Debug for DefinitionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefinitionList")
            .field("dialect", &self.dialect)
            .field("tools", &self.definitions.len())
            .finish_non_exhaustive()
    }
}
