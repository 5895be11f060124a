//! What a log has of handoffs, shortened transcripts, steering, pauses and answers not taken.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use ::tokio::sync::Notify;
use toolbox::agent::{
    Agent, AgentBuilder, Checked, ContextRule, Event, EventKind, Handoff, ModelCompactor,
    SharedBudget, StepRequest, StopReason, UsageLimits,
};
use toolbox::durable::Journal;
use toolbox::model::{
    History, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Reply, Usage,
};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolCall, ToolContext};

use crate::bounded::tokio;

/// The number of the reply that is an answer, and is not taken.
const ANSWER: usize = 30;

/// The requests of all models in order, and how often each other thing happened.
#[derive(Clone, Default)]
struct Trace {
    requests: Arc<Mutex<Vec<History>>>,
    replies: Arc<AtomicUsize>,
    failures: Arc<AtomicUsize>,
    summaries: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

impl Trace {
    /// An agent whose model takes requests of so many tokens, and fails once, at the request of a
    /// number; `reply` is given the number of the reply.
    fn agent(
        &self,
        tokens: usize,
        fails_at: usize,
        reply: impl Fn(usize) -> Reply + Send + Sync + 'static,
    ) -> AgentBuilder {
        let trace = self.clone();
        let respond = move |request: &ModelRequest| {
            let mut requests = trace.requests.lock().unwrap();
            if requests.len() == fails_at && trace.failures.fetch_add(1, SeqCst) == 0 {
                return Err(ModelError::new(ModelErrorKind::Other, "the power is gone"));
            }
            requests.push(request.history.clone());
            if request.tokens().total() > tokens {
                return Err(ModelError::new(ModelErrorKind::ContextTooLong, "too long"));
            }
            let reply = reply(trace.replies.fetch_add(1, SeqCst) + 1);
            Ok(ModelResponse::from(reply).with_usage(Usage::new(10, 5)))
        };
        Agent::builder(ScriptedModel::new().respond(respond).forever())
            .tools(self.page())
            .max_iterations(100)
    }

    fn page(&self) -> Tool {
        let calls = Arc::clone(&self.calls);
        Tool::new("page", "Returns words.").param("at", "integer", "The page").call(move |_| {
            format!("page{} {}", calls.fetch_add(1, SeqCst) + 1, "word ".repeat(300))
        })
    }

    fn summarizes(&self) -> ContextRule {
        let summaries = Arc::clone(&self.summaries);
        let summarize = move |_: &ModelRequest| {
            let summary = format!("summary {}", summaries.fetch_add(1, SeqCst));
            Ok(ModelResponse::from(summary).with_usage(Usage::new(1_000, 0)))
        };
        let model = ScriptedModel::new().respond(summarize).forever();
        ContextRule::summarize_oldest(ModelCompactor::new(model))
    }

    /// Two agents: the first reads pages and hands over; the second reads more, from a service that
    /// takes less than was thought, and answers twice, since its first answer is not taken.
    fn agents(&self, fails_at: usize, keeps_history: bool) -> Agent {
        let second = self.agent(2_600, fails_at, |at| match at {
            ..ANSWER => read(at),
            ANSWER => Reply::text("a long answer, which is not taken"),
            _ => Reply::text("done"),
        });
        let second = second
            .name("second")
            .max_context_tokens(4_000)
            .context_rules([ContextRule::old_results(6), self.summarizes()])
            .validate_answer(|answer: &Checked| match answer.text().len() {
                0..20 => Ok(()),
                _ => Err("too long"),
            });
        let second = second.build().unwrap();
        let (handoff, arguments) = if keeps_history {
            (Handoff::to(&second), "{}")
        } else {
            (Handoff::to(&second).without_history(), r#"{"task":"read"}"#)
        };
        let first = self.agent(usize::MAX, fails_at, move |at| match at {
            1..=5 => read(at),
            _ => Reply::calls([ToolCall::new("c", "transfer_to_second", arguments)]),
        });
        first
            .max_context_tokens(1_500)
            .context_rules([self.summarizes()])
            .handoff(handoff)
            .build()
            .unwrap()
    }
}

fn read(at: usize) -> Reply {
    Reply::calls([ToolCall::new("c", "page", format!(r#"{{"at":{at}}}"#))])
}

/// Runs to the end, through a failure at the request of a number: what happened, and the tokens
/// that were charged to a budget which outlives the failure.
async fn run(fails_at: usize, keeps_history: bool) -> (Trace, u64) {
    let trace = Trace::default();
    let journal = Journal::in_memory().unwrap();
    let budget = SharedBudget::new(UsageLimits::new());
    for attempt in 0..2 {
        let context = ToolContext::new().with(budget.clone());
        let agent = trace.agents(fails_at, keeps_history);
        let run = agent.run("the task").in_context(context).durable("run", &journal);
        let (handle, replies) = (run.handle(), Arc::clone(&trace.replies));
        let steers = move |event: Event| {
            if matches!(event.kind, EventKind::ModelFinished { .. })
                && replies.load(SeqCst) == ANSWER
            {
                assert!(handle.steer("and more"));
            }
        };
        match run.on_event(steers).await {
            Ok(outcome) => {
                let end = (outcome.agent.as_str(), outcome.reason, outcome.content.as_str());
                assert_eq!(end, ("second", StopReason::Answered, "done"));
                break;
            }
            Err(error) => assert_eq!((error.code(), attempt), ("model.failed", 0), "{error}"),
        }
    }
    (trace, budget.usage().total_tokens())
}

#[tokio::test]
async fn a_run_that_goes_on_makes_the_requests_that_it_would_have_made() {
    for keeps_history in [true, false] {
        let (whole, tokens) = run(usize::MAX, keeps_history).await;
        let requests = whole.requests.lock().unwrap().clone();
        let counts = |trace: &Trace| {
            [&trace.replies, &trace.calls, &trace.summaries].map(|count| count.load(SeqCst))
        };
        let [replies, _, summaries] = counts(&whole);
        assert!(replies == ANSWER + 1 && requests.len() > replies, "one was refused");
        assert!(summaries > 2, "{summaries}");
        assert_eq!(tokens, 15 * replies as u64 + 1_000 * summaries as u64);
        for fails_at in 0..requests.len() {
            let (trace, own_tokens) = run(fails_at, keeps_history).await;
            let own = trace.requests.lock().unwrap().clone();
            let differs = own.iter().zip(&requests).position(|(own, whole)| own != whole);
            assert_eq!(differs, None, "failed at {fails_at}");
            assert_eq!(own.len(), requests.len(), "failed at {fails_at}");
            assert_eq!(counts(&trace), counts(&whole), "failed at {fails_at}");
            assert_eq!(own_tokens, tokens, "failed at {fails_at}");
        }
    }
}

/// An agent over one that makes four notes, each once, and waits before a step for ever.
fn boss(notes: &Arc<AtomicUsize>, asked: &Arc<AtomicUsize>, stops_at: u32) -> (Agent, Arc<Notify>) {
    let reached = Arc::new(Notify::new());
    let own = Arc::clone(&reached);
    let waits = move |step: StepRequest| {
        let own = Arc::clone(&own);
        async move {
            if step.step() == stops_at {
                own.notify_one();
                std::future::pending::<()>().await;
            }
            Ok::<_, std::io::Error>(step)
        }
    };
    let (notes, asked) = (Arc::clone(notes), Arc::clone(asked));
    let model = ScriptedModel::new().respond(move |request: &ModelRequest| {
        asked.fetch_add(1, SeqCst);
        Ok(match request.history.steps().count() {
            4 => Reply::text("four notes").into(),
            at => Reply::calls([ToolCall::new("c", "note", format!(r#"{{"at":{at}}}"#))]).into(),
        })
    });
    let note = Tool::new("note", "Notes.").param("at", "integer", "Which").call(move |_| {
        notes.fetch_add(1, SeqCst);
        "noted"
    });
    let clerk = Agent::builder(model.forever())
        .name("clerk")
        .tools(note)
        .before_step(waits)
        .build()
        .unwrap();
    let model = ScriptedModel::new().respond(|request: &ModelRequest| {
        Ok(match request.history.steps().next() {
            None => Reply::calls([ToolCall::new("c", "clerk", r#"{"task":"note"}"#)]).into(),
            Some(step) => Reply::text(step.results()[0].text()).into(),
        })
    });
    let clerk = clerk.as_tool("clerk", "Notes");
    (Agent::builder(model.forever()).name("boss").tools(clerk).build().unwrap(), reached)
}

#[tokio::test]
async fn an_agent_below_that_paused_goes_on_from_its_own_log_again_and_again() {
    let (notes, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let journal = Journal::in_memory().unwrap();
    let paused = {
        let run = boss(&notes, &asked, 0).0.run("go").durable("run", &journal);
        let handle = run.handle();
        let pauses = move |event: Event| {
            if event.depth() == 1 && matches!(event.kind, EventKind::ToolFinished { .. }) {
                handle.pause();
            }
        };
        run.on_event(pauses).await.unwrap()
    };
    assert_eq!((paused.reason, notes.load(SeqCst)), (StopReason::Paused, 1));
    // The process dies before each next step of the agent below.
    for step in [2, 3, 4] {
        let (boss, reached) = boss(&notes, &asked, step);
        ::tokio::select! {
            () = reached.notified() => {}
            outcome = boss.resume("run", &journal).into_future() => panic!("{outcome:?}"),
        }
        assert_eq!(notes.load(SeqCst), step as usize - 1);
    }
    let outcome = boss(&notes, &asked, 0).0.resume("run", &journal).await.unwrap();
    assert_eq!((outcome.content.as_str(), notes.load(SeqCst)), ("four notes", 4));
    assert_eq!(asked.load(SeqCst), 5, "no request is made twice");
}
