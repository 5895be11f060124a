//! The prompts and resources that a server lists, as those of a box.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::flags;
use super::list::ToolList;
use super::mount;
use super::mount_skills::mount_skills;
use super::mounted::MountedOffers;
use super::offers::{ServerPrompt, ServerResource};
use super::outward::Outward;
use super::server::Server;
use super::server_request::ServerRequest;
use super::status::WithheldReason;
use crate::call::{Arguments, FailureKind, ToolError, ToolResult};
use crate::context::ToolContext;
use crate::mcp::names;
use crate::prompt::Prompt;
use crate::resource::{Resource, at_server};
use crate::tool::{CompletionRequest, Tool};

impl Server {
    /// Makes tools, prompts and resources of a list; the box is not changed yet.
    pub(super) fn mounted_of(self: &Arc<Self>, listed: &ToolList) -> MountedOffers {
        let (mut mounted, approved) = mount::mount(self, listed);
        let dropped = listed.offers.dropped.iter().chain(&listed.offers.skills.dropped);
        for (name, detail) in dropped {
            mounted.withhold(name, WithheldReason::Invalid, detail.clone());
        }
        mount_prompts(self, listed, &approved, &mut mounted);
        mount_resources(self, listed, &approved, &mut mounted);
        mount_skills(self, listed, &approved, &mut mounted);
        mounted.digest = self.shared.has_lock().then(|| listed.digest().to_owned());
        mounted
    }
}

fn mount_prompts(
    server: &Arc<Server>,
    listed: &ToolList,
    approved: &HashSet<String>,
    mounted: &mut MountedOffers,
) {
    let prompts = server.shared.toolbox.prompts();
    let all = listed.offers.prompts.iter();
    let names = server.shared.names.lock();
    let names = names.of_server(&server.name, all.clone().map(|own| own.texts.name.as_str()));
    for (own, name) in all.zip(names) {
        if !approved.contains(&own.key()) {
            continue;
        }
        let is_free = |name: &String| {
            let there = prompts.find(name);
            there.is_none_or(|there| there.source() == Some(&*server.name))
        };
        let spare = names::with_digest(&server.name, &own.texts.name);
        let Some(name) = [name, spare].into_iter().find(is_free) else {
            let detail = "its name is taken by another prompt of the box".to_owned();
            mounted.withhold(&own.key(), WithheldReason::NameTaken, detail);
            continue;
        };
        match make_prompt(server, own, &name, listed.completes) {
            Ok(prompt) => mounted.prompts.push(prompt),
            Err(detail) => mounted.withhold(&own.key(), WithheldReason::Invalid, detail),
        }
    }
}

fn mount_resources(
    server: &Arc<Server>,
    listed: &ToolList,
    approved: &HashSet<String>,
    mounted: &mut MountedOffers,
) {
    let outward = Outward::of(server);
    for own in &listed.offers.resources {
        if !approved.contains(&own.key()) {
            continue;
        }
        let Some(uri) = outward.of_listed(&own.uri) else {
            let detail = "its URI is that of another resource of the box".to_owned();
            mounted.withhold(&own.key(), WithheldReason::NameTaken, detail);
            continue;
        };
        mounted.resources.push(make_resource(server, own, &uri, listed.completes));
    }
    // What its tools refer to can be read, though it is not listed.
    let known: HashSet<&str> = listed.offers.resources.iter().map(|own| own.uri.as_str()).collect();
    let linked = listed.linked_resources().filter(|uri| !known.contains(*uri));
    for uri in linked.filter_map(|uri| outward.of_listed(uri)) {
        mounted.resources.push(unlisted(server, &uri));
    }
}

/// Returns a resource that is in no list, and can be read.
pub(super) fn unlisted(server: &Arc<Server>, uri: &str) -> Resource {
    let tool = reading_tool(server, uri, "resource", "").deferred();
    Resource::foreign(uri, false, tool)
}

fn make_prompt(
    server: &Arc<Server>,
    own: &ServerPrompt,
    name: &str,
    completes: bool,
) -> Result<Prompt, String> {
    let property = |argument: &crate::prompt::PromptArgument| {
        let description = argument.description.as_deref().unwrap_or_default();
        (argument.name.clone(), json!({"type": "string", "description": description}))
    };
    let properties: serde_json::Map<String, Value> = own.arguments.iter().map(property).collect();
    let required = own.arguments.iter().filter(|argument| argument.required);
    let required: Vec<&str> = required.map(|argument| argument.name.as_str()).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let owner = Arc::downgrade(server);
    let own_name: Arc<str> = Arc::from(own.texts.name.as_str());
    let called = Arc::clone(&own_name);
    let call = move |context: ToolContext, arguments: Arguments| {
        let (owner, name) = (owner.clone(), Arc::clone(&called));
        async move {
            let Some(server) = owner.upgrade() else { return gone() };
            let arguments = arguments.as_str();
            server.offer(ServerRequest::Prompt { name: &name, arguments }, &context).await
        }
    };
    let tool = Tool::try_raw(name, described(server, &own.texts.description), schema, call)
        .map_err(|error| error.to_string())?;
    let prompt = Prompt::with_arguments(presented(server, tool, &own.texts), own.arguments.clone());
    let typed = own.arguments.iter().filter(|_| completes);
    Ok(typed.fold(prompt, |prompt, argument| {
        let reference = json!({"type": "ref/prompt", "name": own_name});
        prompt.with_completer(&argument.name, completer(server, reference))
    }))
}

/// Returns a resource that is listed, under its URI in the box.
fn make_resource(
    server: &Arc<Server>,
    own: &ServerResource,
    uri: &str,
    completes: bool,
) -> Resource {
    let tool = reading_tool(server, uri, "resource", &own.texts.description);
    let tool = presented(server, tool, &own.texts);
    let mut resource =
        Resource::foreign(uri, own.is_template, tool).with_name(own.texts.name.as_str());
    if let Some(mime_type) = &own.mime_type {
        resource = resource.with_mime_type(mime_type.as_str());
    }
    if let Some(size) = own.size {
        resource = resource.with_size(size);
    }
    if let Some(annotations) = &own.annotations {
        resource = resource.with_annotations(annotations.clone());
    }
    let variables: Vec<String> = resource.variables().map(str::to_owned).collect();
    variables.iter().filter(|_| completes).fold(resource, |resource, variable| {
        let reference = json!({"type": "ref/resource", "uri": own.uri});
        resource.with_completer(variable, completer(server, reference))
    })
}

/// Returns the tool that reads a URI of the box at its server: the one that was asked for.
fn reading_tool(server: &Arc<Server>, uri: &str, name: &str, description: &str) -> Tool {
    let owner = Arc::downgrade(server);
    let registered: Arc<str> = Arc::from(uri);
    let call = move |context: ToolContext, _: Arguments| {
        let (owner, registered) = (owner.clone(), Arc::clone(&registered));
        async move {
            let Some(server) = owner.upgrade() else { return gone() };
            let wanted = context.resource_uri().unwrap_or(&registered).to_owned();
            let uri = at_server(&server.name, &wanted);
            // A rule for the URI at the server holds under its URI in the box as well.
            let resources = server.shared.toolbox.resources();
            if resources.forbids(uri) || resources.forbids(&wanted) {
                return ToolResult::failure(FailureKind::NotFound, "there is no such resource");
            }
            server.offer(ServerRequest::Resource { uri }, &context).await
        }
    };
    let tool = Tool::raw(name, described(server, description), json!({"type": "object"}), call);
    let tool =
        tool.from_source(Arc::clone(&server.name)).with_server_timeout(server.config.timeout);
    if server.config.trusted { tool } else { tool.untrusted() }
}

/// Adds what a list says of an offer beside its name and description.
fn presented(server: &Server, tool: Tool, texts: &super::offers::OfferTexts) -> Tool {
    let mut tool = tool
        .from_source(Arc::clone(&server.name))
        .with_name_at_source(Arc::from(texts.name.as_str()))
        .with_server_timeout(server.config.timeout)
        .with_presentation(None, texts.icons.clone(), texts.meta.clone());
    if let Some(title) = &texts.title {
        tool = tool.with_title(title.as_str());
    }
    if server.config.trusted { tool } else { tool.untrusted() }
}

/// Returns a description, quoted where its words are suspicious.
fn described(server: &Server, description: &str) -> String {
    match flags::suspicious(description) {
        Some(_) => flags::quoted(&server.name, description),
        None => description.to_owned(),
    }
}

fn gone() -> ToolResult {
    ToolResult::failure(FailureKind::Infrastructure, "its servers were closed")
}

/// Returns a completer that asks the server.
fn completer(
    server: &Arc<Server>,
    reference: Value,
) -> impl Fn(CompletionRequest) -> CompletionFuture + Send + Sync + 'static {
    let owner = Arc::downgrade(server);
    move |request: CompletionRequest| {
        let (owner, reference) = (owner.clone(), reference.clone());
        Box::pin(async move {
            let Some(server) = owner.upgrade() else {
                return Err(ToolError::reported("its servers were closed"));
            };
            let given: BTreeMap<String, String> = request.arguments;
            server.complete(reference, &request.argument, &request.value, given).await
        })
    }
}

/// The future of a completer that asks a server.
type CompletionFuture = crate::future::BoxFuture<'static, Result<Vec<String>, ToolError>>;
