//! Limits on the spending of a principal in a day or a month, kept where they outlive the process.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::budget::UsageLimits;
use crate::call::SharedError;
use crate::context::{Clock, Principal, ToolContext};
use crate::cost::Cost;
use crate::future::BoxFuture;
use crate::model::Usage;
use crate::schema::civil;
use crate::sync::Mutex;

/// A period of time over which spending is added up, in UTC.
///
/// ```
/// use toolbox::agent::SpendingPeriod;
///
/// assert_eq!(serde_json::to_string(&SpendingPeriod::Day)?, r#""day""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpendingPeriod {
    /// A day of the calendar.
    Day,
    /// A month of the calendar.
    Month,
}

impl SpendingPeriod {
    /// Returns the name of the period that holds a time: `2026-11-29`, `2026-11`. A time before
    /// 1970 counts as the first day of it.
    pub(crate) fn key(self, time: SystemTime) -> String {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (year, month, day) = civil(since.as_secs() / 86_400);
        match self {
            Self::Day => format!("{year:04}-{month:02}-{day:02}"),
            Self::Month => format!("{year:04}-{month:02}"),
        }
    }
}

/// The kinds of spending that have a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpendingKind {
    /// Calls of tools.
    Calls,
    /// Requests to models.
    Requests,
    /// Tokens read and written.
    Tokens,
    /// Money.
    Cost,
}

/// A limit that ended a run: see [`RunOutcome::limit`](super::RunOutcome::limit).
///
/// Displays as `cost in a day`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SpendingLimit {
    /// The period.
    pub period: SpendingPeriod,
    /// The kind of spending.
    pub kind: SpendingKind,
}

impl fmt::Display for SpendingLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            SpendingKind::Calls => "calls",
            SpendingKind::Requests => "requests",
            SpendingKind::Tokens => "tokens",
            SpendingKind::Cost => "cost",
        };
        let period = match self.period {
            SpendingPeriod::Day => "a day",
            SpendingPeriod::Month => "a month",
        };
        write!(f, "{kind} in {period}")
    }
}

/// The spending of a principal in a day or a month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spending {
    /// Calls that models made.
    pub calls: u64,
    /// Requests to models, those that failed among them.
    pub requests: u64,
    /// Tokens read and written.
    pub tokens: u64,
    /// The cost of those tokens.
    pub cost: Cost,
}

impl Spending {
    /// Returns the first limit that is reached, of those that hold up the next request.
    pub(crate) fn reached(&self, limits: &UsageLimits) -> Option<SpendingKind> {
        if self.cost.money >= limits.cost {
            return Some(SpendingKind::Cost);
        }
        let is_spent = self.tokens >= limits.tokens;
        is_spent
            .then_some(SpendingKind::Tokens)
            .or((self.requests >= limits.requests).then_some(SpendingKind::Requests))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.requests = self.requests.saturating_add(other.requests);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
    }
}

/// Spending that a run wants, or has made.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spend {
    /// One request, unless a limit is reached.
    Request,
    /// Calls, as many as there are left.
    Calls(u64),
    /// Spending that was made.
    Made(Spending),
}

/// The answer to a [`Spend`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantedSpending {
    /// The calls or requests that may be made.
    pub(crate) amount: u64,
    /// The limit that lets no more be made.
    pub(crate) limit: Option<SpendingLimit>,
}

/// A period with its name and its limits.
#[derive(Debug, Clone)]
pub(crate) struct LimitedPeriod {
    pub(crate) period: SpendingPeriod,
    pub(crate) key: String,
    pub(crate) limits: UsageLimits,
}

/// The answer of a place where spending is added up.
pub(crate) type Granting = BoxFuture<'static, Result<GrantedSpending, SharedError>>;

/// The place where spending is added up, for all processes that use it.
pub(crate) trait SpendingStore: Send + Sync {
    /// Checks the limits and adds the spending, in one step. It is done even if the future is
    /// dropped, before whatever is asked for later.
    fn spend(&self, principal: String, periods: Vec<LimitedPeriod>, spend: Spend) -> Granting;

    /// Names the place: two of one name add up together.
    fn id(&self) -> &str;
}

/// Limits on what each principal may spend in a day and in a month, over all processes that have
/// the journal open, and beyond their end.
///
/// `Journal::spending_limits` makes them. A run gets them from its agent
/// ([`AgentBuilder::spending_limits`](super::AgentBuilder::spending_limits)), or with its context
/// ([`ToolContext::with`](crate::ToolContext::with)), and charges them for the
/// [`Principal`] of its context, together with the agents below it. Runs without a principal are
/// one together. Of several limits over one journal, the strictest holds, and what is spent counts
/// once. Of several journals, each counts the calls and requests that it grants, also if another
/// then grants fewer.
///
/// Calls and requests are counted before they are made, in the transaction that checks them: their
/// limits are never exceeded. Tokens and money are counted when a reply comes, so that each request
/// that was under way, in any process, goes beyond the limit by its reply at most. The reply of a
/// process that is killed before it has it, or of a run that is dropped, is not counted.
///
/// Days and months are those of the calendar in UTC, by the [`Clock`] of the run's context, else
/// that of the system. A clock that is set back leads to a day whose spending is there.
#[derive(Clone)]
pub struct SpendingLimits {
    store: Arc<dyn SpendingStore>,
    day: UsageLimits,
    month: UsageLimits,
}

impl SpendingLimits {
    #[cfg_attr(not(feature = "durable"), allow(dead_code, reason = "for the journal"))]
    pub(crate) fn new(store: Arc<dyn SpendingStore>) -> Self {
        Self { store, day: UsageLimits::new(), month: UsageLimits::new() }
    }

    /// Limits what a principal spends in a day. Default: nothing is limited, and all is counted.
    #[must_use]
    pub fn per_day(mut self, limits: UsageLimits) -> Self {
        self.day = limits;
        self
    }

    /// Limits what a principal spends in a month. Default: nothing is limited, and all is counted.
    #[must_use]
    pub fn per_month(mut self, limits: UsageLimits) -> Self {
        self.month = limits;
        self
    }
}

impl fmt::Debug for SpendingLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpendingLimits")
            .field("day", &self.day)
            .field("month", &self.month)
            .finish_non_exhaustive()
    }
}

/// The limits of a run, for its principal.
#[derive(Clone)]
struct PrincipalLimits {
    limits: SpendingLimits,
    principal: String,
    clock: Clock,
}

impl PrincipalLimits {
    fn spend(&self, spend: Spend) -> Granting {
        let now = self.clock.now();
        let period = |period: SpendingPeriod, limits: UsageLimits| LimitedPeriod {
            period,
            key: period.key(now),
            limits,
        };
        let SpendingLimits { store, day, month } = &self.limits;
        let periods =
            vec![period(SpendingPeriod::Day, *day), period(SpendingPeriod::Month, *month)];
        store.spend(self.principal.clone(), periods, spend)
    }
}

/// The limits that a run and those below it charge.
#[derive(Clone, Default)]
pub(super) struct SpendingAccount {
    all: Arc<[PrincipalLimits]>,
    /// The spending that is being written.
    unwritten: Arc<Mutex<Vec<Granting>>>,
}

impl SpendingAccount {
    /// Returns the account of a run in `context` that adds limits to those above.
    pub(super) fn with<'a>(
        &self,
        limits: impl IntoIterator<Item = &'a SpendingLimits>,
        context: &ToolContext,
    ) -> Self {
        let principal = Principal::of(context).as_str().to_owned();
        let clock = context.state::<Clock>().map_or_else(Clock::system, |clock| *clock);
        let mut all = self.all.to_vec();
        for own in limits {
            let same = |known: &&mut PrincipalLimits| {
                known.limits.store.id() == own.store.id() && known.principal == principal
            };
            if let Some(known) = all.iter_mut().find(same) {
                known.limits.day = known.limits.day.stricter(own.day);
                known.limits.month = known.limits.month.stricter(own.month);
            } else {
                let principal = principal.clone();
                all.push(PrincipalLimits { limits: own.clone(), principal, clock });
            }
        }
        Self { all: all.into(), unwritten: Arc::clone(&self.unwritten) }
    }

    /// Returns `true` if money is limited.
    pub(super) fn limits_cost(&self) -> bool {
        let limits = self.all.iter().flat_map(|own| [&own.limits.day, &own.limits.month]);
        limits.into_iter().any(UsageLimits::limits_cost)
    }

    /// Takes one request; returns the limit that is reached, if one is.
    pub(super) async fn take_request(&self) -> Result<Option<SpendingLimit>, SharedError> {
        self.written().await?;
        for own in &*self.all {
            let granted = own.spend(Spend::Request).await?;
            if granted.amount == 0 {
                return Ok(granted.limit);
            }
        }
        Ok(None)
    }

    /// Takes up to `wanted` calls; returns how many there were, and the limit that is reached.
    pub(super) async fn take_calls(
        &self,
        wanted: u64,
    ) -> Result<(u64, Option<SpendingLimit>), SharedError> {
        let (mut amount, mut limit) = (wanted, None);
        for own in self.all.iter().filter(|_| wanted > 0) {
            let granted = own.spend(Spend::Calls(amount)).await?;
            if granted.amount < amount {
                (amount, limit) = (granted.amount, granted.limit);
            }
        }
        Ok((amount, limit))
    }

    /// Adds spending that was made. It is written in the order in which it was made.
    pub(super) fn charge(&self, spending: Spending) {
        let writes = self.all.iter().map(|own| own.spend(Spend::Made(spending)));
        self.unwritten.lock().extend(writes);
    }

    pub(super) fn charge_usage(&self, usage: Usage, cost: Cost) {
        self.charge(Spending { tokens: usage.total_tokens(), cost, ..Spending::default() });
    }

    /// Waits until all spending is written.
    pub(super) async fn written(&self) -> Result<(), SharedError> {
        let writes = std::mem::take(&mut *self.unwritten.lock());
        for write in writes {
            write.await?;
        }
        Ok(())
    }
}

impl fmt::Debug for SpendingAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpendingAccount").field("limits", &self.all.len()).finish_non_exhaustive()
    }
}
