//! The part of a context that may leave the process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::context::{ToolContext, now};
use super::conversation::Conversation;
use super::principal::Principal;
use super::rules::{Rules, ToolRule};
use super::taint::Taint;

/// The part of a [`ToolContext`] that a call keeps when it runs later, or in another process: its
/// principal, its conversation, its deadline, the names that are forbidden to it, its taint and its
/// depth.
///
/// Values of the program's own types stay behind. An unknown field is refused when it is read:
/// it may be a restriction that a later version added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CarriedContext {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) principal: Option<String>,
    /// The channel of the conversation, and its id there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<(String, String)>,
    /// The deadline, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) denied: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tainted: bool,
    /// `true` if the first text of the conversation does not come from the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) begun_by_others: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) depth: u32,
}

/// The limits that the runs above a call set to agents below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CarriedRun {
    /// The calls that are left.
    pub(crate) calls: u64,
    /// The tokens that are left.
    pub(crate) tokens: u64,
    /// The most agents at work above one another.
    pub(crate) max_depth: u32,
    /// The money that is left, in units of 10⁻¹² dollars, if it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) money: Option<u64>,
}

/// The spending of agents in another process, which counts for the limits of the runs above them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CarriedSpending {
    pub(crate) calls: u64,
    /// Tokens read and written, and of those read from a cache, written to one, and of reasoning.
    pub(crate) tokens: [u64; 5],
    /// Their cost, in units of 10⁻¹² dollars, and the number of those without a price.
    #[serde(default)]
    pub(crate) cost: (u64, u64),
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl CarriedContext {
    /// Takes what may leave the process out of a context.
    pub(crate) fn of(context: &ToolContext) -> Self {
        let principal = context.state::<Principal>();
        let taint = context.get::<Taint>();
        Self {
            principal: principal.map(|principal| principal.as_str().to_owned()),
            conversation: context
                .state::<Conversation>()
                .map(|place| (place.channel.clone(), place.chat_id.clone())),
            deadline: context
                .remaining()
                .and_then(|left| SystemTime::now().checked_add(left))
                .map(millis),
            denied: context.rules().map(|rules| rules.blacklisted()).unwrap_or_default(),
            tainted: taint.is_some_and(Taint::is_tainted),
            begun_by_others: taint.is_some_and(Taint::is_begun_by_others),
            depth: context.depth(),
        }
    }

    /// Returns a context in which everything holds that held in the one it was taken of.
    pub(crate) fn restore(&self) -> ToolContext {
        let mut context = ToolContext::new().with_depth(self.depth);
        if let Some(principal) = &self.principal {
            context = context.with(Principal::new(principal));
        }
        if let Some((channel, chat_id)) = &self.conversation {
            context = context.with(Conversation::new(channel, chat_id));
        }
        if let Some(left) = self.remaining() {
            // A time that no clock can show is no limit.
            if let Some(deadline) = now().checked_add(left) {
                context = context.with_deadline(deadline);
            }
        }
        if !self.denied.is_empty() {
            let mut rules = Rules::default();
            for name in &self.denied {
                rules.blacklist(ToolRule::new(name));
            }
            context = context.with_rules(&rules);
        }
        if self.begun_by_others {
            return context.with(Taint::begun_by_others());
        }
        let taint = Taint::new();
        if self.tainted {
            taint.mark();
        }
        context.with(taint)
    }

    /// Returns the time until the deadline; zero once it has passed.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        let left = self.deadline?.saturating_sub(millis(SystemTime::now()));
        Some(Duration::from_millis(left))
    }
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn returns(context: &ToolContext) -> ToolContext {
        let text = serde_json::to_string(&CarriedContext::of(context)).unwrap();
        let carried: CarriedContext = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&carried).unwrap(), text);
        carried.restore()
    }

    #[test]
    fn restrictions_survive_and_an_empty_context_stays_empty() {
        let empty = CarriedContext::of(&ToolContext::new());
        assert_eq!(serde_json::to_string(&empty).unwrap(), "{}");
        assert!(!returns(&ToolContext::new()).is_tainted());

        let taint = Taint::new();
        taint.mark();
        let back = returns(
            &ToolContext::new()
                .with(Principal::new("ada"))
                .with(Conversation::new("cli", "1"))
                .with(taint)
                .with_blacklist("Rm_*")
                .with_depth(3)
                .with_deadline(now() + Duration::from_secs(60)),
        );
        assert_eq!(Principal::of(&back), Principal::new("ada"));
        assert_eq!(back.get::<Conversation>(), Some(&Conversation::new("cli", "1")));
        assert!(back.is_tainted() && !back.permits("rm_all") && back.permits("ls"));
        assert_eq!(back.depth(), 3);
        assert!(back.remaining().unwrap() <= Duration::from_secs(60));
        assert!(back.remaining().unwrap() > Duration::from_secs(58));

        let begun = returns(&ToolContext::new().with(Taint::begun_by_others()));
        assert!(begun.get::<Taint>().is_some_and(Taint::is_begun_by_others));
    }

    #[test]
    fn a_deadline_that_passed_stays_passed_and_one_beyond_all_clocks_is_none() {
        let late = CarriedContext { deadline: Some(1), ..CarriedContext::default() };
        assert_eq!(late.restore().remaining(), Some(Duration::ZERO));
        let never = CarriedContext { deadline: Some(u64::MAX), ..CarriedContext::default() };
        never.restore();
    }

    #[test]
    fn a_restriction_of_a_later_version_is_not_dropped() {
        assert!(serde_json::from_str::<CarriedContext>(r#"{"allowed":["ls"]}"#).is_err());
    }
}
