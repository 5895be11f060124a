//! Large results of agents that are given no box: kept in memory, for their transcript.

use serde_json::json;
use toolbox::agent::{ContextRule, RunOutcome};
use toolbox::call::Arguments;
use toolbox::context::{Conversation, Decision, Principal};
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, History, Tool, ToolBox, ToolContext};

use crate::bounded::tokio;

/// A tool whose results differ by `n`, each of 40 000 lines.
fn log() -> Tool {
    Tool::new("log", "Reads a log").param("n", "integer", "Number").call(|arguments| {
        let n = &arguments["n"];
        (1..=40_000).fold(String::new(), |text, line| text + &format!("log {n} line {line}\n"))
    })
}

/// A turn that reads a log.
fn log_call(n: u32) -> (&'static str, String) {
    ("log", json!({"n": n}).to_string())
}

/// A turn that reads a line of a result.
fn read_call(handle: &str) -> (&'static str, String) {
    ("result_read", json!({"handle": handle, "lines": "31415"}).to_string())
}

fn model(calls: impl IntoIterator<Item = (&'static str, String)>) -> ScriptedModel {
    let model = calls
        .into_iter()
        .fold(ScriptedModel::new(), |model, (name, arguments)| model.calls(name, arguments));
    model.text("Done.")
}

fn agent(model: ScriptedModel) -> Agent {
    Agent::builder(model).tools([log()]).build().unwrap()
}

/// Returns the results of a transcript: the handle that it names, or its first words.
fn results(history: &History) -> Vec<String> {
    let text = |result: &toolbox::ToolResult| {
        let text = result.text().into_owned();
        let handle = text.strip_prefix('[').and_then(|rest| rest.split_once(": text of"));
        handle.map_or(text.trim_end().to_owned(), |(handle, _)| handle.to_owned())
    };
    history.steps().flat_map(toolbox::model::Step::results).map(text).collect()
}

fn offered(model: &ScriptedModel) -> Vec<bool> {
    let has = |name: &str, request: &toolbox::model::ModelRequest| {
        request.tools.iter().any(|tool| tool.name == name)
    };
    model.requests().iter().map(|request| has("result_read", request)).collect()
}

#[tokio::test]
async fn large_results_are_kept_and_read() {
    let model = model([log_call(1), read_call("r1"), log_call(2), log_call(1)]);
    let agent = agent(model.clone());
    let outcome = agent.run("Read").await.unwrap();
    assert_eq!(results(&outcome.history), ["r1", "log 1 line 31415", "r2", "r1"]);
    // The tool that reads joins once there is something to read.
    assert_eq!(offered(&model), [false, true, true, true, true]);
    assert_eq!(agent.toolbox().definitions().len(), 1);
}

#[tokio::test]
async fn a_transcript_reads_its_own_results_alone() {
    let first = agent(model([log_call(1)])).run("Read").await.unwrap();
    let gone = "the result r1 is gone: a result that was kept; call the tool again if it is needed";
    let unknown = "there is no result r1 in this conversation";
    let stored: History =
        serde_json::from_str(&serde_json::to_string(&first.history).unwrap()).unwrap();
    let mut copied = History::new();
    copied.append(first.history.clone());
    let cases = [
        ("the same transcript", first.history.clone(), "log 1 line 31415", "r2"),
        ("the same again, beside it", first.history.clone(), "log 1 line 31415", "r3"),
        ("one that was appended to another", copied, "log 1 line 31415", "r4"),
        ("one that was stored", stored, gone, "r2"),
        ("another", History::from("Hello"), unknown, "r1"),
    ];
    for (n, (what, history, read, next)) in (2..).zip(cases) {
        let model = model([read_call("r1"), log_call(n)]);
        let outcome = agent(model.clone()).run("Go on").with_history(history).await.unwrap();
        let results = results(&outcome.history);
        assert_eq!(results[results.len() - 2..], [read, next], "{what}");
        assert_eq!(offered(&model)[0], read.starts_with("log"), "{what}");
    }
}

#[tokio::test]
async fn another_principal_reads_nothing() {
    let first = agent(model([log_call(1)])).run("Read").await.unwrap();
    let as_of = |context: ToolContext| {
        let agent = agent(model([read_call("r1")]));
        let run = agent.run("Go on").with_history(first.history.clone()).in_context(context);
        async move { run.await.unwrap() }
    };
    for context in [
        ToolContext::new().with(Principal::new("eve")),
        ToolContext::new().with(Conversation::new("cli", "7")),
    ] {
        let outcome = as_of(context).await;
        let read = results(&outcome.history).pop().unwrap();
        assert!(read.contains("is gone") || read.contains("there is no result"), "{read}");
    }
}

#[tokio::test]
async fn agents_of_one_run_share_results() {
    let clerk = agent(model([log_call(1)])).as_tool("clerk", "Reads");
    let task = || ("clerk", json!({"task": "read"}).to_string());
    let above = model([log_call(2), task(), read_call("r2"), read_call("r1")]);
    let boss = Agent::builder(above).tools([log()]).add_subagent(clerk).build().unwrap();
    let outcome = boss.run("Go").await.unwrap();
    assert_eq!(results(&outcome.history), ["r1", "Done.", "log 1 line 31415", "log 2 line 31415"]);
}

#[tokio::test]
async fn an_agent_below_with_a_transcript_of_its_own_reads_that() {
    let earlier = agent(model([log_call(1)])).run("Read").await.unwrap().history;
    let stored: History = serde_json::from_str(&serde_json::to_string(&earlier).unwrap()).unwrap();
    for (history, read) in [(earlier, "log 1 line 31415"), (stored, "the result r1 is gone")] {
        let below = agent(model([read_call("r1"), log_call(3)]));
        let go_on = move |context: ToolContext, _: Arguments| {
            let run = below.run("Go on").with_history(history.clone()).in_context(context);
            async move { results(&run.await.unwrap().history).join("; ") }
        };
        let clerk = Tool::raw("clerk", "Goes on", json!({"type": "object"}), go_on);
        let above = model([log_call(2), ("clerk", "{}".to_owned()), read_call("r1")]);
        let boss = Agent::builder(above).tools([log(), clerk]).build().unwrap();
        let outcome = boss.run("Go").await.unwrap();
        let results = results(&outcome.history);
        let below: Vec<&str> = results[1].split("; ").collect();
        assert!(below[1].starts_with(read), "{below:?}");
        assert_eq!(below.last(), Some(&"r2"));
        assert_eq!([&*results[0], &*results[2]], ["r1", "log 2 line 31415"]);
    }
}

#[tokio::test]
async fn an_agent_that_takes_over_reads_what_was_kept() {
    let expert = Agent::builder(model([read_call("r1"), log_call(2)])).name("expert");
    let expert = expert.tools([log()]).build().unwrap();
    let first = model([log_call(1), ("transfer_to_expert", "{}".to_owned())]);
    let agent = Agent::builder(first).tools([log()]).handoff(&expert).build().unwrap();
    let outcome = agent.run("Go").await.unwrap();
    let results = results(&outcome.history);
    assert_eq!(results[0], "r1");
    assert_eq!(results[2..], ["log 1 line 31415", "r2"]);
}

/// Makes a call that waits for its approval beside a large result, and lets it go on.
async fn paused_and_resumed(is_stored: bool) -> RunOutcome {
    let pay = || Tool::new("pay", "Pays").call(|_| "paid").needs_approval();
    let agent = |model| Agent::builder(model).tools([log(), pay()]).build().unwrap();
    let model_before = ScriptedModel::new().calls_all([log_call(1), ("pay", "{}".to_owned())]);
    let outcome = agent(model_before).run("Pay").await.unwrap();
    let mut paused = outcome.paused.unwrap();
    if is_stored {
        paused = serde_json::from_str(&serde_json::to_string(&paused).unwrap()).unwrap();
    }
    let id = paused.pending()[0].id.clone();
    let after = agent(model([read_call("r1"), log_call(2)]));
    after.resume(paused, [(id, Decision::Approve)]).await.unwrap()
}

#[tokio::test]
async fn results_outlive_a_pause_and_not_their_process() {
    let outcome = paused_and_resumed(false).await;
    assert_eq!(results(&outcome.history), ["r1", "paid", "log 1 line 31415", "r2"]);
    let outcome = paused_and_resumed(true).await;
    let results = results(&outcome.history);
    assert!(results[2].starts_with("the result r1 is gone"), "{}", results[2]);
    assert_eq!(results[3], "r2", "no handle gets a second meaning");
}

#[tokio::test]
async fn what_leaves_the_transcript_is_kept_with_it() {
    let note = Tool::new("note", "Reads a note")
        .param("n", "integer", "Number")
        .call(|arguments| format!("{} {}", arguments["n"], "word ".repeat(900)));
    let notes = (0..12).map(|n| ("note", json!({"n": n}).to_string()));
    let read = ("result_read", json!({"handle": "r1", "bytes": "0..9"}).to_string());
    let model = model(notes.chain([read]));
    let agent = Agent::builder(model.clone())
        .tools([note])
        .max_iterations(20)
        .max_context_tokens(6_000)
        .context_rules([ContextRule::old_results(1)])
        .build()
        .unwrap();
    let outcome = agent.run("Read all").await.unwrap();
    let results = results(&outcome.history);
    assert!(results[0].contains("kept as r1"), "{}", results[0]);
    assert_eq!(results[12], "0 word wo");
    // A note may name it in any request, so it is offered in each.
    assert!(offered(&model).iter().all(|is_offered| *is_offered));
}

#[tokio::test]
async fn a_box_of_the_program_keeps_what_it_says() {
    let named = Tool::new("result_read", "Reads something else").call(|_| "else");
    let cut = |agent: toolbox::agent::AgentBuilder| async move {
        let outcome = agent.build().unwrap().run("Read").await.unwrap();
        let text = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
        assert!(text.starts_with("log 1 line 1\n") && text.contains("left out"), "{text:.200}");
    };
    cut(Agent::builder(model([log_call(1)])).toolbox(ToolBox::from([log()]))).await;
    cut(Agent::builder(model([log_call(1)])).tools([log(), named])).await;
}

#[tokio::test]
async fn where_the_reader_is_forbidden_nothing_names_it() {
    let model = model([log_call(1), read_call("r1")]);
    let agent =
        Agent::builder(model.clone()).tools([log()]).blacklist_tool("result_read").build().unwrap();
    let outcome = agent.run("Read").await.unwrap();
    let text = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
    assert!(text.contains("The rest cannot be read here"), "{text:.200}");
    assert_eq!(offered(&model), [false; 3]);
    assert!(
        results(&outcome.history)[1].contains("blacklisted"),
        "{:?}",
        results(&outcome.history)
    );
}

#[tokio::test]
async fn words_of_tools_give_no_number_that_is_none() {
    let forged = [
        ("[r12: forged", "r13"),
        ("kept as r99999999999999999999", "r1"),
        ("[r: kept as r, kept as r-1", "r1"),
        ("it is kept as r4: read on; kept as r3", "r5"),
    ];
    for (text, next) in forged {
        let history = History::from(text);
        let outcome = agent(model([log_call(1)])).run("Go").with_history(history).await.unwrap();
        assert_eq!(results(&outcome.history), [next], "{text}");
    }
}
