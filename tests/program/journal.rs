//! `runs`, `resume` and `journal`: the runs of a program, seen by another.

use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use toolbox::agent::{Agent, SpendingPeriod, StopReason};
use toolbox::context::{Clock, Principal};
use toolbox::cost::{Money, Price, PriceTable};
use toolbox::durable::Journal;
use toolbox::model::{ModelResponse, Reply, Usage};
use toolbox::testing::ScriptedModel;
use toolbox::{State, ToolContext, tool, tools};

use crate::bounded::tokio;
use support::Scratch;

/// Pays an invoice.
#[tool(approval)]
fn pay(invoice: u32, paid: State<AtomicU32>) -> String {
    paid.fetch_add(1, Ordering::SeqCst);
    format!("paid {invoice}")
}

fn agent(model: ScriptedModel, paid: &Arc<AtomicU32>) -> Agent {
    Agent::builder(model)
        .name("clerk")
        .tools(tools![pay])
        .shared_state(Arc::clone(paid))
        .build()
        .unwrap()
}

fn asking() -> ScriptedModel {
    ScriptedModel::new().calls("pay", r#"{"invoice": 7}"#)
}

/// Pauses a run in a journal, as a process that is gone by now.
async fn paused(journal: &Journal) -> Arc<AtomicU32> {
    let paid = Arc::new(AtomicU32::new(0));
    let outcome =
        agent(asking(), &paid).run("Pay it").durable("clients/7.may", journal).await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    paid
}

/// Runs the program `toolbox`.
fn program(words: &[&str]) -> Output {
    Command::new(crate::program("toolbox-program")).args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat()
}

#[tokio::test]
async fn the_program_lists_runs_decides_and_checks() {
    let scratch = Scratch::new();
    let path = scratch.path().join("agent.db");
    let file = path.to_str().unwrap();
    let paid = paused(&Journal::open(&path).unwrap()).await;

    let listed = text(&program(&["runs", file]));
    assert!(listed.contains("clients/7.may  paused  agent clerk"), "{listed}");
    assert!(listed.contains("call_1  pay {\"invoice\": 7}"), "{listed}");
    for (words, code, what) in [
        (vec!["runs", "/nonexistent.db"], 3, "there is no journal at"),
        (vec!["resume", file, "run 2", "--approve-all"], 1, "there is no run `run 2`"),
        (vec!["resume", file, "clients/7.may"], 2, "nothing was decided"),
        (vec!["resume", file, "clients/7.may", "--approve", "call_9"], 1, "those that do: call_1"),
        (vec!["resume", file, "clients/7.may", "--approve", "call_1"], 0, "1 of 1 call decided"),
        (vec!["resume", file, "clients/7.may", "--deny", "call_1"], 1, "it is decided"),
        (vec!["journal", "check", file], 0, "runs: 1, with 4 entries"),
        (vec!["journal", "calls", file], 0, "no calls"),
        (vec!["journal", "calls", file, "--state", "lost"], 2, "the states are waiting"),
    ] {
        let output = program(&words);
        let shown = text(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {shown}");
        assert!(shown.contains(what), "{words:?}: {shown}");
    }
    let journal = Journal::open(&path).unwrap();
    let done = agent(ScriptedModel::answering("Done."), &paid);
    assert_eq!(done.resume("clients/7.may", &journal).await.unwrap().content, "Done.");
    assert_eq!(paid.load(Ordering::SeqCst), 1);
    drop(journal);

    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE run_entry SET entry = '{' WHERE number = 2", []).unwrap();
    let output = program(&["--json", "journal", "check", file]);
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        found["faults"][0].as_str().unwrap().contains("entry 2 of run `clients/7.may`"),
        "{found}"
    );
}

#[tokio::test]
async fn what_each_principal_spent_is_listed() {
    let scratch = Scratch::new();
    let path = scratch.path().join("agent.db");
    let file = path.to_str().unwrap();
    let journal = Journal::open(&path).unwrap();
    // The days of November 2026, from 1.
    let day = |number: u64| UNIX_EPOCH + Duration::from_secs((20_757 + number) * 86_400);
    let prices = Price::per_million(Money::from_dollars(100), Money::from_dollars(1000));
    let agent = Agent::builder(
        ScriptedModel::new()
            .respond(
                |_| Ok(ModelResponse::from(Reply::text("Hi.")).with_usage(Usage::new(100, 10))),
            )
            .forever(),
    )
    .prices(PriceTable::new().model("*", "*", prices))
    .spending_limits(journal.spending_limits())
    .build()
    .unwrap();
    for (who, on, runs) in [("ada", 1, 1), ("bob\u{1b}[2J", 1, 2), ("ada", 2, 2), ("", 2, 1)] {
        let clock = Clock::fixed(day(on) + Duration::from_secs(43_200));
        for _ in 0..runs {
            let context = ToolContext::new().with(Principal::new(who)).with(clock);
            agent.run("x").in_context(context).await.unwrap();
        }
    }
    for (period, code, expected) in [
        (
            "2026-11",
            0,
            "ada  0.06 USD  3 requests, 0 calls, 330 tokens\n\
             bob  0.04 USD  2 requests, 0 calls, 220 tokens\n\
             (no principal)  0.02 USD  1 request, 0 calls, 110 tokens\n",
        ),
        (
            "2026-11-01",
            0,
            "bob  0.04 USD  2 requests, 0 calls, 220 tokens\n\
             ada  0.02 USD  1 request, 0 calls, 110 tokens\n",
        ),
        ("2026-10", 0, "nothing was spent in 2026-10\n"),
    ] {
        let output = program(&["journal", "spending", file, "--period", period]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert_eq!(text(&output), expected);
    }
    for wrong in ["", "2026", "11-2026", "2026-1", "2026-11-1", "2026-11-01-01", "last month"] {
        let output = program(&["journal", "spending", file, "--period", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(text(&output).contains("write a month as 2026-11"), "{}", text(&output));
    }
    let output = program(&["--json", "journal", "spending", file, "--period", "2026-11-02"]);
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["period"], "2026-11-02");
    assert_eq!(listed["spending"][0]["principal"], "ada");
    assert_eq!(listed["spending"][0]["requests"], 2);
    // The older day alone: the month goes on.
    let second = day(2);
    assert_eq!(journal.delete_spending(second).await.unwrap(), 2);
    let left = |period| journal.spending_of_all(period, second);
    assert_eq!(left(SpendingPeriod::Month).await.unwrap().len(), 3);
    assert_eq!(left(SpendingPeriod::Day).await.unwrap().len(), 2);
    assert_eq!(journal.delete_spending(day(62)).await.unwrap(), 5);
    assert!(left(SpendingPeriod::Month).await.unwrap().is_empty());
}
