//! The shapes of results, by the method that they answer.

use std::collections::HashSet;

use serde_json::Value;

use super::messages::{Message, VERSIONS, declares, is_modern, quoted};
use super::tools::OutputSchemas;
use super::trace::TracedRequest;
use crate::text::{QUOTED, quote};

/// The most faults of one list that are named.
const MAX_FAULTS: usize = 8;

/// The methods whose results say how long they may be kept.
const CACHED: [&str; 6] = [
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// The methods that may be answered with questions to the user.
const ASKING: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// The request that a result answers, and the state of its connection.
pub(super) struct ResultContext<'a> {
    pub(super) request: &'a TracedRequest,
    pub(super) is_modern: bool,
    pub(super) declared: Option<&'a Value>,
    pub(super) schemas: &'a mut OutputSchemas,
    pub(super) message: &'a mut Message,
}

impl ResultContext<'_> {
    pub(super) fn check(&mut self, result: &Value) {
        let method = self.request.method.as_str();
        let is_empty = |member: &str| result[member].as_array().is_some_and(Vec::is_empty);
        // Nothing is offered by an empty list.
        let offers_none = match method {
            "tools/list" => is_empty("tools"),
            "prompts/list" => is_empty("prompts"),
            "resources/list" => is_empty("resources"),
            "resources/templates/list" => is_empty("resourceTemplates"),
            _ => false,
        };
        if !offers_none
            && let Some(needed) = needed_of_server(method)
            && let Some(declared) = self.declared
            && !declares(declared, needed)
        {
            let needed = needed[1..].replace('/', ".");
            let text = format!("`{method}` was answered, and `{needed}` is not declared");
            self.message.fault("undeclared-capability", text);
        }
        if !self.check_type(result) {
            return;
        }
        match method {
            "initialize" => self.initialize(result),
            "server/discover" => self.discover(result),
            "tools/list" => self.list(result, "tools", "name"),
            "prompts/list" => self.list(result, "prompts", "name"),
            "resources/list" => self.list(result, "resources", "uri"),
            "resources/templates/list" => self.list(result, "resourceTemplates", "uriTemplate"),
            "tools/call" => self.call(result),
            "prompts/get" => self.messages(result),
            "resources/read" => self.contents(result),
            "completion/complete" => self.completion(result),
            "tasks/get" => self.task(result),
            _ => {}
        }
    }

    fn fault(&mut self, rule: &'static str, text: impl Into<String>) {
        if self.message.faults.len() < MAX_FAULTS {
            self.message.fault(rule, text);
        }
    }

    /// Checks the type of a result; returns `false` if it is none that the method has a shape for.
    fn check_type(&mut self, result: &Value) -> bool {
        let method = self.request.method.as_str();
        match result.get("resultType").map(|own| own.as_str().unwrap_or_default()) {
            None if self.is_modern => self.fault("result-type", "it has no `resultType`"),
            None | Some("complete") => {}
            Some("input_required") => {
                if !ASKING.contains(&method) {
                    self.fault("result-type", format!("`{method}` asks the user for nothing"));
                } else if result.get("inputRequests").or(result.get("requestState")).is_none() {
                    self.fault("result-type", "it has no `inputRequests` and no `requestState`");
                }
                return false;
            }
            Some("task") => {
                if !self.request.takes_tasks {
                    self.fault("undeclared-task", "a task, and its request did not allow for one");
                }
                self.task(result);
                return false;
            }
            Some(_) => {
                let text = format!("the type {} is not known", quoted(&result["resultType"]));
                self.fault("result-type", text);
                return false;
            }
        }
        if self.is_modern && CACHED.contains(&method) {
            if !result["ttlMs"].is_u64() {
                self.fault("cache", "`ttlMs` is no integer from 0 on");
            }
            if !matches!(result["cacheScope"].as_str(), Some("public" | "private")) {
                self.fault("cache", "`cacheScope` is neither \"public\" nor \"private\"");
            }
        }
        true
    }

    fn initialize(&mut self, result: &Value) {
        match result["protocolVersion"].as_str() {
            None => self.fault("version", "`protocolVersion` is no text"),
            Some(version) if !VERSIONS.contains(&version) => {
                let shown = quote(version, QUOTED);
                self.fault("version", format!("there is no version `{shown}` with a handshake"));
            }
            Some(_) => {}
        }
        self.capabilities(result);
        let info = &result["serverInfo"];
        if !info["name"].is_string() || !info["version"].is_string() {
            self.fault("server-info", "`serverInfo` has no `name` or no `version`");
        }
    }

    fn discover(&mut self, result: &Value) {
        let versions = result["supportedVersions"].as_array();
        let versions: Vec<_> = versions.into_iter().flatten().map(Value::as_str).collect();
        if !versions.iter().any(|version| version.is_some_and(is_modern)) {
            self.fault("version", "`supportedVersions` has no version without a handshake");
        }
        self.capabilities(result);
    }

    fn capabilities(&mut self, result: &Value) {
        if !result["capabilities"].is_object() {
            self.fault("result", "`capabilities` is no object");
        }
    }

    fn list(&mut self, result: &Value, member: &str, key: &str) {
        let Some(items) = result[member].as_array() else {
            return self.fault("result", format!("`{member}` is no list"));
        };
        if result.get("nextCursor").is_some_and(|next| !next.is_string()) {
            self.fault("cursor", "`nextCursor` is no text");
        }
        let mut seen = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            let Some(name) = item[key].as_str() else {
                self.fault("result", format!("`{key}` of `{member}[{at}]` is no text"));
                continue;
            };
            if !seen.insert(name) {
                let text = format!("`{}` is listed twice", quote(name, QUOTED));
                self.fault("duplicate", text);
            }
            if !item["name"].is_string() {
                self.fault("result", format!("`name` of `{member}[{at}]` is no text"));
            }
            if member == "tools" {
                self.tool(name, item);
            }
        }
    }

    fn tool(&mut self, name: &str, definition: &Value) {
        let shown = quote(name, QUOTED);
        if definition["inputSchema"]["type"] != "object" {
            let text = format!("the `inputSchema` of `{shown}` is no schema of an object");
            self.fault("input-schema", text);
        }
        if definition.get("outputSchema").is_some_and(|schema| !schema.is_object()) {
            self.fault("output-schema", format!("the `outputSchema` of `{shown}` is no object"));
        }
        self.schemas.learn(name, definition);
    }

    fn call(&mut self, result: &Value) {
        match result["content"].as_array() {
            None => self.fault("result", "`content` is no list"),
            Some(blocks) => {
                for (at, block) in blocks.iter().enumerate() {
                    self.block(block, &format!("content[{at}]"));
                }
            }
        }
        if result.get("isError").is_some_and(|own| !own.is_boolean()) {
            self.fault("result", "`isError` is neither true nor false");
        }
        if let Some(tool) = &self.request.subject {
            self.schemas.check(tool, result, self.message);
        }
    }

    fn messages(&mut self, result: &Value) {
        let Some(messages) = result["messages"].as_array() else {
            return self.fault("result", "`messages` is no list");
        };
        for (at, message) in messages.iter().enumerate() {
            if !matches!(message["role"].as_str(), Some("user" | "assistant")) {
                let text = format!("the role of `messages[{at}]` is not `user` or `assistant`");
                self.fault("result", text);
            }
            self.block(&message["content"], &format!("messages[{at}].content"));
        }
    }

    /// Checks one part of a content.
    fn block(&mut self, block: &Value, path: &str) {
        let needed: &[&str] = match block["type"].as_str() {
            Some("text") => &["/text"],
            Some("image" | "audio") => &["/data", "/mimeType"],
            Some("resource_link") => &["/uri", "/name"],
            Some("resource") => &["/resource/uri"],
            _ => {
                let text = format!("the type {} of `{path}` is not known", quoted(&block["type"]));
                return self.fault("content", text);
            }
        };
        for pointer in needed {
            if !block.pointer(pointer).is_some_and(Value::is_string) {
                let member = pointer[1..].replace('/', ".");
                self.fault("content", format!("`{path}.{member}` is no text"));
            }
        }
    }

    fn contents(&mut self, result: &Value) {
        let Some(contents) = result["contents"].as_array() else {
            return self.fault("result", "`contents` is no list");
        };
        if contents.is_empty() {
            self.fault("result", "`contents` is empty: a missing resource is an error");
        }
        for (at, part) in contents.iter().enumerate() {
            if !part["uri"].is_string() {
                self.fault("result", format!("`contents[{at}].uri` is no text"));
            }
            if part["text"].is_string() == part["blob"].is_string() {
                self.fault("result", format!("`contents[{at}]` has not one of `text` and `blob`"));
            }
        }
    }

    fn completion(&mut self, result: &Value) {
        match result["completion"]["values"].as_array() {
            None => self.fault("result", "`completion.values` is no list"),
            Some(values) if values.len() > 100 => {
                self.fault("result", "`completion.values` has more than 100 values");
            }
            Some(values) if !values.iter().all(Value::is_string) => {
                self.fault("result", "a value of `completion.values` is no text");
            }
            Some(_) => {}
        }
    }

    fn task(&mut self, result: &Value) {
        const STATUSES: [&str; 5] =
            ["working", "input_required", "completed", "failed", "cancelled"];
        if !result["taskId"].is_string() {
            self.fault("result", "`taskId` is no text");
        }
        if !result["status"].as_str().is_some_and(|status| STATUSES.contains(&status)) {
            self.fault("result", format!("the status {} is not known", quoted(&result["status"])));
        }
    }
}

/// Returns the capability that a server with a method declares.
fn needed_of_server(method: &str) -> Option<&'static str> {
    Some(match method {
        "tools/list" | "tools/call" => "/tools",
        "prompts/list" | "prompts/get" => "/prompts",
        "resources/list" | "resources/templates/list" | "resources/read" => "/resources",
        "resources/subscribe" => "/resources/subscribe",
        "completion/complete" => "/completions",
        "logging/setLevel" => "/logging",
        _ => return None,
    })
}
