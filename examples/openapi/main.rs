//! The operations of an HTTP API as tools: found by search, called with a key that no model sees.
//!
//! `cargo run -p toolbox-openapi-example --example openapi`

#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use axum::extract::{Path, Query};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolbox::search::{Gateway, SEARCH_WORDS};
use toolbox::{ToolBox, ToolCall};
use toolbox_openapi::{Credential, OpenApi};

const KEY: &str = "k-5f2c81d0";

fn description() -> Value {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}});
    let page = json!({"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}});
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "security": [{"key": []}],
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
        "paths": {
            "/pets": {"get": {"operationId": "listPets", "summary": "Lists the pets of the shop", "parameters": [page]}},
            "/pets/{id}": {
                "get": {"operationId": "getPet", "summary": "Returns one pet by its number", "parameters": [id]},
                "delete": {"operationId": "deletePet", "summary": "Removes a pet for good", "parameters": [id]},
            },
        },
    })
}

#[derive(Deserialize)]
struct Page {
    page: Option<u32>,
}

type Answer = (StatusCode, HeaderMap, Json<Value>);

/// Answers those who have the key.
fn answered(headers: &HeaderMap, link: Option<String>, body: Value) -> Answer {
    let mut own = HeaderMap::new();
    if headers.get("x-key").is_none_or(|key| key != KEY) {
        return (StatusCode::UNAUTHORIZED, own, Json(json!({"title": "The key is missing"})));
    }
    if let Some(link) = link.and_then(|link| link.parse().ok()) {
        own.insert("link", link);
    }
    let status = if body.is_null() { StatusCode::NOT_FOUND } else { StatusCode::OK };
    let problem = json!({"title": "No such pet", "detail": "The shop has the pets 1 to 4."});
    (status, own, Json(if body.is_null() { problem } else { body }))
}

async fn list(Query(wanted): Query<Page>, headers: HeaderMap) -> Answer {
    let page = wanted.page.unwrap_or(1);
    let pets = json!([{"id": 2 * page - 1}, {"id": 2 * page}]);
    answered(&headers, (page < 2).then(|| format!("</pets?page={}>; rel=\"next\"", page + 1)), pets)
}

async fn one(Path(id): Path<u32>, headers: HeaderMap) -> Answer {
    let pet = if id <= 4 { json!({"id": id, "name": format!("Pet {id}")}) } else { Value::Null };
    answered(&headers, None, pet)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/openapi.json", listener.local_addr()?);
    let app = Router::new()
        .route("/openapi.json", get(async || Json(description())))
        .route("/pets", get(list))
        .route("/pets/{id}", get(one).delete(one));
    tokio::spawn(async { axum::serve(listener, app).await });

    // The API is on this machine: that is allowed since its description is there too.
    let api = OpenApi::fetch(&url).await?.credential("key", Credential::key(KEY)).build()?;
    println!("{}", api.report());
    let toolbox = ToolBox::from(api);
    toolbox.register(Gateway::over(&toolbox));

    for (tool, arguments) in [
        (SEARCH_WORDS, json!({"text": "remove a pet", "limit": 1})),
        ("listPets", json!({})),
        ("listPets", json!({"page": 2})),
        ("getPet", json!({"id": 7})),
        ("getPet", json!({"id": "seven"})),
        ("deletePet", json!({"id": 1})),
    ] {
        println!("\n> {tool} {arguments}");
        let result = toolbox.call(ToolCall::new("1", tool, arguments.to_string())).await;
        println!("{}", result.text());
    }
    Ok(())
}
