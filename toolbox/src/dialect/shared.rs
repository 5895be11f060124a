//! Definitions that tools, boxes and lists share, with each provider's form of them.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::dialect::{Dialect, Loss};
use super::lower::lower;
use crate::definition::ToolDefinition;

/// One tool of a [`DefinitionList`](super::DefinitionList): its entry of the provider's list, as
/// text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListedTool {
    /// The name as sent: the tool's own, or an [alias](super::outbound_name).
    pub name: Box<str>,
    /// The complete entry of the provider's list.
    pub json: Box<RawValue>,
    /// `true` if the provider guarantees arguments that match the schema.
    pub strict: bool,
    /// The location and the reason in the schema if an `OpenAI` tool is not strict; `None` for
    /// strict tools and other providers.
    pub strict_obstacle: Option<Box<str>>,
    /// The constraints that the provider's schema leaves out.
    pub losses: Box<[Loss]>,
    /// The entry as that of a deferred tool, written on first use.
    deferred: OnceLock<Box<RawValue>>,
}

impl ListedTool {
    fn new(definition: &ToolDefinition, dialect: Dialect) -> Self {
        let lowered = lower(definition, dialect);
        Self {
            name: lowered.name.into(),
            // A JSON value always serializes.
            json: to_raw_value(&lowered.tool).unwrap_or_default(),
            strict: lowered.strict,
            strict_obstacle: lowered.strict_obstacle.map(Into::into),
            losses: lowered.losses.into(),
            deferred: OnceLock::new(),
        }
    }

    /// Returns the entry as a value, for what is seldom taken apart.
    pub(crate) fn to_value(&self) -> Value {
        // It was written from one.
        serde_json::from_str(self.json.get()).unwrap_or_default()
    }

    /// Returns the entry in Anthropic's form for tools that are loaded when a search refers to
    /// them.
    pub(crate) fn deferred(&self) -> &RawValue {
        self.deferred.get_or_init(|| {
            let mut tool = self.to_value();
            if let Some(fields) = tool.as_object_mut() {
                // The service accepts no examples beside a tool search.
                fields.shift_remove("input_examples");
                fields.insert("defer_loading".to_owned(), true.into());
            }
            to_raw_value(&tool).unwrap_or_default()
        })
    }
}

/// A definition that is lowered once for each provider, however many lists it is in.
#[derive(Debug, Clone)]
pub(crate) struct SharedDefinition(Arc<DefinitionForms>);

#[derive(Debug)]
struct DefinitionForms {
    definition: Arc<ToolDefinition>,
    forms: [OnceLock<Box<ListedTool>>; Dialect::ALL.len()],
}

/// A clone has no forms, since it is made to be changed.
impl Clone for DefinitionForms {
    fn clone(&self) -> Self {
        Self { definition: Arc::clone(&self.definition), forms: Default::default() }
    }
}

impl SharedDefinition {
    /// Returns the definition alone, shared.
    pub(crate) fn arc(&self) -> &Arc<ToolDefinition> {
        &self.0.definition
    }

    /// Returns the definition for a change, apart from those that share it and without the forms
    /// that it had.
    pub(crate) fn make_mut(&mut self) -> &mut ToolDefinition {
        let own = Arc::make_mut(&mut self.0);
        own.forms = Default::default();
        Arc::make_mut(&mut own.definition)
    }

    /// Returns `true` if both are one shared value.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the tool as one provider takes it.
    pub(crate) fn listed(&self, dialect: Dialect) -> &ListedTool {
        self.0.forms[dialect.index()]
            .get_or_init(|| Box::new(ListedTool::new(&self.0.definition, dialect)))
    }
}

impl From<Arc<ToolDefinition>> for SharedDefinition {
    fn from(definition: Arc<ToolDefinition>) -> Self {
        Self(Arc::new(DefinitionForms { definition, forms: Default::default() }))
    }
}

impl From<ToolDefinition> for SharedDefinition {
    fn from(definition: ToolDefinition) -> Self {
        Self::from(Arc::new(definition))
    }
}

impl Deref for SharedDefinition {
    type Target = ToolDefinition;

    fn deref(&self) -> &ToolDefinition {
        &self.0.definition
    }
}
