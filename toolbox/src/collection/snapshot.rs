//! Immutable snapshots of a box, which readers use.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::tools::{ToolEntries, ToolTable};
use super::{BoxSettings, RegisterFault};
use crate::context::availability::Availability;
use crate::context::rules::{Rules, ToolRule};
use crate::context::{StateMap, ToolContext};
use crate::definition::ToolDefinition;
use crate::dialect::{Definitions, Dialect, SharedDefinition, outbound_name};
use crate::tool::Tool;

/// The tools of a box at one moment, with values derived from them.
#[derive(Default)]
pub(crate) struct Snapshot {
    tools: ToolTable,
    /// The names of the tools by the names that they had before.
    old_names: Arc<HashMap<String, String>>,
    /// `true` once a tool came that had another name before.
    renamed: bool,
    rules: Arc<Rules>,
    generation: u64,
    /// `true` if every tool is closed for strict providers.
    strict: bool,
    /// The tools that are available only where a predicate holds.
    available: Arc<[(ToolRule, Availability)]>,
    definitions: OnceLock<Definitions>,
    /// The definitions of tools that are found only by a search.
    deferred: OnceLock<Definitions>,
    /// `true` if some tools are not available to all, computed when a list is asked for.
    conditional: OnceLock<bool>,
    /// The aliases that providers know tools by, computed when a name is not found.
    aliases: OnceLock<HashMap<String, String>>,
}

/// A tool of a box, with what its calls would otherwise compute again.
#[derive(Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub(crate) struct ToolEntry {
    pub(crate) tool: Tool,
    /// The definition that is sent to models.
    offered: SharedDefinition,
    pub(crate) permitted: bool,
    pub(crate) visibility: Visibility,
    /// `true` if a call of the tool runs its function in place, with nothing around it.
    pub(crate) at_once: bool,
    /// `true` if a call without a context is allowed, runs in place, and reads no context.
    pub(crate) is_bare: bool,
    /// `true` if some provider does not accept its name.
    aliased: bool,
}

/// Those who are told of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    Listed,
    /// Models that searched for it.
    Deferred,
    /// The page of an app, and no model.
    Apps,
    /// Those of one of the others for whom the predicates of the tool hold.
    Conditional,
}

impl Visibility {
    /// Returns who is told of a tool where it is available.
    pub(crate) fn of(definition: &ToolDefinition) -> Self {
        match definition {
            definition if definition.is_for_apps() => Self::Apps,
            definition if definition.deferred => Self::Deferred,
            _ => Self::Listed,
        }
    }
}

impl ToolEntry {
    fn new(tool: Tool, strict: bool, rules: &Rules) -> Self {
        let mut offered = tool.shared_definition().clone();
        if strict && !offered.strict {
            offered.make_mut().strict = true;
        }
        let name = tool.name();
        let has_alias = |dialect| *outbound_name(name, dialect) != *name;
        let entry = Self {
            permitted: rules.permit_tool(tool.definition()),
            is_bare: false,
            visibility: if tool.is_conditional() {
                Visibility::Conditional
            } else {
                Visibility::of(tool.definition())
            },
            // The arguments of a closed tool are restored first; of a deprecated one, the result
            // says so.
            at_once: tool.inner().running.is_plain()
                && !tool.definition().strict
                && !tool.definition().may_be_deprecated(),
            aliased: Dialect::ALL.into_iter().any(has_alias),
            offered,
            tool,
        };
        let permitted = entry.permitted;
        entry.permitted_or_not(permitted)
    }

    /// Returns who is told of the tool where it is available.
    pub(crate) fn audience(&self) -> Visibility {
        match self.visibility {
            Visibility::Conditional => Visibility::of(self.tool.definition()),
            other => other,
        }
    }

    /// Returns `true` if a caller may call the tool: the rules of the box, whose states these are,
    /// and of the caller permit it, and it is available.
    pub(crate) fn may_be_called(
        &self,
        context: &ToolContext,
        state: Option<&Arc<StateMap>>,
    ) -> bool {
        self.permitted
            && context.permits_tool(self.tool.definition())
            && self.tool.is_available(context, state)
    }

    fn permitted_or_not(self, permitted: bool) -> Self {
        let reads_context = self.tool.inner().signature.uses_context;
        let is_listed = self.visibility == Visibility::Listed;
        let is_bare = permitted && is_listed && self.at_once && !reads_context;
        Self { permitted, is_bare, ..self }
    }
}

impl Snapshot {
    /// Returns a snapshot without tools, for a box of these settings.
    pub(super) fn empty(settings: &BoxSettings) -> Self {
        let available = Arc::clone(&settings.available);
        Self { strict: settings.strict, available, ..Self::default() }
    }

    /// Returns a copy of the next generation to change, without derived values.
    pub(super) fn successor(&self) -> Self {
        Self {
            tools: self.tools.clone(),
            old_names: Arc::clone(&self.old_names),
            renamed: self.renamed,
            rules: Arc::clone(&self.rules),
            generation: self.generation + 1,
            strict: self.strict,
            available: Arc::clone(&self.available),
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(name)
    }

    /// Returns the tool that a provider knows by `alias`, if the provider does not accept its own
    /// name.
    #[cold]
    pub(crate) fn by_alias(&self, alias: &str) -> Option<&ToolEntry> {
        let aliases = self.aliases.get_or_init(|| {
            let mut aliases = HashMap::new();
            for entry in self.tools.iter().filter(|entry| entry.aliased) {
                let name = entry.tool.name();
                for dialect in Dialect::ALL {
                    let alias = outbound_name(name, dialect);
                    if alias != name {
                        aliases.insert(alias.into_owned(), name.to_owned());
                    }
                }
            }
            aliases
        });
        self.get(aliases.get(alias)?)
    }

    /// Returns the tool that had a name before.
    #[cold]
    pub(crate) fn by_old_name(&self, name: &str) -> Option<&ToolEntry> {
        self.get(self.old_names.get(name)?)
    }

    /// Returns the names that tools had before, each with the name of the tool that it runs.
    pub(super) fn old_names(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for tool in self.tools() {
            for old in &tool.definition().replaces {
                let runs = self.by_any_name(old);
                if runs.is_some_and(|entry| entry.tool.name() == tool.name()) {
                    all.push((old.clone(), tool.name().to_owned()));
                }
            }
        }
        all
    }

    /// Returns the tool that a call by `name` runs.
    pub(crate) fn by_any_name(&self, name: &str) -> Option<&ToolEntry> {
        let found = self.get(name).or_else(|| self.by_alias(name));
        found.or_else(|| self.by_old_name(name))
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    pub(crate) fn permits(&self, name: &str) -> bool {
        let found = self.get(name).or_else(|| self.by_old_name(name));
        found.map_or_else(|| self.rules.permit(name), |entry| entry.permitted)
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(|entry| &entry.tool)
    }

    pub(crate) fn entries(&self) -> ToolEntries<'_> {
        self.tools.iter()
    }

    /// Returns the entries whose definitions are sent to models to which they are available.
    fn listed_entries(&self) -> impl Iterator<Item = &ToolEntry> {
        self.tools.iter().filter(|entry| entry.permitted && entry.audience() == Visibility::Listed)
    }

    /// Returns `true` if some tools are not available to all.
    pub(crate) fn is_conditional(&self) -> bool {
        let is_conditional = |entry: &ToolEntry| entry.visibility == Visibility::Conditional;
        *self.conditional.get_or_init(|| self.tools.iter().any(is_conditional))
    }

    /// Returns the tools whose definitions are sent to models to which they are available.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Tool> {
        self.listed_entries().map(|entry| &entry.tool)
    }

    /// Inserts a tool at the position of its name, or at the end; warns if it replaces another.
    pub(super) fn put(&mut self, tool: Tool) {
        if let Some(taken) = self.get(tool.name()) {
            let (first, second) = (taken.tool.origin(), tool.origin());
            tracing::warn!(tool = tool.name(), %first, %second, "a tool of the same name was replaced");
        }
        if let Some(fault) = self.old_name_clash(&tool) {
            tracing::warn!(tool = tool.name(), "{fault}");
        }
        self.put_quietly(tool);
    }

    pub(super) fn put_quietly(&mut self, mut tool: Tool) {
        for (rule, available) in &*self.available {
            if rule.covers(tool.definition()) {
                tool = tool.available_like(available);
            }
        }
        self.forget_old_names(tool.name());
        if !tool.definition().replaces.is_empty() {
            self.renamed = true;
            let old_names = Arc::make_mut(&mut self.old_names);
            for old in &tool.definition().replaces {
                old_names.entry(old.clone()).or_insert_with(|| tool.name().to_owned());
            }
        }
        self.tools.insert(ToolEntry::new(tool, self.strict, &self.rules));
    }

    /// Returns a fault if a tool has the name of `newcomer`, or one that differs only in case.
    pub(super) fn clash(&self, newcomer: &Tool) -> Option<RegisterFault> {
        let name = newcomer.name();
        let taken = self.get(name).or_else(|| self.tools.get_in_any_case(name))?;
        Some(RegisterFault::NameTaken {
            name: name.to_owned(),
            taken: taken.tool.name().to_owned(),
            first: taken.tool.origin().clone(),
            second: newcomer.origin().clone(),
        })
    }

    /// Returns a fault if an old name of `newcomer` is a name of another tool, now or before, or
    /// its name one that another tool had.
    pub(super) fn old_name_clash(&self, newcomer: &Tool) -> Option<RegisterFault> {
        let name = newcomer.name();
        let own = newcomer.definition().replaces.iter().find_map(|old| {
            let taken = self.get(old).or_else(|| self.by_old_name(old));
            Some((old.as_str(), taken.filter(|taken| taken.tool.name() != name)?))
        });
        let (old, taken) = own.or_else(|| Some((name, self.by_old_name(name)?)))?;
        Some(RegisterFault::OldNameTaken {
            old: old.to_owned(),
            taken: taken.tool.name().to_owned(),
            name: name.to_owned(),
            first: taken.tool.origin().clone(),
            second: newcomer.origin().clone(),
        })
    }

    /// Removes the old names of the tool of a name.
    fn forget_old_names(&mut self, name: &str) {
        if self.get(name).is_some_and(|entry| !entry.tool.definition().replaces.is_empty()) {
            Arc::make_mut(&mut self.old_names).retain(|_, own| own != name);
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Tool> {
        self.forget_old_names(name);
        self.tools.remove(name).map(|entry| entry.tool)
    }

    pub(super) fn clear(&mut self) {
        self.old_names = Arc::default();
        self.tools.clear();
    }

    pub(super) fn remove(&mut self, is_gone: &dyn Fn(&Tool) -> bool) {
        let gone: Vec<String> =
            self.tools().filter(|tool| is_gone(tool)).map(|tool| tool.name().to_owned()).collect();
        for name in gone {
            self.take(&name);
        }
    }

    /// Forbids what a rule names.
    pub(super) fn forbid(&mut self, rule: &ToolRule) {
        if Arc::make_mut(&mut self.rules).blacklist(rule.clone()) {
            self.apply_rule(rule);
        }
    }

    /// Removes a rule that forbids, and returns `true` if there was one.
    pub(super) fn lift(&mut self, rule: &ToolRule) -> bool {
        let is_lifted = Arc::make_mut(&mut self.rules).lift(rule);
        if is_lifted {
            self.apply_rule(rule);
        }
        is_lifted
    }

    pub(super) fn change_rules(&mut self, change: impl FnOnce(&mut Rules)) {
        change(Arc::make_mut(&mut self.rules));
        let changed = self.changed_by_rules(&mut self.tools.iter());
        self.turn(changed);
    }

    /// Updates the tools whose permission has changed with one rule.
    fn apply_rule(&mut self, rule: &ToolRule) {
        let changed = match rule.only_name() {
            Some(name) if !self.renamed => self.changed_by_rules(&mut self.tools.in_any_case(name)),
            _ => {
                let is_named = |entry: &&ToolEntry| rule.covers(entry.tool.definition());
                self.changed_by_rules(&mut self.tools.iter().filter(is_named))
            }
        };
        self.turn(changed);
    }

    /// Returns those of the tools whose permission is no longer that of the rules.
    fn changed_by_rules(&self, entries: &mut dyn Iterator<Item = &ToolEntry>) -> Vec<ToolEntry> {
        let is_changed =
            |entry: &&ToolEntry| entry.permitted != self.rules.permit_tool(entry.tool.definition());
        entries.filter(is_changed).cloned().collect()
    }

    /// Permits the forbidden ones of these tools, and forbids the others.
    fn turn(&mut self, entries: Vec<ToolEntry>) {
        for entry in entries {
            let permitted = !entry.permitted;
            self.tools.insert(entry.permitted_or_not(permitted));
        }
    }

    /// Returns the definitions that are sent to models to which they are available.
    pub(crate) fn definitions(&self) -> &Definitions {
        self.definitions.get_or_init(|| offered(&mut self.listed_entries()))
    }

    /// Returns the deferred tools, whose definitions a model to which they are available receives
    /// only after a search.
    pub(crate) fn deferred(&self) -> &Definitions {
        self.deferred.get_or_init(|| {
            let is_deferred =
                |entry: &&ToolEntry| entry.permitted && entry.audience() == Visibility::Deferred;
            offered(&mut self.tools.iter().filter(is_deferred))
        })
    }
}

fn offered(entries: &mut dyn Iterator<Item = &ToolEntry>) -> Definitions {
    entries.map(|entry| entry.offered.clone()).collect()
}
