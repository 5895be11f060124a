//! Evals of tools: suites, matchers, runs, figures, reports, comparisons, the program.

#![allow(clippy::needless_pass_by_value, reason = "the cases are data")]

mod comparisons;
mod expectations;
mod figures;
mod local_model;
mod program;
mod reports;
mod runs;
mod suites;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
pub(crate) use support::bounded;
use toolbox::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, Tool, ToolBox, ToolCall};
use toolbox_eval::{Eval, Report, Suite};

support::programs!("evals-programs");

/// The most that an eval of a test may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn suite(value: Value) -> Suite {
    Suite::parse(&value.to_string()).unwrap()
}

/// Runs an eval within the time of a test.
pub(crate) async fn report(eval: Eval) -> Report {
    tokio::time::timeout(LIMIT, eval.run()).await.expect("the eval ends").unwrap()
}

/// A model that makes given calls, and then answers.
pub(crate) fn calling(calls: &[(&str, Value)], answer: &str) -> ScriptedModel {
    let model = calls.iter().fold(ScriptedModel::new(), |model, (name, arguments)| {
        model.calls(*name, arguments.to_string())
    });
    model.text(answer).forever()
}

/// Tools that take any arguments.
pub(crate) fn toolbox(names: &[&str]) -> ToolBox {
    let of = |name: &&str| {
        Tool::raw(
            *name,
            format!("Does {name}"),
            json!({"type": "object"}),
            |_: toolbox::call::Arguments| "done",
        )
    };
    ToolBox::from(names.iter().map(of).collect::<Vec<_>>())
}

/// A model that calls the tool whose name and description share most words with the request, and
/// then answers: a worse description changes what it calls.
pub(crate) struct WordModel;

impl Model for WordModel {
    fn name(&self) -> &'static str {
        "words"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            if request.history.steps().next().is_some() {
                return Ok(Reply::text("It is done.").into());
            }
            let asked = words(&request.history.last_user_text().unwrap_or_default());
            let shared =
                |text: &str| words(text).iter().filter(|word| asked.contains(word)).count();
            let tools = request.tools.iter();
            let scored =
                tools.map(|tool| (shared(&format!("{} {}", tool.name, tool.description)), tool));
            let best = scored.rev().max_by_key(|(score, _)| *score).filter(|(score, _)| *score > 0);
            Ok(match best {
                Some((_, tool)) => Reply::calls([ToolCall::new("c1", &*tool.name, "{}")]).into(),
                None => Reply::text("No tool helps here.").into(),
            })
        })
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    words.map(str::to_lowercase).collect()
}

pub(crate) fn shared(model: impl Model) -> Arc<dyn Model> {
    Arc::new(model)
}
