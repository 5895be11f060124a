//! The names of arguments that Anthropic takes in a schema; it refuses a request with any other.

use serde_json::Value;

use crate::dialect::Loss;
use crate::schema::walk::{Object, pointer};
use crate::text::cut;

/// The longest name of an argument.
const LONGEST: usize = 64;

/// The most arguments that are put in words.
const MOST: usize = 12;

/// Takes the arguments with other names out of a schema, and returns them in words: a model that
/// reads them can send them all the same.
pub(super) fn named(root: &mut Object, losses: &mut Vec<Loss>) -> Option<String> {
    let Some(Value::Object(properties)) = root.get_mut("properties") else { return None };
    let unnamed: Vec<String> = properties.keys().filter(|name| !fits(name)).cloned().collect();
    if unnamed.is_empty() {
        return None;
    }
    let mut words = Vec::new();
    for name in &unnamed {
        let schema = properties.shift_remove(name).unwrap_or_default();
        let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let kind = text("type").map(|kind| format!(" ({kind})")).unwrap_or_default();
        let about =
            text("description").map(|about| format!(": {}", cut(about, 200))).unwrap_or_default();
        words.push(format!("`{name}`{kind}{about}"));
        losses.push(Loss {
            path: pointer("", "properties", name),
            keyword: "properties".to_owned(),
            moved_to_description: words.len() <= MOST,
        });
    }
    if let Some(Value::Array(required)) = root.get_mut("required") {
        required.retain(|name| !unnamed.iter().any(|unnamed| name == unnamed));
    }
    // Else a model could not send them.
    if root.get("additionalProperties") == Some(&Value::Bool(false)) {
        root.shift_remove("additionalProperties");
    }
    words.truncate(MOST);
    Some(format!("it also takes the arguments {}", words.join("; ")))
}

fn fits(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}
