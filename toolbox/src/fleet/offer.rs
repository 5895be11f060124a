//! The offer of one tool by one worker.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::context::approval::Approval;
use crate::definition::{Callers, Grammar, Icon, Namespace, ToolAnnotations, check_name};
use crate::text::hex;
use crate::tool::Tool;

/// A tool as its worker offers it: the definition, and the settings that matter to its caller.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of a tool")]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint_title: Option<String>,
    /// Read-only, destructive, idempotent, open world.
    annotations: [Option<bool>; 4],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// The names that the tool had before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) replaces: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    icons: Vec<Icon>,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deferred: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(skip_serializing_if = "Callers::is_default")]
    callers: Callers,
    #[serde(skip_serializing_if = "Option::is_none")]
    grammar: Option<Grammar>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<Namespace>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    answered_later: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    untrusted_definition: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    untrusted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shows_urls: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    background: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    exclusive: bool,
    /// `true` if every call needs approval, and the tool has no approver of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    needs_approval: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

/// A method of a tool that turns one of its options on.
type ToolOption = fn(Tool) -> Tool;

/// The value of a key in the bucket of the offers.
#[derive(Serialize, Deserialize)]
struct OfferValue<T> {
    digest: T,
    /// `true` if the worker takes durable calls of the tool as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    durable: bool,
    tool: Box<RawValue>,
}

/// A definition as text, and the digest of the text.
#[derive(Clone)]
pub(super) struct WrittenOffer {
    pub(super) digest: String,
    pub(super) value: Vec<u8>,
}

impl OfferedTool {
    pub(super) fn of(tool: &Tool) -> Self {
        let definition = tool.definition().clone();
        let hints = definition.annotations;
        let running = &tool.inner().running;
        Self {
            annotations: [hints.read_only, hints.destructive, hints.idempotent, hints.open_world],
            deferred: definition.deferred,
            strict: definition.strict,
            callers: definition.callers,
            answered_later: definition.answered_later,
            untrusted_definition: definition.is_untrusted(),
            untrusted: tool.is_untrusted(),
            shows_urls: running.shows_urls,
            background: running.background,
            exclusive: running.exclusive,
            needs_approval: matches!(running.approval, Approval::OfBox),
            timeout_ms: running
                .timeout
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            name: definition.name,
            description: definition.description,
            input_schema: definition.input_schema.into(),
            output_schema: definition.output_schema.map(Into::into),
            title: definition.title,
            hint_title: definition.hint_title,
            examples: definition.examples,
            tags: definition.tags,
            replaces: definition.replaces,
            icons: definition.icons,
            grammar: definition.grammar,
            namespace: definition.namespace,
            meta: definition.meta,
        }
    }

    /// Returns the value that offers the tool.
    pub(super) fn written(&self, durable: bool) -> serde_json::Result<WrittenOffer> {
        let tool = serde_json::value::to_raw_value(self)?;
        let digest = hex(&Sha256::digest(tool.get().as_bytes()));
        let value = serde_json::to_vec(&OfferValue { digest: &digest, durable, tool })?;
        Ok(WrittenOffer { digest, value })
    }

    /// Returns the time limit of one call, if the tool has its own.
    pub(super) fn timeout(&self) -> Option<Duration> {
        // That of a tool without a limit has no milliseconds that fit.
        self.timeout_ms.map(|time| match time {
            u64::MAX => Duration::MAX,
            time => Duration::from_millis(time),
        })
    }

    pub(super) fn hints(&self) -> ToolAnnotations {
        let [read_only, destructive, idempotent, open_world] = self.annotations;
        ToolAnnotations { read_only, destructive, idempotent, open_world }
    }

    /// Returns a tool as the offer describes it.
    pub(super) fn dress(&self, mut tool: Tool) -> Tool {
        tool = tool
            .with_annotations(self.hints())
            .with_tags(self.tags.iter().map(String::as_str))
            .with_examples(self.examples.clone())
            .with_callers(self.callers)
            .with_presentation(self.hint_title.clone(), self.icons.clone(), self.meta.clone());
        if let Some(title) = &self.title {
            tool = tool.with_title(title.as_str());
        }
        if let Some(schema) = &self.output_schema {
            tool = tool.with_output_schema(schema.clone());
        }
        if let Some(grammar) = &self.grammar {
            tool = tool.with_grammar(grammar.clone());
        }
        if let Some(namespace) = &self.namespace {
            tool = tool.in_namespace(namespace.clone());
        }
        if let Some(timeout) = self.timeout() {
            tool = tool.with_timeout(timeout);
        }
        let options: [(bool, ToolOption); 9] = [
            (self.deferred, Tool::deferred),
            (self.strict, Tool::strict),
            (self.answered_later, Tool::answered_later),
            (self.untrusted, Tool::untrusted),
            (self.untrusted_definition, Tool::with_untrusted_definition),
            (self.shows_urls, Tool::showing_urls),
            (self.background, Tool::background),
            (self.exclusive, Tool::exclusive),
            (self.needs_approval, Tool::needs_approval),
        ];
        options.into_iter().filter(|(on, _)| *on).fold(tool, |tool, (_, option)| option(tool))
    }
}

/// An offer as it was read.
pub(super) struct ReadOffer {
    pub(super) digest: String,
    pub(super) durable: bool,
    tool: Box<RawValue>,
}

impl ReadOffer {
    pub(super) fn of(value: &[u8]) -> Result<Self, String> {
        let OfferValue { digest, durable, tool }: OfferValue<String> =
            serde_json::from_slice(value).map_err(|error| error.to_string())?;
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("its digest is not 64 hexadecimal digits".to_owned());
        }
        Ok(Self { digest, durable, tool })
    }

    /// Reads the definition, which has to be that of the digest, and of the tool of the key.
    pub(super) fn tool(&self, name: &str) -> Result<Arc<OfferedTool>, String> {
        if hex(&Sha256::digest(self.tool.get().as_bytes())) != self.digest {
            return Err("its digest is that of another definition".to_owned());
        }
        let tool: OfferedTool =
            serde_json::from_str(self.tool.get()).map_err(|error| error.to_string())?;
        if tool.name != name {
            return Err(format!("its key is that of another tool, `{name}`"));
        }
        check_name(&tool.name).map_err(|error| error.to_string())?;
        if !tool.input_schema.is_object() {
            return Err("the schema of its arguments is no object".to_owned());
        }
        Ok(Arc::new(tool))
    }
}
