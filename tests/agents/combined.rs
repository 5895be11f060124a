//! Features of a run that meet: guards, handoffs, steering, pauses, limits of the context.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;
use toolbox::agent::{
    Agent, AgentBuilder, Checked, ContextRule, Event, EventKind, Handoff, ModelCompactor, Paused,
    SharedBudget, StopReason, UsageLimits, Verdict,
};
use toolbox::context::{ApprovalRequest, Decision, Taint};
use toolbox::model::{
    Finish, History, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Part, Replied, Reply,
    Usage,
};
use toolbox::results::{KeptResult, Lookup, ResultOwner, ResultStore, ResultStoreError};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, ToolBox, ToolCall, ToolContext};

use super::context::{builder as limited, page, pages, words};
use super::steering::{once, short, steers};
use crate::bounded::tokio;
use crate::wire::keeps_the_rules_everywhere;
use support::counted;
use support::quietly;

fn read_back(paused: Option<Paused>) -> Paused {
    let text = serde_json::to_string(&paused.expect("it paused")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn no_secrets(input: &Checked) -> Verdict {
    Verdict::block_if(input.text().contains("secret"), "a secret")
}

/// An agent that calls `count` twice and then answers.
fn counting(count: &Arc<AtomicUsize>) -> AgentBuilder {
    let model = ScriptedModel::new().calls("count", "{}").calls("count", "{ }").text("done");
    Agent::builder(model.forever()).tools(counted("count", count))
}

#[tokio::test]
async fn a_message_that_comes_later_passes_the_guards_before_any_tool_runs() {
    // The step before which the user says it, how often the tool ran, by then.
    for (step, ran) in [(1, 1), (2, 2), (3, 2)] {
        for (text, blocks) in [("a secret", true), ("a hint", false)] {
            let count = Arc::new(AtomicUsize::new(0));
            let agent = counting(&count).guard_input(no_secrets).build().unwrap();
            let run = agent.run("go");
            let handle = run.handle();
            let asked = move |event: &Event| {
                event.step == step && matches!(event.kind, EventKind::ModelStarted { .. })
            };
            let outcome = run.on_event(once(asked, steers(handle, text))).await.unwrap();
            let expected = if blocks { StopReason::InputBlocked } else { StopReason::Answered };
            assert_eq!(outcome.reason, expected, "{text} at {step}");
            assert_eq!(count.load(SeqCst), if blocks { ran } else { 2 }, "{text} at {step}");
            assert!(short(&outcome.history).contains(&format!("user {text}")));
        }
    }
}

#[tokio::test]
async fn a_pause_is_no_way_around_the_guards() {
    // What the user says first, while it is paused at a step, and as it goes on.
    let cases = [
        (0, "a secret", None, None, 0),
        (0, "go", Some("a secret"), None, 0),
        (0, "go", None, Some("a secret"), 0),
        (1, "go", Some("a secret"), None, 1),
        (1, "go", None, Some("a secret"), 1),
    ];
    for (step, first, meanwhile, then, ran) in cases {
        let what = format!("{first}, {meanwhile:?}, {then:?} at {step}");
        let count = Arc::new(AtomicUsize::new(0));
        let agent = counting(&count).guard_input(no_secrets).build().unwrap();
        let run = agent.run(first);
        let handle = run.handle();
        let pause = move || {
            handle.pause();
            if let Some(text) = meanwhile {
                assert!(handle.steer(text));
            }
        };
        let outcome = if step == 0 {
            pause();
            run.await.unwrap()
        } else {
            let asked = |event: &Event| matches!(event.kind, EventKind::ModelStarted { .. });
            run.on_event(once(asked, pause)).await.unwrap()
        };
        assert_eq!(outcome.reason, StopReason::Paused, "{what}");
        let run = agent.go_on(read_back(outcome.paused));
        let run = match then {
            Some(text) => run.with_input(text),
            None => run,
        };
        let outcome = run.await.unwrap();
        assert_eq!((outcome.reason, count.load(SeqCst)), (StopReason::InputBlocked, ran), "{what}");
    }
}

#[tokio::test]
async fn an_agent_below_that_pauses_before_its_first_request_is_guarded() {
    let count = Arc::new(AtomicUsize::new(0));
    let child = counting(&count).guard_input(no_secrets).build().unwrap();
    let model = ScriptedModel::new().calls("child", r#"{"task":"a secret"}"#).text("well");
    let boss = Agent::builder(model).tools(child.as_tool("child", "d")).build().unwrap();
    let run = boss.run("go");
    let handle = run.handle();
    let called = |event: &Event| matches!(event.kind, EventKind::ToolStarted { .. });
    let outcome = run.on_event(once(called, move || handle.pause())).await.unwrap();
    let outcome = boss.go_on(read_back(outcome.paused)).await.unwrap();
    let result = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
    assert!(result.contains("stopped by a guard: a secret"), "{result}");
    assert_eq!(count.load(SeqCst), 0);
}

#[tokio::test]
async fn guards_hold_across_a_handoff_and_a_pause_within_it() {
    // Where the guard is, and when the user says what it blocks: to begin with, or once the
    // conversation was handed over; with a pause at the handoff or without.
    let cases = [
        ("first", "go", Some("a secret")),
        ("second", "a secret", None),
        ("second", "go", Some("a secret")),
    ];
    for (guarded, first, later) in cases {
        for pauses in [false, true] {
            let what = format!("{guarded}: {first}, {later:?}, paused: {pauses}");
            let count = Arc::new(AtomicUsize::new(0));
            let guard = |builder: AgentBuilder, name: &str| {
                if name == guarded { builder.guard_input(no_secrets) } else { builder }
            };
            let second = guard(counting(&count), "second").name("second").build().unwrap();
            let model = ScriptedModel::new().calls("transfer_to_second", "{}");
            let agent = guard(Agent::builder(model), "first")
                .name("first")
                .handoff(&second)
                .build()
                .unwrap();
            let run = agent.run(first);
            let handle = run.handle();
            let handed = |event: &Event| matches!(event.kind, EventKind::HandedOver { .. });
            let act = move || {
                if let Some(text) = later {
                    assert!(handle.steer(text));
                }
                if pauses {
                    handle.pause();
                }
            };
            let mut outcome = run.on_event(once(handed, act)).await.unwrap();
            if pauses {
                assert_eq!(outcome.reason, StopReason::Paused, "{what}");
                outcome = agent.go_on(read_back(outcome.paused)).await.unwrap();
            }
            assert_eq!(
                (outcome.reason, count.load(SeqCst)),
                (StopReason::InputBlocked, 0),
                "{what}"
            );
        }
    }
}

#[tokio::test]
async fn what_the_user_says_after_a_handoff_without_history_is_the_users() {
    let second = Agent::builder(ScriptedModel::answering("ok")).name("second").build();
    let model =
        ScriptedModel::new().calls("transfer_to_second", r#"{"task":"see https://task.test/"}"#);
    let agent = Agent::builder(model)
        .handoff(Handoff::to(&second.unwrap()).without_history())
        .build()
        .unwrap();
    let run = agent.run("go");
    let handle = run.handle();
    let handed = |event: &Event| matches!(event.kind, EventKind::HandedOver { .. });
    let taint = Taint::new();
    let run = run.on_event(once(handed, steers(handle, "see https://mine.test/")));
    run.in_context(ToolContext::new().with(taint.clone())).await.unwrap();
    assert!(taint.was_shown("https://mine.test/") && !taint.was_shown("https://task.test/"));
}

#[tokio::test]
async fn an_answer_from_outside_to_a_handoff_hands_nothing_over() {
    for at_once in [true, false] {
        let second = Agent::builder(ScriptedModel::answering("mine now")).name("second").build();
        let tool = Handoff::to(&second.unwrap()).into_tool().unwrap();
        let tool = if at_once {
            tool.with_approver(|_: ApprovalRequest| async { Decision::Answer("stay".into()) })
        } else {
            tool.needs_approval()
        };
        let model = ScriptedModel::new().calls("transfer_to_second", "{}").text("I stay");
        let toolbox = ToolBox::from(vec![tool]);
        let agent = Agent::builder(model).name("first").toolbox(toolbox).build().unwrap();
        let mut outcome = agent.run("go").await.unwrap();
        if !at_once {
            let decisions = [("call_1", Decision::Answer("stay".into()))];
            outcome = agent.resume(read_back(outcome.paused), decisions).await.unwrap();
        }
        assert_eq!((outcome.agent.as_str(), outcome.content.as_str()), ("first", "I stay"));
        toolbox::testing::check(&outcome.history)
            .calls("transfer_to_second", json!({}))
            .returns("stay");
    }
}

/// A store that panics, before or in its future, or never answers.
#[derive(Clone, Copy)]
enum Broken {
    AtOnce,
    Later,
    Never,
}

impl ResultStore for Broken {
    fn keep(
        &self,
        _: ResultOwner,
        _: Arc<KeptResult>,
    ) -> BoxFuture<'_, Result<u64, ResultStoreError>> {
        match self {
            Self::AtOnce => std::panic::panic_any("explicit panic"),
            Self::Later => Box::pin(async { std::panic::panic_any("explicit panic") }),
            Self::Never => Box::pin(std::future::pending()),
        }
    }

    fn get(&self, _: ResultOwner, _: u64) -> BoxFuture<'_, Result<Lookup, ResultStoreError>> {
        Box::pin(async { Ok(Lookup::Unknown) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_or_never_answers_holds_up_no_run() {
    quietly();
    let rules = [ContextRule::old_results(1), ContextRule::drop_oldest()];
    for rule in rules {
        for store in [Broken::AtOnce, Broken::Later, Broken::Never] {
            let toolbox = ToolBox::builder().tools(page()).keep_results(store).build().unwrap();
            let agent = limited(&pages(&[300; 12]), 2_000)
                .toolbox(toolbox)
                .context_rules([rule.clone()])
                .timeout(Duration::from_secs(60))
                .build()
                .unwrap();
            let outcome = agent.run("go").await.unwrap();
            let expected = match store {
                Broken::Never => StopReason::TimedOut,
                Broken::AtOnce | Broken::Later => StopReason::Answered,
            };
            assert_eq!(outcome.reason, expected, "{rule:?}");
        }
    }
}

#[tokio::test]
async fn no_counter_of_tokens_takes_a_run_down() {
    quietly();
    type Count = fn(&str) -> usize;
    let panics: Count = |_| std::panic::panic_any("explicit panic");
    let cases: [(&str, Count, usize, StopReason); 8] = [
        ("nothing", |_| 0, 1_000, StopReason::Answered),
        ("nothing, within nothing", |_| 0, 0, StopReason::ContextFull),
        ("all", |_| usize::MAX, 1_000, StopReason::ContextFull),
        ("all, without end", |_| usize::MAX, usize::MAX, StopReason::Answered),
        ("half of all", |_| usize::MAX / 2, usize::MAX - 1, StopReason::ContextFull),
        ("as many as bytes", str::len, usize::MAX, StopReason::Answered),
        ("it panics", panics, 2_000, StopReason::Answered),
        ("it panics within one", panics, 1, StopReason::ContextFull),
    ];
    let summary = |_: History| async { Ok::<_, std::io::Error>("pages were read") };
    for (what, count, limit, expected) in cases {
        let rules = [ContextRule::old_results(1), ContextRule::summarize_oldest(summary)];
        let agent = limited(&pages(&[100; 30]), limit).tools(page()).token_counter(count);
        let outcome = agent.context_rules(rules).build().unwrap().run("go").await.unwrap();
        assert_eq!(outcome.reason, expected, "{what}");
    }
    let tokens = ModelRequest::new(History::from("go")).tokens_with(&|_: &str| usize::MAX);
    assert_eq!(tokens.total(), usize::MAX);
}

#[tokio::test]
async fn the_first_message_of_the_user_stays_behind_a_greeting() {
    let mut history = History::new();
    history.push_reply("Welcome.");
    history.push_user("I am Ada.");
    for at in 0..30 {
        history.push_reply(format!("Answer {at}. {}", words(100)));
        history.push_user(format!("Question {at}? {}", words(100)));
    }
    let model = pages(&[300; 20]);
    let agent = limited(&model, 3_000).tools(page()).build().unwrap();
    agent.run("go").with_history(history).await.unwrap();
    for request in model.requests() {
        let all = short(&request.history);
        assert!(all.contains(&"user I am Ada.".to_owned()), "{all:?}");
        assert!(all.contains(&"user go".to_owned()), "{all:?}");
        let notes = all.iter().filter(|text| text.starts_with("user [earlier messages")).count();
        assert!(notes <= 1, "{all:?}");
    }
}

#[tokio::test]
async fn the_task_stays_where_a_handoff_wrote_the_transcript_anew() {
    let model = pages(&[300; 20]);
    let second = limited(&model, 3_000).context_rules([ContextRule::drop_oldest()]).tools(page());
    let second = second.name("second").build().unwrap();
    let anew = |history: History| {
        let stored = serde_json::to_string(&history).unwrap();
        serde_json::from_str(&stored).unwrap()
    };
    let mut earlier = History::from("hello");
    earlier.push_reply("Welcome.");
    let first = Agent::builder(ScriptedModel::new().calls("transfer_to_second", "{}"));
    let handoff = Handoff::to(&second).edit_history(anew);
    let run = first.handoff(handoff).build().unwrap().run("the task").with_history(earlier);
    assert_eq!(run.await.unwrap().agent, "second");
    assert!(model.requests().len() > 10);
    for request in model.requests() {
        let all = short(&request.history);
        assert!(all.contains(&"user the task".to_owned()), "{all:?}");
        assert!(request.tokens().total() <= 3_000, "the limit is that of the next agent");
    }
}

/// A model that summarizes, at a cost.
fn summarizing(tokens: u64) -> ScriptedModel {
    let reply = move |_: &ModelRequest| {
        Ok(ModelResponse::from("pages were read").with_usage(Usage::new(tokens, 0)))
    };
    ScriptedModel::new().respond(reply).forever()
}

#[tokio::test]
async fn summaries_are_charged_to_budgets_that_several_runs_share() {
    // The limits, the requests of the run and of its compactor, and the tokens that are spent.
    let cases = [
        (UsageLimits::new(), StopReason::Answered),
        (UsageLimits::new().max_requests(8), StopReason::Budget),
        (UsageLimits::new().max_tokens(1_000), StopReason::Budget),
    ];
    for (limits, expected) in cases {
        let (model, small) = (pages(&[300; 20]), summarizing(1_000));
        let budget = SharedBudget::new(limits);
        let agent = limited(&model, 3_000)
            .tools(page())
            .context_rules([ContextRule::summarize_oldest(ModelCompactor::new(small.clone()))])
            .shared_budget(budget.clone())
            .build()
            .unwrap();
        let outcome = agent.run("go").await.unwrap();
        assert_eq!(outcome.reason, expected);
        let (asked, summaries) = (model.requests().len() as u64, small.requests().len() as u64);
        assert_eq!(budget.requests(), asked + summaries);
        assert_eq!(outcome.usage.total_tokens(), 15 * asked + 1_000 * summaries);
        assert_eq!(budget.usage(), outcome.usage);
        assert_eq!(u64::from(outcome.iterations), asked);
        if limits == UsageLimits::new().max_tokens(1_000) {
            assert_eq!(summaries, 1, "the run ends with the summary that spent it");
        }
    }
}

#[tokio::test]
async fn a_refusal_is_no_summary() {
    let small = ScriptedModel::new().text("I cannot help with that.").finishing(Finish::Refusal);
    let model = pages(&[300; 20]);
    let agent = limited(&model, 3_000)
        .tools(page())
        .context_rules([ContextRule::summarize_oldest(ModelCompactor::new(small.forever()))]);
    let outcome = agent.build().unwrap().run("go").await.unwrap();
    let stored = serde_json::to_string(&outcome.history).unwrap();
    assert!(!stored.contains("I cannot help") && stored.contains("earlier messages removed"));
}

#[tokio::test]
async fn the_lower_limit_of_a_service_holds_after_a_pause() {
    let model = (0..30).fold(ScriptedModel::new(), |model, _| {
        model.respond(|request: &ModelRequest| {
            if request.tokens().total() > 2_000 {
                return Err(ModelError::new(ModelErrorKind::ContextTooLong, "too long"));
            }
            Ok(Reply::calls([ToolCall::new("c", "page", r#"{"words":300}"#)]).into())
        })
    });
    let agent = limited(&model, 100_000).tools(page()).max_iterations(20).build().unwrap();
    let run = agent.run("go");
    let handle = run.handle();
    let tenth = |event: &Event| event.step == 10;
    let outcome = run.on_event(once(tenth, move || handle.pause())).await.unwrap();
    let before = model.requests().len() - 10;
    let outcome = agent.go_on(read_back(outcome.paused)).await.unwrap();
    assert_eq!(outcome.reason, StopReason::MaxIterations);
    assert!(before > 0);
    assert_eq!(model.requests().len() - 20, before, "it is refused no more");
}

#[test]
fn nothing_is_left_of_no_reply() {
    let thought = || Part::Reasoning { text: "hm".to_owned(), echo: None };
    let call = || Part::call(ToolCall::new("1", "page", "{}"));
    let cases = [
        (vec![Part::text("a")], false),
        (vec![thought(), Part::text("a")], false),
        (vec![thought()], false),
        (vec![Part::text("a"), call()], true),
    ];
    for (parts, is_replaced) in cases {
        let what = format!("{parts:?}");
        let mut history = History::from("go");
        history = match history.reply(Reply::new(parts)) {
            Replied::Answer(history) => history,
            Replied::Calls(open) => open.answer([]),
            other => panic!("{other:?}"),
        };
        let before = history.clone();
        assert_eq!(history.replace_text(1, " "), is_replaced, "{what}");
        assert!(is_replaced || before == history, "{what}");
        keeps_the_rules_everywhere(&history);
        let stored = serde_json::to_string(&history).unwrap();
        assert_eq!(serde_json::from_str::<History>(&stored).unwrap(), history, "{what}");
    }
}
