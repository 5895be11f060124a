//! Requests to a model on this machine, over a server with the chat completions of `OpenAI`; run
//! by `.ci/local_model`.

#![allow(clippy::print_stdout, reason = "the counts are the result of the run")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use toolbox::model::{
    Deltas, Finish, Model, ModelError, ModelRequest, ModelResponse, Reply, ToolChoice,
};
use toolbox::provider::OpenAi;
use toolbox::{BoxFuture, Tool, ToolBox};
use toolbox_eval::{Eval, FaultKind, RunReport, Suite};

const SAMPLE: &str = include_str!("../../crates/toolbox-eval/samples/requests.yaml");

/// The tools that a request offers.
const OFFERED: usize = 3;

/// The time that one run may take.
const RUN: Duration = Duration::from_secs(240);

/// The calls that a model made, by name.
type Calls = Arc<Mutex<BTreeMap<String, usize>>>;

/// A model whose replies are counted by kind.
#[derive(Clone)]
struct Counted {
    inner: Arc<OpenAi>,
    requests: Arc<AtomicUsize>,
    kinds: Arc<Mutex<BTreeMap<String, usize>>>,
    made: Calls,
}

impl Counted {
    fn count(&self, kind: &str) {
        *self.kinds.lock().unwrap().entry(kind.to_owned()).or_default() += 1;
    }

    fn look(&self, reply: &Reply) {
        for call in reply.tool_calls() {
            *self.made.lock().unwrap().entry(call.name.clone()).or_default() += 1;
        }
        self.count(match reply {
            reply if reply.finish == Finish::Length => "reply: cut off",
            reply if reply.tool_calls().next().is_some() => "reply: calls",
            reply if reply.is_empty() => "reply: empty",
            _ => "reply: text without a call",
        });
    }
}

impl Model for Counted {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            self.requests.fetch_add(1, Ordering::SeqCst);
            let response = self.inner.respond(request, deltas).await;
            match &response {
                Ok(response) => self.look(&response.reply),
                Err(error) => self.count(&format!("reply: {}", error.kind().code())),
            }
            response
        })
    }
}

/// Returns a tool that counts its runs: calls whose arguments are refused do not run.
fn counting(tool: Tool, ran: &Calls) -> Tool {
    let (name, ran) = (tool.name().to_owned(), Arc::clone(ran));
    tool.layer(move |next| {
        let (name, ran) = (name.clone(), Arc::clone(&ran));
        async move {
            let result = next.run().await;
            if !result.is_error() {
                *ran.lock().unwrap().entry(name).or_default() += 1;
            }
            result
        }
    })
}

/// Returns a suite of one case, with its tools and the next ones behind them.
fn of_case(suite: &Suite, at: usize) -> Suite {
    let mut own = suite.clone();
    own.cases = vec![suite.cases[at].clone()];
    let needed = |name: &str| own.cases[0].calls.iter().any(|call| call.name == name);
    let (mut tools, others): (Vec<_>, Vec<_>) =
        suite.tools.iter().cloned().partition(|tool| needed(&tool.name));
    tools.extend(others.into_iter().cycle().skip(at).take(OFFERED - tools.len()));
    own.tools = tools;
    own
}

/// Counts the calls of a run by what became of them.
fn look(run: &RunReport, model: &Counted) {
    for call in &run.calls {
        let kind = match &call.code {
            Some(code) => format!("call: {code}"),
            None if call.repairs.is_empty() => "call: fits".to_owned(),
            None => "call: repaired".to_owned(),
        };
        model.count(&kind);
    }
    for fault in &run.faults {
        model.count(&format!("run: {}", fault.kind.code()));
        assert_ne!(fault.kind, FaultKind::Panicked, "{fault}");
    }
    if run.passed() {
        model.count("run: passed");
    }
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a local model"]
async fn a_real_model_panics_nothing_and_runs_no_call_that_it_did_not_make() {
    let url = std::env::var("LOCAL_MODEL_URL").expect("LOCAL_MODEL_URL is the URL of a server");
    let requests = number("LOCAL_MODEL_REQUESTS", 500);
    let until = Duration::from_secs(60 * number("LOCAL_MODEL_MINUTES", 10) as u64);
    let model = Counted {
        inner: Arc::new(OpenAi::new("", "local").base_url(url).timeout(RUN)),
        requests: Arc::default(),
        kinds: Arc::default(),
        made: Arc::default(),
    };
    let ran = Calls::default();
    let suite = Suite::parse(SAMPLE).unwrap();
    let (began, mut at) = (Instant::now(), 0);
    while model.requests.load(Ordering::SeqCst) < requests && began.elapsed() < until {
        let own = of_case(&suite, at % suite.cases.len());
        let tools = own.toolbox().unwrap().tools();
        let tools: Vec<Tool> = tools.into_iter().map(|tool| counting(tool, &ran)).collect();
        // By itself such a small model calls hardly ever.
        let choice = if at % 8 == 0 { ToolChoice::Auto } else { ToolChoice::Required };
        let eval = Eval::new(own, model.clone()).toolbox(ToolBox::from(tools)).time_limit(RUN);
        let eval = eval.agent(move |agent| {
            let agent = agent.tool_choice(choice.clone()).max_iterations(2);
            agent.option("max_tokens", 120).option("temperature", 0.8)
        });
        let ended = tokio::time::timeout(2 * RUN, eval.run()).await;
        let report = ended.expect("no run hangs").unwrap();
        look(&report.cases[0].runs[0], &model);
        at += 1;
    }
    let (made, ran) = (model.made.lock().unwrap(), ran.lock().unwrap());
    for (name, count) in ran.iter() {
        assert!(made.get(name).is_some_and(|made| made >= count), "{name} ran {count} times");
    }
    let sum = |calls: &BTreeMap<String, usize>| calls.values().sum::<usize>();
    let asked = model.requests.load(Ordering::SeqCst);
    println!(
        "{asked} requests in {at} runs and {} s; {} calls made, {} ran",
        began.elapsed().as_secs(),
        sum(&made),
        sum(&ran)
    );
    for (kind, count) in model.kinds.lock().unwrap().iter() {
        println!("{count:5}  {kind}");
    }
    assert!(asked > 0 && sum(&ran) > 0, "the model made calls, and some of them ran");
}
