//! Models that fall back on others, and models that see the context of the run.

use std::sync::Mutex;
use std::time::Duration;

use toolbox::agent::{Agent, EventKind, RunErrorKind};
use toolbox::context::{Conversation, Principal};
use toolbox::model::{
    Delta, Deltas, Fallback, History, Model, ModelError, ModelErrorKind, ModelRequest,
    ModelResponse, Reply,
};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, ToolBox, ToolContext};

use super::Log;
use crate::bounded::tokio;
use support::says;

fn failing(kind: ModelErrorKind) -> ScriptedModel {
    ScriptedModel::new().error(kind, "it failed").forever().named("first")
}

#[tokio::test]
async fn the_next_model_is_asked_for_faults_of_the_service_alone() {
    use ModelErrorKind as Kind;
    let cases = [
        (Kind::Connection, true),
        (Kind::TimedOut, true),
        (Kind::RateLimited, true),
        (Kind::Unavailable, true),
        (Kind::InvalidResponse, true),
        (Kind::Unauthorized, false),
        (Kind::InvalidRequest, false),
        (Kind::ContextTooLong, false),
        (Kind::Other, false),
    ];
    for (kind, falls_back) in cases {
        for decided in [None, Some(true), Some(false)] {
            let second = ScriptedModel::answering("of the second").named("second");
            let mut model = Fallback::new(failing(kind)).or(second.clone());
            if let Some(decided) = decided {
                model = model.fallback_on(move |_| decided);
            }
            let request = ModelRequest::new(History::from("x"));
            let response = model.respond(&request, Deltas::none());
            let is_asked = decided.unwrap_or(falls_back);
            match response.await {
                Ok(response) => assert_eq!(response.model.as_deref(), Some("second")),
                Err(error) => {
                    assert_eq!((error.kind(), error.to_string().as_str()), (kind, "it failed"));
                }
            }
            assert_eq!(second.requests().len(), usize::from(is_asked), "{kind:?} {decided:?}");
        }
    }
}

#[tokio::test]
async fn an_error_of_all_names_each_and_has_the_kind_of_the_last() {
    let last = ModelError::new(ModelErrorKind::RateLimited, "slow down")
        .with_retry_after(Duration::from_secs(7));
    let second = ScriptedModel::new().respond(move |_| Err(last.clone())).named("second");
    let agent = Agent::builder(Fallback::new(failing(ModelErrorKind::Unavailable)).or(second));
    let error = agent.build().unwrap().run("x").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model gave no reply: each model that was asked failed: first: it failed; second: slow down"
    );
    let RunErrorKind::Model(error) = error.kind else { panic!() };
    assert_eq!(error.kind(), ModelErrorKind::RateLimited);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
}

/// A model that writes a piece, and then fails.
struct Breaks;

impl Model for Breaks {
    fn name(&self) -> &'static str {
        "breaks"
    }

    fn respond<'a>(
        &'a self,
        _request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        deltas.send(Delta::Text("It ra".to_owned()));
        Box::pin(async { Err(ModelError::new(ModelErrorKind::Connection, "reset")) })
    }
}

#[tokio::test]
async fn a_stream_that_had_begun_is_not_asked_for_elsewhere() {
    for listens in [true, false] {
        let second = ScriptedModel::answering("It rains.");
        let agent = Agent::builder(Fallback::new(Breaks).or(second.clone())).build().unwrap();
        let log = Log::default();
        let run = agent.run("x");
        let run = if listens { run.on_event(log.listener()) } else { run };
        let end = run.await;
        assert_eq!((end.is_err(), second.requests().len()), (listens, usize::from(!listens)));
        let texts: Vec<_> = log
            .events()
            .into_iter()
            .filter_map(|event| match event.kind {
                EventKind::Delta(Delta::Text(text)) => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(texts.concat(), if listens { "It ra" } else { "" });
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_again_and_again_is_asked_last_for_a_while() {
    let first = failing(ModelErrorKind::Unavailable);
    let second = ScriptedModel::answering("ok").named("second");
    let model = Fallback::new(first.clone()).or(second).circuit_breaker(2, Duration::from_secs(30));
    let request = ModelRequest::new(History::from("x"));
    let ask = || async { model.respond(&request, Deltas::none()).await.unwrap() };
    let mut asked = Vec::new();
    for wait in [0, 0, 0, 29, 1, 0, 30, 30] {
        ::tokio::time::advance(Duration::from_secs(wait)).await;
        ask().await;
        asked.push(first.requests().len());
    }
    // Two failures open the circuit; after thirty seconds one request tries again.
    assert_eq!(asked, [1, 2, 2, 2, 3, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_closes_the_circuit_and_a_model_at_rest_is_still_the_last_resort() {
    let flaky = ScriptedModel::new()
        .error(ModelErrorKind::Unavailable, "one")
        .text("well again")
        .error(ModelErrorKind::Unavailable, "two")
        .text("and again")
        .named("flaky");
    let down = ScriptedModel::new()
        .text("once")
        .text("twice")
        .error(ModelErrorKind::Connection, "gone")
        .forever()
        .named("down");
    let model =
        Fallback::new(flaky.clone()).or(down.clone()).circuit_breaker(1, Duration::from_secs(30));
    let request = ModelRequest::new(History::from("x"));
    let mut replies = Vec::new();
    for wait in [0, 31, 0, 0] {
        ::tokio::time::advance(Duration::from_secs(wait)).await;
        replies.push(
            model.respond(&request, Deltas::none()).await.unwrap().reply.content().into_owned(),
        );
    }
    // The last one: `flaky` rests, `down` is asked first and fails, and `flaky` replies.
    assert_eq!(replies, ["once", "well again", "twice", "and again"]);
    assert_eq!(down.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_service_asks_for_keeps_the_circuit_open() {
    let error = ModelError::new(ModelErrorKind::RateLimited, "later")
        .with_retry_after(Duration::from_secs(300));
    let first = ScriptedModel::new().respond(move |_| Err(error.clone())).forever();
    let model = Fallback::new(first.clone())
        .or(ScriptedModel::answering("ok"))
        .circuit_breaker(1, Duration::from_secs(30));
    let request = ModelRequest::new(History::from("x"));
    let mut asked = Vec::new();
    for wait in [0, 299, 1] {
        ::tokio::time::advance(Duration::from_secs(wait)).await;
        model.respond(&request, Deltas::none()).await.unwrap();
        asked.push(first.requests().len());
    }
    assert_eq!(asked, [1, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn one_request_tries_a_model_again_and_those_beside_it_do_not_wait() {
    let first = ScriptedModel::new()
        .error(ModelErrorKind::Unavailable, "down")
        .text("well again")
        .after(Duration::from_secs(10))
        .text("still well");
    let model = Fallback::new(first.clone())
        .or(ScriptedModel::answering("of the second"))
        .circuit_breaker(1, Duration::from_secs(30));
    let request = ModelRequest::new(History::from("x"));
    let ask = || async {
        let response = model.respond(&request, Deltas::none()).await.unwrap();
        response.reply.content().into_owned()
    };
    assert_eq!(ask().await, "of the second");
    ::tokio::time::advance(Duration::from_secs(30)).await;
    let together = ::tokio::join!(ask(), ask(), ask());
    let second = || "of the second".to_owned();
    assert_eq!(together, ("well again".to_owned(), second(), second()));
    assert_eq!(ask().await, "still well");
}

/// Keeps what it sees of the context.
struct Seeing<M>(M, Mutex<Vec<String>>);

impl<M: Model> Model for Seeing<M> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        let context = &request.context;
        let place = context.get::<Conversation>().map_or("", |place| place.chat_id.as_str());
        let of_box = context.state::<u32>().map_or(0, |state| *state);
        let of_agent = context.state::<u64>().map_or(0, |state| *state);
        let user = Principal::of(context);
        let line = format!("{} {place} {of_box} {of_agent} {}", user.as_str(), context.depth());
        self.1.lock().unwrap().push(line);
        self.0.respond(request, deltas)
    }
}

#[tokio::test]
async fn a_model_behind_others_sees_the_context_of_the_run() {
    let model = ScriptedModel::new().calls("a", "{}").text("done");
    let seeing = std::sync::Arc::new(Seeing(model, Mutex::default()));
    let behind =
        Fallback::new(failing(ModelErrorKind::Unavailable)).or(std::sync::Arc::clone(&seeing));
    let toolbox = ToolBox::builder().tools(says("a", "1")).state(3_u32).build().unwrap();
    let agent = Agent::builder(behind).toolbox(toolbox).state(4_u64).build().unwrap();
    let context =
        ToolContext::new().with(Principal::new("ada")).with(Conversation::new("cli", "7"));
    agent.run("x").in_context(context).await.unwrap();
    assert_eq!(*seeing.1.lock().unwrap(), ["ada 7 3 4 1", "ada 7 3 4 1"]);
}

#[tokio::test]
async fn a_model_cannot_leave_a_call_waiting_in_the_run() {
    // A call that needs approval, made with the context by the model itself, is refused.
    let pays = says("pay", "paid").needs_approval();
    let toolbox = ToolBox::from(pays);
    let own = toolbox.clone();
    let model = ScriptedModel::new().respond(move |request| {
        let call = own.call_in(&request.context, toolbox::ToolCall::new("c", "pay", "{}"));
        let result = support::now(call);
        Ok(Reply::text(result.code().unwrap_or("ran")).into())
    });
    let outcome = Agent::builder(model).toolbox(toolbox).build().unwrap().run("x").await.unwrap();
    assert_eq!(outcome.content, "tool.not_approved");
}
