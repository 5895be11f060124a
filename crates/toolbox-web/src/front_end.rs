//! The front ends, and the headers that each expects.

/// A protocol between a web front end and an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrontEnd {
    /// The Agent-User Interaction protocol 1.0, such as of the npm package `@ag-ui/client`: the
    /// request is a `RunAgentInput`, the answer a stream of its events.
    AgUi,
    /// The AI SDK 6 (`useChat` with its `DefaultChatTransport`, npm package `ai`): the request holds
    /// UI messages, the answer is a UI message stream.
    AiSdk,
}

impl FrontEnd {
    /// Returns the headers of an answer, names in lower case.
    #[must_use]
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        const HEADERS: [(&str, &str); 4] = [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            // A proxy that buffers would hold the text back.
            ("x-accel-buffering", "no"),
            ("x-vercel-ai-ui-message-stream", "v1"),
        ];
        match self {
            Self::AgUi => &HEADERS[..3],
            Self::AiSdk => &HEADERS,
        }
    }
}
