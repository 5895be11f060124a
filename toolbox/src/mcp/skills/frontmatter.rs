//! The frontmatter of a `SKILL.md`, from YAML to JSON.

use serde_json::{Map, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};

use crate::resource::SkillManifest;
use crate::text::{QUOTED, quote, split_head};

/// The maximum length of a frontmatter, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// The maximum depth of a frontmatter.
const MAX_DEPTH: usize = 16;

/// The maximum number of values in a frontmatter.
const MAX_NODES: usize = 4096;

/// Reads the frontmatter of the `SKILL.md` of a skill whose folder has this name, or returns the
/// reason why it is none.
///
/// Anchors, aliases and merged keys are refused: by them, a short text stands for a huge one.
pub(super) fn frontmatter(source: &[u8], name: &str) -> Result<Map<String, Value>, String> {
    let source = std::str::from_utf8(source).map_err(|_| "its `SKILL.md` is not UTF-8")?;
    let (head, _) = split_head(source.trim_start_matches('\u{feff}'));
    if head.is_empty() {
        return Err(
            "its `SKILL.md` does not begin with a frontmatter between lines of `---`".into()
        );
    }
    if head.len() > MAX_HEAD {
        return Err(format!("its frontmatter has more than {MAX_HEAD} bytes"));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 4 * MAX_NODES,
            max_documents: 1,
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
    };
    let read: Value = serde_saphyr::from_str_with_options(head, options).map_err(|error| {
        // The message may hold a picture of the text over many lines.
        let message = error.to_string();
        let first = message.lines().next().unwrap_or_default();
        format!("its frontmatter cannot be read: {}", quote(first, 4 * QUOTED))
    })?;
    let Value::Object(read) = read else {
        return Err("its frontmatter is no mapping of names to values".to_owned());
    };
    match SkillManifest::text_of(&read, "name") {
        Some(own) if own == name => {}
        Some(own) => {
            let own = quote(own, QUOTED);
            return Err(format!("its frontmatter has the `name` `{own}`, not that of its folder"));
        }
        None => return Err("its frontmatter has no `name`".to_owned()),
    }
    if SkillManifest::text_of(&read, "description").is_none() {
        return Err("its frontmatter has no `description`".to_owned());
    }
    Ok(read)
}
