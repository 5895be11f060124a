//! The tasks of a service, by their ids.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use tokio::sync::broadcast::{Receiver, Sender};

use super::task::ServedTask;
use crate::context::Principal;
use crate::sync::Mutex;

/// The maximum number of tasks of one principal.
const MAX_OF_PRINCIPAL: usize = 256;

/// The maximum number of tasks of a service.
const MAX_TASKS: usize = 4096;

/// The number of changes that wait for those who listen.
const WAITING_CHANGES: usize = 256;

/// The tasks of a service, by their ids.
pub(in crate::mcp::server) struct Tasks {
    table: Mutex<TaskTable>,
    /// The ids of the tasks that changed.
    changes: Sender<Arc<str>>,
}

#[derive(Default)]
struct TaskTable {
    tasks: HashMap<Arc<str>, Arc<ServedTask>>,
    /// The tasks of each principal, and the calls that may become one.
    taken: HashMap<Option<Principal>, usize>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { table: Mutex::default(), changes: Sender::new(WAITING_CHANGES) }
    }
}

/// The place of a task, which is free again when this is dropped.
pub(in crate::mcp::server) struct TaskSlot {
    tasks: Weak<Tasks>,
    pub(super) principal: Option<Principal>,
}

impl Tasks {
    /// Returns a place for a task of a principal; `None` if there are too many.
    pub(in crate::mcp::server) fn reserve(
        self: &Arc<Self>,
        principal: Option<Principal>,
    ) -> Option<TaskSlot> {
        let mut table = self.table.lock();
        let own = table.taken.get(&principal).copied().unwrap_or(0);
        if own >= MAX_OF_PRINCIPAL || table.taken.values().sum::<usize>() >= MAX_TASKS {
            return None;
        }
        table.taken.insert(principal.clone(), own + 1);
        Some(TaskSlot { tasks: Arc::downgrade(self), principal })
    }

    /// Returns the task of a principal.
    pub(in crate::mcp::server) fn get(
        &self,
        id: &str,
        principal: Option<&Principal>,
    ) -> Option<Arc<ServedTask>> {
        let table = self.table.lock();
        table.tasks.get(id).filter(|task| task.principal.as_ref() == principal).cloned()
    }

    /// Returns the changes from here on.
    pub(in crate::mcp::server) fn changes(&self) -> Receiver<Arc<str>> {
        self.changes.subscribe()
    }
}

impl TaskSlot {
    /// Adds the task of this place.
    pub(super) fn fill(&self, task: &Arc<ServedTask>) {
        if let Some(tasks) = self.tasks.upgrade() {
            tasks.table.lock().tasks.insert(Arc::clone(&task.id), Arc::clone(task));
        }
    }

    /// Notifies those who listen of a change of the task.
    pub(super) fn changed(&self, id: &Arc<str>) {
        if let Some(tasks) = self.tasks.upgrade() {
            // Nobody may listen.
            let _ = tasks.changes.send(Arc::clone(id));
        }
    }

    /// Removes the task, and frees its place.
    pub(super) fn clear(self, id: &str) {
        if let Some(tasks) = self.tasks.upgrade() {
            let removed = tasks.table.lock().tasks.remove(id);
            drop(removed);
        }
    }
}

impl Drop for TaskSlot {
    fn drop(&mut self) {
        let Some(tasks) = self.tasks.upgrade() else { return };
        let mut table = tasks.table.lock();
        if let Some(own) = table.taken.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                table.taken.remove(&self.principal);
            }
        }
    }
}
