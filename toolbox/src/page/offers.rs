//! Prompts and resources: lists, calls, completion, and the resources whose changes are wanted.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::inner::{PageInner, PageState};
use super::reply::{json_of, refused};
use crate::call::ToolError;
use crate::collection::{ToolBox, WantedUri};
use crate::context::ToolContext;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::text::cut;

/// The most bytes of a description in the list.
const MAX_DESCRIPTION: usize = 4096;

/// The most resources whose changes the page follows.
const MAX_WANTED: usize = 256;

/// The time for values that complete an argument.
const COMPLETION_TIME: std::time::Duration = std::time::Duration::from_secs(10);

/// Returns the counts of prompts and resources, and the generations of their lists.
pub(super) fn counts(toolbox: &ToolBox) -> Value {
    let (prompts, resources) = (toolbox.own_prompts(), toolbox.own_resources());
    json!({
        "prompts": prompts.as_ref().map_or(0, crate::collection::Prompts::len),
        "resources": resources.as_ref().map_or(0, crate::collection::Resources::len),
        "generations": [
            prompts.map_or(0, |own| own.generation()),
            resources.map_or(0, |own| own.generation()),
        ],
    })
}

/// Returns the lists of prompts and resources.
pub(super) async fn list(State(page): PageState) -> Response {
    let toolbox = &page.options.toolbox;
    let prompts = toolbox.own_prompts().map(|own| own.list()).unwrap_or_default();
    let resources = toolbox.own_resources().map(|own| own.list()).unwrap_or_default();
    let wanted: Vec<String> = page.wanted.lock().keys().cloned().collect();
    json_of(&json!({
        "prompts": prompts.iter().map(listed_prompt).collect::<Vec<_>>(),
        "resources": resources.iter().map(listed_resource).collect::<Vec<_>>(),
        "subscribed": wanted,
    }))
}

fn listed_prompt(prompt: &Prompt) -> Value {
    json!({
        "name": prompt.name(),
        "title": prompt.title(),
        "server": prompt.source(),
        "description": cut(prompt.description(), MAX_DESCRIPTION),
        "arguments": prompt.arguments(),
        "completes": prompt.completes(),
    })
}

fn listed_resource(resource: &Resource) -> Value {
    json!({
        "uri": resource.uri(),
        "is_template": resource.is_template(),
        "variables": resource.variables().collect::<Vec<_>>(),
        "name": resource.name(),
        "title": resource.title(),
        "server": resource.source(),
        "description": cut(resource.description(), MAX_DESCRIPTION),
        "mime_type": resource.mime_type(),
        "size": resource.size(),
        "completes": resource.completers().is_some_and(|own| !own.is_empty()),
    })
}

/// Gets a prompt.
pub(super) async fn prompt(
    toolbox: &ToolBox,
    context: &ToolContext,
    name: &str,
    arguments: &str,
) -> Value {
    let Some(prompts) = toolbox.own_prompts() else { return none("prompts") };
    match prompts.get_in(context, name, arguments).await {
        Ok(rendered) => json!({
            "description": rendered.description,
            "messages": rendered.messages,
        }),
        Err(error) => failed(&error),
    }
}

/// Reads a resource.
pub(super) async fn resource(toolbox: &ToolBox, context: &ToolContext, uri: &str) -> Value {
    let Some(resources) = toolbox.own_resources() else { return none("resources") };
    match resources.read_in(context, uri).await {
        Ok(contents) => json!({ "contents": contents }),
        Err(error) => failed(&error),
    }
}

fn none(what: &str) -> Value {
    json!({ "error": format!("there are no {what}") })
}

fn failed(error: &ToolError) -> Value {
    json!({ "error": error.to_string() })
}

/// A request for values that complete an argument.
#[derive(Deserialize)]
pub(super) struct WantedCompletion {
    kind: CompletedKind,
    /// The name of the prompt, or the text of the template.
    name: String,
    argument: String,
    value: String,
    #[serde(default)]
    given: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CompletedKind {
    Prompt,
    Resource,
}

/// Returns values that complete an argument.
pub(super) async fn complete(
    State(page): PageState,
    Json(wanted): Json<WantedCompletion>,
) -> Response {
    let WantedCompletion { kind, name, argument, value, given } = wanted;
    let (toolbox, context) = (&page.options.toolbox, ToolContext::new());
    let completion = async {
        match kind {
            CompletedKind::Prompt => match toolbox.own_prompts() {
                Some(own) => own.complete(&context, &name, &argument, &value, given).await,
                None => Ok(Vec::new().into()),
            },
            CompletedKind::Resource => match toolbox.own_resources() {
                Some(own) => own.complete(&context, &name, &argument, &value, given).await,
                None => Ok(Vec::new().into()),
            },
        }
    };
    match tokio::time::timeout(COMPLETION_TIME, completion).await {
        Ok(Ok(suggestions)) => json_of(&suggestions),
        Ok(Err(error)) => refused(StatusCode::BAD_REQUEST, error.to_string()),
        Err(_) => refused(StatusCode::GATEWAY_TIMEOUT, "no values came within 10 seconds"),
    }
}

/// A resource whose changes are wanted, or no longer.
#[derive(Deserialize)]
pub(super) struct WantedChanges {
    uri: String,
    wanted: bool,
}

/// Subscribes to the changes of a resource, for all pages, or ends that.
pub(super) async fn subscribe(
    State(page): PageState,
    Json(wanted): Json<WantedChanges>,
) -> Response {
    let WantedChanges { uri, wanted } = wanted;
    if !wanted {
        page.wanted.lock().remove(&uri);
        return json_of(&json!({}));
    }
    let resources = page.options.toolbox.own_resources();
    let found = resources.filter(|own| own.find(&uri).is_some() && !own.forbids(&uri));
    let Some(resources) = found else {
        return refused(StatusCode::NOT_FOUND, "there is no such resource");
    };
    let mut all = page.wanted.lock();
    if all.len() >= MAX_WANTED && !all.contains_key(&uri) {
        return refused(StatusCode::CONFLICT, "too many resources are followed: end one first");
    }
    all.entry(uri).or_insert_with_key(|uri| resources.want(uri));
    json_of(&json!({}))
}

/// The resources whose changes are wanted.
pub(super) type WantedResources = BTreeMap<String, WantedUri>;

/// Returns the URIs of resources that change.
pub(super) fn updates(page: &PageInner) -> Option<ResourceUpdates> {
    Some(page.options.toolbox.own_resources()?.updates())
}

pub(super) type ResourceUpdates = tokio::sync::broadcast::Receiver<Arc<str>>;
