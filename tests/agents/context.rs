//! Requests that stay within a length: what is shortened, what never is, and what is told of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use toolbox::agent::{
    Agent, AgentBuilder, ContextLength, ContextRule, EventKind, ModelCompactor, Paused, StopReason,
    Summary,
};
use toolbox::context::{Conversation, Principal, Taint};
use toolbox::dialect::Dialect;
use toolbox::model::{History, Message, ModelErrorKind, ModelRequest, Part, Replied, Reply, Usage};
use toolbox::results::{
    KeptResult, Lookup, MemoryResults, ResultOwner, ResultStore, ResultStoreError,
};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, Content, Tool, ToolBox, ToolCall, ToolContext, ToolResult};

use super::Log;
use crate::bounded::tokio;
use crate::wire::keeps_the_rules_everywhere;
use support::quietly;

/// A text of about as many tokens.
pub(super) fn words(count: usize) -> String {
    "word ".repeat(count).trim_end().to_owned()
}

/// A tool that returns as many words as it is asked for, the first of them the number of its call.
pub(super) fn page() -> Tool {
    let calls = AtomicUsize::new(0);
    Tool::new("page", "Returns words.").param("words", "integer", "How many").call(move |args| {
        let count = args["words"].as_u64().and_then(|count| usize::try_from(count).ok());
        format!("page{} {}", calls.fetch_add(1, SeqCst) + 1, words(count.unwrap_or_default()))
    })
}

/// A model that asks for pages of these lengths, and then answers.
pub(super) fn pages(lengths: &[usize]) -> ScriptedModel {
    let call = |model: ScriptedModel, words: &usize| {
        model.calls("page", format!(r#"{{"words":{words}}}"#))
    };
    lengths.iter().fold(ScriptedModel::new(), call).text("done")
}

/// An agent whose box keeps nothing, unless it is given another.
pub(super) fn builder(model: &ScriptedModel, limit: usize) -> AgentBuilder {
    let agent = Agent::builder(model.clone()).toolbox(ToolBox::new());
    agent.max_iterations(1000).no_repeat_limit().max_context_tokens(limit)
}

fn kept() -> ToolBox {
    ToolBox::builder().tools(page()).keep_results(MemoryResults::new()).build().unwrap()
}

/// A box that keeps nothing.
fn bare() -> ToolBox {
    ToolBox::from(page())
}

fn lengths(model: &ScriptedModel) -> Vec<usize> {
    model.requests().iter().map(|request| request.tokens().total()).collect()
}

fn texts(history: &History) -> Vec<String> {
    let results = |step: &toolbox::model::Step| {
        step.results().iter().map(|result| result.text().into_owned()).collect::<Vec<_>>()
    };
    history.steps().flat_map(results).collect()
}

#[tokio::test]
async fn a_run_stays_within_its_length_whatever_it_reads() {
    let random: Vec<usize> = (0..120).map(|at| (at * 7919) % 700).collect();
    let cases: [(&str, Vec<usize>, usize); 4] = [
        ("equal pages", vec![300; 60], 4_000),
        ("pages of all lengths", random, 4_000),
        ("large ones that only fit alone", vec![1_500; 12], 4_000),
        ("many small ones", vec![5; 200], 4_000),
    ];
    for (what, pages_of, limit) in cases {
        for keeps in [false, true] {
            let model = pages(&pages_of);
            let builder = builder(&model, limit);
            let builder = if keeps { builder.toolbox(kept()) } else { builder.toolbox(bare()) };
            let outcome = builder.system("Read.").build().unwrap().run("Go on").await.unwrap();
            assert_eq!(outcome.content, "done", "{what}");
            let lengths = lengths(&model);
            assert!(lengths.iter().all(|length| *length <= limit), "{what}: {lengths:?}");
            assert!(lengths.iter().max().unwrap() * 10 > limit * 7, "{what}: {lengths:?}");
            let mut tasks = BTreeSet::new();
            for (at, request) in model.requests().iter().enumerate() {
                // All that follow one another are alike.
                if at % 9 == 8 {
                    keeps_the_rules_everywhere(&request.history);
                }
                assert_eq!(request.system.as_deref(), Some("Read."));
                let Message::User(task) = &request.history.messages()[0] else { panic!("{what}") };
                tasks.insert(task[0].as_text().unwrap().to_owned());
            }
            assert_eq!(tasks, BTreeSet::from(["Go on".to_owned()]));
            // The newest result is whole in each request.
            for (request, words) in model.requests()[1..].iter().zip(&pages_of) {
                let newest = texts(&request.history).pop().unwrap();
                assert_eq!(newest.split(' ').count() - 1, (*words).max(1), "{what}");
            }
        }
    }
}

/// A prompt cache holds as long as a request begins as the one before: so it changes seldom.
#[tokio::test]
async fn the_beginning_of_the_transcript_changes_seldom() {
    let model = pages(&[300; 100]);
    builder(&model, 10_000).toolbox(bare()).build().unwrap().run("Go on").await.unwrap();
    let requests = model.requests();
    let changed = requests
        .windows(2)
        .filter(|pair| !pair[1].history.messages().starts_with(pair[0].history.messages()))
        .count();
    // 3 000 tokens are freed at a time, ten pages.
    assert!((1..=15).contains(&changed), "{changed} of {} requests", requests.len());
}

#[tokio::test]
async fn a_reference_names_the_handle_that_returns_the_result() {
    let script = ScriptedModel::new();
    let script = (0..7).fold(script, |script, _| script.calls("page", r#"{"words":600}"#));
    let script = script.calls("result_read", r#"{"handle":"r1","lines":"1..2"}"#).text("done");
    let log = Log::default();
    let agent = builder(&script, 4_000).toolbox(kept()).build().unwrap();
    let outcome = agent.run("Go on").on_event(log.listener()).await.unwrap();
    let texts = texts(&outcome.history);
    assert!(texts[0].starts_with("[a result of about 6"), "{texts:?}");
    assert!(texts[0].contains("r1") && texts[0].contains("result_read"), "{texts:?}");
    assert!(texts[7].contains("page1 word word"), "{}", texts[7]);
    let step = outcome.history.steps().next().unwrap();
    assert_eq!(step.results()[0].handle(), Some("r1"));
    let shortened: Vec<_> = log
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::ResultsShortened { results, before, after } => {
                Some((results, before, after))
            }
            _ => None,
        })
        .collect();
    assert!(!shortened.is_empty());
    for (results, before, after) in shortened {
        assert!(results > 0 && before > 4_000 && after <= 2_800, "{results} {before} {after}");
    }
    // The handle is part of the stored transcript.
    let stored = serde_json::to_string(&outcome.history).unwrap();
    let read: History = serde_json::from_str(&stored).unwrap();
    assert_eq!(read.steps().next().unwrap().results()[0].handle(), Some("r1"));
}

#[tokio::test]
async fn without_a_store_a_reference_says_that_the_result_is_gone() {
    let model = pages(&[600; 8]);
    let agent = builder(&model, 4_000).toolbox(bare()).build().unwrap();
    let texts = texts(&agent.run("Go on").await.unwrap().history);
    assert!(texts[0].ends_with("it is gone]"), "{texts:?}");
}

#[tokio::test]
async fn pictures_that_leave_the_transcript_are_kept_as_well() {
    let camera = Tool::new("camera", "Takes a picture.")
        .call(|_| vec![Content::text("a picture"), Content::image(b"picture", "image/png")]);
    let mut history = History::new();
    history.push_user("Begin.");
    history.push_reply("Yes.");
    history.push_user(vec![Content::text("Mine"), Content::image(b"of the user", "image/png")]);
    for rules in [[ContextRule::old_results(1)], [ContextRule::drop_oldest()]] {
        let script = (0..4).fold(ScriptedModel::new(), |model, _| model.calls("camera", "{}"));
        let read =
            (1..=3).map(|part| ("result_read", format!(r#"{{"handle":"r1","part":{part}}}"#)));
        let toolbox = ToolBox::builder().tools(camera.clone()).keep_results(MemoryResults::new());
        let agent = builder(&script.calls_all(read).text("done"), 7_000)
            .toolbox(toolbox.build().unwrap())
            .context_rules(rules)
            .build()
            .unwrap();
        let outcome = agent.run("Go on").with_history(history.clone()).await.unwrap();
        let step = outcome.history.steps().nth_back(1).unwrap();
        let pictures = step.results().iter().flat_map(ToolResult::content);
        let pictures: Vec<_> = pictures.filter(|part| matches!(part, Content::Image(_))).collect();
        assert!(!pictures.is_empty(), "{step:?}");
    }
}

/// A store that cannot keep anything.
struct Full;

impl ResultStore for Full {
    fn keep(
        &self,
        _: ResultOwner,
        _: Arc<KeptResult>,
    ) -> BoxFuture<'_, Result<u64, ResultStoreError>> {
        Box::pin(async { Err(ResultStoreError::new("the disk is full")) })
    }

    fn get(&self, _: ResultOwner, _: u64) -> BoxFuture<'_, Result<Lookup, ResultStoreError>> {
        Box::pin(async { Ok(Lookup::Unknown) })
    }
}

#[tokio::test]
async fn a_store_that_fails_costs_what_it_should_have_kept_and_nothing_else() {
    let toolbox = ToolBox::builder().tools(page()).keep_results(Full).build().unwrap();
    let model = pages(&[600; 8]);
    let rules = [ContextRule::old_results(3), ContextRule::drop_oldest()];
    let agent = builder(&model, 4_000).toolbox(toolbox).context_rules(rules).build().unwrap();
    let outcome = agent.run("Go on").await.unwrap();
    assert_eq!(outcome.reason, StopReason::Answered);
    let texts = texts(&outcome.history);
    assert!(texts[0].contains("gone") && texts[0].contains("the disk is full"), "{texts:?}");
    assert!(
        outcome.history.steps().all(|step| step.results().iter().all(|r| r.handle().is_none()))
    );
}

fn said(removed: History) -> impl Future<Output = Result<String, std::io::Error>> + Send {
    let calls = removed.steps().flat_map(toolbox::model::Step::calls).count();
    let before = removed.messages().iter().filter_map(|message| match message {
        Message::User(content) => content[0].as_text().map(|text| text.chars().take(60).collect()),
        _ => None,
    });
    let before: Vec<String> = before.collect();
    async move { Ok(format!("{calls} pages; before: {}", before.join(" | "))) }
}

#[tokio::test]
async fn old_messages_are_summarized_and_summaries_too() {
    let model = pages(&[300; 60]);
    let log = Log::default();
    let rules = [ContextRule::summarize_oldest(said)];
    let agent = builder(&model, 4_000).toolbox(kept()).context_rules(rules).build().unwrap();
    let outcome = agent.run("Go on").on_event(log.listener()).await.unwrap();
    let Message::User(note) = &outcome.history.messages()[1] else { panic!() };
    let note = note[0].as_text().unwrap();
    assert!(note.starts_with("[earlier messages removed: "), "{note}");
    assert!(note.contains("A summary of them follows.]\n") && note.contains("kept as r"), "{note}");
    // The summary before is among what is summarized next.
    assert!(note.contains("before: [earlier messages removed: "), "{note}");
    let mut removed_calls = 0;
    let mut handles = BTreeSet::new();
    for event in log.events() {
        let EventKind::MessagesRemoved { removed, summary, handle, before, after } = event.kind
        else {
            continue;
        };
        assert!(before > 4_000 && after <= 2_900, "{before} {after}");
        assert!(summary.unwrap().contains("pages; before:"));
        assert!(handles.insert(handle.unwrap()));
        removed_calls += removed.steps().count();
    }
    // Together with what is left, nothing is lost.
    assert_eq!(removed_calls + outcome.history.steps().count(), 61);
    assert!(handles.len() > 3);
}

#[tokio::test]
async fn what_was_taken_out_is_read_by_its_handle() {
    let model =
        (0..20).fold(ScriptedModel::new(), |model, _| model.calls("page", r#"{"words":300}"#));
    let model = model.calls("result_read", r#"{"handle":"r1","search":"page2 "}"#).text("done");
    let rules = [ContextRule::drop_oldest()];
    let agent = builder(&model, 4_000).toolbox(kept()).context_rules(rules).build().unwrap();
    let outcome = agent.run("Go on").await.unwrap();
    let found = texts(&outcome.history).pop().unwrap();
    assert!(found.contains("page2 word"), "{found}");
}

#[tokio::test]
async fn without_a_summary_messages_are_dropped_all_the_same() {
    quietly();
    let cases: Vec<(&str, ContextRule)> = vec![
        (
            "it fails",
            ContextRule::summarize_oldest(|_: History| async {
                Err::<String, _>(std::io::Error::other("no model today"))
            }),
        ),
        (
            "blank",
            ContextRule::summarize_oldest(|_: History| async { Ok::<_, std::io::Error>(" \n") }),
        ),
        (
            "too long",
            ContextRule::summarize_oldest(|_: History| async {
                Ok::<_, std::io::Error>(words(9_000))
            }),
        ),
        (
            "the compactor panicked",
            ContextRule::summarize_oldest(|_: History| async {
                if true {
                    std::panic::panic_any("explicit panic");
                }
                Ok::<_, std::io::Error>("")
            }),
        ),
        (
            "the compactor panicked",
            ContextRule::summarize_oldest(|_: History| {
                if true {
                    std::panic::panic_any("explicit panic");
                }
                async { Ok::<_, std::io::Error>("") }
            }),
        ),
        (
            "the script is over",
            ContextRule::summarize_oldest(ModelCompactor::new(ScriptedModel::new())),
        ),
    ];
    for (why, rule) in cases {
        let model = pages(&[300; 30]);
        let log = Log::default();
        let agent = builder(&model, 4_000).toolbox(bare()).context_rules([rule]).build().unwrap();
        let outcome = agent.run("Go on").on_event(log.listener()).await.unwrap();
        assert_eq!(outcome.reason, StopReason::Answered, "{why}");
        let failures: Vec<_> = log
            .events()
            .into_iter()
            .filter_map(|event| match event.kind {
                EventKind::CompactionFailed { message } => Some(message),
                _ => None,
            })
            .collect();
        let why = if why == "it fails" { "no model today" } else { why };
        assert!(
            !failures.is_empty() && failures.iter().all(|own| own.contains(why)),
            "{failures:?}"
        );
        let note = &outcome.history.messages()[1];
        let Message::User(note) = note else { panic!("{note:?}") };
        assert!(note[0].as_text().unwrap().ends_with("gone]"), "{note:?}");
        assert!(lengths(&model).iter().all(|length| *length <= 4_000));
    }
}

#[tokio::test]
async fn a_summary_of_a_model_counts_for_the_run() {
    let model = pages(&[300; 16]);
    let small = ScriptedModel::new()
        .respond(|_| {
            let reply = toolbox::model::ModelResponse::from("Pages were read.");
            Ok(reply.with_usage(Usage::new(700, 30)))
        })
        .forever();
    let compactor = ModelCompactor::new(small.clone()).with_instructions("Be brief.");
    let rules = [ContextRule::summarize_oldest(compactor)];
    let agent = builder(&model, 4_000).toolbox(bare()).context_rules(rules).build().unwrap();
    let outcome = agent.run("Go on").await.unwrap();
    let asked = small.requests();
    assert!(!asked.is_empty());
    assert_eq!(outcome.iterations, 17);
    let own = 17 * 15 + 730 * asked.len() as u64;
    assert_eq!(outcome.usage.total_tokens(), own);
    assert_eq!(asked[0].system.as_deref(), Some("Be brief."));
    assert!(asked[0].history.last_user_text().unwrap().contains("page1 word"));
    assert!(asked.iter().all(|request| request.tools.is_empty()));
}

#[tokio::test]
async fn pinned_messages_the_task_and_the_question_stay() {
    let mut history = History::from("I am Ada, and this conversation began with me.");
    history.push_reply("Hello.");
    history.push_user(format!("An important rule. {}", words(300)));
    history.pin(2);
    for at in 0..10 {
        history.push_user(format!("Question {at}? {}", words(150)));
        history.push_reply(format!("Answer {at}. {}", words(150)));
    }
    let model = pages(&[300; 20]);
    let agent = builder(&model, 3_000)
        .toolbox(bare())
        .context_rules([ContextRule::summarize_oldest(said)])
        .build()
        .unwrap();
    let run = agent.run("What is open?").with_history(history).with_pinned_input("Be brief.");
    let outcome = run.await.unwrap();
    assert_eq!(outcome.reason, StopReason::Answered);
    let texts = |history: &History| {
        let text = |message: &Message| match message {
            Message::User(content) => content[0].as_text().map(str::to_owned),
            _ => None,
        };
        history.messages().iter().filter_map(text).collect::<Vec<_>>()
    };
    for request in model.requests() {
        let texts = texts(&request.history);
        for kept in ["I am Ada", "An important rule", "What is open?", "Be brief."] {
            assert!(texts.iter().any(|text| text.starts_with(kept)), "{kept}: {texts:?}");
        }
        assert!(request.tokens().total() <= 3_000);
    }
    let last = texts(&outcome.history);
    assert!(last.iter().all(|text| !text.starts_with("Question 1?")), "{last:?}");
}

#[tokio::test]
async fn a_request_that_cannot_fit_ends_the_run() {
    let long_task = words(2_000);
    let nothing: [ContextRule; 0] = [];
    let model = |lengths: &[usize]| pages(lengths);
    let plain = |model: &ScriptedModel| builder(model, 1_000).toolbox(bare());
    let cases: Vec<(&str, ScriptedModel, AgentBuilder, &str, u32)> = {
        let mut cases = Vec::new();
        let own = model(&[10]);
        cases.push(("the task", own.clone(), plain(&own), long_task.as_str(), 0));
        let own = model(&[10]);
        cases.push(("the system text", own.clone(), plain(&own).system(words(2_000)), "x", 0));
        let own = model(&[10, 5_000, 10]);
        cases.push(("the newest result", own.clone(), plain(&own), "x", 2));
        let own = model(&[500; 9]);
        cases.push(("no rules", own.clone(), plain(&own).context_rules(nothing), "x", 2));
        cases
    };
    for (what, model, builder, task, iterations) in cases {
        let outcome = builder.build().unwrap().run(task).await.unwrap();
        assert_eq!(
            (outcome.reason, outcome.iterations),
            (StopReason::ContextFull, iterations),
            "{what}"
        );
        assert_eq!(outcome.reason.code(), "context_full");
        assert_eq!(model.requests().len(), iterations as usize, "{what}: none was sent");
        keeps_the_rules_everywhere(&outcome.history);
    }
}

#[tokio::test]
async fn a_service_that_finds_a_request_too_long_is_asked_once_more() {
    // It counts otherwise: beyond 2 000 it refuses.
    let strict = |model: ScriptedModel, calls: usize| {
        (0..calls).fold(model, |model, _| {
            model.respond(|request: &ModelRequest| {
                let error =
                    toolbox::model::ModelError::new(ModelErrorKind::ContextTooLong, "too long");
                if request.tokens().total() > 2_000 {
                    return Err(error);
                }
                let reply = Reply::calls([ToolCall::new("c", "page", r#"{"words":300}"#)]);
                Ok(reply.into())
            })
        })
    };
    let model = strict(ScriptedModel::new(), 60).text("done");
    let log = Log::default();
    let agent = builder(&model, 100_000).toolbox(bare()).max_iterations(40).build().unwrap();
    let outcome = agent.run("Go on").on_event(log.listener()).await.unwrap();
    assert_eq!(outcome.reason, StopReason::MaxIterations, "it never failed");
    let refused = model.requests().len() - 40;
    assert!((1..4).contains(&refused), "{refused}: it learns from that");
    let events = log.events();
    let count = |of: fn(&EventKind) -> bool| events.iter().filter(|event| of(&event.kind)).count();
    assert_eq!(count(|kind| matches!(kind, EventKind::ModelStarted { .. })), 40 + refused);
    assert_eq!(count(|kind| matches!(kind, EventKind::ModelFailed { .. })), refused);

    // Without a limit of its own the run fails as before, and so it does where nothing can go.
    for limit in [None, Some(100_000)] {
        let always = ScriptedModel::new();
        let always = always.error(ModelErrorKind::ContextTooLong, "too long").forever();
        let agent = Agent::builder(always.clone()).toolbox(bare());
        let agent = match limit {
            Some(limit) => agent.max_context_tokens(limit),
            None => agent,
        };
        let error = agent.build().unwrap().run("Go on").await.unwrap_err();
        assert_eq!((error.code(), always.requests().len()), ("model.context_too_long", 1));
    }
}

#[tokio::test]
async fn the_program_edits_the_transcript_before_each_request() {
    quietly();
    let model = (0..6).fold(ScriptedModel::new(), |model, at| model.text(format!("answer {at}")));
    let seen = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&seen);
    let window = ContextRule::edit(move |history: &mut History, length: &ContextLength| {
        assert!(length.tokens > 0 && length.limit.is_none());
        own.fetch_add(1, SeqCst);
        history.keep_last_turns(2);
    });
    let panics = ContextRule::edit(|history: &mut History, _: &ContextLength| {
        history.clear();
        std::panic::panic_any("explicit panic");
    });
    let agent = Agent::builder(model.clone()).context_rules([window, panics]).build().unwrap();
    let mut history = History::new();
    for at in 0..6 {
        let outcome = agent.run(format!("question {at}")).with_history(history).await.unwrap();
        history = outcome.history;
    }
    assert_eq!(seen.load(SeqCst), 6);
    let counts: Vec<_> = model.requests().iter().map(|request| request.history.len()).collect();
    assert_eq!(counts, [1, 3, 3, 3, 3, 3]);
    assert_eq!(history.last_user_text().unwrap(), "question 5");
}

#[tokio::test]
async fn taint_survives_what_is_removed() {
    let mail = Tool::new("mail", "Reads a mail")
        .call(|_| format!("See https://evil.test/x {}", words(600)))
        .untrusted();
    let theirs = ToolBox::from(mail.clone());
    let schema = serde_json::json!({"type": "object"});
    // A trusted tool that hands on what the other returned.
    let relay = Tool::raw("mail", "Reads a mail", schema, move |context, _| {
        let theirs = theirs.clone();
        async move { theirs.call_in(&context, ToolCall::new("1", "mail", "{}")).await.into_text() }
    });
    let rules = || [ContextRule::old_results(1), ContextRule::drop_oldest()];
    let cases = [mail, relay].into_iter().flat_map(|tool| rules().map(|rule| (tool.clone(), rule)));
    for (mail, rule) in cases {
        let toolbox = ToolBox::builder().tools(mail).keep_results(MemoryResults::new());
        let toolbox = toolbox.build().unwrap();
        let script = (0..9).fold(ScriptedModel::new(), |model, _| model.calls("mail", "{}"));
        let agent = builder(&script.text("done"), 2_000)
            .toolbox(toolbox.clone())
            .context_rules([rule, ContextRule::drop_oldest()])
            .build()
            .unwrap();
        let mut history = agent.run("Go on").await.unwrap().history;
        // Whatever is left of the results themselves, the conversation goes on tainted.
        let steps = history.len();
        let is_note = |at: usize| matches!(&history.messages()[at], Message::User(_));
        let users: Vec<_> = (0..steps).filter(|at| is_note(*at)).collect();
        if users.len() > 1 {
            history.remove(users[1] + 1..steps);
        }
        let stored = serde_json::to_string(&history).unwrap();
        let history: History = serde_json::from_str(&stored).unwrap();
        let taint = Taint::new();
        let again = Agent::builder(ScriptedModel::answering("ok")).toolbox(toolbox.clone());
        let context = ToolContext::new().with(taint.clone());
        let run = again.build().unwrap().run("And?").with_history(history).in_context(context);
        run.await.unwrap();
        assert!(taint.is_tainted());
        assert!(!taint.was_shown("https://evil.test/x"));
        // Its handle holds the taint as well.
        let taint = Taint::new();
        let context = ToolContext::new().with(taint.clone());
        let call = ToolCall::new("1", "result_read", r#"{"handle":"r1","lines":"1..2"}"#);
        let read = toolbox.call_in(&context, call).await;
        assert!(!read.is_error() && taint.is_tainted(), "{read:?}");
    }
}

#[tokio::test]
async fn handles_belong_to_the_conversation_of_the_run() {
    let toolbox = kept();
    let agent = builder(&pages(&[900; 6]), 4_000).toolbox(toolbox.clone()).build().unwrap();
    let ada = ToolContext::new().with(Principal::new("ada")).with(Conversation::new("cli", "1"));
    agent.run("Go on").in_context(ada.clone()).await.unwrap();
    let read = || ToolCall::new("1", "result_read", r#"{"handle":"r1","lines":"1..2"}"#);
    assert!(!toolbox.call_in(&ada, read()).await.is_error());
    let bob = ToolContext::new().with(Principal::new("bob")).with(Conversation::new("cli", "1"));
    for other in [bob, ToolContext::new()] {
        assert!(toolbox.call_in(&other, read()).await.is_error());
    }
}

#[tokio::test]
async fn a_paused_run_goes_on_with_its_shortened_transcript() {
    let model = pages(&[300; 40]);
    let agent = builder(&model, 4_000).toolbox(bare()).build().unwrap();
    let run = agent.run("Go on");
    let handle = run.handle();
    let listener = move |event: toolbox::agent::Event| {
        if event.step == 30 {
            handle.pause();
        }
    };
    let outcome = run.on_event(listener).await.unwrap();
    assert_eq!(outcome.reason, StopReason::Paused);
    let text = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    let outcome = agent.go_on(paused).await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Answered, 41));
    assert!(lengths(&model).iter().all(|length| *length <= 4_000));
    assert_eq!(outcome.history.last_user_text().unwrap(), "Go on");
}

#[tokio::test]
async fn each_text_is_counted_once() {
    let bytes = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&bytes);
    let counter = move |text: &str| {
        own.fetch_add(text.len(), SeqCst);
        text.len() / 4
    };
    let model = pages(&[100; 200]);
    let agent = builder(&model, 1_000_000).toolbox(bare()).token_counter(counter).build().unwrap();
    agent.run("Go on").await.unwrap();
    let last = model.requests().pop().unwrap();
    let all = serde_json::to_string(&last.history).unwrap().len()
        + last.tools.lowered(Dialect::OpenAiChat).json().len();
    let bytes = bytes.load(SeqCst);
    assert!(bytes < 2 * all, "{bytes} bytes were counted of {all}");
}

#[test]
fn each_part_of_a_request_is_counted() {
    let words = |text: &str| text.split_whitespace().count();
    let reply = Reply::new(vec![
        Part::text("a b c"),
        Part::call(ToolCall::new("1", "page", "{\"words\": 3}")),
        Part::Reasoning { text: "d e".to_owned(), echo: None },
    ]);
    let Replied::Calls(open) = History::from("a b").reply(reply) else { panic!() };
    let picture = Content::image(b"x", "image/png");
    let history = open.answer([ToolResult::from(vec![Content::text("a b c d"), picture])]);
    let request =
        ModelRequest::new(history).with_system("a b c d e").with_tools(&ToolBox::from(page()));
    let tokens = request.tokens_with(&words);
    assert_eq!((tokens.system, tokens.messages.len()), (5, 2));
    assert_eq!(tokens.messages[0].text, 4 + 2);
    let step = &tokens.messages[1];
    assert_eq!((step.text, step.calls.as_slice()), (4 + 5, &[4 + 1 + 2][..]));
    assert_eq!(step.results, [4 + 4 + 1_600]);
    assert_eq!(tokens.definitions[0].name, "page");
    let sum = 5 + tokens.definitions[0].tokens + 6 + 9 + 7 + 1_608;
    assert_eq!(tokens.total(), sum);
    for dialect in Dialect::ALL {
        let costs = ToolBox::from(page()).tokens(dialect);
        assert_eq!(costs.len(), 1);
        assert!((20..120).contains(&costs[0].tokens), "{costs:?}");
    }
}

#[test]
fn a_summary_is_made_of_a_text() {
    let summary = Summary::from("short").with_usage(Usage::new(1, 2));
    assert_eq!((summary.text.as_str(), summary.usage.total_tokens()), ("short", 3));
}
