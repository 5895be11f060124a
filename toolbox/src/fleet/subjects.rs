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

    /// Returns the stream of the durable calls.
    #[cfg(feature = "durable")]
    pub(super) fn queue(&self) -> String {
        format!("toolbox_{}_queue", self.fleet)
    }

    /// Returns the subjects of all durable calls.
    #[cfg(feature = "durable")]
    pub(super) fn all_queued(&self) -> String {
        format!("toolbox.{}.queue.>", self.fleet)
    }

    /// Returns the subjects of the durable calls of one definition of a tool.
    #[cfg(feature = "durable")]
    pub(super) fn queued_of(&self, tool: &str, digest: &str) -> String {
        format!("toolbox.{}.queue.{}.{digest}.>", self.fleet, token(tool))
    }

    /// Returns the name of the consumer of the durable calls of one definition of a tool.
    #[cfg(feature = "durable")]
    pub(super) fn consumer(tool: &str, digest: &str) -> String {
        format!("{}-{digest}", token(tool))
    }

    /// Returns the subject of one durable call.
    #[cfg(feature = "durable")]
    pub(super) fn queued(&self, digest: &str, key: &QueueKey) -> String {
        let QueueKey { tool, place, id } = key;
        format!("toolbox.{}.queue.{tool}.{digest}.{place}.{id}", self.fleet)
    }

    /// Returns the subjects of the durable calls of one box.
    #[cfg(feature = "durable")]
    pub(super) fn queued_by(&self, place: &str) -> String {
        format!("toolbox.{}.queue.*.*.{place}.*", self.fleet)
    }

    /// Returns the bucket of the states and results of durable calls.
    #[cfg(feature = "durable")]
    pub(super) fn states(&self) -> String {
        format!("toolbox_{}_states", self.fleet)
    }

    /// Returns the bucket of the payloads of durable calls that are too large for a message.
    #[cfg(feature = "durable")]
    pub(super) fn queue_payloads(&self) -> String {
        format!("toolbox_{}_queue_payloads", self.fleet)
    }

    /// Returns the bucket of the payloads that are too large for a message.
    pub(super) fn payloads(&self) -> String {
        format!("toolbox_{}_payloads", self.fleet)
    }
}

/// The names of a durable call, each one token: its tool, the place that handed it over, its id.
#[cfg(feature = "durable")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueueKey {
    tool: String,
    pub(super) place: String,
    pub(super) id: String,
}

#[cfg(feature = "durable")]
impl QueueKey {
    pub(super) fn new(tool: &str, place: &str, id: &str) -> Self {
        Self { tool: token(tool), place: place.to_owned(), id: id.to_owned() }
    }

    /// Reads the key of a mark or of a result; the flag is `true` for a result.
    pub(super) fn read(key: &str) -> Option<(bool, Self)> {
        let parts: Vec<&str> = key.split('.').collect();
        let [kind, tool, place, id] = parts[..] else { return None };
        let is_result = match kind {
            "call" => false,
            "done" => true,
            _ => return None,
        };
        let [tool, place, id] = [tool, place, id].map(str::to_owned);
        Some((is_result, Self { tool, place, id }))
    }

    /// Reads the subject of a durable call.
    pub(super) fn of_subject(subject: &str) -> Option<Self> {
        let parts: Vec<&str> = subject.split('.').collect();
        let ["toolbox", _, "queue", tool, _, place, id] = parts[..] else { return None };
        let [tool, place, id] = [tool, place, id].map(str::to_owned);
        Some(Self { tool, place, id })
    }

    /// Returns the name of the tool at the workers.
    pub(super) fn tool_name(&self) -> String {
        self.tool.replace('=', ".")
    }

    /// Returns the key of the mark.
    pub(super) fn mark(&self) -> String {
        format!("call.{}.{}.{}", self.tool, self.place, self.id)
    }

    /// Returns the key of the result.
    pub(super) fn result(&self) -> String {
        format!("done.{}.{}.{}", self.tool, self.place, self.id)
    }

    /// Returns the key that a place itself has.
    pub(super) fn of_place(place: &str) -> String {
        format!("place.-.{place}.-")
    }

    /// Returns the keys of all marks and results of a place.
    pub(super) fn all_of(place: &str) -> String {
        format!("*.*.{place}.*")
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

    #[cfg(feature = "durable")]
    #[test]
    fn keys_of_durable_calls_return() {
        let subjects = Subjects::of("tools").unwrap();
        let key = QueueKey::new("a.b", "box1", "job_1");
        assert_eq!(QueueKey::read(&key.mark()), Some((false, key.clone())));
        assert_eq!(QueueKey::read(&key.result()), Some((true, key.clone())));
        assert_eq!(QueueKey::of_subject(&subjects.queued("d", &key)), Some(key.clone()));
        for other in ["", "call.a.b", "call.a.b.c.d", "x.a.b.c", "toolbox.t.call.a.d"] {
            assert_eq!(QueueKey::read(other), None, "{other}");
            assert_eq!(QueueKey::of_subject(other), None, "{other}");
        }
    }

    #[test]
    fn names_of_fleets_are_tokens() {
        for name in ["", "a.b", "a b", "*", ">", "a\n", &"a".repeat(33)] {
            assert!(Subjects::of(name).is_none(), "{name:?}");
        }
        assert!(Subjects::of("gpu-2_x").is_some());
    }
}
