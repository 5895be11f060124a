//! The spending of principals in the file of a journal.

use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::journal::Journal;
use super::rows::damaged;
use crate::agent::spending::{GrantedSpending, LimitedPeriod, Spend, SpendingStore};
use crate::agent::{Spending, SpendingKind, SpendingLimit, SpendingLimits, SpendingPeriod};
use crate::call::SharedError;
use crate::context::Principal;
use crate::cost::{Cost, Money};
use crate::future::BoxFuture;
use crate::store::StoreError;

impl Journal {
    /// Returns limits on the spending of each principal that are kept in the file of the journal.
    /// All that runs with them spend is counted there; nothing is limited until
    /// [`per_day`](SpendingLimits::per_day) or [`per_month`](SpendingLimits::per_month) says so.
    ///
    /// ```
    /// use toolbox::agent::{Agent, SpendingPeriod, StopReason, UsageLimits};
    /// use toolbox::context::Principal;
    /// use toolbox::durable::Journal;
    /// use toolbox::testing::ScriptedModel;
    /// use toolbox::ToolContext;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let journal = Journal::in_memory()?;
    /// let limits = journal.spending_limits().per_day(UsageLimits::new().max_requests(1));
    /// let agent = Agent::builder(ScriptedModel::answering("Hello."))
    ///     .spending_limits(limits)
    ///     .build()?;
    /// let ada = Principal::new("ada");
    /// let ask = || agent.run("Hi").in_context(ToolContext::new().with(ada.clone()));
    ///
    /// assert_eq!(ask().await?.reason, StopReason::Answered);
    /// let outcome = ask().await?;
    /// assert_eq!(outcome.reason, StopReason::Budget);
    /// assert_eq!(outcome.limit.unwrap().to_string(), "requests in a day");
    /// let today = std::time::SystemTime::now();
    /// assert_eq!(journal.spending(&ada, SpendingPeriod::Day, today).await?.requests, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn spending_limits(&self) -> SpendingLimits {
        SpendingLimits::new(Arc::new(self.clone()))
    }

    /// Returns the spending of a principal in the day or the month that holds a time. It is kept
    /// until [`delete_spending`](Self::delete_spending): some 60 bytes a day of each principal that
    /// spends.
    ///
    /// # Errors
    ///
    /// Those of the file, and [`StoreError::Failed`] for a journal over an engine of the program's
    /// own, which keeps none.
    pub async fn spending(
        &self,
        principal: &Principal,
        period: SpendingPeriod,
        time: SystemTime,
    ) -> Result<Spending, StoreError> {
        let (principal, key) = (principal.as_str().to_owned(), period.key(time));
        self.file()?.run(move |connection, _| read(connection, &principal, &key)).await
    }

    /// Returns what each principal spent in the day or the month that holds a time, the most money
    /// first, then the most tokens. Runs without a principal are those of the empty one.
    ///
    /// # Errors
    ///
    /// As by [`spending`](Self::spending).
    pub async fn spending_of_all(
        &self,
        period: SpendingPeriod,
        time: SystemTime,
    ) -> Result<Vec<(Principal, Spending)>, StoreError> {
        self.spending_in(period.key(time)).await
    }

    /// Returns what each principal spent in a period by its name: `2026-11`, `2026-11-29`.
    pub(crate) async fn spending_in(
        &self,
        key: String,
    ) -> Result<Vec<(Principal, Spending)>, StoreError> {
        let mut all = self.file()?.run(move |connection, _| read_all(connection, &key)).await?;
        all.sort_by(|(one, spent), (other, more)| {
            let by_money = more.cost.money.cmp(&spent.cost.money);
            by_money.then(more.tokens.cmp(&spent.tokens)).then(one.as_str().cmp(other.as_str()))
        });
        Ok(all)
    }

    /// Deletes the spending of all days and months before those that hold `time`. Returns how many
    /// there were, of all principals.
    ///
    /// # Errors
    ///
    /// As by [`spending`](Self::spending).
    pub async fn delete_spending(&self, time: SystemTime) -> Result<usize, StoreError> {
        let keys = [SpendingPeriod::Day.key(time), SpendingPeriod::Month.key(time)];
        self.file()?.run(move |connection, _| delete_before(connection, &keys)).await
    }
}

impl SpendingStore for Journal {
    fn spend(
        &self,
        principal: String,
        periods: Vec<LimitedPeriod>,
        spend: Spend,
    ) -> BoxFuture<'static, Result<GrantedSpending, SharedError>> {
        let shared = |error: StoreError| -> SharedError { Arc::new(error) };
        let work = move |connection: &Connection| spent(connection, &principal, &periods, spend);
        match self.file() {
            Ok(file) => {
                let done = file.run(move |connection, _| work(connection));
                // The journal is open until it is done.
                let journal = self.clone();
                Box::pin(async move {
                    let done = done.await.map_err(shared);
                    drop(journal);
                    done
                })
            }
            Err(error) => Box::pin(std::future::ready(Err(shared(error)))),
        }
    }

    fn id(&self) -> &str {
        Journal::id(self)
    }
}

/// Checks the limits of all periods, and adds the spending to each.
fn spent(
    connection: &Connection,
    principal: &str,
    periods: &[LimitedPeriod],
    spend: Spend,
) -> Result<GrantedSpending, StoreError> {
    let rows = periods.iter().map(|own| read(connection, principal, &own.key));
    let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
    let granted = grant(periods, &rows, spend);
    let added = match spend {
        Spend::Request => Spending { requests: granted.amount, ..Spending::default() },
        Spend::Calls(_) => Spending { calls: granted.amount, ..Spending::default() },
        Spend::Made(spending) => spending,
    };
    if added != Spending::default() {
        for (own, row) in periods.iter().zip(&mut rows) {
            row.add(&added);
            write(connection, principal, &own.key, row)?;
        }
    }
    Ok(granted)
}

fn grant(periods: &[LimitedPeriod], rows: &[Spending], spend: Spend) -> GrantedSpending {
    let limit = |own: &LimitedPeriod, kind| SpendingLimit { period: own.period, kind };
    let mut each = periods.iter().zip(rows);
    match spend {
        Spend::Request => {
            let reached = |(own, row): (&LimitedPeriod, &Spending)| {
                row.reached(&own.limits).map(|kind| limit(own, kind))
            };
            let limit = each.find_map(reached);
            GrantedSpending { amount: u64::from(limit.is_none()), limit }
        }
        Spend::Calls(wanted) => {
            let mut granted = GrantedSpending { amount: wanted, limit: None };
            for (own, row) in each {
                let left = own.limits.calls.saturating_sub(row.calls);
                if left < granted.amount {
                    let limit = Some(limit(own, SpendingKind::Calls));
                    granted = GrantedSpending { amount: left, limit };
                }
            }
            granted
        }
        Spend::Made(_) => GrantedSpending { amount: 0, limit: None },
    }
}

fn read(connection: &Connection, principal: &str, period: &str) -> Result<Spending, StoreError> {
    let row = connection
        .prepare_cached(
            "SELECT calls, requests, tokens, money, unpriced FROM spending \
             WHERE principal = ? AND period = ?",
        )?
        .query_row([principal, period], |row| numbers(row, 0))
        .optional()?;
    row.map_or(Ok(Spending::default()), |numbers| of_numbers(numbers, principal, period))
}

fn read_all(
    connection: &Connection,
    period: &str,
) -> Result<Vec<(Principal, Spending)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT principal, calls, requests, tokens, money, unpriced FROM spending WHERE period = ?",
    )?;
    let rows = statement.query_map([period], |row| {
        let principal: String = row.get(0)?;
        Ok((principal, numbers(row, 1)?))
    })?;
    rows.map(|row| {
        let (principal, numbers) = row?;
        let spending = of_numbers(numbers, &principal, period)?;
        Ok((Principal::new(principal), spending))
    })
    .collect()
}

/// Deletes periods before a day and a month: names of one length are in the order of time.
fn delete_before(connection: &Connection, keys: &[String; 2]) -> Result<usize, StoreError> {
    let mut deleted = 0;
    for key in keys {
        deleted += connection.execute(
            "DELETE FROM spending WHERE length(period) = length(?1) AND period < ?1",
            [key],
        )?;
    }
    Ok(deleted)
}

/// Reads the numbers of a row, from a column on.
fn numbers(row: &Row<'_>, first: usize) -> rusqlite::Result<[i64; 5]> {
    let number = |at: usize| row.get(first + at);
    Ok([number(0)?, number(1)?, number(2)?, number(3)?, number(4)?])
}

fn of_numbers(numbers: [i64; 5], principal: &str, period: &str) -> Result<Spending, StoreError> {
    let [Ok(calls), Ok(requests), Ok(tokens), Ok(money), Ok(unpriced)] = numbers.map(u64::try_from)
    else {
        return Err(damaged(format!("{principal:?} has spent less than nothing in {period}")));
    };
    let mut cost = Cost::new(Money::from_picos(money));
    cost.unpriced_tokens = unpriced;
    Ok(Spending { calls, requests, tokens, cost })
}

fn write(
    connection: &Connection,
    principal: &str,
    period: &str,
    row: &Spending,
) -> Result<(), StoreError> {
    // What is more than the file can hold stays at the most.
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let Spending { calls, requests, tokens, cost } = *row;
    let (money, unpriced) = (number(cost.money.picos()), number(cost.unpriced_tokens));
    connection
        .prepare_cached("INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            principal,
            period,
            number(calls),
            number(requests),
            number(tokens),
            money,
            unpriced
        ])?;
    Ok(())
}
