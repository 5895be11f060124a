//! Tools that come with the crate, each behind its own feature.
//!
//! | module | feature | tools |
//! |---|---|---|
//! | `ask_user` | `ask-user` | `ask_user` |
//! | `files` | `files` | `file_read`, `file_list`, `file_search`, `file_write`, `file_edit` |
//! | `http` | `http` | `http_fetch` |
//! | `knowledge` | `knowledge` | `remember`, `knowledge_search` |
//! | `notes` | `notes` | `note_write`, `note_read`, `note_list`, `note_delete` |
//! | `schedule` | `schedule` | `schedule_create`, `schedule_list`, `schedule_update`, `schedule_delete` |
//! | `shell` | `shell` | `shell_exec` (Linux) |
//! | `skills` | `skills` | `load_skill` |
//! | `web_search` | `web-search` | `web_search` |
//!
//! `files` and `shell` share a `Workspace`: a folder held by its handle. Notes, schedules and the
//! memory share a `SqliteStore`: one file.
//!
#![cfg_attr(
    all(feature = "ask-user", feature = "files", feature = "notes"),
    doc = include_str!("../docs/builtin.md")
)]

#[cfg(feature = "ask-user")]
pub mod ask_user;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "knowledge")]
pub mod knowledge;
#[cfg(feature = "notes")]
pub mod notes;
#[cfg(feature = "files")]
mod protected;
#[cfg(any(feature = "files", all(feature = "shell", target_os = "linux")))]
#[cfg_attr(
    not(all(feature = "files", feature = "shell", target_os = "linux")),
    allow(dead_code, reason = "files are read and written by one module, commands run by another")
)]
mod provenance;
#[cfg(any(feature = "knowledge", feature = "notes", feature = "http"))]
mod quoted;
#[cfg(feature = "schedule")]
pub mod schedule;
#[cfg(all(feature = "shell", target_os = "linux"))]
pub mod shell;
#[cfg(feature = "skills")]
pub mod skills;
#[cfg(feature = "web-search")]
pub mod web_search;
#[cfg(any(feature = "http", all(feature = "shell", target_os = "linux")))]
mod while_tainted;
#[cfg(any(feature = "files", all(feature = "shell", target_os = "linux")))]
mod workspace;

#[cfg(feature = "files")]
pub use protected::{ProtectedPath, ProtectedPaths};
#[cfg(any(feature = "knowledge", feature = "notes", feature = "http"))]
use quoted::quoted;
#[cfg(any(feature = "http", all(feature = "shell", target_os = "linux")))]
pub use while_tainted::WhileTainted;
#[cfg(any(feature = "files", all(feature = "shell", target_os = "linux")))]
pub use workspace::Workspace;
