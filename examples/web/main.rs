//! An agent behind two front ends: AG-UI at `/ag-ui`, `useChat` of the AI SDK at `/api/chat`, and a
//! page without a build step at `/`.
//!
//! `cargo run -p toolbox-web-example --example web`
//!
//! A script plays the model, so that no key is needed: it pays, asks, looks up the weather or has
//! the page change its colour where the message says so.

#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderName, StatusCode};
use axum::response::{AppendHeaders, Html, IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use toolbox::agent::Agent;
use toolbox::context::AskError;
use toolbox::model::{Message, Model, ModelRequest, Part, Reply, Step};
use toolbox::testing::ScriptedModel;
use toolbox::{ToolCall, ToolContext, tool, tools};
use toolbox_web::{FrontEnd, WebAgent};

/// Returns the weather of a city.
#[tool]
fn weather(city: &str) -> Result<String, String> {
    match city {
        "Atlantis" => Err("there is no such city".to_owned()),
        city => Ok(format!("{{\"city\":\"{city}\",\"degrees\":21}}")),
    }
}

/// Pays an amount, once a person approves.
#[tool(approval)]
fn pay(cents: u64) -> String {
    format!("paid {cents} cents")
}

/// Books a table, for as many as the person says.
#[tool]
async fn book(context: &ToolContext) -> Result<String, AskError> {
    let guests: u8 = context.ask("For how many?").await?;
    Ok(format!("a table for {guests}"))
}

/// Plays the model: makes the calls that the message of the user names, and then says how they
/// ended.
fn reply(request: &ModelRequest) -> Reply {
    let said = request.history.last_user_text().unwrap_or_default();
    let is_new = matches!(request.history.messages().last(), Some(Message::User(_)));
    let results = request.history.steps().next_back().filter(|_| !is_new);
    let calls = [
        ("weather", r#"{"city":"Paris"}"#),
        ("Atlantis", r#"{"city":"Atlantis"}"#),
        ("pay", r#"{"cents":500}"#),
        ("book", "{}"),
        ("colour", r#"{"colour":"teal"}"#),
    ];
    let wanted = calls.iter().filter(|(word, _)| is_new && said.contains(word));
    let calls: Vec<_> = wanted
        .enumerate()
        .map(|(at, (word, arguments))| {
            let tool = match *word {
                "Atlantis" => "weather",
                // Not one of the server's: the page offers it, and makes its calls.
                "colour" => "set_colour",
                word => word,
            };
            Part::call(ToolCall::new(format!("call_{at}"), tool, *arguments))
        })
        .collect();
    if calls.is_empty() {
        let results = results.into_iter().flat_map(Step::results);
        let texts: Vec<_> = results.map(|result| result.text().into_owned()).collect();
        let answer = if texts.is_empty() { format!("You said: {said}") } else { texts.join("\n") };
        return Reply::text(answer);
    }
    let thought = Part::Reasoning { text: "The tools know.".to_owned(), echo: None };
    Reply::new([thought, Part::text("One moment.")].into_iter().chain(calls).collect())
}

fn model() -> impl Model {
    ScriptedModel::new().respond(|request| Ok(reply(request).into())).forever()
}

fn answer(web: &WebAgent, front_end: FrontEnd, body: &Bytes) -> Response {
    // A server that knows its users gives the context a `Principal`.
    match web.answer(front_end, body, ToolContext::new()) {
        Ok(frames) => {
            let headers = front_end.headers().iter();
            let headers = headers.map(|(name, value)| (HeaderName::from_static(name), *value));
            (AppendHeaders(headers.collect::<Vec<_>>()), Body::from_stream(frames)).into_response()
        }
        Err(error) => {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
            (status, error.to_string()).into_response()
        }
    }
}

async fn ag_ui(State(web): State<WebAgent>, body: Bytes) -> Response {
    answer(&web, FrontEnd::AgUi, &body)
}

async fn chat(State(web): State<WebAgent>, body: Bytes) -> Response {
    answer(&web, FrontEnd::AiSdk, &body)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = Agent::builder(model()).tools(tools![weather, pay, book]).build()?;
    let app = Router::new()
        .route("/", get(|| async { Html(include_str!("page.html")) }))
        .route("/ag-ui", post(ag_ui))
        .route("/api/chat", post(chat))
        .layer(DefaultBodyLimit::max(4 << 20))
        .with_state(WebAgent::new(agent).front_end_tools(4));
    let port = std::env::args().nth(1).unwrap_or_else(|| "3000".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
