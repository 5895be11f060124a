//! The mark of a call in a queue: the right to begin it, which is spent once.
//!
//! A box writes a ticket before it publishes a call, and the message of the call names the revision
//! of the ticket. A worker begins the call by replacing just that revision. So a call is begun once
//! for each ticket, however often its message is stored or delivered, and a message whose ticket
//! was lost with the server's store begins nothing.

use serde::{Deserialize, Serialize};

/// The attempts of an idempotent call whose workers are lost.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// The value of the key of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Mark {
    /// The call was not begun.
    Ticket {
        /// The subject of its message.
        subject: String,
    },
    /// A worker began it.
    Begun(Beginning),
    /// It is not to be begun any more.
    Void,
}

impl Mark {
    /// Returns the subject of the message of the call.
    pub(super) fn subject(&self) -> &str {
        match self {
            Self::Ticket { subject } => subject,
            Self::Begun(begun) => &begun.subject,
            Self::Void => "",
        }
    }
}

/// One beginning of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beginning {
    /// The subject of its message.
    pub(super) subject: String,
    /// The worker, by a name of its own.
    pub(super) worker: String,
    /// The position of the message in the queue.
    pub(super) sequence: u64,
    /// The number of deliveries of the message by then.
    pub(super) delivered: u64,
    /// The number of times that the call was begun.
    pub(super) attempt: u32,
}

/// The decision of a worker on a message whose ticket it cannot spend.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The message has nothing to begin: it is removed.
    Remove,
    /// Another worker may have the call: the message is left as it is.
    Leave,
    /// This worker began it by a request whose answer was lost.
    Ours,
    /// The worker that began it lost its lease, and the call may run again.
    Again(Beginning),
    /// The worker that began it lost its lease, and the call is not tried again.
    Dead(Beginning),
    /// The worker that began it lost its lease, and the call may have taken effect.
    Unknown,
}

/// Decides on a message whose ticket is not the newest revision of its key.
pub(super) fn decide(found: Option<&Mark>, own: &Beginning, idempotent: bool) -> Decision {
    let Some(Mark::Begun(begun)) = found else {
        // Over, or lost, or given a newer ticket with a message of its own.
        return Decision::Remove;
    };
    if begun.sequence != own.sequence {
        return Decision::Remove;
    }
    if begun.worker == own.worker && begun.delivered == own.delivered {
        return Decision::Ours;
    }
    // A delivery that does not follow the one which was begun says nothing about its worker: the
    // server may have forgotten what it delivered, or this delivery is the older one.
    if begun.delivered >= own.delivered {
        return Decision::Leave;
    }
    match (idempotent, begun.attempt) {
        (false, _) => Decision::Unknown,
        (true, MAX_ATTEMPTS..) => Decision::Dead(begun.clone()),
        (true, attempt) => Decision::Again(Beginning { attempt: attempt + 1, ..own.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(worker: &str, sequence: u64, delivered: u64, attempt: u32) -> Beginning {
        let (subject, worker) = ("s".to_owned(), worker.to_owned());
        Beginning { subject, worker, sequence, delivered, attempt }
    }

    #[test]
    fn only_a_later_delivery_of_the_same_message_decides_on_a_call() {
        let own = begun("b", 5, 2, 1);
        let ticket = Mark::Ticket { subject: "s".to_owned() };
        let by = |worker, sequence, delivered, attempt| {
            Some(Mark::Begun(begun(worker, sequence, delivered, attempt)))
        };
        let again = |attempt| Decision::Again(Beginning { attempt, ..own.clone() });
        let dead = || Decision::Dead(begun("a", 5, 1, 3));
        let cases = [
            (None, Decision::Remove, Decision::Remove),
            (Some(ticket), Decision::Remove, Decision::Remove),
            (Some(Mark::Void), Decision::Remove, Decision::Remove),
            (by("a", 4, 1, 1), Decision::Remove, Decision::Remove),
            (by("a", 6, 1, 1), Decision::Remove, Decision::Remove),
            (by("b", 5, 2, 1), Decision::Ours, Decision::Ours),
            (by("a", 5, 2, 1), Decision::Leave, Decision::Leave),
            (by("a", 5, 3, 1), Decision::Leave, Decision::Leave),
            (by("a", 5, 1, 1), Decision::Unknown, again(2)),
            (by("b", 5, 1, 2), Decision::Unknown, again(3)),
            (by("a", 5, 1, 3), Decision::Unknown, dead()),
        ];
        for (found, once, idempotent) in cases {
            assert_eq!(decide(found.as_ref(), &own, false), once, "{found:?}");
            assert_eq!(decide(found.as_ref(), &own, true), idempotent, "{found:?}");
        }
    }

    #[test]
    fn marks_return() {
        let ticket = Mark::Ticket { subject: "s".to_owned() };
        for mark in [ticket, Mark::Void, Mark::Begun(begun("a", 1, 1, 1))] {
            let text = serde_json::to_vec(&mark).unwrap();
            assert_eq!(serde_json::from_slice::<Mark>(&text).unwrap(), mark);
        }
    }
}
