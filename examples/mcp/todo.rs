//! How do I serve a list of my own over MCP, with dates and ids of other crates, filters, errors of
//! my own, and a prompt and a resource beside the tools?
//!
//! Put the program into the host's configuration: `{"mcpServers": {"todo": {"command":
//! "/path/to/todo"}}}`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbox::tool::CompletionRequest;
use toolbox::{ToolBox, mcp, toolset};
use uuid::Uuid;

/// An entry of the list.
#[derive(Clone, Serialize, JsonSchema)]
struct Todo {
    id: Uuid,
    title: String,
    due: Option<DateTime<Utc>>,
    priority: Priority,
    tags: Vec<String>,
    done: bool,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// A filter of the listed entries.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// Only those that are done, or only those that are not
    done: Option<bool>,
    /// Only those due before this time
    due_before: Option<DateTime<Utc>>,
    /// Only those of this priority or a higher one
    priority: Option<Priority>,
    /// Only those with this tag
    tag: Option<String>,
}

/// An error that the model sees when a call fails.
#[derive(Debug)]
enum TodoError {
    NotFound(Uuid),
    AlreadyDone(Uuid),
    EmptyTitle,
}

impl fmt::Display for TodoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(id) => write!(f, "there is no entry {id}; list_todos shows all"),
            Self::AlreadyDone(id) => write!(f, "the entry {id} is done already"),
            Self::EmptyTitle => write!(f, "a title needs at least one letter"),
        }
    }
}

impl std::error::Error for TodoError {}

#[derive(Default)]
struct Todos(Mutex<BTreeMap<Uuid, Todo>>);

impl Todos {
    fn edit<T>(
        &self,
        id: Uuid,
        change: impl FnOnce(&mut Todo) -> Result<T, TodoError>,
    ) -> Result<T, TodoError> {
        let mut todos = self.0.lock().unwrap();
        change(todos.get_mut(&id).ok_or(TodoError::NotFound(id))?)
    }
}

#[toolset]
impl Todos {
    /// Adds an entry and returns it.
    #[tool]
    fn add_todo(
        &self,
        /// What is to be done
        title: String,
        /// When it is due
        due: Option<DateTime<Utc>>,
        #[arg(default)] priority: Priority,
        #[arg(default)] tags: Vec<String>,
    ) -> Result<Todo, TodoError> {
        if title.trim().is_empty() {
            return Err(TodoError::EmptyTitle);
        }
        let todo = Todo { id: Uuid::new_v4(), title, due, priority, tags, done: false };
        self.0.lock().unwrap().insert(todo.id, todo.clone());
        Ok(todo)
    }

    /// Lists entries, the next due first.
    #[tool(read_only)]
    fn list_todos(&self, #[arg(flatten)] filter: &Filter) -> Vec<Todo> {
        let todos = self.0.lock().unwrap();
        let mut all: Vec<Todo> =
            todos.values().filter(|todo| filter.takes(todo)).cloned().collect();
        all.sort_by_key(|todo| (todo.due.is_none(), todo.due));
        all
    }

    /// Returns one entry.
    #[tool(read_only)]
    fn get_todo(&self, id: Uuid) -> Result<Todo, TodoError> {
        self.edit(id, |todo| Ok(todo.clone()))
    }

    /// Marks an entry as done.
    #[tool]
    fn complete_todo(&self, id: Uuid) -> Result<(), TodoError> {
        self.edit(id, |todo| {
            let was_done = std::mem::replace(&mut todo.done, true);
            if was_done { Err(TodoError::AlreadyDone(id)) } else { Ok(()) }
        })
    }

    /// Changes when an entry is due.
    #[tool(idempotent)]
    fn reschedule_todo(&self, id: Uuid, due: DateTime<Utc>) -> Result<Todo, TodoError> {
        self.edit(id, |todo| {
            todo.due = Some(due);
            Ok(todo.clone())
        })
    }

    /// Deletes an entry for good.
    #[tool(destructive)]
    fn delete_todo(&self, id: Uuid) -> Result<String, TodoError> {
        let removed = self.0.lock().unwrap().remove(&id).ok_or(TodoError::NotFound(id))?;
        Ok(format!("deleted {:?}", removed.title))
    }

    /// An entry, for hosts that attach resources to a conversation.
    #[resource("todo://{id}", mime_type = "application/json")]
    fn todo(&self, #[arg(complete = Self::ids)] id: Uuid) -> Option<serde_json::Value> {
        self.0.lock().unwrap().get(&id).map(|todo| serde_json::json!(todo))
    }

    /// Asks for a plan of the day.
    #[prompt(title = "Plan my day")]
    fn plan(
        &self,
        /// The number of hours there are
        #[arg(default = 8, range = 1..=16)]
        hours: u32,
    ) -> String {
        let todos = self.0.lock().unwrap();
        let open: Vec<_> =
            todos.values().filter(|todo| !todo.done).map(|todo| todo.title.as_str()).collect();
        format!("I have {hours} hours. Plan my day; this is to be done:\n- {}", open.join("\n- "))
    }

    fn ids(&self, request: &CompletionRequest) -> Vec<String> {
        let ids: Vec<String> = self.0.lock().unwrap().keys().map(Uuid::to_string).collect();
        request.matching(&ids[..])
    }
}

impl Filter {
    fn takes(&self, todo: &Todo) -> bool {
        self.done.is_none_or(|done| todo.done == done)
            && self.due_before.is_none_or(|end| todo.due.is_some_and(|due| due < end))
            && self.priority.is_none_or(|least| todo.priority >= least)
            && self.tag.as_ref().is_none_or(|tag| todo.tags.contains(tag))
    }
}

#[tokio::main]
async fn main() -> Result<(), mcp::ServeError> {
    mcp::serve_stdio_as(ToolBox::from(Todos::default()), toolbox::server_info!()).await
}
