//! A server on loopback that plays answers and faults, one after another.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The server's action on one request.
pub(crate) enum Answer {
    /// Writes the pieces, one at a time, and closes the connection.
    Pieces(Vec<Vec<u8>>),
    /// Writes the pieces, and says nothing more until the client goes away.
    ThenSilent(Vec<Vec<u8>>),
}

/// A request as it arrived.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: serde_json::Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Tells each time that a client went away while the server was silent.
    pub(crate) left: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Starts a server that answers one request after another; those beyond the last get status
    /// 418.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (leaving, left) = mpsc::unbounded_channel();
        let mut answers = answers.into_iter().collect::<Vec<_>>().into_iter();
        let record = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers.next().unwrap_or_else(|| json(418, "", "no answer is left"));
                tokio::spawn(serve(stream, answer, Arc::clone(&record), leaving.clone()));
            }
        });
        Self { url, seen, left }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    stream: TcpStream,
    answer: Answer,
    record: Arc<Mutex<Vec<Seen>>>,
    leaving: mpsc::UnboundedSender<()>,
) {
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    let Some(request) = read_request(&mut stream).await else { return };
    record.lock().unwrap().push(request);
    let (pieces, is_silent) = match answer {
        Answer::Pieces(pieces) => (pieces, false),
        Answer::ThenSilent(pieces) => (pieces, true),
    };
    for piece in pieces {
        // The client may have seen enough.
        if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    if is_silent {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        let _ = leaving.send(());
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let target = lines.first()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut seen = Seen { target, headers, body: serde_json::Value::Null };
    let mut body = vec![0; seen.header("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = serde_json::from_slice(&body).ok()?;
    Some(seen)
}

/// An answer with a status, more headers (each line ended by `\r\n`) and a body.
pub(crate) fn answer(status: u16, kind: &str, headers: &str, body: &[u8]) -> Answer {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    Answer::Pieces(vec![head.into_bytes(), body.to_vec()])
}

pub(crate) fn json(status: u16, headers: &str, body: &str) -> Answer {
    answer(status, "application/json", headers, body.as_bytes())
}

/// The pieces of a stream of events that ends when the connection does.
pub(crate) fn event_pieces(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    std::iter::once(head.as_bytes().to_vec()).chain(pieces).collect()
}

pub(crate) fn events(text: &str) -> Answer {
    Answer::Pieces(event_pieces([text.as_bytes().to_vec()]))
}
