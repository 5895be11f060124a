//! Limits on what a principal spends in a day and a month.

use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use support::Scratch;
use toolbox::agent::{
    Agent, AgentBuilder, RunErrorKind, RunOutcome, Spending, SpendingLimits, SpendingPeriod,
    StopReason, UsageLimits,
};
use toolbox::call::Arguments;
use toolbox::context::{Clock, Principal};
use toolbox::cost::{Money, Price, PriceTable};
use toolbox::durable::Journal;
use toolbox::model::{ModelRequest, ModelResponse, Reply, Usage};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolCall, ToolContext, tool, tools};

use crate::bounded::tokio;

/// Looks at something.
#[tool]
fn look() -> &'static str {
    "seen"
}

/// Makes one call, and then answers: two requests of 110 tokens, 0.02 dollars.
fn reply(request: &ModelRequest) -> ModelResponse {
    let has_called =
        request.history.steps().next_back().is_some_and(|step| !step.results().is_empty());
    let call = || Reply::calls([ToolCall::new("c", "look", "{}")]);
    let reply = if has_called { Reply::text("done") } else { call() };
    ModelResponse::from(reply).with_usage(Usage::new(100, 10))
}

fn model() -> ScriptedModel {
    ScriptedModel::new().respond(|request| Ok(reply(request))).forever()
}

fn prices() -> PriceTable {
    let per_million = Price::per_million(Money::from_dollars(100), Money::from_dollars(1000));
    PriceTable::new().model("*", "*", per_million)
}

fn builder() -> AgentBuilder {
    Agent::builder(model()).tools(tools![look]).prices(prices())
}

fn limited(limits: SpendingLimits) -> Agent {
    builder().spending_limits(limits).build().unwrap()
}

/// Returns what `ada` has spent today.
async fn spent_today(journal: &Journal) -> Spending {
    let ada = Principal::new("ada");
    journal.spending(&ada, SpendingPeriod::Day, SystemTime::now()).await.unwrap()
}

fn of(who: &str) -> ToolContext {
    ToolContext::new().with(Principal::new(who))
}

async fn run(agent: &Agent, context: ToolContext) -> RunOutcome {
    agent.run("x").in_context(context).await.unwrap()
}

/// Returns the reason of a run's end, with the limit that it reached.
fn end(outcome: &RunOutcome) -> String {
    let limit = outcome.limit.map(|limit| format!(": {limit}")).unwrap_or_default();
    format!("{}{limit}", outcome.reason)
}

#[tokio::test]
async fn each_limit_ends_the_run_that_reaches_it() {
    let none = UsageLimits::new;
    let cents = |cents| none().max_cost(Money::from_cents(cents));
    for (day, month, ends) in [
        (none(), none(), vec!["answered", "answered", "answered"]),
        (none().max_requests(3), none(), vec!["answered", "budget: requests in a day"]),
        (none(), none().max_requests(2), vec!["answered", "budget: requests in a month"]),
        (none().max_tokens(220), none(), vec!["answered", "budget: tokens in a day"]),
        (none().max_tokens(221), none(), vec!["answered", "budget: tokens in a day"]),
        (none().max_calls(1), none(), vec!["answered", "budget: calls in a day"]),
        (none(), none().max_calls(0), vec!["budget: calls in a month"]),
        (cents(4), none(), vec!["answered", "cost: cost in a day"]),
        (none(), cents(3), vec!["answered", "cost: cost in a month"]),
        (none().max_requests(9), none().max_tokens(1), vec!["budget: tokens in a month"]),
        // What is spent in whole is reached.
        (none().max_tokens(110), none(), vec!["budget: tokens in a day"]),
        (cents(2), none(), vec!["cost: cost in a day"]),
        (none().max_calls(0), none().max_calls(0), vec!["budget: calls in a day"]),
    ] {
        let journal = Journal::in_memory().unwrap();
        let agent = limited(journal.spending_limits().per_day(day).per_month(month));
        let mut seen = Vec::new();
        for _ in &ends {
            seen.push(end(&run(&agent, of("ada")).await));
        }
        assert_eq!(seen, ends, "{day:?} {month:?}");
        // Another principal has all of it.
        assert_eq!(end(&run(&agent, of("bob")).await), ends[0]);
    }
}

#[tokio::test]
async fn a_durable_run_that_has_ended_returns_the_limit_again() {
    let journal = Journal::in_memory().unwrap();
    let agent = limited(journal.spending_limits().per_day(UsageLimits::new().max_calls(0)));
    for _ in 0..2 {
        let outcome = agent.run("x").durable("one", &journal).await.unwrap();
        assert_eq!(end(&outcome), "budget: calls in a day");
    }
}

#[tokio::test]
async fn spending_is_counted_once_with_the_agents_below() {
    let journal = Journal::in_memory().unwrap();
    let limits = journal.spending_limits().per_day(UsageLimits::new().max_requests(5));
    let below = limited(limits.clone());
    let above = ScriptedModel::new().calls("below", r#"{"task":"x"}"#).text("ok");
    let above = Agent::builder(above)
        .add_subagent(below.as_tool("below", "Works"))
        .prices(prices())
        .spending_limits(limits.clone());
    let context = of("ada").with(journal.spending_limits());
    let outcome = run(&above.build().unwrap(), context).await;
    assert_eq!(end(&outcome), "answered");
    let today = SystemTime::now();
    for period in [SpendingPeriod::Day, SpendingPeriod::Month] {
        let spent = journal.spending(&Principal::new("ada"), period, today).await.unwrap();
        assert_eq!((spent.requests, spent.calls), (4, 2), "{spent:?}");
        assert_eq!((spent.tokens, spent.cost), (outcome.usage.total_tokens(), outcome.cost));
    }
    // The strictest of the limits that a run has is the one that holds.
    let context =
        of("ada").with(journal.spending_limits().per_month(UsageLimits::new().max_calls(2)));
    assert_eq!(end(&run(&below, context).await), "budget: calls in a month");
}

/// Limits the requests of a period.
type Limit = fn(SpendingLimits, u64) -> SpendingLimits;

#[tokio::test]
async fn of_limits_over_one_journal_the_strictest_holds() {
    let cases: [(Limit, &str); 2] = [
        (
            |limits, most| limits.per_day(UsageLimits::new().max_requests(most)),
            "budget: requests in a day",
        ),
        (
            |limits, most| limits.per_month(UsageLimits::new().max_requests(most)),
            "budget: requests in a month",
        ),
    ];
    for (limit, expected) in cases {
        for (of_agent, of_context) in [(9, 2), (2, 9)] {
            let journal = Journal::in_memory().unwrap();
            let agent = limited(limit(journal.spending_limits(), of_agent));
            let context = || of("ada").with(limit(journal.spending_limits(), of_context));
            assert_eq!(end(&run(&agent, context()).await), "answered");
            assert_eq!(end(&run(&agent, context()).await), expected, "{of_agent} {of_context}");
        }
    }
}

#[tokio::test]
async fn two_journals_and_two_principals_have_limits_of_their_own() {
    let (one, two) = (Journal::in_memory().unwrap(), Journal::in_memory().unwrap());
    let calls = |journal: &Journal, most| {
        journal.spending_limits().per_day(UsageLimits::new().max_calls(most))
    };
    // Three calls at once, of which the journal that is asked first grants one.
    let many = ScriptedModel::new().calls_all([("look", "{}"); 3]).text("done");
    let agent = Agent::builder(many).tools(tools![look]).spending_limits(calls(&two, 9));
    let context = of("ada").with(calls(&one, 1));
    assert_eq!(end(&run(&agent.build().unwrap(), context).await), "budget: calls in a day");
    for journal in [&one, &two] {
        let spent = spent_today(journal).await;
        assert_eq!((spent.calls, spent.requests), (1, 1), "{spent:?}");
    }

    // What an agent spends for someone else is also spent by the one who called it.
    let below = limited(two.spending_limits());
    let schema = json!({"type": "object"});
    let delegate = move |context: ToolContext, _: Arguments| {
        let below = below.clone();
        async move { run(&below, context.with(Principal::new("bob"))).await.content }
    };
    let delegate = Tool::raw("delegate", "Lets another work.", schema, delegate);
    let model = ScriptedModel::new().calls("delegate", "{}").text("ok");
    let agent = Agent::builder(model).tools(delegate).spending_limits(two.spending_limits());
    assert_eq!(end(&run(&agent.build().unwrap(), of("cleo")).await), "answered");
    let requests = async |who: &str| {
        let who = Principal::new(who);
        two.spending(&who, SpendingPeriod::Day, SystemTime::now()).await.unwrap().requests
    };
    assert_eq!((requests("cleo").await, requests("bob").await), (4, 2));
}

#[tokio::test]
async fn tokens_without_a_price_and_more_than_a_file_can_hold_are_kept() {
    let journal = Journal::in_memory().unwrap();
    let using = |usage: Usage| {
        let model = ScriptedModel::new()
            .respond(move |_| Ok(ModelResponse::from(Reply::text("ok")).with_usage(usage)));
        Agent::builder(model.forever()).spending_limits(journal.spending_limits()).build().unwrap()
    };
    let few = using(Usage::new(100, 10));
    for who in ["ada", "bob", "bob"] {
        run(&few, of(who)).await;
    }
    let all = async || {
        let all = journal.spending_of_all(SpendingPeriod::Day, SystemTime::now()).await.unwrap();
        let told = |(who, spent): &(Principal, Spending)| {
            (who.as_str().to_owned(), spent.tokens, spent.cost.unpriced_tokens)
        };
        all.iter().map(told).collect::<Vec<_>>()
    };
    // No money was spent, so that the most tokens come first.
    assert_eq!(all().await, [("bob".to_owned(), 220, 220), ("ada".to_owned(), 110, 110)]);
    let most = i64::MAX.cast_unsigned();
    for _ in 0..2 {
        run(&using(Usage::new(u64::MAX, 1)), of("ada")).await;
        assert_eq!(all().await[0], ("ada".to_owned(), most, most));
    }
}

/// The last second of 2026-01-30 in UTC, since 1970.
const LAST: u64 = 1_769_817_599;

#[tokio::test]
async fn days_and_months_are_those_of_the_clock_in_utc() {
    let journal = Journal::in_memory().unwrap();
    let limits = journal.spending_limits();
    let limits = limits.per_day(UsageLimits::new().max_requests(2));
    let agent = limited(limits.per_month(UsageLimits::new().max_requests(6)));
    for (seconds, expected) in [
        (LAST, "answered"),
        (LAST, "budget: requests in a day"),
        (LAST + 1, "answered"),
        // Set back: that day is spent.
        (LAST - 3600, "budget: requests in a day"),
        (LAST - 86_400, "answered"),
        (LAST - 2 * 86_400, "budget: requests in a month"),
        (LAST + 86_400, "budget: requests in a day"),
        // 2026-02-01.
        (LAST + 86_401, "answered"),
        (0, "answered"),
        (u32::MAX.into(), "answered"),
    ] {
        let clock = Clock::fixed(UNIX_EPOCH + Duration::from_secs(seconds));
        let outcome = run(&agent, of("ada").with(clock)).await;
        assert_eq!(end(&outcome), expected, "{seconds}");
    }
    let before = UNIX_EPOCH - Duration::from_secs(7);
    let outcome = run(&agent, of("ada").with(Clock::fixed(before))).await;
    assert_eq!(end(&outcome), "budget: requests in a day");
    let spent = |period, at| {
        let (journal, ada) = (journal.clone(), Principal::new("ada"));
        async move {
            journal
                .spending(&ada, period, UNIX_EPOCH + Duration::from_secs(at))
                .await
                .unwrap()
                .requests
        }
    };
    assert_eq!(spent(SpendingPeriod::Month, LAST).await, 6);
    assert_eq!(spent(SpendingPeriod::Day, LAST + 1).await, 2);
    assert_eq!(spent(SpendingPeriod::Month, LAST + 86_401).await, 2);
}

#[tokio::test]
async fn principals_are_told_apart_whatever_their_names_are() {
    let journal = Journal::in_memory().unwrap();
    let agent = limited(journal.spending_limits().per_day(UsageLimits::new().max_requests(2)));
    let long = "x".repeat(100_000);
    let names =
        ["", " ", "a", "A", "a\0", "a\0b", "' OR 1=1 --", "é", "e\u{301}", "%", "🎈", &long];
    for name in names {
        assert_eq!(end(&run(&agent, of(name)).await), "answered", "{name:?}");
    }
    for name in names {
        assert_eq!(end(&run(&agent, of(name)).await), "budget: requests in a day", "{name:?}");
    }
    // Who has no principal is the one without a name.
    assert_eq!(end(&run(&agent, ToolContext::new()).await), "budget: requests in a day");
}

#[tokio::test]
async fn money_is_limited_for_models_with_a_price_alone() {
    let journal = Journal::in_memory().unwrap();
    let limits =
        journal.spending_limits().per_day(UsageLimits::new().max_cost(Money::from_cents(1)));
    let agent =
        Agent::builder(model()).tools(tools![look]).spending_limits(limits).build().unwrap();
    let error = agent.run("x").await.unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::NoPrice { .. }), "{error}");
}

#[tokio::test]
async fn runs_at_once_go_beyond_by_the_replies_under_way() {
    const RUNS: u64 = 8;
    let journal = Journal::in_memory().unwrap();
    let limits = UsageLimits::new().max_tokens(500).max_calls(3);
    let agent = limited(journal.spending_limits().per_day(limits));
    let runs: Vec<_> = (0..RUNS)
        .map(|_| {
            let agent = agent.clone();
            tokio::spawn(async move { run(&agent, of("ada")).await.reason })
        })
        .collect();
    for run in runs {
        let reason = run.await.unwrap();
        assert!(matches!(reason, StopReason::Answered | StopReason::Budget), "{reason}");
    }
    let spent = spent_today(&journal).await;
    assert!(spent.calls <= 3, "{spent:?}");
    assert!(spent.tokens <= 500 + RUNS * 110, "{spent:?}");
    assert_eq!(spent.tokens, spent.requests * 110);
}

fn spender(database: &std::path::Path, runs: &str, requests: &str) -> Command {
    let mut command = Command::new(crate::program("spender"));
    command.arg(database).args([runs, requests]).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[tokio::test]
async fn processes_on_one_file_share_the_limit_and_a_restart_keeps_it() {
    let folder = Scratch::new();
    let database = folder.path().join("journal.db");
    drop(Journal::open(&database).unwrap());
    let both: Vec<_> = (0..2).map(|_| spender(&database, "30", "41").spawn().unwrap()).collect();
    let mut answered = 0;
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        answered += String::from_utf8(output.stdout).unwrap().trim().parse::<u64>().unwrap();
    }
    let journal = Journal::open(&database).unwrap();
    let spent = spent_today(&journal).await;
    // The last request was that of a call whose run was stopped, or more than one in each process.
    assert_eq!(spent.requests, 41, "{spent:?}");
    assert!((19..=20).contains(&answered), "{answered}");
    assert_eq!(spent.tokens, 41 * 110);
    let agent = limited(journal.spending_limits().per_day(UsageLimits::new().max_requests(41)));
    assert_eq!(end(&run(&agent, of("ada")).await), "budget: requests in a day");
}

#[tokio::test]
async fn a_killed_process_has_counted_what_it_asked() {
    let folder = Scratch::new();
    let database = folder.path().join("journal.db");
    for kills in 1..=3_u64 {
        let status = spender(&database, "dies", "6").status().unwrap();
        assert!(!status.success());
        let journal = Journal::open(&database).unwrap();
        let spent = spent_today(&journal).await;
        assert_eq!((spent.requests, spent.calls), (2 * kills, kills));
        // The reply that it had; the other never came.
        assert_eq!(spent.tokens, 110 * kills);
    }
    let output = spender(&database, "2", "6").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "0");
}

#[tokio::test]
async fn a_damaged_row_grants_nothing() {
    let scratch = Scratch::new();
    let path = scratch.path().join("spending.db");
    let journal = Journal::open(&path).unwrap();
    let limits = || journal.spending_limits().per_day(UsageLimits::new().max_requests(2));
    assert_eq!(end(&run(&limited(limits()), of("ada")).await), "answered");
    for column in ["calls", "requests", "tokens", "money", "unpriced"] {
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute(&format!("UPDATE spending SET {column} = -1"), []).unwrap();
        drop(file);
        let refused = limited(limits()).run("x").in_context(of("ada")).await.unwrap_err();
        assert!(matches!(refused.kind, RunErrorKind::Journal(_)), "{column}: {refused:?}");
        let ada = Principal::new("ada");
        let read = journal.spending(&ada, SpendingPeriod::Day, SystemTime::now()).await;
        assert!(read.unwrap_err().to_string().contains("damaged"), "{column}");
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute(&format!("UPDATE spending SET {column} = 0"), [])
            .unwrap();
    }
    assert_eq!(end(&run(&limited(limits()), of("ada")).await), "answered");
}
