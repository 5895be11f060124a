//! Tools that come with the crate, each behind its own feature.

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
    not(all(feature = "files", feature = "shell", unix)),
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
#[cfg(feature = "_store")]
mod store;
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
#[cfg(feature = "_store")]
pub use store::{SqliteStore, StoreError};
#[cfg(any(feature = "http", all(feature = "shell", target_os = "linux")))]
pub use while_tainted::WhileTainted;
#[cfg(any(feature = "files", all(feature = "shell", target_os = "linux")))]
pub use workspace::Workspace;
