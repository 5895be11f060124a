//! Runs: repeats, judges, what fails, hangs and panics.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use toolbox::model::{
    Deltas, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Reply,
};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, Tool, ToolBox, tool, tools};
use toolbox_eval::{Eval, EvalError, FaultKind, Report};

use crate::bounded::tokio;
use crate::{report, shared, suite, toolbox};

/// A model of a function of the number of its request.
struct FnModel<F>(F, AtomicUsize);

impl<F: Fn(usize) -> Result<ModelResponse, ModelError> + Send + Sync + 'static> FnModel<F> {
    fn new(respond: F) -> Self {
        Self(respond, AtomicUsize::new(0))
    }
}

impl<F: Fn(usize) -> Result<ModelResponse, ModelError> + Send + Sync + 'static> Model
    for FnModel<F>
{
    fn name(&self) -> &'static str {
        "function"
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move { (self.0)(self.1.fetch_add(1, Ordering::SeqCst)) })
    }
}

/// A model that never replies.
struct Silent;

impl Model for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(std::future::pending())
    }
}

fn kinds(report: &Report) -> Vec<Option<FaultKind>> {
    let runs = report.cases.iter().flat_map(|case| &case.runs);
    runs.map(|run| run.faults.first().map(|fault| fault.kind)).collect()
}

#[tokio::test]
async fn each_case_runs_as_often_as_asked_within_the_bound() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tool = Tool::new("alpha", "Does alpha").call_async({
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        move |_| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                "done"
            }
        }
    });
    let suite = suite(json!({"name": "x", "runs": 7, "cases": [
        {"name": "1", "request": "Do alpha", "calls": [{"name": "alpha"}]},
        {"name": "2", "request": "Do alpha again", "calls": [{"name": "beta"}]},
    ]}));
    let progress = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&progress);
    let eval = Eval::new(suite, crate::WordModel)
        .toolbox(ToolBox::from(tool))
        .parallel(NonZeroUsize::new(3).unwrap())
        .on_progress(move |done, all| {
            assert_eq!((seen.fetch_add(1, Ordering::SeqCst) + 1, 14), (done, all));
        });
    let report = report(eval).await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
    assert_eq!(progress.load(Ordering::SeqCst), 14);
    let of = |at: usize| (report.cases[at].rate.passed, report.cases[at].rate.runs);
    assert_eq!((of(0), of(1)), ((7, 7), (0, 7)));
    assert_eq!((report.rate.passed, report.rate.runs), (7, 14));
    assert!(!report.passes());
}

#[tokio::test]
async fn an_error_of_a_model_fails_its_run_alone() {
    let model = FnModel::new(|request| match request % 2 {
        0 => Ok(Reply::text("done").into()),
        _ => Err(ModelError::new(ModelErrorKind::InvalidRequest, "no such model")),
    });
    let suite =
        suite(json!({"name": "x", "runs": 6, "cases": [{"request": "go", "no_calls": true}]}));
    let report = report(Eval::new(suite, model).parallel(NonZeroUsize::MIN)).await;
    assert_eq!(kinds(&report).iter().filter(|kind| **kind == Some(FaultKind::Model)).count(), 3);
    assert_eq!(report.rate.passed, 3);
    let text = report.to_string();
    assert!(text.contains("3 × model: the model gave no reply: no such model"), "{text}");
}

/// Breaks.
#[tool]
fn breaks() -> String {
    panic!("out of order")
}

/// Never ends.
#[tool]
async fn hangs() -> String {
    std::future::pending().await
}

/// Blocks its thread.
#[tool]
#[allow(clippy::unused_async, reason = "a blocking function has a thread of its own")]
async fn blocks() -> String {
    std::thread::sleep(Duration::from_secs(6));
    "late".to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panics_and_hangs_of_tools_and_models_fail_their_runs_alone() {
    let one = |calls: &str| {
        let mut suite =
            suite(json!({"name": "x", "runs": 3, "cases": [{"request": "go", "no_calls": true}]}));
        if !calls.is_empty() {
            suite.cases[0].no_calls = false;
            let case =
                json!({"name": "x", "cases": [{"request": "go", "calls": [{"name": calls}]}]});
            suite.cases[0].calls = self::suite(case).cases[0].calls.clone();
        }
        suite
    };
    let calling = |name: &'static str| {
        let reply = move |request: &ModelRequest| match request.history.steps().next() {
            None => Ok(Reply::calls([toolbox::ToolCall::new("c", name, "{}")]).into()),
            Some(_) => Ok(Reply::text("done").into()),
        };
        shared(ScriptedModel::new().respond(reply).forever())
    };
    let panicking = shared(FnModel::new(|_| panic!("the model is out of order")));
    let (short, long) = (Duration::from_millis(300), crate::LIMIT);
    for (name, model, limit, expected) in [
        ("breaks", calling("breaks"), long, FaultKind::Panicked),
        ("hangs", calling("hangs"), short, FaultKind::TimedOut),
        ("", shared(Silent), short, FaultKind::TimedOut),
        ("", panicking, long, FaultKind::Model),
        ("blocks", calling("blocks"), short, FaultKind::TimedOut),
    ] {
        let eval = Eval::new(one(name), model)
            .toolbox(ToolBox::from(tools![breaks, hangs, blocks]))
            .time_limit(limit);
        let began = std::time::Instant::now();
        let report = report(eval).await;
        assert_eq!(kinds(&report), [Some(expected); 3], "{name} {report}");
        assert!(began.elapsed() < crate::LIMIT);
    }
}

#[tokio::test]
async fn a_judge_decides_by_its_rubric() {
    let suite = suite(json!({"name": "x", "cases": [
        {"request": "Say hello", "answer": {"judge": "It is a greeting.", "contains": "hello"}},
    ]}));
    let model = || ScriptedModel::answering("Hello there");
    let asked = |passes: bool| {
        let judgement = json!({"reason": "It greets.", "passes": passes}).to_string();
        ScriptedModel::new().calls("final_answer", judgement)
    };
    for (judge, expected) in [
        (asked(true), None),
        (asked(false), Some(FaultKind::JudgedWrong)),
        (ScriptedModel::answering("Hm."), Some(FaultKind::NoJudgement)),
        (
            ScriptedModel::new().error(ModelErrorKind::Unauthorized, "no key"),
            Some(FaultKind::NoJudgement),
        ),
    ] {
        let report = report(Eval::new(suite.clone(), model()).judge(judge.clone())).await;
        assert_eq!(kinds(&report), [expected], "{report}");
        let shown = judge.requests()[0].history.last_user_text().unwrap().into_owned();
        for part in ["Say hello", "Hello there", "It is a greeting."] {
            assert!(shown.contains(part), "{shown}");
        }
    }
    // An answer that fails without it is not judged.
    let judge = asked(true);
    report(Eval::new(suite.clone(), ScriptedModel::answering("Bye")).judge(judge.clone())).await;
    assert!(judge.requests().is_empty());
    let error = Eval::new(suite, model()).run().await.unwrap_err();
    assert!(matches!(error, EvalError::NoJudge), "{error}");
}

#[tokio::test]
async fn the_agent_of_each_run_can_be_changed() {
    let value = json!({"name": "x", "system": "Be brief.", "runs": 2, "cases": [{"request": "go", "no_calls": true}]});
    let model = ScriptedModel::answering("done");
    let eval = Eval::new(suite(value), model.clone())
        .toolbox(toolbox(&["a"]))
        .agent(|agent| agent.option("temperature", 0.5));
    report(eval).await.assert_passes(1.0);
    for request in model.requests() {
        assert_eq!(request.system.as_deref(), Some("Be brief."));
        assert_eq!(request.options["temperature"], 0.5);
    }
}
