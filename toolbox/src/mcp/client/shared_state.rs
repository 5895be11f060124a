//! The state that the servers of one box share: the box, the names, the lock file.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

use super::connection::ConnectionOptions;
use super::status::ServerStatus;
use crate::collection::ToolBox;
use crate::context::CancellationToken;
use crate::mcp::lock::Lock;
use crate::mcp::names::Names;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::sync::Mutex;
use crate::tool::Tool;

pub(super) type Listener = Arc<dyn Fn(&ServerStatus) + Send + Sync>;

pub(super) struct SharedState {
    pub(super) toolbox: ToolBox,
    pub(super) names: Mutex<Names>,
    pub(super) common: ConnectionOptions,
    pub(super) lock: Option<Mutex<Lock>>,
    pub(super) withhold_new: bool,
    pub(super) on_change: Option<Listener>,
    pub(super) closed: CancellationToken,
    /// Held from the look at what is free in the box until a server's offers are in it.
    pub(super) mounting: Mutex<()>,
    /// The owners of names in the box, by name in lower case: the server, and the tool's own name.
    owned: Mutex<HashMap<String, (Arc<str>, String)>>,
}

impl SharedState {
    pub(super) fn new(toolbox: ToolBox, names: Names, common: ConnectionOptions) -> Self {
        Self {
            toolbox,
            names: Mutex::new(names),
            common,
            lock: None,
            withhold_new: false,
            on_change: None,
            closed: CancellationToken::new(),
            mounting: Mutex::default(),
            owned: Mutex::default(),
        }
    }

    fn owned(&self) -> MutexGuard<'_, HashMap<String, (Arc<str>, String)>> {
        self.owned.lock()
    }

    pub(super) fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    pub(super) fn lock(&self) -> Option<MutexGuard<'_, Lock>> {
        Some(self.lock.as_ref()?.lock())
    }

    /// Replaces a server's tools in the box: new tools are added, missing ones removed, and
    /// unchanged ones keep their position.
    pub(super) fn put(&self, before: &[Tool], now: &[Tool]) {
        let mut owned = self.owned();
        let kept: HashSet<&str> = now.iter().map(Tool::name).collect();
        let old: HashMap<&str, &Tool> = before.iter().map(|tool| (tool.name(), tool)).collect();
        for name in old.keys().filter(|name| !kept.contains(*name)) {
            owned.remove(&name.to_ascii_lowercase());
        }
        for tool in now {
            if let (Some(server), Some(name)) = (tool.source(), tool.name_at_source()) {
                let pair = (Arc::from(server), name.to_owned());
                owned.insert(tool.name().to_ascii_lowercase(), pair);
            }
        }
        let is_same = |tool: &&Tool| {
            let old = old.get(tool.name());
            old.is_some_and(|old| old.definition() == tool.definition())
                && self.toolbox.has(tool.name())
        };
        let changed = now.iter().filter(|tool| !is_same(tool)).cloned().collect();
        // A tool that the program has since put under this name does not belong to the server.
        let is_gone = |there: &Tool| {
            let old = old.get(there.name()).filter(|_| !kept.contains(there.name()));
            old.is_some_and(|old| {
                there.source() == old.source() && there.name_at_source() == old.name_at_source()
            })
        };
        self.toolbox.exchange(is_gone, changed);
    }

    /// Replaces a server's prompts in the box, like its tools.
    pub(super) fn put_prompts(&self, before: &[Prompt], now: &[Prompt]) {
        let kept: HashSet<&str> = now.iter().map(Prompt::name).collect();
        let old: HashMap<&str, &Prompt> = before.iter().map(|own| (own.name(), own)).collect();
        let is_gone = |there: &Prompt| {
            let ours = old.get(there.name()).is_some_and(|old| old.source() == there.source());
            ours && !kept.contains(there.name())
        };
        if !before.is_empty() || !now.is_empty() {
            self.toolbox.prompts().exchange(is_gone, now.to_vec());
        }
    }

    /// Replaces a server's resources in the box, like its tools.
    pub(super) fn put_resources(&self, before: &[Resource], now: &[Resource]) {
        let kept: HashSet<&str> = now.iter().map(Resource::uri).collect();
        let old: HashMap<&str, &Resource> = before.iter().map(|own| (own.uri(), own)).collect();
        let is_gone = |there: &Resource| {
            let is_same = |old: &&Resource| {
                old.source() == there.source() && old.is_provisional() == there.is_provisional()
            };
            old.get(there.uri()).is_some_and(is_same) && !kept.contains(there.uri())
        };
        if !before.is_empty() || !now.is_empty() {
            self.toolbox.resources().exchange(is_gone, now.to_vec());
        }
    }

    /// Returns a snapshot of the names in the box, to test which are free.
    pub(super) fn taken(&self) -> NameSnapshot {
        let owned = self.owned().clone();
        let names =
            self.toolbox.tools().into_iter().map(|tool| (tool.name().to_ascii_lowercase(), tool));
        NameSnapshot { names: names.collect(), owned }
    }
}

/// A snapshot of the names in a box, in lower case.
pub(super) struct NameSnapshot {
    names: HashMap<String, Tool>,
    owned: HashMap<String, (Arc<str>, String)>,
}

impl NameSnapshot {
    /// Returns whether a name is free for this tool.
    pub(super) fn is_free(&self, name: &str, server: &str, tool: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let there = self.names.get(&name);
        match self.owned.get(&name) {
            // The program may since have put a tool of its own under this name.
            Some((of, called)) => {
                let is_ours = |there: &Tool| {
                    there.source() == Some(server) && there.name_at_source() == Some(tool)
                };
                **of == *server && called == tool && there.is_none_or(is_ours)
            }
            None => there.is_none(),
        }
    }
}
