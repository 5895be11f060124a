//! Runs that pause, are decided on, and go on in another process or worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use toolbox::agent::{Agent, Paused, Run, RunErrorKind, StopReason};
use toolbox::context::{Decision, Principal};
use toolbox::durable::{Journal, RecordedRunState, Worker};
use toolbox::model::ModelErrorKind;
use toolbox::testing::ScriptedModel;
use toolbox::{State, ToolBox, ToolContext, tool, tools};

use crate::attempts::dies_in_calls;
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

/// Reads a document as another process would.
fn read(document: &str) -> Paused {
    serde_json::from_str(document).unwrap()
}

#[tokio::test]
async fn a_document_of_a_pause_goes_on_once_where_a_journal_knows() {
    type Start = fn(&Agent, Paused, Vec<(String, Decision)>, &Journal) -> Run;
    let alone: Start = |agent, paused, decisions, _| agent.resume(paused, decisions);
    let as_one: Start =
        |agent, paused, decisions, journal| agent.resume(paused, decisions).durable("one", journal);
    let as_two: Start =
        |agent, paused, decisions, journal| agent.resume(paused, decisions).durable("two", journal);
    let (approve, deny) = (Decision::Approve, Decision::Deny("no".into()));
    // Whether the box has the journal; the first start, the second, and whether it is refused.
    let cases: [(&str, bool, Start, Decision, Start, bool); 7] = [
        ("the box knows", true, alone, approve.clone(), alone, true),
        ("whatever was decided", true, alone, deny.clone(), alone, true),
        ("a durable run, then another", false, as_one, approve.clone(), as_two, true),
        ("the same durable run", false, as_one, approve.clone(), as_one, false),
        ("the box, then a durable run", true, alone, approve.clone(), as_one, true),
        ("a durable run, then the box", true, as_one, approve.clone(), alone, true),
        ("nobody knows", false, alone, approve, alone, false),
    ];
    for (name, box_knows, first, decision, second, is_refused) in cases {
        let journal = Journal::in_memory().unwrap();
        let paid = Arc::new(AtomicU32::new(0));
        let agent = |model: ScriptedModel| {
            let toolbox = ToolBox::builder().tools(tools![pay]).shared_state(Arc::clone(&paid));
            let toolbox = if box_knows { toolbox.journal(&journal) } else { toolbox };
            Agent::builder(model).name("clerk").toolbox(toolbox.build().unwrap()).build().unwrap()
        };
        let paused = agent(asking()).run("Pay it").await.unwrap().paused.unwrap();
        let document = serde_json::to_string(&paused).unwrap();
        let decided = |decision: &Decision| vec![("call_1".to_owned(), decision.clone())];
        // To wait on is no start.
        let waits = agent(ScriptedModel::new());
        for _ in 0..2 {
            let none = Vec::new();
            let outcome = alone(&waits, read(&document), none, &journal).await.unwrap();
            assert_eq!(outcome.reason, StopReason::ApprovalNeeded, "{name}");
        }
        let done = agent(ScriptedModel::new().respond(|_| Ok("Done.".into())).forever());
        let outcome = first(&done, read(&document), decided(&decision), &journal).await.unwrap();
        assert_eq!(outcome.content, "Done.", "{name}");
        let before = paid.load(Ordering::SeqCst);
        let again = second(&done, read(&document), decided(&Decision::Approve), &journal).await;
        match again {
            Err(error) => {
                assert!(is_refused, "{name}: {error}");
                let RunErrorKind::AlreadyResumed { paused } = &error.kind else {
                    panic!("{error}")
                };
                assert_eq!(
                    (paused.id(), error.code()),
                    (read(&document).id(), "run.already_resumed")
                );
                assert!(error.to_string().ends_with("nothing ran now"), "{error}");
                assert_eq!(paid.load(Ordering::SeqCst), before, "{name}");
            }
            Ok(outcome) => assert!(!is_refused, "{name}: {outcome:?}"),
        }
        let is_once = paid.load(Ordering::SeqCst) <= 1;
        assert_eq!(is_once, name != "nobody knows", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_starts_of_a_pause_at_the_same_time_one_goes_on() {
    let scratch = Scratch::new();
    let file = scratch.path().join("journal.sqlite");
    let paid = Arc::new(AtomicU32::new(0));
    let agent = |model: ScriptedModel, journal: &Journal| {
        let toolbox = ToolBox::builder().tools(tools![pay]).shared_state(Arc::clone(&paid));
        let toolbox = toolbox.journal(journal).build().unwrap();
        Agent::builder(model).name("clerk").toolbox(toolbox).build().unwrap()
    };
    let first = Journal::open(&file).unwrap();
    let paused = agent(asking(), &first).run("Pay it").await.unwrap().paused.unwrap();
    let document = serde_json::to_string(&paused).unwrap();
    // Each has the file open as another process would.
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let journal = Journal::open(&file).unwrap();
            let done = ScriptedModel::new().respond(|_| Ok("Done.".into())).forever();
            let (agent, paused) = (agent(done, &journal), read(&document));
            let decisions = vec![("call_1".to_owned(), Decision::Approve)];
            tokio::spawn(async move { agent.resume(paused, decisions).await })
        })
        .collect();
    let mut done = 0;
    for start in starts {
        match start.await.unwrap() {
            Ok(outcome) => {
                assert_eq!(outcome.content, "Done.");
                done += 1;
            }
            Err(error) => assert_eq!(error.code(), "run.already_resumed", "{error}"),
        }
    }
    assert_eq!((done, paid.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn a_paused_run_waits_in_the_journal_for_its_decision() {
    for (decision, count) in [(Decision::Approve, 1), (Decision::Deny("no".into()), 0)] {
        let journal = Journal::in_memory().unwrap();
        let paid = paused(&journal).await;
        let run = journal.runs(false).await.unwrap().pop().unwrap();
        assert_eq!((run.key.as_str(), run.state), ("clients/7.may", RecordedRunState::Paused));
        let pending = &run.pending[0];
        assert_eq!(
            (pending.tool.as_str(), pending.arguments.as_str()),
            ("pay", r#"{"invoice": 7}"#)
        );

        // Without a decision it waits on, and asks no model.
        let waiting =
            agent(ScriptedModel::new(), &paid).resume("clients/7.may", &journal).await.unwrap();
        assert_eq!(waiting.reason, StopReason::ApprovalNeeded);

        assert!(journal.decide("clients/7.may", [(pending.id.clone(), decision)]).await.unwrap());
        let done = agent(ScriptedModel::answering("Done."), &paid);
        let outcome = done.resume("clients/7.may", &journal).await.unwrap();
        assert_eq!((outcome.content.as_str(), paid.load(Ordering::SeqCst)), ("Done.", count));
        assert!(
            !journal.decide("clients/7.may", [("call_1", Decision::Approve)]).await.unwrap(),
            "it ended"
        );
        // Once more, and by its first words too.
        for run in [
            done.resume("clients/7.may", &journal),
            done.run("Pay it").durable("clients/7.may", &journal),
        ] {
            assert_eq!(run.await.unwrap().content, "Done.");
        }
        assert_eq!(paid.load(Ordering::SeqCst), count);
        assert!(journal.check().await.unwrap().faults.is_empty());
    }
}

#[tokio::test]
async fn approvals_below_and_partial_decisions_outlive_the_process() {
    let scratch = Scratch::new();
    let path = scratch.path().join("agent.db");
    let paid = Arc::new(AtomicU32::new(0));
    let boss = |above: ScriptedModel, below: ScriptedModel| {
        Agent::builder(above)
            .name("boss")
            .add_subagent(agent(below, &paid).as_tool("clerk", "Pays"))
            .build()
            .unwrap()
    };
    let two = || [("pay", r#"{"invoice": 1}"#), ("pay", r#"{"invoice": 2}"#)];
    let first = boss(
        ScriptedModel::new().calls("clerk", r#"{"task": "pay both"}"#),
        ScriptedModel::new().calls_all(two()),
    );
    let journal = Journal::open(&path).unwrap();
    let outcome = first.run("Go").durable("run", &journal).await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    drop((first, journal));

    // Each decision is made by a process of its own.
    for (left, decided) in [(1, 1), (0, 2)] {
        let journal = Journal::open(&path).unwrap();
        let pending = journal.runs(false).await.unwrap().pop().unwrap().pending;
        assert_eq!(pending.len(), left + 1, "{pending:?}");
        let id = pending[0].id.clone();
        assert!(journal.decide("run", [(id, Decision::Approve)]).await.unwrap());
        let later = boss(ScriptedModel::answering("Done."), ScriptedModel::answering("Both."));
        let outcome = later.resume("run", &journal).await.unwrap();
        let ended = if left == 0 { StopReason::Answered } else { StopReason::ApprovalNeeded };
        assert_eq!((outcome.reason, paid.load(Ordering::SeqCst)), (ended, decided));
    }
}

#[tokio::test]
async fn another_process_can_decide_as_soon_as_a_run_has_paused() {
    let scratch = Scratch::new();
    let path = scratch.path().join("agent.db");
    let other = Journal::open(&path).unwrap();
    for at in 0..40 {
        let journal = Journal::open(&path).unwrap();
        let key = format!("run {at}");
        let paid = Arc::new(AtomicU32::new(0));
        let outcome = agent(asking(), &paid).run("Pay it").durable(&key, &journal).await.unwrap();
        assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
        let runs = other.runs(false).await.unwrap();
        let run = runs.iter().find(|run| run.key == key).unwrap();
        let id = run.pending[0].id.clone();
        assert!(other.decide(&key, [(id, Decision::Approve)]).await.unwrap(), "{run:?}");
    }
}

#[tokio::test]
async fn a_run_goes_on_for_whom_and_as_what_it_began() {
    let journal = Journal::in_memory().unwrap();
    let paid = Arc::new(AtomicU32::new(0));
    let ada = ToolContext::new().with(Principal::new("ada"));
    let run = agent(asking(), &paid).run("Pay it").durable("run", &journal).in_context(ada.clone());
    assert_eq!(run.await.unwrap().reason, StopReason::ApprovalNeeded);

    let fresh = || agent(ScriptedModel::answering("Done."), &paid);
    let other = Agent::builder(ScriptedModel::answering("Done.")).name("other").build().unwrap();
    let bob = ToolContext::new().with(Principal::new("bob"));
    let nobody = ToolContext::new();
    for (what, run) in [
        ("no run of the key", fresh().resume("unknown", &journal)),
        ("one of agent `clerk`", other.resume("run", &journal)),
        ("another principal", fresh().resume("run", &journal).in_context(bob)),
        ("another principal", fresh().resume("run", &journal).in_context(nobody)),
    ] {
        let error = run.await.unwrap_err();
        assert!(matches!(error.kind, RunErrorKind::Journal(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    // It goes on in the context that it began in, if no other is given.
    for run in [fresh().resume("run", &journal), fresh().resume("run", &journal).in_context(ada)] {
        assert_eq!(run.await.unwrap().reason, StopReason::ApprovalNeeded);
    }
}

#[tokio::test]
async fn a_run_is_at_work_once() {
    let journal = Journal::in_memory().unwrap();
    let held = Arc::new(tokio::sync::Notify::new());
    let wait = Arc::clone(&held);
    let slow = toolbox::Tool::raw(
        "slow",
        "Waits",
        serde_json::json!({"type": "object"}),
        move |_: toolbox::call::Arguments| {
            let wait = Arc::clone(&wait);
            async move {
                wait.notified().await;
                "done"
            }
        },
    );
    let model = ScriptedModel::new().calls("slow", "{}").text("Done.");
    let agent = Agent::builder(model).tools(slow).build().unwrap();
    let first = tokio::spawn(agent.run("Go").durable("run", &journal).into_future());
    while journal.runs(false).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let error = agent.resume("run", &journal).await.unwrap_err();
    assert!(error.to_string().contains("at work already"), "{error}");
    held.notify_one();
    assert_eq!(first.await.unwrap().unwrap().content, "Done.");
}

#[tokio::test]
async fn a_worker_goes_on_with_runs_that_were_decided_on_or_left() {
    let journal = Journal::in_memory().unwrap();
    let paid = paused(&journal).await;
    // Its model failed.
    let left = agent(ScriptedModel::new().error(ModelErrorKind::Other, "down"), &paid);
    left.run("Pay it").durable("run 2", &journal).await.unwrap_err();
    // It waits, and stays.
    let model = ScriptedModel::new().calls("pay", r#"{"invoice": 9}"#);
    agent(model, &paid).run("Pay it").durable("run 3", &journal).await.unwrap();

    let clerk = agent(ScriptedModel::new().text("Done.").text("Done."), &paid);
    journal.decide("clients/7.may", [("call_1", Decision::Approve)]).await.unwrap();
    let ended = async {
        while journal.runs(false).await.unwrap().len() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    Worker::new(ToolBox::new(), &journal).agent(&clerk).run_until(ended).await;
    assert_eq!(paid.load(Ordering::SeqCst), 1);
    let states: Vec<_> =
        journal.runs(true).await.unwrap().into_iter().map(|run| (run.key, run.state)).collect();
    for (key, state) in [
        ("clients/7.may", RecordedRunState::Ended),
        ("run 2", RecordedRunState::Ended),
        ("run 3", RecordedRunState::Paused),
    ] {
        assert!(states.contains(&(key.to_owned(), state)), "{states:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_recorded_does_not_happen() {
    /// Charges a customer.
    #[tool]
    fn charge(paid: State<AtomicU32>) -> String {
        paid.fetch_add(1, Ordering::SeqCst);
        "charged".to_owned()
    }

    let scratch = Scratch::new();
    let paid = Arc::new(AtomicU32::new(0));
    let path = scratch.path().join("full.db");
    drop(Journal::open(&path).unwrap());
    let size = std::fs::metadata(&path).unwrap().len();
    let journal = Journal::builder().max_file_bytes(size + 8192).open(&path).unwrap();
    let mut model = ScriptedModel::new();
    for n in 0..100 {
        let filler = "x".repeat(100 * n);
        model = model.calls("charge", format!("{{}}{}", " ".repeat(filler.len())));
    }
    let agent = Agent::builder(model)
        .tools(tools![charge])
        .shared_state(Arc::clone(&paid))
        .repeat_limit(1000)
        .max_iterations(100)
        .build()
        .unwrap();
    let error = agent.run("Go").durable("run", &journal).await.unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::Journal(_)), "{error}");
    drop(journal);
    let connection = rusqlite::Connection::open(path).unwrap();
    let started: u32 = connection
        .query_row("SELECT count(*) FROM run_entry WHERE entry LIKE '{\"started\"%'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(started > 0);
    assert_eq!(paid.load(Ordering::SeqCst), started, "each effect was recorded before it happened");
}

/// Returns words, the first of them the number of the page.
#[tool(read_only, idempotent)]
fn page(number: u32) -> String {
    format!("page{number} {}", "word ".repeat(300))
}

/// The requests of a run as JSON, by their transcripts.
fn sent(model: &ScriptedModel) -> Vec<String> {
    let text =
        |request: &toolbox::model::ModelRequest| serde_json::to_string(&request.history).unwrap();
    model.requests().iter().map(text).collect()
}

/// An agent that reads pages within 1 600 tokens, asks a model for summaries, and edits its
/// transcript: all of which costs, and happens once.
fn reader(model: &ScriptedModel, compacted: &Arc<AtomicU32>) -> Agent {
    use toolbox::agent::{ContextLength, ContextRule};
    use toolbox::model::History;

    let (count, edits) = (Arc::clone(compacted), AtomicU32::new(0));
    let summarize = ContextRule::summarize_oldest(move |removed: History| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let text = format!("summary {number} of {} messages", removed.len());
        async move { Ok::<_, std::convert::Infallible>(text) }
    });
    let edit = ContextRule::edit(move |history: &mut History, _: &ContextLength| {
        // It does something else each time, as a program with a clock would.
        if edits.fetch_add(1, Ordering::SeqCst) % 7 == 3 {
            history.push_user("Go on.");
            history.pin(history.len() - 1);
        }
    });
    Agent::builder(model.clone())
        .name("reader")
        .tools(tools![page])
        .max_iterations(100)
        .max_context_tokens(1_600)
        .context_rules([edit, ContextRule::old_results(2), summarize])
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_run_that_goes_on_sends_the_requests_that_it_would_have_sent() {
    const PAGES: u32 = 40;
    let script = |from: u32| {
        let call = |model: ScriptedModel, number: u32| {
            model.calls("page", format!(r#"{{"number": {number}}}"#))
        };
        (from..PAGES).fold(ScriptedModel::new(), call)
    };
    for died in [1, 9, 20, 33, 38] {
        let journal = Journal::in_memory().unwrap();
        let compacted = Arc::new(AtomicU32::new(0));
        // The model fails after some replies, and the process with it.
        let first = (0..died).fold(ScriptedModel::new(), |model, number| {
            model.calls("page", format!(r#"{{"number": {number}}}"#))
        });
        let run = reader(&first, &compacted).run("Read all").durable("run", &journal);
        run.await.unwrap_err();
        let before = compacted.load(Ordering::SeqCst);
        let second = script(died).text("done");
        let agent = reader(&second, &compacted);
        let run = agent.resume("run", &journal).with_input("Be quick.");
        let outcome = run.await.unwrap();
        assert_eq!((outcome.content.as_str(), outcome.iterations), ("done", PAGES + 1), "{died}");
        // The request that failed is the first that is sent again, up to what came since.
        let (failed, again) = (sent(&first).pop().unwrap(), sent(&second).swap_remove(0));
        assert!(again.starts_with(failed.trim_end_matches(']')), "{died}: {failed}\n{again}");
        assert!(before > 0 || died < 20, "{died}");
        // A request that was prepared already goes out as it was.
        assert!(sent(&second)[..2].iter().any(|own| own.contains("Be quick.")), "{died}");
        for request in first.requests().iter().chain(&second.requests()) {
            assert!(request.tokens().total() <= 1_600, "{died}");
        }
        assert!(journal.check().await.unwrap().faults.is_empty());
        // Its outcome is kept, and asks nobody.
        let count = compacted.load(Ordering::SeqCst);
        let outcome = reader(&ScriptedModel::new(), &compacted).resume("run", &journal).await;
        assert_eq!(outcome.unwrap().content, "done");
        assert_eq!(compacted.load(Ordering::SeqCst), count);
    }
}

#[tokio::test]
async fn what_was_sent_to_a_run_is_in_its_log_and_enters_once() {
    let journal = Journal::in_memory().unwrap();
    let compacted = Arc::new(AtomicU32::new(0));
    let first = ScriptedModel::new().calls("page", r#"{"number": 1}"#);
    let run = reader(&first, &compacted).run("Read").durable("run", &journal);
    assert!(run.handle().steer("Also look at X"));
    run.await.unwrap_err();
    let second = ScriptedModel::new().calls("page", r#"{"number": 2}"#);
    // The program gives its message again, since it does not know how far the run got.
    let run = reader(&second, &compacted).resume("run", &journal).with_input("Also look at X");
    run.await.unwrap_err();
    let third = ScriptedModel::answering("done");
    let outcome = reader(&third, &compacted).resume("run", &journal).await.unwrap();
    let text = serde_json::to_string(&outcome.history).unwrap();
    assert_eq!(text.matches("Also look at X").count(), 1, "{text}");
}

#[tokio::test]
async fn a_run_paused_between_two_steps_waits_in_the_journal() {
    let scratch = Scratch::new();
    let path = scratch.path().join("agent.db");
    let compacted = Arc::new(AtomicU32::new(0));
    {
        let journal = Journal::open(&path).unwrap();
        let model = ScriptedModel::new().calls("page", r#"{"number": 1}"#);
        let run = reader(&model, &compacted).run("Read").durable("run", &journal);
        let handle = run.handle();
        let run = run.on_event(move |event| {
            if event.step == 1 {
                handle.pause();
            }
        });
        let outcome = run.await.unwrap();
        assert_eq!(outcome.reason, StopReason::Paused);
        let run = journal.runs(false).await.unwrap().pop().unwrap();
        assert_eq!((run.state, run.pending.len()), (RecordedRunState::Paused, 0));
        // A worker leaves it where it is, until it is told to go on.
        let none: [(String, Decision); 0] = [];
        assert!(!run.state.can_go_on());
        assert!(journal.decide("run", none).await.unwrap());
        let run = journal.runs(false).await.unwrap().pop().unwrap();
        assert!(run.state.can_go_on());
    }
    let journal = Journal::open(&path).unwrap();
    let model = ScriptedModel::new().calls("page", r#"{"number": 2}"#).text("done");
    let agent = reader(&model, &compacted);
    let outcome = agent.resume("run", &journal).with_input("And X").await.unwrap();
    assert_eq!((outcome.content.as_str(), outcome.iterations), ("done", 3));
    let text = serde_json::to_string(&outcome.history).unwrap();
    assert_eq!(text.matches("And X").count(), 1);
    assert!(journal.check().await.unwrap().faults.is_empty());
}

/// Reads a log that is too long to be shown.
#[tool]
fn log(n: u32) -> String {
    (1..=20_000).fold(String::new(), |text, line| text + &format!("log {n} line {line}\n"))
}

/// Does not end the first time.
#[tool]
async fn stop(calls: State<AtomicU32>) -> String {
    if calls.fetch_add(1, Ordering::SeqCst) == 0 {
        std::future::pending::<()>().await;
    }
    "stopped".to_owned()
}

#[tokio::test]
async fn handles_of_an_earlier_process_are_not_given_again() {
    for (second, is_pause) in [("pay", true), ("stop", false)] {
        let journal = Journal::in_memory().unwrap();
        let calls = Arc::new(AtomicU32::new(0));
        let agent = |model| {
            let agent = Agent::builder(model).name("clerk").tools(tools![log, pay, stop]);
            agent.shared_state(Arc::clone(&calls)).build().unwrap()
        };
        let arguments = if is_pause { r#"{"invoice": 7}"# } else { "{}" };
        let first = ScriptedModel::new().calls("log", r#"{"n": 1}"#).calls(second, arguments);
        let first = agent(first).run("Go").durable("run", &journal);
        if is_pause {
            let pending = first.await.unwrap().paused.unwrap().pending().remove(0);
            assert!(journal.decide("run", [(pending.id, Decision::Approve)]).await.unwrap());
        } else {
            dies_in_calls(1, first, &calls, &journal).await;
        }
        let read = r#"{"handle": "r1", "lines": "1"}"#;
        let second = ScriptedModel::new().calls("result_read", read).calls("log", r#"{"n": 2}"#);
        let outcome = agent(second.text("Done.")).resume("run", &journal).await.unwrap();
        assert_eq!(outcome.content, "Done.");
        let results = outcome.history.steps().flat_map(|step| step.results().to_vec());
        let texts: Vec<String> = results.map(|result| result.text().into_owned()).collect();
        assert!(texts[0].starts_with("[r1: "), "{:.200}", texts[0]);
        assert!(texts[2].starts_with("the result r1 is gone"), "{}", texts[2]);
        assert!(texts[3].starts_with("[r2: "), "{:.200}", texts[3]);
    }
}
