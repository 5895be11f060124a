//! Immutable snapshots of a box, which readers use.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::RegisterFault;
use crate::context::rules::Rules;
use crate::definition::ToolDefinition;
use crate::dialect::{Definitions, Dialect};
use crate::tool::Tool;

/// The tools of a box at one moment, with values derived from them.
#[derive(Default)]
pub(crate) struct Snapshot {
    entries: IndexMap<Arc<str>, ToolEntry, foldhash::fast::RandomState>,
    rules: Arc<Rules>,
    generation: u64,
    /// `true` if every tool is closed for strict providers.
    strict: bool,
    definitions: OnceLock<Definitions>,
    /// The definitions of tools that are found only by a search.
    deferred: OnceLock<Definitions>,
    /// The aliases that providers know tools by, computed when a name is not found.
    aliases: OnceLock<IndexMap<String, usize>>,
}

#[derive(Clone)]
pub(crate) struct ToolEntry {
    pub(crate) tool: Tool,
    pub(crate) permitted: bool,
    /// `true` if a call of the tool runs its function in place, with nothing around it.
    pub(crate) at_once: bool,
}

impl Snapshot {
    /// Returns a snapshot without tools; `strict` is `true` if tools added later are closed for
    /// strict providers.
    pub(super) fn empty(strict: bool) -> Self {
        Self { strict, ..Self::default() }
    }

    /// Returns the definition that is sent to models.
    fn offered_definition(&self, tool: &Tool) -> ToolDefinition {
        let mut definition = tool.definition().clone();
        definition.strict |= self.strict;
        definition
    }

    /// Returns a copy of the next generation to change, without derived values.
    pub(super) fn successor(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            rules: Arc::clone(&self.rules),
            generation: self.generation + 1,
            strict: self.strict,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&ToolEntry> {
        self.entries.get(name)
    }

    /// Returns the tool that a provider knows by `alias`, if the provider does not accept its own
    /// name.
    #[cold]
    pub(crate) fn by_alias(&self, alias: &str) -> Option<&ToolEntry> {
        let aliases = self.aliases.get_or_init(|| {
            let mut aliases = IndexMap::new();
            for (index, entry) in self.entries.values().enumerate() {
                for dialect in Dialect::ALL {
                    let alias = crate::dialect::outbound_name(entry.tool.name(), dialect);
                    if alias != entry.tool.name() {
                        aliases.insert(alias.into_owned(), index);
                    }
                }
            }
            aliases
        });
        let index = *aliases.get(alias)?;
        self.entries.get_index(index).map(|(_, entry)| entry)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    pub(crate) fn permits(&self, name: &str) -> bool {
        self.rules.permit(name)
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.values().map(|entry| &entry.tool)
    }

    /// Returns the tools whose definitions are sent to a model.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Tool> {
        self.entries
            .values()
            .filter(|entry| entry.permitted && !entry.tool.definition().deferred)
            .map(|entry| &entry.tool)
    }

    /// Inserts a tool at the position of its name, or at the end; warns if it replaces another.
    pub(super) fn put(&mut self, tool: Tool) {
        if let Some(taken) = self.entries.get(tool.name()) {
            let (first, second) = (taken.tool.origin(), tool.origin());
            tracing::warn!(tool = tool.name(), %first, %second, "a tool of the same name was replaced");
        }
        self.put_quietly(tool);
    }

    pub(super) fn put_quietly(&mut self, tool: Tool) {
        let permitted = self.rules.permit(tool.name());
        // The arguments of a closed tool are restored first.
        let at_once = tool.inner().running.is_plain() && !tool.definition().strict;
        self.entries.insert(tool.name().into(), ToolEntry { tool, permitted, at_once });
    }

    /// Returns a fault if a tool has the name of `newcomer`, or one that differs only in case.
    pub(super) fn clash(&self, newcomer: &Tool) -> Option<RegisterFault> {
        let name = newcomer.name();
        let taken = self.entries.get(name).or_else(|| {
            self.entries.values().find(|entry| entry.tool.name().eq_ignore_ascii_case(name))
        })?;
        Some(RegisterFault::NameTaken {
            name: name.to_owned(),
            taken: taken.tool.name().to_owned(),
            first: taken.tool.origin().clone(),
            second: newcomer.origin().clone(),
        })
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Tool> {
        self.entries.shift_remove(name).map(|entry| entry.tool)
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(super) fn remove(&mut self, is_gone: impl Fn(&Tool) -> bool) {
        self.entries.retain(|_, entry| !is_gone(&entry.tool));
    }

    pub(super) fn change_rules<T>(&mut self, change: impl FnOnce(&mut Rules) -> T) -> T {
        let value = change(Arc::make_mut(&mut self.rules));
        for entry in self.entries.values_mut() {
            entry.permitted = self.rules.permit(entry.tool.name());
        }
        value
    }

    pub(crate) fn definitions(&self) -> &Definitions {
        self.definitions
            .get_or_init(|| self.listed().map(|tool| self.offered_definition(tool)).collect())
    }

    /// Returns the deferred tools, whose definitions a model receives only after a search.
    pub(crate) fn deferred(&self) -> &Definitions {
        self.deferred.get_or_init(|| {
            self.entries
                .values()
                .filter(|entry| entry.permitted && entry.tool.definition().deferred)
                .map(|entry| self.offered_definition(&entry.tool))
                .collect()
        })
    }
}
