//! The browser's redirect back: one request to a port on the loopback interface.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The maximum time to receive a request on one connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum size of a request, in bytes.
const LONGEST: usize = 16 << 10;

/// The path of the redirect.
pub(super) const PATH: &str = "/callback";

/// Waits for the request that carries `state`, and returns its query. Other requests get an error:
/// any page can send a browser here.
pub(super) async fn wait(listener: TcpListener, state: String) -> std::io::Result<String> {
    let (found, mut queries) = mpsc::channel(1);
    // The tasks end with this future. Browsers open spare connections, which must not block the
    // real one.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(query) = queries.recv() => return Ok(query),
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                while connections.try_join_next().is_some() {}
                if connections.len() < 32 {
                    let (found, state) = (found.clone(), state.clone());
                    connections.spawn(async move {
                        if let Ok(Some(query)) = tokio::time::timeout(PATIENCE, answer(stream, &state)).await {
                            let _ = found.send(query).await;
                        }
                    });
                }
            }
        }
    }
}

/// Answers one connection, and returns the query if it carries `state`.
async fn answer(mut stream: TcpStream, state: &str) -> Option<String> {
    let mut read = Vec::new();
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 2048];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        read.extend_from_slice(&piece[..count]);
        if read.len() > LONGEST {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&read);
    let target = text.lines().next()?.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let query = target.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('?'));
    let query = query.filter(|query| value(query, "state").as_deref() == Some(state));
    let (status, words) = match query {
        Some(query) if value(query, "code").is_some() => {
            ("200 OK", "You can close this page, and go back to where you began.")
        }
        Some(_) => ("200 OK", "You are not signed in. You can close this page."),
        None => ("404 Not Found", "This page is for the end of a sign-in."),
    };
    let head = "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close";
    let reply =
        format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{words}", words.len());
    // The client may be gone; its query counts all the same.
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
    query.map(str::to_owned)
}

/// Returns a value of a query.
pub(super) fn value(query: &str, name: &str) -> Option<String> {
    let url = reqwest::Url::parse(&format!("http://127.0.0.1/?{query}")).ok()?;
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
