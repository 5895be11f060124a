//! `prompts`, `prompt`, `resources` and `read`.

use serde_json::{Map, Value, json};

use super::arguments::{PromptCommand, SaveArguments};
use super::call::{arguments, call_context, saved, shown};
use super::outcome::{Exit, Outcome, Paint, exit_of};
use super::save::SaveTarget;
use super::source::ToolSource;
use super::text::line;
use super::tools::{columns, missing, suggestions};
use crate::call::{Content, FailureKind, Role, ToolError};
use crate::context::CancellationToken;
use crate::prompt::{Prompt, PromptMessage};
use crate::resource::Resource;
use crate::text::nearest_n;

pub(super) fn prompts(source: &ToolSource, paint: Paint) -> Outcome {
    let prompts = source.toolbox.prompts().list();
    let value = |prompt: &Prompt| {
        let mut value = json!({
            "name": prompt.name(),
            "description": prompt.description(),
            "arguments": prompt.arguments(),
        });
        add(&mut value, "title", prompt.title());
        add(&mut value, "server", prompt.source());
        value
    };
    let values: Vec<Value> = prompts.iter().map(value).collect();
    let rows: Vec<_> = prompts.iter().map(|prompt| (usage(prompt), about(prompt))).collect();
    listed(source, "prompts", &rows, json!({ "prompts": values }), paint)
}

pub(super) fn resources(source: &ToolSource, paint: Paint) -> Outcome {
    let resources = source.toolbox.resources().list();
    let value = |resource: &Resource| {
        let mut value = json!(resource);
        add(&mut value, "server", resource.source());
        value
    };
    let about = |resource: &Resource| {
        let name = resource.title().unwrap_or(resource.name());
        match resource.description() {
            "" => name.to_owned(),
            description => format!("{name}: {description}"),
        }
    };
    let values: Vec<Value> = resources.iter().map(value).collect();
    let rows: Vec<_> =
        resources.iter().map(|resource| (resource.uri().to_owned(), about(resource))).collect();
    listed(source, "resources", &rows, json!({ "resources": values }), paint)
}

/// Returns a list, with a word on an empty one.
fn listed(
    source: &ToolSource,
    noun: &str,
    rows: &[(String, String)],
    value: Value,
    paint: Paint,
) -> Outcome {
    let rows = rows.iter().map(|(name, about)| (name.as_str(), about.as_str()));
    let mut outcome = Outcome::fine(columns(rows, paint), value);
    outcome.exit = exit_of(&source.problems);
    if outcome.text.is_empty() && outcome.exit == Exit::Fine {
        outcome.complaint = format!("there are no {noun}");
    }
    outcome
}

fn add(value: &mut Value, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        value[key] = text.into();
    }
}

/// Returns the name of a prompt with its arguments as they are written: `review code= [tone=]`.
fn usage(prompt: &Prompt) -> String {
    let arguments = prompt.arguments().iter().map(|argument| {
        let name = line(&argument.name);
        if argument.required { format!(" {name}=") } else { format!(" [{name}=]") }
    });
    format!("{}{}", prompt.name(), arguments.collect::<String>())
}

fn about(prompt: &Prompt) -> String {
    match (prompt.description(), prompt.title()) {
        ("", title) => title.unwrap_or_default().to_owned(),
        (description, _) => description.to_owned(),
    }
}

/// Prints the messages of a prompt with its arguments.
pub(super) async fn prompt(
    source: &ToolSource,
    wanted: PromptCommand,
    cancelled: CancellationToken,
) -> Outcome {
    let name = &wanted.prompt;
    let prompts = source.toolbox.prompts();
    let all = prompts.list();
    let Some(prompt) = all.iter().find(|prompt| prompt.name() == name) else {
        let next = suggestions(name, all.iter().map(Prompt::name), "`prompts`");
        return missing(source, format!("the prompt `{}` is not there: {next}", line(name)));
    };
    let save = match SaveTarget::of(&wanted.save) {
        Ok(save) => save,
        Err(outcome) => return *outcome,
    };
    // Whoever renders a prompt is given texts.
    let texts = prompt.arguments().iter().map(|argument| (argument.name.as_str(), "string"));
    let properties: Map<String, Value> =
        texts.map(|(name, kind)| (name.to_owned(), json!({"type": kind}))).collect();
    let schema = json!({ "properties": properties });
    let given = tokio::select! {
        given = arguments(&wanted.arguments, &schema) => given,
        () = cancelled.cancelled() => return Outcome::failed(Exit::Interrupted, "interrupted"),
    };
    let given = match given.and_then(|given| fitting(prompt, &given)) {
        Ok(given) => given,
        Err(fault) => return Outcome::failed(Exit::Usage, fault),
    };
    let prompts = source.toolbox.with_whole_results().prompts();
    let (context, progress) = call_context(name, cancelled);
    let rendered = prompts.get_in(&context, name, Value::Object(given)).await;
    progress.end();
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(error) => return failed(&error),
    };
    let mut value = json!(rendered);
    let contents: Vec<Content> =
        rendered.messages.iter().map(|message| message.content.clone()).collect();
    let outcome = match save {
        Some(save) => {
            let mut parts = json!({});
            let outcome = saved(&save, &contents, &mut parts);
            // The messages would hold it again.
            value = parts;
            add(&mut value, "description", rendered.description.as_deref());
            outcome
        }
        None => Outcome::fine(conversation(&rendered.messages), Value::Null),
    };
    Outcome { value, ..outcome }
}

/// Returns the messages as text: one alone as it is, several each below the name of its role.
fn conversation(messages: &[PromptMessage]) -> String {
    if let [message] = messages
        && message.role == Role::User
    {
        return shown([&message.content]);
    }
    let message = |message: &PromptMessage| {
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::User => "user",
        };
        format!("{role}:\n{}\n", shown([&message.content]).trim_end_matches('\n'))
    };
    messages.iter().map(message).collect::<Vec<_>>().join("\n")
}

/// Reads the arguments of a prompt: an object with those that it needs, and no others.
fn fitting(prompt: &Prompt, given: &str) -> Result<Map<String, Value>, String> {
    let given: Map<String, Value> = serde_json::from_str(given)
        .map_err(|error| format!("the arguments are not one JSON object: {error}"))?;
    let all = || prompt.arguments().iter().map(|argument| argument.name.as_str());
    let name = line(prompt.name());
    let unknown = given.keys().find(|given| !all().any(|own| own == *given));
    if let Some(unknown) = unknown {
        let near = nearest_n(unknown, all(), 1);
        let next = match (near.first(), all().next()) {
            (Some(near), _) => format!("did you mean `{}`?", line(near)),
            (None, Some(_)) => format!("it has {}", quoted(all())),
            (None, None) => "it has none".to_owned(),
        };
        return Err(format!("the prompt `{name}` has no argument `{}`: {next}", line(unknown)));
    }
    let absent = prompt.arguments().iter().filter(|argument| argument.required);
    let absent: Vec<&str> = absent
        .map(|argument| argument.name.as_str())
        .filter(|name| !given.contains_key(*name))
        .collect();
    if absent.is_empty() {
        return Ok(given);
    }
    let written: Vec<String> = absent.iter().map(|name| format!("{}=…", line(name))).collect();
    let (absent, written) = (quoted(absent.into_iter()), written.join(" "));
    Err(format!("the prompt `{name}` needs {absent}: `prompt {name} {written}`"))
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{}`", line(name))).collect::<Vec<_>>().join(", ")
}

/// Prints the contents of a resource.
pub(super) async fn read(
    source: &ToolSource,
    uri: &str,
    save: &SaveArguments,
    cancelled: CancellationToken,
) -> Outcome {
    let resources = source.toolbox.resources();
    if let Some(template) = resources.get(uri).filter(Resource::is_template) {
        let variables = quoted(template.variables());
        let next = format!("write a value in place of {variables} and its braces");
        return Outcome::failed(Exit::Usage, format!("`{}` is a template: {next}", line(uri)));
    }
    if resources.find(uri).is_none() {
        let uris = resources.list();
        let next = suggestions(uri, uris.iter().map(Resource::uri), "`resources`");
        return missing(source, format!("the resource `{}` is not there: {next}", line(uri)));
    }
    let save = match SaveTarget::of(save) {
        Ok(save) => save,
        Err(outcome) => return *outcome,
    };
    let resources = source.toolbox.with_whole_results().resources();
    let (context, progress) = call_context(uri, cancelled);
    let contents = resources.read_in(&context, uri).await;
    progress.end();
    let contents = match contents {
        Ok(contents) => contents,
        Err(error) => return failed(&error),
    };
    let mut value = json!({"contents": contents});
    let parts: Vec<Content> = contents.into_iter().map(Content::from).collect();
    let outcome = match save {
        Some(save) => {
            value = json!({});
            saved(&save, &parts, &mut value)
        }
        None => Outcome::fine(shown(&parts), Value::Null),
    };
    Outcome { value, ..outcome }
}

fn failed(error: &ToolError) -> Outcome {
    let exit = match error.kind() {
        FailureKind::Cancelled => Exit::Interrupted,
        _ => Exit::Failed,
    };
    Outcome::failed(exit, crate::text::clean(&error.to_string()).into_owned())
}
