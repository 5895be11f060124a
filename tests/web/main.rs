//! Agents behind web front ends: events of scripted models as frames, requests as data.

mod answers;
mod hostile;
mod offered;
mod requests;
mod waiting;

use serde_json::{Value, json};
pub(crate) use support::bounded;
use toolbox::agent::{Agent, AgentBuilder};
use toolbox::testing::ScriptedModel;
use toolbox::{ToolBox, ToolContext};
use toolbox_web::{Frames, FrontEnd, RequestError, WebAgent};

/// Both front ends.
pub(crate) const BOTH: [FrontEnd; 2] = [FrontEnd::AgUi, FrontEnd::AiSdk];

pub(crate) fn built(model: &ScriptedModel, toolbox: ToolBox) -> AgentBuilder {
    Agent::builder(model.clone()).toolbox(toolbox)
}

pub(crate) fn web(model: &ScriptedModel, toolbox: ToolBox) -> WebAgent {
    WebAgent::new(built(model, toolbox).build().unwrap())
}

/// Returns a message of the user in the form of a front end.
pub(crate) fn says(front_end: FrontEnd, text: &str) -> Value {
    match front_end {
        FrontEnd::AgUi => json!({"id": "m", "role": "user", "content": text}),
        _ => json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]}),
    }
}

/// Returns the body of a request with these messages, in the thread `t`.
pub(crate) fn body(front_end: FrontEnd, messages: &[Value]) -> Value {
    match front_end {
        FrontEnd::AgUi => json!({
            "threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": [],
        }),
        _ => json!({"id": "t", "messages": messages, "trigger": "submit-message"}),
    }
}

pub(crate) fn ask(
    web: &WebAgent,
    front_end: FrontEnd,
    body: &Value,
) -> Result<Frames, RequestError> {
    web.answer(front_end, body.to_string().as_bytes(), ToolContext::new())
}

/// Returns the documents of all frames; the end of a UI message stream is the text `[DONE]`.
pub(crate) async fn documents(mut frames: Frames) -> Vec<Value> {
    let mut documents = Vec::new();
    while let Some(frame) = frames.next().await {
        let data = frame.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n"));
        let data = data.unwrap_or_else(|| panic!("{frame:?}"));
        assert!(!data.contains(['\n', '\r', '\0']), "{data:?}");
        documents.push(serde_json::from_str(data).unwrap_or_else(|_| json!(data)));
    }
    documents
}

/// Returns the answer to one message.
pub(crate) async fn answer(web: &WebAgent, front_end: FrontEnd, text: &str) -> Vec<Value> {
    let body = body(front_end, &[says(front_end, text)]);
    documents(ask(web, front_end, &body).unwrap()).await
}

/// Returns the types of documents, each once where it repeats.
pub(crate) fn types(documents: &[Value]) -> Vec<String> {
    let mut types: Vec<String> = documents
        .iter()
        .map(|own| own["type"].as_str().or(own.as_str()).unwrap_or("?").to_owned())
        .collect();
    types.dedup();
    types
}

/// Returns what the pieces `kind` add up to.
pub(crate) fn joined(documents: &[Value], kind: &str) -> String {
    let own = documents.iter().filter(|document| document["type"] == kind);
    own.filter_map(|own| own["delta"].as_str().or(own["inputTextDelta"].as_str())).collect()
}

/// Returns the only document of a type.
pub(crate) fn only<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let own: Vec<_> = documents.iter().filter(|document| document["type"] == kind).collect();
    assert_eq!(own.len(), 1, "{kind}: {documents:#?}");
    own[0]
}
