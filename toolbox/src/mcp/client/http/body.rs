//! Bodies of responses, in memory of a bounded size.

use reqwest::Response;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::text::without_mark;

type Error = StreamableHttpError<reqwest::Error>;

/// Reads a body of at most `max` bytes, without a byte order mark; `None` if it is longer.
pub(super) async fn bounded(mut response: Response, max: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(client_error)? {
        if body.len() + piece.len() > max {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(without_mark(&body).to_vec()))
}

/// Returns an error without the URL, which may hold a secret.
pub(in crate::mcp::client) fn client_error(error: reqwest::Error) -> Error {
    StreamableHttpError::Client(error.without_url())
}
