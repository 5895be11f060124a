//! The stream of a session, on which a server asks.

use std::time::Duration;

use rmcp::model::ClientRequest;
use tokio::sync::watch;

/// The maximum time that a request waits for the stream of its session.
const STREAM_WAIT: Duration = Duration::from_secs(1);

/// The stream of a session, on which a server sends requests of its own.
///
/// A server that runs a tool before the stream is open loses its question, and waits for an answer.
#[derive(Default)]
pub(super) struct SessionStream {
    is_answered: watch::Sender<bool>,
}

impl SessionStream {
    /// Says that the request for the stream was answered, be it by a refusal.
    pub(super) fn answered(&self) {
        self.is_answered.send_replace(true);
    }

    /// Waits until the stream is answered, if the request can make the server ask something.
    pub(super) async fn until_ready(&self, request: &ClientRequest, in_session: bool) {
        match request {
            ClientRequest::InitializeRequest(_) => drop(self.is_answered.send_replace(false)),
            ClientRequest::CallToolRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ReadResourceRequest(_)
                if in_session =>
            {
                let mut answered = self.is_answered.subscribe();
                let ready = answered.wait_for(|is_answered| *is_answered);
                if tokio::time::timeout(STREAM_WAIT, ready).await.is_err() {
                    // Some servers answer with their first event only. The next requests need not
                    // wait again.
                    self.answered();
                }
            }
            _ => {}
        }
    }
}
