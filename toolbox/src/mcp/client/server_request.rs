//! The requests that a server may answer with questions to the user.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, ReadResourceRequest, ReadResourceRequestParams,
};
use serde_json::{Map, Value};

use super::questions::InputAnswers;

/// A request that a server may answer with questions to the user.
#[derive(Clone, Copy)]
pub(super) enum ServerRequest<'a> {
    /// A call of a tool, with its arguments as JSON.
    Tool { name: &'a str, arguments: &'a str },
    /// The messages of a prompt, with its arguments as JSON.
    Prompt { name: &'a str, arguments: &'a str },
    /// The contents of a resource.
    Resource { uri: &'a str },
}

impl ServerRequest<'_> {
    pub(super) fn with_answers(self, answers: InputAnswers) -> ClientRequest {
        let object = |text: &str| -> Map<String, Value> {
            // The gate has checked that it is an object.
            serde_json::from_str(text).unwrap_or_default()
        };
        let InputAnswers { responses, state } = answers;
        match self {
            Self::Tool { name, arguments } => {
                let mut params =
                    CallToolRequestParams::new(name.to_owned()).with_arguments(object(arguments));
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            }
            Self::Prompt { name, arguments } => {
                let mut params = GetPromptRequestParams::new(name);
                params.arguments = Some(object(arguments)).filter(|given| !given.is_empty());
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
            Self::Resource { uri } => {
                let mut params = ReadResourceRequestParams::new(uri);
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
        }
    }
}
