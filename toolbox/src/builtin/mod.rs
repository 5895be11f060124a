//! Tools that come with the crate, each behind its own feature.

#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "skills")]
pub mod skills;
#[cfg(feature = "files")]
mod workspace;

#[cfg(feature = "files")]
pub use workspace::Workspace;
