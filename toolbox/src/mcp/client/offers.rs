//! The prompts and resources that a server lists, read one by one, so that an invalid one affects
//! no other.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::handed_on;
use super::list::display_name;
use super::optional::OptionalMembers;
use super::skills::SkillList;
use super::text;
use crate::call::ContentAnnotations;
use crate::definition::Icon;
use crate::prompt::PromptArgument;

/// The maximum number of prompts, of resources and of templates of one server.
pub(super) const MAX_OFFERS: usize = 10_000;
/// The maximum length of a name or a URI, in bytes.
const MAX_NAME: usize = 8 * 1024;
/// The maximum size of one definition, in bytes.
const MAX_DEFINITION: usize = 256 * 1024;
/// The maximum size of all definitions of one server, in bytes.
const MAX_TOTAL: usize = 64 * 1024 * 1024;
/// The maximum number of arguments of a prompt.
const MAX_ARGUMENTS: usize = 256;

/// The texts that prompts and resources have in common, cleaned.
#[derive(Debug, Clone)]
pub(super) struct OfferTexts {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) icons: Vec<Icon>,
    pub(super) meta: Map<String, Value>,
    /// The definition as received, for the lock file.
    pub(super) raw: Value,
}

/// A prompt as its server lists it.
#[derive(Debug, Clone)]
pub(super) struct ServerPrompt {
    pub(super) texts: OfferTexts,
    pub(super) arguments: Vec<PromptArgument>,
}

/// A resource or a template as its server lists it.
#[derive(Debug, Clone)]
pub(super) struct ServerResource {
    pub(super) texts: OfferTexts,
    /// The URI, or the text of the template.
    pub(super) uri: String,
    pub(super) is_template: bool,
    pub(super) mime_type: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) annotations: Option<ContentAnnotations>,
}

/// The prompts and the resources of one server.
#[derive(Debug, Default)]
pub(super) struct OfferList {
    pub(super) prompts: Vec<ServerPrompt>,
    pub(super) resources: Vec<ServerResource>,
    /// Those that cannot be used, each with the reason.
    pub(super) dropped: Vec<(String, String)>,
    pub(super) notices: Vec<String>,
    /// The skills, which are resources too.
    pub(super) skills: SkillList,
    seen: HashSet<String>,
    bytes: usize,
}

/// Returns the key under which the lock file has a prompt.
pub(super) fn prompt_key(name: &str) -> String {
    format!("prompt {name}")
}

/// Returns the key under which the lock file has a resource or a template.
pub(super) fn resource_key(uri: &str) -> String {
    format!("resource {uri}")
}

impl ServerPrompt {
    pub(super) fn key(&self) -> String {
        prompt_key(&self.texts.name)
    }
}

impl ServerResource {
    pub(super) fn key(&self) -> String {
        resource_key(&self.uri)
    }
}

impl OfferList {
    /// Reads one prompt, or records why it cannot be used.
    pub(super) fn add_prompt(&mut self, raw: &str) {
        let read = self.read(raw, |optional| {
            let arguments = optional.list("arguments").into_iter().flatten();
            let read = arguments.take(MAX_ARGUMENTS).map(PromptArgument::deserialize);
            read.collect::<Result<Vec<_>, _>>().map_err(|error| format!("its arguments: {error}"))
        });
        let read = read.and_then(|(texts, arguments)| match arguments {
            Ok(arguments) => Ok((texts, arguments)),
            Err(reason) => Err((display_name(&texts.name), reason)),
        });
        match read {
            Ok((texts, mut arguments)) => {
                for argument in &mut arguments {
                    let optional = [&mut argument.title, &mut argument.description];
                    optional.into_iter().flatten().for_each(clean);
                }
                let prompt = ServerPrompt { texts, arguments };
                if self.seen.insert(prompt.key()) {
                    self.prompts.push(prompt);
                } else {
                    self.drop(prompt.key(), "its name is twice in the list".to_owned());
                }
            }
            Err((name, reason)) => self.drop(prompt_key(&name), reason),
        }
    }

    /// Reads one resource or template, or records why it cannot be used.
    pub(super) fn add_resource(&mut self, raw: &str) {
        let read = self.read(raw, |optional| {
            let uris = (optional.text("uri"), optional.text("uriTemplate"));
            let annotations = optional.object("annotations").cloned().map(Value::Object);
            (uris, optional.text("mimeType"), optional.size("size"), annotations)
        });
        let (texts, ((uri, uri_template), mut mime_type, size, annotations)) = match read {
            Ok(read) => read,
            Err((name, reason)) => return self.drop(resource_key(&name), reason),
        };
        let is_template = uri.is_none();
        let Some(uri) = uri.or(uri_template) else {
            return self.drop(resource_key(&texts.name), "it has no URI".to_owned());
        };
        if uri.len() > MAX_NAME || uri.is_empty() || uri.chars().any(char::is_control) {
            let reason = "its URI is empty, too long, or holds control characters".to_owned();
            return self.drop(resource_key(&display_name(&uri)), reason);
        }
        mime_type.iter_mut().for_each(clean);
        let annotations = annotations.and_then(|value| ContentAnnotations::deserialize(value).ok());
        let resource = ServerResource { texts, uri, is_template, mime_type, size, annotations };
        if self.seen.insert(resource.key()) {
            self.resources.push(resource);
        } else {
            self.drop(resource.key(), "its URI is twice in the list".to_owned());
        }
    }

    fn drop(&mut self, name: String, reason: String) {
        if self.dropped.len() < 1000 {
            self.dropped.push((name, reason));
        }
    }

    fn read<T>(
        &mut self,
        raw: &str,
        read: impl FnOnce(&mut OptionalMembers<'_>) -> T,
    ) -> Result<(OfferTexts, T), (String, String)> {
        self.bytes += raw.len();
        let nameless = |reason: &str| (String::new(), reason.to_owned());
        if raw.len() > MAX_DEFINITION || self.bytes > MAX_TOTAL {
            return Err(nameless("the definitions are too large"));
        }
        let whole: Value = serde_json::from_str(raw)
            .map_err(|error| nameless(&format!("its definition cannot be read: {error}")))?;
        let name = whole.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if name.is_empty() || name.len() > MAX_NAME {
            return Err((display_name(&name), "its name is empty or too long".to_owned()));
        }
        let mut optional = OptionalMembers::of(&whole);
        let own = read(&mut optional);
        let mut description = optional.text("description").unwrap_or_default();
        for finding in text::clean_description(&mut description) {
            self.notices.push(format!("`{}`: {finding}", display_name(&name)));
        }
        let mut title = optional.text("title");
        title.iter_mut().for_each(clean);
        let meta = optional.object("_meta").cloned().map(handed_on).unwrap_or_default();
        if let Some(left_out) = optional.left_out() {
            let shown = display_name(&name);
            self.notices.push(format!("`{shown}`: {left_out}"));
        }
        let icons = Icon::safe_of(whole.get("icons"));
        Ok((OfferTexts { name, title, description, icons, meta, raw: whole }, own))
    }
}

fn clean(text: &mut String) {
    if let Cow::Owned(cleaned) = text::clean(text) {
        *text = cleaned;
    }
}
