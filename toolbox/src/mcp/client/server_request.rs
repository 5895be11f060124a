//! The requests that a server may answer with questions to the user.

use std::collections::BTreeMap;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelTaskParams, CancelTaskRequest, ClientRequest,
    GetPromptRequest, GetPromptRequestParams, GetTaskParams, GetTaskRequest, ReadResourceRequest,
    ReadResourceRequestParams, UpdateTaskParams, UpdateTaskRequest,
};
use serde_json::{Map, Value};

use super::questions::InputAnswers;
use super::skills::PassedFile;

/// A request that a server may answer with questions to the user.
#[derive(Clone, Copy)]
pub(super) enum ServerRequest<'a> {
    /// A call of a tool, with its arguments as JSON.
    Tool { name: &'a str, arguments: &'a str },
    /// The messages of a prompt, with its arguments as JSON.
    Prompt { name: &'a str, arguments: &'a str },
    /// The contents of a resource.
    Resource { uri: &'a str },
    /// A file of a skill, which is verified.
    SkillFile { file: &'a PassedFile },
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
            Self::Resource { uri } => read_request(uri, responses, state),
            Self::SkillFile { file } => read_request(&file.own_uri, responses, state),
        }
    }
}

fn read_request(
    uri: &str,
    responses: Option<BTreeMap<String, Value>>,
    state: Option<String>,
) -> ClientRequest {
    let mut params = ReadResourceRequestParams::new(uri);
    params.input_responses = responses;
    params.request_state = state;
    ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
}

/// A request about a task.
pub(super) enum TaskRequest<'a> {
    /// The state.
    Get { id: &'a str },
    /// Answers to its questions.
    Update { id: &'a str, responses: BTreeMap<String, Value> },
    /// The wish that it ends.
    Cancel { id: &'a str },
}

impl From<TaskRequest<'_>> for ClientRequest {
    fn from(request: TaskRequest<'_>) -> Self {
        match request {
            TaskRequest::Get { id } => {
                Self::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(id)))
            }
            TaskRequest::Update { id, responses } => Self::UpdateTaskRequest(
                UpdateTaskRequest::new(UpdateTaskParams::new(id, responses)),
            ),
            TaskRequest::Cancel { id } => {
                Self::CancelTaskRequest(CancelTaskRequest::new(CancelTaskParams::new(id)))
            }
        }
    }
}
