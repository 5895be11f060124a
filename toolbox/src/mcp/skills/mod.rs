//! Folders of skills, as resources of a box.

mod folder;
mod frontmatter;
mod scan;

pub use folder::{OpenSkillFolderError, SkillFolder};
