//! Guards on the input and the answer of a run, and validators of answers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolbox::agent::{
    Agent, AgentBuilder, Checked, Event, EventKind, MaxIterations, RunOutcome, StopReason, Verdict,
};
use toolbox::context::{CancellationToken, Principal};
use toolbox::model::{Finish, History, Reply};
use toolbox::testing::{ScriptedModel, check};
use toolbox::{Agent as AnyAgent, ToolBox, ToolCall, ToolContext, ToolResult};

use super::Log;
use crate::bounded::tokio;
use support::counted;
use support::quietly;

/// Waits for a time of the paused clock, and blocks texts that hold `word`.
fn slow(
    word: &'static str,
    millis: u64,
) -> impl Fn(Checked) -> toolbox::BoxFuture<'static, Verdict> {
    move |checked| {
        Box::pin(async move {
            ::tokio::time::sleep(Duration::from_millis(millis)).await;
            Verdict::block_if(checked.text().contains(word), format!("it holds {word}"))
        })
    }
}

fn blocked(outcome: &RunOutcome) -> (StopReason, Option<&str>, &str) {
    (outcome.reason, outcome.blocked.as_deref(), outcome.content.as_str())
}

fn deltas(log: &Log) -> usize {
    let is_delta = |event: &Event| matches!(event.kind, EventKind::Delta(_));
    log.events().iter().filter(|event| is_delta(event)).count()
}

#[tokio::test(start_paused = true)]
async fn an_input_guard_runs_beside_the_model_and_drops_its_request() {
    // The time of the guard, that of the model, and the time and the usage of the run.
    for (guard, model, time, tokens) in [(10, 1000, 10, 0), (1000, 10, 1000, 15)] {
        let script = ScriptedModel::new().text("a secret").after(Duration::from_millis(model));
        let agent = Agent::builder(script.clone()).guard_input(slow("bad", guard)).build().unwrap();
        let log = Log::default();
        let began = ::tokio::time::Instant::now();
        let outcome = agent.run("a bad thing").on_event(log.listener()).await.unwrap();
        assert_eq!(blocked(&outcome), (StopReason::InputBlocked, Some("it holds bad"), ""));
        assert_eq!(began.elapsed(), Duration::from_millis(time));
        assert_eq!((outcome.usage.total_tokens(), outcome.history.len()), (tokens, 1));
        assert_eq!((script.requests().len(), deltas(&log)), (1, 0));
        let ends: Vec<_> = log.events().into_iter().map(|event| event.kind).collect();
        assert!(ends.contains(&EventKind::Blocked { reason: "it holds bad".to_owned() }));
        // An input that passes: both take their time beside each other.
        let script = ScriptedModel::new().text("a word").after(Duration::from_millis(model));
        let agent = Agent::builder(script).guard_input(slow("bad", guard)).build().unwrap();
        let log = Log::default();
        let began = ::tokio::time::Instant::now();
        let outcome = agent.run("a good thing").on_event(log.listener()).await.unwrap();
        assert_eq!(blocked(&outcome), (StopReason::Answered, None, "a word"));
        assert_eq!((began.elapsed(), deltas(&log)), (Duration::from_secs(1), 2));
    }
}

#[tokio::test(start_paused = true)]
async fn no_tool_runs_before_the_input_guards_have_passed() {
    for (input, count) in [("bad", 0), ("good", 1)] {
        let runs = Arc::new(AtomicUsize::new(0));
        let script = ScriptedModel::new().calls("count", "{}").text("done");
        let agent = Agent::builder(script)
            .tools(counted("count", &runs))
            .guard_input(|_: &Checked| Verdict::Pass)
            .guard_input(slow("bad", 1000))
            .build()
            .unwrap();
        agent.run(input).await.unwrap();
        assert_eq!(runs.load(SeqCst), count, "{input}");
    }
}

#[tokio::test]
async fn the_input_is_all_that_the_user_said_since_the_last_answer() {
    let answered = |history: History| match history.reply(Reply::text("an answer")) {
        toolbox::model::Replied::Answer(history) => history,
        other => panic!("{other:?}"),
    };
    type Ask = fn(&AnyAgent, History) -> toolbox::agent::Run;
    let cases: [(Ask, &str); 3] = [
        (|agent, _| agent.run("one"), "one"),
        (|agent, _| agent.run("one").with_input("two"), "one\ntwo"),
        (|agent, earlier| agent.run("one").with_history(earlier), "one"),
    ];
    for (ask, expected) in cases {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&seen);
        let agent = Agent::builder(ScriptedModel::answering("ok"))
            .guard_input(move |input: &Checked| {
                let user = Principal::of(input.context()).as_str().to_owned();
                own.lock().unwrap().push((input.text().to_owned(), user, input.history().len()));
                Verdict::Pass
            })
            .build()
            .unwrap();
        let run = ask(&agent, answered(History::from("zero")));
        let outcome = run.in_context(ToolContext::new().with(Principal::new("ada"))).await.unwrap();
        let sent = outcome.history.len() - 1;
        assert_eq!(*seen.lock().unwrap(), [(expected.to_owned(), "ada".to_owned(), sent)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_fails_panics_or_never_ends_lets_nothing_through() {
    quietly();
    type Build = fn(AgentBuilder, bool) -> AgentBuilder;
    fn on<Form: 'static>(
        builder: AgentBuilder,
        is_input: bool,
        guard: impl toolbox::agent::Guard<Form>,
    ) -> AgentBuilder {
        if is_input { builder.guard_input(guard) } else { builder.guard_output(guard) }
    }
    let cases: [(Build, Option<&str>); 5] = [
        (
            |builder, is_input| {
                on(builder, is_input, |_: &Checked| Err::<Verdict, _>("it is down"))
            },
            Some("a guard failed: it is down"),
        ),
        (
            |builder, is_input| {
                on(builder, is_input, |_: Checked| async { Err::<Verdict, _>("it is down") })
            },
            Some("a guard failed: it is down"),
        ),
        (
            |builder, is_input| {
                on(builder, is_input, |checked: &Checked| -> Verdict {
                    panic!("of a guard on {}", checked.text())
                })
            },
            Some("a guard panicked"),
        ),
        (
            |builder, is_input| {
                on(builder, is_input, |_: Checked| async {
                    ::tokio::task::yield_now().await;
                    assert!(std::hint::black_box(false), "assertion of a guard");
                    Verdict::Pass
                })
            },
            Some("a guard panicked"),
        ),
        (
            |builder, is_input| {
                on(builder, is_input, |_: Checked| std::future::pending::<Verdict>())
            },
            None,
        ),
    ];
    for (build, reason) in cases {
        for is_input in [true, false] {
            let builder = Agent::builder(ScriptedModel::answering("an answer"))
                .timeout(Duration::from_secs(5));
            let outcome = build(builder, is_input).build().unwrap().run("x").await.unwrap();
            let stop = match (reason, is_input) {
                (None, _) => StopReason::TimedOut,
                (_, true) => StopReason::InputBlocked,
                (_, false) => StopReason::OutputBlocked,
            };
            assert_eq!(blocked(&outcome), (stop, reason, ""));
            assert_eq!(outcome.history.len(), 1, "the answer is not in the transcript");
        }
    }
}

#[tokio::test]
async fn a_cancelled_run_ends_beside_its_guards() {
    let token = CancellationToken::new();
    let (begun, own) = (Arc::new(AtomicBool::new(false)), token.clone());
    let seen = Arc::clone(&begun);
    let agent = Agent::builder(ScriptedModel::answering("an answer"))
        .guard_output(move |_: Checked| {
            seen.store(true, SeqCst);
            own.cancel();
            std::future::pending::<Verdict>()
        })
        .build()
        .unwrap();
    let outcome = agent.run("x").with_cancellation(token).await.unwrap();
    assert_eq!(blocked(&outcome), (StopReason::Cancelled, None, ""));
    assert!(begun.load(SeqCst));
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
}

#[tokio::test]
async fn an_output_guard_sees_whatever_text_a_run_returns() {
    let secret = || ScriptedModel::new().text("the secret is 7");
    let calls = || {
        let call = toolbox::model::Part::call(ToolCall::new("c", "count", "{}"));
        let text = toolbox::model::Part::text("the secret is 7");
        ScriptedModel::new().reply(Reply::new(vec![text, call]))
    };
    type Build = fn(AgentBuilder) -> AgentBuilder;
    let cases: Vec<(&str, ScriptedModel, Build)> = vec![
        ("an answer", secret(), |builder| builder),
        ("one that was cut off", secret().finishing(Finish::Length), |builder| builder),
        ("a refusal", secret().finishing(Finish::Refusal), |builder| builder),
        ("the text of the last step", calls(), |builder| builder.max_iterations(1)),
        ("a summary", calls().text("the secret is 7"), |builder| {
            builder.max_iterations(1).at_max_iterations(MaxIterations::Summarize)
        }),
        ("one that no validator takes", secret(), |builder| {
            builder.max_answer_attempts(1).validate_answer(|_: &Checked| Err("no"))
        }),
    ];
    for (case, model, build) in cases {
        for (word, is_blocked) in [("secret", true), ("other", false)] {
            let runs = Arc::new(AtomicUsize::new(0));
            // A script is played once.
            let model = if is_blocked { model.clone() } else { secret() };
            let builder = Agent::builder(model).tools(counted("count", &runs)).guard_output(
                move |answer: &Checked| Verdict::block_if(answer.text().contains(word), "told"),
            );
            let outcome = build(builder).build().unwrap().run("x").await.unwrap();
            let text = format!("{:?} {:?}", outcome.content, outcome.history);
            assert_eq!(outcome.reason == StopReason::OutputBlocked, is_blocked, "{case}");
            let is_last = case == "a summary";
            assert!(!is_blocked || is_last || !text.contains("the secret"), "{case}: {text}");
            assert!(!is_blocked || outcome.content.is_empty(), "{case}");
        }
    }
}

#[tokio::test]
async fn an_output_guard_reads_answers_of_a_type() {
    for (by_call, name) in [(true, "Bonn"), (false, "Bonn"), (true, "Rome"), (false, "Rome")] {
        let json = format!(r#"{{"name":"{name}"}}"#);
        let model = ScriptedModel::new();
        let model = if by_call { model.calls("final_answer", json) } else { model.text(json) };
        let agent = Agent::builder(model)
            .guard_output(|answer: &Checked| {
                let city: City = answer.read()?;
                assert_eq!(answer.value(), Some(&json!({"name": city.name})));
                assert_eq!(answer.text(), answer.value().unwrap().to_string());
                Ok::<_, serde_json::Error>(Verdict::block_if(city.name == "Bonn", "not Bonn"))
            })
            .build()
            .unwrap();
        let outcome = agent.run("x").answering_with::<City>().await.unwrap();
        if name == "Bonn" {
            assert_eq!(blocked(&outcome), (StopReason::OutputBlocked, Some("not Bonn"), ""));
            assert!(outcome.answer.is_none() && outcome.answer_as::<City>().is_err());
            assert_eq!(outcome.history.len(), 1);
        } else {
            assert_eq!(outcome.answer_as::<City>().unwrap().name, "Rome");
        }
    }
}

#[tokio::test]
async fn a_guard_of_an_agent_below_is_told_above() {
    let below = Agent::builder(ScriptedModel::answering("secret"))
        .guard_output(|_: &Checked| Verdict::block("it tells"))
        .build()
        .unwrap();
    let model = ScriptedModel::new().calls("below", r#"{"task":"go"}"#).text("done");
    let agent = Agent::builder(model).add_subagent(below.as_tool("below", "Works.")).build();
    let outcome = agent.unwrap().run("x").await.unwrap();
    check(&outcome.history).calls("below", json!({"task": "go"})).fails("tool.failed");
    let step = outcome.history.steps().next().unwrap();
    assert_eq!(step.results()[0].text(), "agent `below` was stopped by a guard: it tells");
}

#[tokio::test]
async fn a_guard_may_be_an_agent_whose_tokens_count() {
    let judge = Agent::builder(ScriptedModel::answering("fine")).name("judge").build().unwrap();
    let log = Log::default();
    let agent = Agent::builder(ScriptedModel::answering("an answer"))
        .guard_input(move |input: Checked| {
            let judge = judge.clone();
            async move {
                assert_eq!(input.context().depth(), 1);
                let run = judge.run(input.text()).in_context(input.context().clone());
                run.await.map(|outcome| Verdict::block_if(outcome.content != "fine", "not fine"))
            }
        })
        .build()
        .unwrap();
    let outcome = agent.run("x").on_event(log.listener()).await.unwrap();
    assert_eq!(blocked(&outcome), (StopReason::Answered, None, "an answer"));
    assert_eq!(outcome.usage.total_tokens(), 30);
    assert!(log.events().iter().any(|event| *event.path == ["agent", "judge"]));
}

fn short(answer: &Checked) -> Result<(), String> {
    let words = answer.text().split_whitespace().count();
    (words <= 2).then_some(()).ok_or(format!("{words} words are too many"))
}

#[tokio::test]
async fn a_validator_tells_the_model_what_is_wrong_a_number_of_times() {
    let script = || {
        ScriptedModel::new()
            .text("it will rain today")
            .text("it may well rain")
            .text("it rains today")
            .text("rain")
    };
    for (attempts, content, iterations) in
        [(1, "it will rain today", 1), (3, "it rains today", 3), (4, "rain", 4), (9, "rain", 4)]
    {
        let model = script();
        let agent = Agent::builder(model.clone())
            .max_answer_attempts(attempts)
            .validate_answer(|answer: Checked| async move {
                ::tokio::task::yield_now().await;
                short(&answer)
            })
            .build()
            .unwrap();
        let outcome = agent.run("x").await.unwrap();
        let reason = match content {
            "rain" => StopReason::Answered,
            _ => StopReason::AnswerInvalid,
        };
        assert_eq!((outcome.reason, outcome.content.as_str()), (reason, content), "{attempts}");
        assert_eq!(outcome.iterations, iterations);
        if iterations > 1 {
            assert_eq!(
                model.requests()[1].history.last_user_text().unwrap(),
                "Your answer was not taken: 4 words are too many\nAnswer again."
            );
        }
    }
}

#[tokio::test]
async fn a_validator_reads_answers_of_a_type_however_they_are_given() {
    let bad = r#"{"name":"Bonn"}"#;
    let good = r#"{"name":"Rome"}"#;
    let called = ScriptedModel::new().calls("final_answer", bad).calls("final_answer", good);
    let written = ScriptedModel::new().text(bad).text(good);
    for (model, is_called) in [(called, true), (written, false)] {
        let agent = Agent::builder(model.clone())
            .validate_answer(|answer: &Checked| match answer.read::<City>() {
                Ok(city) if city.name == "Bonn" => Err("not the capital".to_owned()),
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            })
            .build()
            .unwrap();
        let city: City = agent.extract("x").await.unwrap();
        assert_eq!(city.name, "Rome");
        let request = &model.requests()[1];
        if is_called {
            let step = request.history.steps().last().unwrap();
            let results: Vec<_> = step.results().iter().map(ToolResult::text).collect();
            assert_eq!(results, ["the answer was not taken: not the capital"]);
            assert!(step.results()[0].is_error());
        } else {
            assert_eq!(
                request.history.last_user_text().unwrap(),
                "Your answer was not taken: not the capital\nGive it again by calling the tool `final_answer`."
            );
        }
    }
    // It counts with the answers that cannot be read.
    let model = ScriptedModel::new().calls("final_answer", "{}").calls("final_answer", bad);
    let agent = Agent::builder(model.calls("final_answer", good))
        .max_answer_attempts(2)
        .validate_answer(|_: &Checked| Err("never"))
        .build()
        .unwrap();
    let outcome = agent.run("x").answering_with::<City>().await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::AnswerInvalid, 2));
    assert!(outcome.answer.is_none());
}

#[tokio::test]
async fn a_validator_that_panics_takes_no_answer() {
    quietly();
    let agent = Agent::builder(ScriptedModel::answering("x"))
        .validate_answer(|_: &Checked| -> Result<(), String> { panic!("of a validator") })
        .toolbox(ToolBox::new())
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::AnswerInvalid, 3));
}

#[tokio::test(start_paused = true)]
async fn a_validator_that_never_ends_leaves_the_transcript() {
    for by_call in [true, false] {
        let json = r#"{"name":"Rome"}"#;
        let model = ScriptedModel::new();
        let model = if by_call { model.calls("final_answer", json) } else { model.text(json) };
        let agent = Agent::builder(model)
            .timeout(Duration::from_secs(5))
            .max_answer_attempts(1)
            .validate_answer(|_: Checked| std::future::pending::<Result<(), String>>())
            .build()
            .unwrap();
        let outcome = agent.run("x").answering_with::<City>().await.unwrap();
        assert_eq!(blocked(&outcome), (StopReason::TimedOut, None, ""));
        assert_eq!((outcome.history.len(), outcome.answer), (2, None));
    }
}
