//! Tools that come with the crate, each behind its own feature.

#[cfg(feature = "skills")]
pub mod skills;
