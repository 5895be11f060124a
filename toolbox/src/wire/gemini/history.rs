//! Reads a transcript in the form of Gemini.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::response::part;
use crate::call::{Content, ResourceContents, ToolResult};
use crate::model::{FoundMessage, History, Part, Reply};
use crate::wire::lenient;
use crate::wire::{Transcript, WireError};

pub(super) fn history(contents: &str) -> Result<Transcript, WireError> {
    let contents: Vec<ContentIn<'_>> = serde_json::from_str(contents)?;
    let mut found = Vec::with_capacity(contents.len());
    let mut system: Vec<String> = Vec::new();
    let mut turns = Vec::with_capacity(contents.len());
    for content in contents {
        let parts = content.parts.unwrap_or_default();
        // A content without a role is a user's.
        turns.push(match content.role.as_deref().unwrap_or("user") {
            "model" => TurnParts::Model(model(&parts)?),
            "user" | "function" => TurnParts::User(parts),
            "system" => {
                system.extend(model(&parts)?.into_iter().filter_map(|part| match part {
                    Part::Text { text, .. } => Some(text),
                    _ => None,
                }));
                continue;
            }
            role => return Err(WireError::Invalid(format!("no content has the role {role:?}"))),
        });
    }
    let mut open = OpenCalls::new(&turns);
    for turns in turns {
        match turns {
            TurnParts::Model(mut parts) => {
                open.take(&mut parts);
                found.push(FoundMessage::Reply(Reply::new(parts)));
            }
            TurnParts::User(parts) => user(&parts, &mut open, &mut found)?,
        }
    }
    let (history, repairs) = History::repaired(found);
    let system = (!system.is_empty()).then(|| system.join("\n"));
    Ok(Transcript { system, history, repairs })
}

enum TurnParts<'a> {
    Model(Vec<Part>),
    User(Vec<&'a RawValue>),
}

fn model(parts: &[&RawValue]) -> Result<Vec<Part>, WireError> {
    let parts: Result<Vec<Option<Part>>, WireError> = parts.iter().map(|raw| part(raw)).collect();
    Ok(parts?.into_iter().flatten().collect())
}

/// The calls that wait for results, so that results without an id find theirs.
struct OpenCalls {
    /// The id and the tool of each.
    calls: Vec<(String, String)>,
    /// Every id in the transcript.
    given: HashSet<String>,
    made: usize,
}

impl OpenCalls {
    fn new(turns: &[TurnParts<'_>]) -> Self {
        let parts = turns.iter().flat_map(|turns| match turns {
            TurnParts::Model(parts) => parts.as_slice(),
            TurnParts::User(_) => &[],
        });
        let given = parts.filter_map(|part| match part {
            Part::Call { call, .. } => Some(call.id.clone()),
            _ => None,
        });
        Self { given: given.collect(), calls: Vec::new(), made: 0 }
    }

    /// Remembers the calls of a reply. Those without an id get one, which is not sent: the part's
    /// echo has none.
    fn take(&mut self, parts: &mut [Part]) {
        self.calls.clear();
        for part in parts {
            let Part::Call { call, .. } = part else { continue };
            while call.id.is_empty() {
                let own = format!("call_{}", self.made);
                self.made += 1;
                if !self.given.contains(&own) {
                    call.id = own;
                }
            }
            self.calls.push((call.id.clone(), call.name.clone()));
        }
    }

    /// Returns the id of the call that a result answers: by its id, else the first call of the
    /// tool.
    fn answer(&mut self, id: Option<String>, name: &str) -> String {
        let id = id.filter(|id| !id.is_empty());
        let by_id = id.as_ref().and_then(|id| self.calls.iter().position(|(own, _)| own == id));
        let by_name = || self.calls.iter().position(|(_, tool)| tool == name);
        match by_id.or_else(by_name) {
            Some(place) => self.calls.remove(place).0,
            None => id.unwrap_or_else(|| name.to_owned()),
        }
    }
}

#[derive(Deserialize)]
struct ContentIn<'a> {
    role: Option<String>,
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserPartIn<'a> {
    text: Option<String>,
    #[serde(alias = "inline_data")]
    inline_data: Option<BlobIn>,
    #[serde(alias = "file_data")]
    file_data: Option<FileIn>,
    #[serde(borrow, alias = "function_response")]
    function_response: Option<FunctionResponseIn<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlobIn {
    #[serde(alias = "mime_type")]
    mime_type: Option<String>,
    data: Option<String>,
    #[serde(alias = "display_name")]
    display_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileIn {
    #[serde(alias = "file_uri")]
    file_uri: Option<String>,
}

#[derive(Deserialize)]
struct FunctionResponseIn<'a> {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct FunctionResultIn<'a> {
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn user(
    parts: &[&RawValue],
    open: &mut OpenCalls,
    found: &mut Vec<FoundMessage>,
) -> Result<(), WireError> {
    let mut content = Vec::new();
    for raw in parts {
        let Some(part) = serde_json::from_str::<Option<UserPartIn<'_>>>(raw.get())? else {
            continue;
        };
        match part.function_response {
            Some(response) => {
                let call_id =
                    open.answer(response.id.clone(), response.name.as_deref().unwrap_or_default());
                found.push(FoundMessage::Result { call_id, result: result(&response)? });
            }
            None => content.push(part.content(raw)),
        }
    }
    if !content.is_empty() {
        found.push(FoundMessage::User(content));
    }
    Ok(())
}

fn result(found: &FunctionResponseIn<'_>) -> Result<ToolResult, WireError> {
    let media = found.parts.iter().flatten();
    let media = media.filter_map(|raw| {
        let part = serde_json::from_str::<Option<UserPartIn<'_>>>(raw.get()).transpose()?;
        Some(part.map(|part| part.content(raw)))
    });
    let media: Vec<Content> = media.collect::<Result<_, _>>()?;
    let response = found.response.map_or("{}", RawValue::get);
    let FunctionResultIn { output, error } = match response.as_bytes() {
        [b'{', ..] => serde_json::from_str(response)?,
        _ => FunctionResultIn { output: found.response, error: None },
    };
    let failure = error.map(|_| "tool.failed");
    // Without either key the whole object is the output.
    let output_text = error.or(output).map_or(response, RawValue::get);
    if !output_text.starts_with('"') {
        if media.is_empty() && failure.is_none() {
            return Ok(ToolResult::structured(output_text.to_owned()));
        }
        return Ok(ToolResult::kept(joined(output_text.to_owned(), media), failure));
    }
    Ok(ToolResult::kept(joined(serde_json::from_str(output_text)?, media), failure))
}

fn joined(text: String, media: Vec<Content>) -> Vec<Content> {
    let text = (!text.is_empty() || media.is_empty()).then_some(Content::text(text));
    text.into_iter().chain(media).collect()
}

impl UserPartIn<'_> {
    /// Returns the content of a part; one of another kind becomes its JSON text.
    fn content(self, raw: &RawValue) -> Content {
        if let Some(text) = self.text {
            return Content::text(text);
        }
        if let Some(BlobIn { mime_type: Some(mime_type), data: Some(data), display_name }) =
            self.inline_data
        {
            return match mime_type.split('/').next() {
                Some("image") => Content::image_that_came(data, &mime_type),
                Some("audio") => Content::audio_that_came(data, &mime_type),
                _ => Content::Resource(Box::new(ResourceContents {
                    uri: display_name.unwrap_or_default(),
                    mime_type: Some(mime_type),
                    blob: Some(data),
                    ..ResourceContents::default()
                })),
            };
        }
        match self.file_data.and_then(|file| file.file_uri) {
            Some(uri) => Content::text(format!("[file at {uri}]")),
            None => Content::text(raw.get()),
        }
    }
}
