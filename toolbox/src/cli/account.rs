//! The cost of tool definitions in a request, in bytes and estimated tokens.

use serde::Serialize;

use crate::call::ToolCall;
use crate::collection::ToolBox;
use crate::definition::ToolDefinition;
use crate::dialect::{Definitions, Dialect, lower};
use crate::search::{Gateway, SEARCH_WORDS};
use crate::tool::Tool;

/// The number of searches made to measure the average reply.
const SEARCHES: usize = 40;

/// The size of a text.
///
/// Tokens are estimated as a quarter of the bytes, rounded up: tokenizers differ, and on JSON with
/// English descriptions most take 3.5 to 4.5 bytes per token.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: usize,
    pub(super) tokens: usize,
}

impl Size {
    pub(super) fn of(bytes: usize) -> Self {
        Self { bytes, tokens: bytes.div_ceil(4) }
    }

    pub(super) fn of_tool(definition: &ToolDefinition) -> Self {
        Self::of(lower(definition, Dialect::Anthropic).tool.to_string().len())
    }
}

/// The size of all definitions compared with the gateway that can replace them, in the format of
/// Anthropic's requests.
#[derive(Debug, Serialize)]
pub(super) struct Account {
    /// The number of tools.
    pub(super) tools: usize,
    /// The size of all definitions.
    pub(super) definitions: Size,
    /// The size of the gateway's three definitions.
    pub(super) gateway: Size,
    /// The average size of a reply to a search with the default number of hits.
    pub(super) reply: Size,
    /// The number of tools of average size from which the gateway with one reply is smaller than
    /// all definitions.
    pub(super) break_even_tools: Option<usize>,
}

impl Account {
    /// Measures tools; only the search of a gateway is called.
    pub(super) async fn of(tools: &[Tool], limit: usize) -> Self {
        let list = |definitions: Definitions| {
            Size::of(definitions.lowered(Dialect::Anthropic).json().len())
        };
        let definitions = list(tools.iter().map(|tool| tool.definition().clone()).collect());
        let hidden = ToolBox::new();
        hidden.register(tools.iter().cloned().map(Tool::deferred).collect::<Vec<_>>());
        let gateway = Gateway::over(&hidden).default_limit(limit);
        let three = ToolBox::from(gateway);
        let mut bytes = Vec::new();
        for tool in tools.iter().step_by(tools.len().div_ceil(SEARCHES).max(1)) {
            let text = tool.description().lines().next().unwrap_or_default();
            let call = ToolCall::new("1", SEARCH_WORDS, serde_json::json!({"text": text}));
            bytes.push(three.call(call).await.text().len());
        }
        let reply =
            Size::of(bytes.iter().sum::<usize>().checked_div(bytes.len()).unwrap_or_default());
        let gateway = list(three.definitions());
        let all = gateway.bytes + reply.bytes;
        Self {
            tools: tools.len(),
            definitions,
            gateway,
            reply,
            break_even_tools: (!tools.is_empty())
                .then(|| (all * tools.len()).div_ceil(definitions.bytes.max(1))),
        }
    }
}
