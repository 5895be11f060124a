//! MCP Apps: the HTML that a server has for the results of its tools, in frames of another origin.
//!
//! A frame is the sandbox proxy of the extension: a document of a second listener, whose script
//! hands messages on between the page and a frame within, which has no origin at all. The policy
//! of the app is in the headers of the proxy, and the frame within inherits it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::app_frames::opener;
use super::app_policy::AppPolicy;
use super::calls::{CalledKind, WantedCall};
use super::inner::{PageInner, PageState};
use super::reply::{json_of, refused};
use crate::collection::ToolBox;
use crate::context::{Conversation, ToolContext};
use crate::definition::ToolDefinition;
use crate::page::admission::Admitted;
use crate::resource::{at_server, prefixed};

/// The media type of an app.
const APP_TYPE: &str = "text/html;profile=mcp-app";

/// The most bytes of the HTML of an app.
const MAX_HTML: usize = 5 << 20;

/// The time for the HTML of an app.
const READ_TIME: std::time::Duration = std::time::Duration::from_secs(30);

/// Returns `true` if apps of its server may call a tool.
fn is_open_to_apps(definition: &ToolDefinition) -> bool {
    let visibility = definition.meta.get("ui").and_then(|ui| ui.get("visibility"));
    visibility
        .is_none_or(|all| all.as_array().is_some_and(|all| all.iter().any(|one| one == "app")))
}

/// Returns a call of an app with the names of the box, or the reason why it may not make it: the
/// app knows the names of its own server, and reaches nothing of another.
pub(super) fn named_in_the_box(page: &PageInner, call: WantedCall) -> Result<WantedCall, String> {
    let Some(app) = &call.app else { return Ok(call) };
    let toolbox = &page.options.toolbox;
    let (opener, _) = opener(toolbox, app).ok_or("the tool of this app is gone")?;
    let found = match call.kind {
        CalledKind::Tool => toolbox
            .at_source(opener.source(), &call.tool)
            .filter(|tool| is_open_to_apps(tool.definition()))
            .map(|tool| tool.name().to_owned()),
        CalledKind::Resource => of_server(toolbox, opener.source(), &call.tool),
        CalledKind::Prompt => None,
    };
    let tool = found.ok_or("the server of this app has nothing of this name that apps may use")?;
    Ok(WantedCall { tool, ..call })
}

/// Returns the URI in the box of a resource of a server.
fn of_server(toolbox: &ToolBox, server: Option<&str>, uri: &str) -> Option<String> {
    let resources = toolbox.own_resources()?;
    let with_prefix = server.map(|server| prefixed(server, uri));
    let candidates = [Some(uri.to_owned()), with_prefix];
    candidates
        .into_iter()
        .flatten()
        .find(|uri| resources.find(uri).is_some_and(|(resource, _)| resource.source() == server))
}

/// An app that is wanted, by the tool that it belongs to.
#[derive(Deserialize)]
pub(super) struct WantedApp {
    tool: String,
}

/// Reads the app of a tool, and returns it with the address of a frame for it.
pub(super) async fn open(
    State(page): PageState,
    axum::Extension(caller): axum::Extension<Admitted>,
    headers: HeaderMap,
    Json(wanted): Json<WantedApp>,
) -> Response {
    let parent = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let (Some(origin), Some(parent)) = (page.apps.origin(&headers), parent) else {
        let why = "apps are shown where the page is opened on this machine";
        return refused(StatusCode::CONFLICT, why);
    };
    match read(&page, &wanted.tool, caller.number).await {
        Ok(app) => {
            let id = page.apps.expect(app.policy.header(parent), parent.to_owned());
            json_of(&json!({
                "frame": format!("{origin}/app/{id}"),
                "tool": app.tool,
                "html": app.html,
                "blob": app.blob,
                "csp": app.policy.granted(),
                "refused": app.policy.refused(),
                "permissions": app.policy.permissions(),
            }))
        }
        Err(why) => refused(StatusCode::UNPROCESSABLE_ENTITY, why),
    }
}

/// The HTML of an app, as text or in base64.
struct ReadApp {
    /// The tool, as its server names it.
    tool: Value,
    html: Option<String>,
    blob: Option<String>,
    policy: AppPolicy,
}

async fn read(page: &Arc<PageInner>, tool: &str, session: u64) -> Result<ReadApp, String> {
    let toolbox = &page.options.toolbox;
    let (tool, uri) = opener(toolbox, tool).ok_or("this tool has no app")?;
    let resources = toolbox.own_resources().ok_or("its server has no resources")?;
    // Its URI in the box may have changed since, with the resources of other servers.
    let own = tool.source().map_or(&*uri, |server| at_server(server, &uri));
    let uri = of_server(toolbox, tool.source(), own)
        .ok_or_else(|| format!("its server has no resource `{own}`"))?;
    let context = ToolContext::new().with(Conversation::new("page", session.to_string()));
    let reading = tokio::time::timeout(READ_TIME, resources.read_in(&context, &uri)).await;
    let contents = reading.map_err(|_| "its server did not send it within 30 seconds")?;
    let contents = json!(contents.map_err(|error| error.to_string())?);
    let is_app = |part: &&Value| {
        part["mimeType"].as_str().is_some_and(|own| own.replace(' ', "") == APP_TYPE)
    };
    let app = contents.as_array().and_then(|parts| parts.iter().find(is_app));
    let app = app.ok_or_else(|| format!("its resource is not of the type `{APP_TYPE}`"))?;
    let text = |key: &str| app[key].as_str().map(str::to_owned);
    let (html, blob) = (text("text"), text("blob"));
    let bytes = html.as_ref().map(String::len).or(blob.as_ref().map(|own| own.len() / 4 * 3));
    match bytes {
        None => Err("its resource has no HTML".to_owned()),
        Some(bytes) if bytes > MAX_HTML => {
            Err(format!("it has {bytes} bytes of HTML; at most {MAX_HTML} are shown"))
        }
        Some(_) => {
            let definition = tool.definition();
            let tool = json!({
                "name": tool.name_at_source().unwrap_or(tool.name()),
                "description": definition.description,
                "inputSchema": definition.input_schema,
            });
            Ok(ReadApp { tool, html, blob, policy: AppPolicy::of(&app["_meta"]["ui"]) })
        }
    }
}
