//! The cost of runs: prices, limits of money, and sums by principal, model, agent and tool.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};

use toolbox::agent::{
    Agent, AgentBuilder, BuildAgentError, ContextRule, ModelCompactor, Paused, RunErrorKind,
    SharedBudget, StopReason, UsageLimits,
};
use toolbox::context::{Decision, Principal};
use toolbox::cost::{Cost, Money, Price, PriceTable, Prices};
use toolbox::event::{EventKind, Ledger};
use toolbox::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse, Usage};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, ToolContext};

use support::Seen;
use support::says;

/// A script whose every reply has this usage, under another name.
struct Metered(ScriptedModel, Usage, &'static str);

impl Model for Metered {
    fn name(&self) -> &str {
        self.2
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(
            async move { Ok(Model::respond(&self.0, request, deltas).await?.with_usage(self.1)) },
        )
    }
}

/// A model that calls `hello` until it is stopped: 100 tokens read and 10 written a request.
fn endless(name: &'static str) -> Metered {
    Metered(ScriptedModel::new().calls("hello", "{}").forever(), Usage::new(100, 10), name)
}

fn once(name: &'static str) -> Metered {
    let script = ScriptedModel::new().calls("hello", "{}").text("Done.").forever();
    Metered(script, Usage::new(100, 10), name)
}

/// A microdollar for a token read, and ten for one written: a request costs 200 microdollars.
fn price() -> Price {
    Price::per_million(Money::from_dollars(1), Money::from_dollars(10))
}

fn priced() -> PriceTable {
    PriceTable::new().model("custom", "priced*", price())
}

fn builder(model: Metered) -> AgentBuilder {
    Agent::builder(model).tools(says("hello", "hi")).repeat_limit(1000).max_iterations(1000)
}

fn micros(cost: Cost) -> u64 {
    assert!(cost.is_complete(), "{cost}");
    cost.money.picos() / 1_000_000
}

#[test]
fn each_kind_of_token_has_its_price_and_sums_are_exact() {
    let price = Price::per_million("0.3".parse().unwrap(), "2.5".parse().unwrap())
        .cache_read("0.03".parse().unwrap())
        .cache_write("0.375".parse().unwrap())
        .reasoning("1".parse().unwrap());
    let check = |input, read, written, output, reasoning, expected: &str| {
        let mut usage = Usage::new(input, output);
        usage.cache_read_input_tokens = read;
        usage.cache_creation_input_tokens = written;
        usage.reasoning_tokens = reasoning;
        assert_eq!(price.of(&usage).to_string(), expected);
    };
    check(0, 0, 0, 0, 0, "0");
    check(1, 0, 0, 0, 0, "0.0000003");
    check(1000, 400, 100, 0, 0, "0.0001995");
    check(0, 0, 0, 100, 40, "0.00019");
    // A service that counts more from the cache than were read.
    check(10, 20, 0, 0, 0, "0.0000006");
    check(u64::MAX, 0, 0, u64::MAX, 0, "18446744.073709551615");
    // A tenth of a dollar ten million times: floats would be off.
    let mut sum = Money::ZERO;
    (0..10_000_000).for_each(|_| sum += Money::from_cents(10));
    assert_eq!(sum, Money::from_dollars(1_000_000));
    for (picos, text, dollars) in
        [(0, "0", 0.0), (1, "0.000000000001", 1e-12), (2_500_000_000_000, "2.5", 2.5)]
    {
        let money = Money::from_picos(picos);
        assert_eq!((money.to_string().as_str(), money.picos()), (text, picos));
        assert!((money.as_dollars() - dollars).abs() < 1e-15, "{text}");
    }
}

#[test]
fn money_is_read_as_it_is_written() {
    for text in ["0", "0.05", "12", "0.000000000001", "18446744.073709551615"] {
        assert_eq!(text.parse::<Money>().unwrap().to_string(), text);
    }
    for text in
        ["", ".5", "5.", "-1", "+1", "1e3", " 1", "1,5", "0.0000000000001", "18446745", "NaN", "٣"]
    {
        assert!(text.parse::<Money>().is_err(), "{text}");
    }
}

#[tokio::test]
async fn a_run_stops_when_its_money_is_spent() {
    let seen = Seen::default();
    let agent = builder(endless("priced"))
        .prices(priced())
        .max_cost(Money::from_micros(900))
        .events(seen.sink())
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Cost, 5));
    assert_eq!(micros(outcome.cost), 1000);
    let costs = seen.events().into_iter().filter_map(|event| match event.kind {
        EventKind::ModelFinished { cost, .. } => Some(micros(Cost::new(cost.unwrap()))),
        EventKind::Finished { cost, reason, .. } => {
            assert_eq!(reason, StopReason::Cost);
            Some(micros(cost))
        }
        _ => None,
    });
    assert_eq!(costs.collect::<Vec<_>>(), [200, 200, 200, 200, 200, 1000]);
}

#[tokio::test]
async fn what_has_no_price_is_never_free() {
    let limit = Money::from_dollars(1);
    let no_price = |built: Result<Agent, BuildAgentError>| match built.unwrap_err() {
        BuildAgentError::NoPrice { provider, model } => {
            assert_eq!((&*provider, &*model), ("custom", "other"));
        }
        error => panic!("{error}"),
    };
    no_price(builder(once("other")).max_cost(limit).build());
    no_price(builder(once("other")).max_cost(limit).prices(priced()).build());
    let panics =
        |_: &str, _: &str, _: &Usage| -> Option<Money> { std::panic::panic_any("explicit panic") };
    support::quietly();
    no_price(builder(once("other")).max_cost(limit).prices(panics).build());
    // Without a limit a run goes on, and says what it does not know.
    let outcome = builder(once("other")).prices(priced()).build().unwrap().run("x").await.unwrap();
    assert_eq!((outcome.cost.money, outcome.cost.unpriced_tokens), (Money::ZERO, 220));
    // A default is the program's word.
    let prices = priced().default_price(price());
    let agent = builder(once("other")).max_cost(limit).prices(prices).build().unwrap();
    assert_eq!(micros(agent.run("x").await.unwrap().cost), 400);
    // Several runs share a limit: the first request of one without a price is not sent.
    let model = ScriptedModel::answering("never");
    let agent = Agent::builder(model.clone()).build().unwrap();
    let budget = SharedBudget::new(UsageLimits::new().max_cost(limit));
    let error = agent.run("x").in_context(ToolContext::new().with(budget)).await.unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::NoPrice { .. }), "{error}");
    assert_eq!((error.code(), model.requests().len()), ("run.no_price", 0));
}

#[tokio::test]
async fn agents_below_count_for_those_above_and_take_their_prices() {
    let boss = |below: Agent| {
        let script = ScriptedModel::new().calls("worker", r#"{"task":"t"}"#).text("ok").forever();
        Agent::builder(Metered(script, Usage::new(100, 10), "priced-boss"))
            .name("boss")
            .add_subagent(below.as_tool("worker", "Works"))
            .prices(priced())
    };
    let ledger = Ledger::new();
    let below = builder(once("priced-worker")).build().unwrap();
    let agent = boss(below).events(ledger.sink()).build().unwrap();
    let context = ToolContext::new().with(Principal::new("ada"));
    let outcome = agent.run("x").in_context(context).await.unwrap();
    assert_eq!(micros(outcome.cost), 800);
    let cost = |sums: std::collections::BTreeMap<String, toolbox::event::LedgerEntry>| {
        let lines = sums.iter().map(|(name, entry)| {
            format!(
                "{name}: {} for {} requests, {} calls",
                micros(entry.cost),
                entry.requests,
                entry.calls
            )
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(cost(ledger.by_principal()), ["ada: 800 for 4 requests, 2 calls"]);
    assert_eq!(
        cost(ledger.by_agent()),
        ["boss: 400 for 2 requests, 1 calls", "worker: 400 for 2 requests, 1 calls"]
    );
    assert_eq!(
        cost(ledger.by_tool()),
        ["hello: 0 for 0 requests, 1 calls", "worker: 400 for 2 requests, 1 calls"]
    );
    assert_eq!(cost(ledger.by_model()).len(), 2);
    // The limit of the run above ends the one below, and then itself.
    let below = builder(endless("priced-worker")).build().unwrap();
    let agent = boss(below).max_cost(Money::from_micros(700)).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!((outcome.reason, micros(outcome.cost)), (StopReason::Cost, 800));
    // One whose model has no price fails at its first request.
    let model = ScriptedModel::answering("never");
    let below = Agent::builder(model.clone()).build().unwrap();
    let agent = boss(below).max_cost(Money::from_dollars(1)).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!((outcome.reason, micros(outcome.cost)), (StopReason::Answered, 400));
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test]
async fn several_runs_share_a_limit_of_money() {
    let budget = SharedBudget::new(UsageLimits::new().max_cost(Money::from_micros(600)));
    let agent =
        builder(once("priced")).prices(priced()).shared_budget(budget.clone()).build().unwrap();
    let mut reasons = Vec::new();
    for _ in 0..3 {
        reasons.push(agent.run("x").await.unwrap().reason);
    }
    assert_eq!(reasons, [StopReason::Answered, StopReason::Answered, StopReason::Cost]);
    assert!(budget.is_spent());
    assert_eq!(micros(budget.cost()), 600);
}

#[tokio::test]
async fn a_summary_costs_by_its_own_model_and_a_pause_keeps_what_was_spent() {
    // 5 a million for the model of summaries alone.
    let asked = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&asked);
    let prices = move |_: &str, model: &str, usage: &Usage| {
        names.lock().unwrap().push(model.to_owned());
        priced().price("custom", if model == "small" { "priced" } else { model }, usage)
    };
    let small = Metered(ScriptedModel::answering("So far: nothing."), Usage::new(500, 0), "small");
    let script = ScriptedModel::new().calls("long", "{}").calls("long", "{}").text("Done.");
    let long = toolbox::Tool::new("long", "d").call(|_| "some words ".repeat(800));
    let seen = Seen::default();
    let agent = Agent::builder(Metered(script, Usage::new(100, 10), "priced"))
        .tools(long)
        .max_context_tokens(2500)
        .context_rules([ContextRule::summarize_oldest(ModelCompactor::new(small))])
        .prices(prices)
        .events(seen.sink())
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(micros(outcome.cost), 3 * 200 + 500, "{:?}", seen.words());
    assert!(asked.lock().unwrap().iter().any(|name| name == "small"));

    let tools = says("pay", "paid").needs_approval();
    let script = ScriptedModel::new().calls("pay", "{}").text("ok");
    let agent = Agent::builder(Metered(script, Usage::new(100, 10), "priced"))
        .tools(tools)
        .prices(priced())
        .max_cost(Money::from_dollars(1))
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(micros(outcome.cost), 200);
    let text = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    let outcome = agent.resume(paused, [("call_1", Decision::Approve)]).await.unwrap();
    assert_eq!((outcome.reason, micros(outcome.cost)), (StopReason::Answered, 400));
}

#[test]
fn the_kept_prices_know_models_by_the_names_of_their_services() {
    use toolbox::prices::GenaiPrices;
    let usage = Usage::new(1_000_000, 0);
    for (provider, model) in [
        ("openai", "gpt-4o-2024-08-06"),
        ("anthropic", "claude-sonnet-4-5"),
        ("gcp.gemini", "gemini-2.5-flash"),
    ] {
        let price = GenaiPrices.price(provider, model, &usage);
        assert!(price.is_some_and(|price| price > Money::ZERO), "{model}: {price:?}");
        let mut cached = usage;
        cached.cache_read_input_tokens = 1_000_000;
        assert!(GenaiPrices.price(provider, model, &cached) < price, "{model}");
    }
    let half = GenaiPrices.price("openai", "gpt-4o-2024-08-06", &usage).unwrap();
    assert_eq!(half, Money::from_cents(250));
    for (provider, model) in [("custom", "gpt-4o"), ("openai", "gpt-nine"), ("", "")] {
        assert_eq!(GenaiPrices.price(provider, model, &usage), None, "{provider} {model}");
    }
    // A service that counts more from the cache than were read.
    let mut odd = Usage::new(1, 0);
    odd.cache_read_input_tokens = 100;
    assert!(GenaiPrices.price("openai", "gpt-4o-2024-08-06", &odd).is_some());
}
