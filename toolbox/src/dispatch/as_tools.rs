//! Prompts and resources as tools, for hosts and models that know tools only.
//!
//! The functions are inline, so that only a program that uses them compiles them.

use std::future::{Future, ready};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::call::{
    Arguments, Content, FailureKind, IntoToolResult, ResourceContents, Role, ToolResult,
};
use crate::collection::{Prompts, Resources};
use crate::context::ToolContext;
use crate::definition::ToolAnnotations;
use crate::prompt::{Prompt, PromptMessage};
use crate::resource::Resource;
use crate::tool::Tool;

/// The entries of one page of a list.
const PAGE: usize = 50;

/// The arguments of a list.
#[derive(Deserialize)]
struct ListArguments {
    #[serde(default)]
    text: String,
    page: Option<usize>,
}

#[inline]
fn list_schema(what: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": format!("List only {what} that have this in their name or description")},
            "page": {"type": "integer", "minimum": 1, "default": 1, "description": format!("Each page has {PAGE}")},
        },
        "additionalProperties": false,
    })
}

const LOOKS: ToolAnnotations = ToolAnnotations {
    read_only: Some(true),
    destructive: None,
    idempotent: None,
    open_world: None,
};

/// One resource or prompt of a list.
struct ListedOffer {
    /// The words by which it is found.
    words: String,
    entry: Value,
    /// `true` if others wrote its description.
    is_untrusted: bool,
}

/// Returns one page of what is listed under a key.
#[inline]
fn page(
    key: &str,
    all: &mut dyn Iterator<Item = ListedOffer>,
    wanted: &ListArguments,
) -> ToolResult {
    let text = wanted.text.trim().to_lowercase();
    let fitting: Vec<ListedOffer> =
        all.filter(|listing| listing.words.to_lowercase().contains(&text)).collect();
    let pages = fitting.len().div_ceil(PAGE).max(1);
    let number = wanted.page.unwrap_or(1);
    if number == 0 || number > pages {
        let why = format!("there is no page {number}: the pages are 1 to {pages}");
        return ToolResult::failure(FailureKind::InvalidArguments, why);
    }
    let shown: Vec<ListedOffer> =
        fitting.into_iter().skip((number - 1) * PAGE).take(PAGE).collect();
    let is_untrusted = shown.iter().any(|listing| listing.is_untrusted);
    let entries: Vec<Value> = shown.into_iter().map(|listing| listing.entry).collect();
    let list = json!({key: entries, "page": number, "pages": pages});
    let result = ToolResult::new(list.to_string());
    if is_untrusted { result.untrusted() } else { result }
}

/// Returns a tool that reads arguments of a type, and changes nothing.
fn reader<A: DeserializeOwned, R>(
    name: &str,
    description: &str,
    schema: Value,
    run: impl Fn(ToolContext, A) -> R + Send + Sync + 'static,
) -> Tool
where
    R: Future<Output = ToolResult> + Send + 'static,
{
    let tool =
        Tool::raw(name, description, schema, move |context: ToolContext, arguments: Arguments| {
            let running = arguments.parse::<A>().map(|wanted| run(context, wanted));
            async move {
                match running {
                    Ok(running) => running.await,
                    Err(error) => {
                        ToolResult::failure(FailureKind::InvalidArguments, error.to_string())
                    }
                }
            }
        });
    tool.with_annotations(LOOKS)
}

impl Resources {
    /// Returns two tools over these resources: `resource_list`, and `resource_read` with a URI.
    ///
    /// They are for hosts and models that know tools only. Both see what is registered when they
    /// are called; what is forbidden is neither listed nor read. A text is returned as text, a
    /// picture or a sound as such, and other bytes as an embedded resource.
    ///
    /// ```
    /// use toolbox::{resource, resources, ToolBox, ToolCall};
    ///
    /// /// The manual.
    /// #[resource("docs://manual")]
    /// fn manual() -> &'static str {
    ///     "Turn it on."
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let toolbox = ToolBox::builder().resources(resources![manual]).build().unwrap();
    /// toolbox.register(toolbox.resources().as_tools());
    /// let call = ToolCall::new("1", "resource_read", r#"{"uri": "docs://manual"}"#);
    /// assert_eq!(toolbox.call(call).await.text(), "Turn it on.");
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn as_tools(&self) -> Vec<Tool> {
        #[derive(Deserialize)]
        struct ReadArguments {
            uri: String,
        }
        let (listed, read) = (self.clone(), self.clone());
        let list = reader(
            "resource_list",
            "Lists documents that can be read, and templates of their addresses.",
            list_schema("documents"),
            move |context, wanted: ListArguments| {
                let all = listed.list().into_iter();
                let all = all.filter(|resource| context.permits(resource.uri()));
                ready(page("resources", &mut all.map(|resource| listing(&resource)), &wanted))
            },
        );
        let read = reader(
            "resource_read",
            "Reads a document by its address.",
            json!({
                "type": "object",
                "properties": {"uri": {"type": "string", "description": "As listed; in that of a template, values stand in place of the variables"}},
                "required": ["uri"],
                "additionalProperties": false,
            }),
            move |context, wanted: ReadArguments| {
                let read = read.clone();
                async move {
                    match read.read_in(&context, &wanted.uri).await {
                        Ok(contents) => {
                            contents.into_iter().map(part).collect::<Vec<_>>().into_tool_result()
                        }
                        Err(error) => error.into(),
                    }
                }
            },
        );
        vec![list, read]
    }
}

impl Prompts {
    /// Returns two tools over these prompts: `prompt_list`, and `prompt_get` with a name and
    /// arguments.
    ///
    /// They are for hosts and models that know tools only. Both see what is registered when they
    /// are called; what is forbidden is neither listed nor rendered. The messages are returned as
    /// text, each below the role of its author where there are several.
    ///
    /// ```
    /// use toolbox::{prompt, prompts, ToolBox, ToolCall};
    ///
    /// /// Asks for a poem.
    /// #[prompt]
    /// fn poem(topic: &str) -> String {
    ///     format!("Write a poem on {topic}.")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let toolbox = ToolBox::builder().prompts(prompts![poem]).build().unwrap();
    /// toolbox.register(toolbox.prompts().as_tools());
    /// let arguments = r#"{"name": "poem", "arguments": {"topic": "rain"}}"#;
    /// let result = toolbox.call(ToolCall::new("1", "prompt_get", arguments)).await;
    /// assert_eq!(result.text(), "Write a poem on rain.");
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn as_tools(&self) -> Vec<Tool> {
        #[derive(Deserialize)]
        struct PromptArguments {
            name: String,
            #[serde(default)]
            arguments: Map<String, Value>,
        }
        let (listed, rendered) = (self.clone(), self.clone());
        let list = reader(
            "prompt_list",
            "Lists prepared instructions, with their arguments.",
            list_schema("instructions"),
            move |context, wanted: ListArguments| {
                let all = listed.list().into_iter();
                let all = all.filter(|prompt| context.permits(prompt.name()));
                ready(page("prompts", &mut all.map(|prompt| prompt_listing(&prompt)), &wanted))
            },
        );
        let get = reader(
            "prompt_get",
            "Returns prepared instructions with their arguments filled in.",
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "As listed"},
                    "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["name"],
                "additionalProperties": false,
            }),
            move |context, wanted: PromptArguments| {
                let rendered = rendered.clone();
                async move {
                    let arguments = Value::Object(wanted.arguments);
                    match rendered.get_in(&context, &wanted.name, arguments).await {
                        Ok(rendered) => spoken(rendered.messages).into_tool_result(),
                        Err(error) => error.into(),
                    }
                }
            },
        );
        vec![list, get]
    }
}

/// Returns `true` if the texts of a resource or prompt come from untrusted sources.
#[inline]
fn is_of_others(tool: &Tool) -> bool {
    tool.is_untrusted() || tool.definition().is_untrusted()
}

#[inline]
fn listing(resource: &Resource) -> ListedOffer {
    let parts = [
        resource.uri(),
        resource.name(),
        resource.title().unwrap_or_default(),
        resource.description(),
    ];
    let key = if resource.is_template() { "uriTemplate" } else { "uri" };
    let mut entry =
        json!({key: resource.uri(), "name": resource.title().unwrap_or(resource.name())});
    if !resource.description().is_empty() {
        entry["description"] = resource.description().into();
    }
    if let Some(kind) = resource.mime_type() {
        entry["mimeType"] = kind.into();
    }
    ListedOffer { words: parts.join("\n"), entry, is_untrusted: is_of_others(&resource.tool) }
}

#[inline]
fn prompt_listing(prompt: &Prompt) -> ListedOffer {
    let words = [prompt.name(), prompt.title().unwrap_or_default(), prompt.description()];
    let entry = json!({
        "name": prompt.name(),
        "description": prompt.description(),
        "arguments": prompt.arguments(),
    });
    ListedOffer { words: words.join("\n"), entry, is_untrusted: is_of_others(&prompt.tool) }
}

/// Returns the contents of a resource as a part of a result.
#[inline]
fn part(contents: ResourceContents) -> Content {
    let kind = contents.mime_type.as_deref().unwrap_or_default();
    let media = match (&contents.text, &contents.blob) {
        (Some(text), _) => return Content::text(text),
        (None, Some(blob)) if kind.starts_with("image/") => Content::image_base64(blob, kind).ok(),
        (None, Some(blob)) if kind.starts_with("audio/") => Content::audio_base64(blob, kind).ok(),
        _ => None,
    };
    media.unwrap_or_else(|| Content::Resource(Box::new(contents)))
}

/// Returns messages as parts of a result: one alone as it is, several below their roles.
#[inline]
fn spoken(messages: Vec<PromptMessage>) -> Vec<Content> {
    let is_alone = messages.len() == 1;
    let mut parts = Vec::new();
    for message in messages {
        if !is_alone {
            let role = if message.role == Role::User { "user:" } else { "assistant:" };
            parts.push(Content::text(role));
        }
        parts.push(message.content);
    }
    parts
}
