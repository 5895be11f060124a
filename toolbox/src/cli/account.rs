//! The cost of tool definitions in a request, in bytes and estimated tokens.

use serde::Serialize;

use crate::call::ToolCall;
use crate::collection::ToolBox;
use crate::definition::ToolDefinition;
use crate::dialect::{Definitions, Dialect, EstimatedTokens, TokenCounter as _, lower};
use crate::search::{Gateway, SEARCH_WORDS};
use crate::tool::Tool;

/// The number of searches made to measure the average reply.
const SEARCHES: usize = 40;

/// The size of a text.
///
/// Tokens are [estimated](crate::dialect::EstimatedTokens) from the text.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: usize,
    pub(super) tokens: usize,
}

impl Size {
    pub(super) fn of(text: &str) -> Self {
        Self { bytes: text.len(), tokens: EstimatedTokens.count(text) }
    }

    pub(super) fn of_tool(definition: &ToolDefinition) -> Self {
        Self::of(&lower(definition, Dialect::Anthropic).tool.to_string())
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, tokens: self.tokens + other.tokens }
    }

    /// Returns the size of each of `count` texts that have this size together.
    fn each_of(self, count: usize) -> Self {
        Self { bytes: self.bytes / count.max(1), tokens: self.tokens / count.max(1) }
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
        let list =
            |definitions: Definitions| Size::of(definitions.lowered(Dialect::Anthropic).json());
        let definitions = list(tools.iter().map(|tool| tool.definition().clone()).collect());
        let hidden = ToolBox::new();
        hidden.register(tools.iter().cloned().map(Tool::deferred).collect::<Vec<_>>());
        let gateway = Gateway::over(&hidden).default_limit(limit);
        let three = ToolBox::from(gateway);
        let (mut replies, mut searches) = (Size::default(), 0);
        for tool in tools.iter().step_by(tools.len().div_ceil(SEARCHES).max(1)) {
            let text = tool.description().lines().next().unwrap_or_default();
            let call = ToolCall::new("1", SEARCH_WORDS, serde_json::json!({"text": text}));
            replies = replies.and(Size::of(&three.call(call).await.text()));
            searches += 1;
        }
        let reply = replies.each_of(searches);
        let gateway = list(three.definitions());
        let all = gateway.and(reply).tokens;
        Self {
            tools: tools.len(),
            definitions,
            gateway,
            reply,
            break_even_tools: (!tools.is_empty())
                .then(|| (all * tools.len()).div_ceil(definitions.tokens.max(1))),
        }
    }
}
