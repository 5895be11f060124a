//! Tools that come with the crate, each behind its own feature.

#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "http")]
pub mod http;
#[cfg(all(feature = "shell", unix))]
pub mod shell;
#[cfg(feature = "skills")]
pub mod skills;
#[cfg(feature = "web-search")]
pub mod web_search;
#[cfg(any(feature = "files", all(feature = "shell", unix)))]
mod workspace;

#[cfg(any(feature = "files", all(feature = "shell", unix)))]
pub use workspace::Workspace;
