//! Subjects, keys and buckets of a fleet.

/// The longest name of a fleet, in bytes.
const MAX_NAME: usize = 32;

/// The subjects and buckets of the fleet of one name.
#[derive(Debug, Clone)]
pub(super) struct Subjects {
    fleet: String,
}

impl Subjects {
    /// Returns the subjects of a fleet; `None` if the name is not 1 to 32 of the characters
    /// `A-Z a-z 0-9 _ -`.
    pub(super) fn of(fleet: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_valid = !fleet.is_empty() && fleet.len() <= MAX_NAME && fleet.chars().all(fits);
        is_valid.then(|| Self { fleet: fleet.to_owned() })
    }

    pub(super) fn fleet(&self) -> &str {
        &self.fleet
    }

    /// Returns the subject of the calls of one definition of a tool.
    pub(super) fn call(&self, tool: &str, digest: &str) -> String {
        format!("toolbox.{}.call.{}.{digest}", self.fleet, token(tool))
    }

    /// Returns the subject on which one call is cancelled.
    pub(super) fn cancel(&self, call: &str) -> String {
        format!("toolbox.{}.cancel.{call}", self.fleet)
    }

    /// Returns the bucket of the offers.
    pub(super) fn offers(&self) -> String {
        format!("toolbox_{}", self.fleet)
    }

    /// Returns the bucket of the payloads that are too large for a message.
    pub(super) fn payloads(&self) -> String {
        format!("toolbox_{}_payloads", self.fleet)
    }
}

/// The keys of all offers.
pub(super) const OFFERS: &str = "tool.*.*";

/// Returns the key of the offer of a tool by one worker.
pub(super) fn key(tool: &str, worker: &str) -> String {
    format!("tool.{}.{worker}", token(tool))
}

/// Returns the tool and the worker of a key.
pub(super) fn of_key(key: &str) -> Option<(String, &str)> {
    let (tool, worker) = key.strip_prefix("tool.")?.split_once('.')?;
    Some((tool.replace('=', "."), worker))
}

/// Returns the name of a tool as one token of a subject: names have no `=`.
fn token(tool: &str) -> String {
    tool.replace('.', "=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_tool_is_one_token_and_returns() {
        let subjects = Subjects::of("tools").unwrap();
        for tool in ["a", "a.b", "a..b", "a_b", "a-b.", "A.b"] {
            let key = key(tool, "w1");
            assert_eq!(key.split('.').count(), 3, "{key}");
            assert_eq!(of_key(&key), Some((tool.to_owned(), "w1")));
            assert_eq!(subjects.call(tool, "d").split('.').count(), 5);
        }
        assert_ne!(key("a.b", "w"), key("a_b", "w"));
    }

    #[test]
    fn names_of_fleets_are_tokens() {
        for name in ["", "a.b", "a b", "*", ">", "a\n", &"a".repeat(33)] {
            assert!(Subjects::of(name).is_none(), "{name:?}");
        }
        assert!(Subjects::of("gpu-2_x").is_some());
    }
}
