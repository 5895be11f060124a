//! The manifest of a skill, which belongs to the resource of its `SKILL.md`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of the file with the instructions of a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// The scheme and the separator of the URIs of skills.
pub(crate) const SKILL_SCHEME: &str = "skill://";

/// The frontmatter and all files of a skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SkillManifest {
    /// The head of `SKILL.md`, with a `name` and a `description` at least.
    pub(crate) frontmatter: Map<String, Value>,
    /// The files of the skill and of those within it, `SKILL.md` among them.
    #[serde(rename = "resources")]
    pub(crate) files: Vec<SkillFile>,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SkillFile {
    pub(crate) uri: String,
    /// `sha256:` and 64 hexadecimal digits in lower case.
    pub(crate) digest: String,
    /// The number of bytes.
    pub(crate) size: u64,
}

impl SkillManifest {
    /// The maximum number of files of a skill.
    pub(crate) const MAX_FILES: usize = 512;
    /// The maximum size of all files of a skill, in bytes.
    pub(crate) const MAX_BYTES: u64 = 16 << 20;

    /// Returns a member of the frontmatter that is a text, and is not empty.
    pub(crate) fn text_of<'a>(frontmatter: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
        frontmatter.get(key)?.as_str().filter(|text| !text.trim().is_empty())
    }

    /// Returns `true` if a text may be the name of a skill: up to 64 letters, digits, `-`, `_` and
    /// `.` of ASCII, which are written the same in a URI.
    pub(crate) fn is_name(name: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (1..=64).contains(&name.len()) && !name.starts_with('.') && name.chars().all(is_part)
    }
}
