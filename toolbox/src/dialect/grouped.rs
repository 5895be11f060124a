//! The entries of a list: tools, and namespaces with their tools.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use super::names::outbound_name;
use crate::definition::{Namespace, ToolDefinition};
use crate::dialect::Dialect;

/// An entry of a list: a tool, or some within a namespace.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ListEntry<'a, T> {
    Tool(T),
    Namespace(NamespaceEntry<'a, T>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "namespace")]
pub(crate) struct NamespaceEntry<'a, T> {
    name: Cow<'a, str>,
    description: &'a str,
    tools: Vec<T>,
}

/// Returns the namespace of a tool, if a provider knows namespaces.
pub(crate) fn namespace_in(definition: &ToolDefinition, dialect: Dialect) -> Option<&Namespace> {
    definition.namespace.as_ref().filter(|_| dialect == Dialect::OpenAiResponses)
}

/// Returns the entries of tools in order; a namespace stands where its first tool does.
pub(crate) fn grouped<'a, T>(
    tools: impl Iterator<Item = (Option<&'a Namespace>, T)>,
) -> Vec<ListEntry<'a, T>> {
    let (mut entries, mut places) = (Vec::new(), HashMap::new());
    for (namespace, tool) in tools {
        let Some(own) = namespace else {
            entries.push(ListEntry::Tool(tool));
            continue;
        };
        let place = *places.entry(own.name()).or_insert_with(|| {
            let name = outbound_name(own.name(), Dialect::OpenAiResponses);
            let (description, tools) = (own.description(), Vec::new());
            entries.push(ListEntry::Namespace(NamespaceEntry { name, description, tools }));
            entries.len() - 1
        });
        if let ListEntry::Namespace(entry) = &mut entries[place] {
            entry.tools.push(tool);
        }
    }
    entries
}
