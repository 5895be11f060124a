//! The standard streams of the process, for a server that is a child process.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

use super::lines::{BoxedInput, message_of};

/// The number of bytes read at once.
const CHUNK: usize = 64 << 10;

/// Standard input, read by a separate thread.
///
/// tokio reads it on a thread that the runtime waits for at shutdown, so a program could not end
/// while its input is silent.
pub(super) struct StdinReader {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
}

/// The longest first message that is looked at, in bytes.
const LONGEST_FIRST: usize = 64 << 10;

/// Standard input of a server, which can be looked at before it is served.
pub(crate) struct HostInput(StdinReader);

/// Returns standard input, read by a separate thread.
#[cfg(all(feature = "agent", feature = "mcp-client"))]
pub(crate) fn standard_input() -> impl AsyncRead + Send + Unpin {
    StdinReader::open()
}

impl HostInput {
    pub(crate) fn open() -> Self {
        Self(StdinReader::open())
    }

    /// Returns the first message, which stays to be read; empty if there is none after a time.
    pub(crate) async fn first(&mut self, patience: Duration) -> &[u8] {
        let StdinReader { chunks, chunk, .. } = &mut self.0;
        let whole = async {
            while first_message(chunk).is_empty() && chunk.len() < LONGEST_FIRST {
                match chunks.recv().await {
                    Some(Ok(more)) => chunk.extend(more),
                    // The reader of the messages comes upon the end, or waits for more.
                    Some(Err(_)) | None => return,
                }
            }
        };
        let _ = tokio::time::timeout(patience, whole).await;
        first_message(chunk)
    }

    pub(super) fn into_input(self) -> BoxedInput {
        Box::new(self.0)
    }
}

/// Returns the first line that is whole and not blank.
fn first_message(bytes: &[u8]) -> &[u8] {
    let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    whole.map(message_of).find(|line| !line.is_empty()).unwrap_or_default()
}

impl StdinReader {
    fn open() -> Self {
        let (sender, chunks) = mpsc::channel(2);
        std::thread::spawn(move || {
            let mut input = io::stdin();
            let mut buffer = vec![0; CHUNK];
            loop {
                let read = match input.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(read) => Ok(buffer[..read].to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let has_failed = read.is_err();
                if sender.blocking_send(read).is_err() || has_failed {
                    return;
                }
            }
        });
        Self { chunks, chunk: Vec::new(), at: 0 }
    }
}

impl AsyncRead for StdinReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.at == self.chunk.len() {
            match ready!(self.chunks.poll_recv(context)) {
                Some(Ok(chunk)) => {
                    self.chunk = chunk;
                    self.at = 0;
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Ok(())),
            }
        }
        let rest = &self.chunk[self.at..];
        let taken = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..taken]);
        self.at += taken;
        Poll::Ready(Ok(()))
    }
}

/// Reserves standard output for the protocol: until it is dropped, printed output goes to standard
/// error.
#[cfg(unix)]
pub(super) struct StdoutGuard(std::fs::File);

#[cfg(unix)]
impl StdoutGuard {
    pub(super) fn take() -> io::Result<Self> {
        use std::io::Write;
        use std::os::fd::AsFd;

        io::stdout().flush()?;
        let own = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok(Self(own.into()))
    }

    /// Returns the writer of the protocol's lines.
    pub(super) fn output(&self) -> io::Result<Box<dyn io::Write + Send>> {
        Ok(Box::new(self.0.try_clone()?))
    }
}

#[cfg(unix)]
impl Drop for StdoutGuard {
    fn drop(&mut self) {
        use std::io::Write;

        let _ = io::stdout().flush();
        let _ = rustix::stdio::dup2_stdout(&self.0);
    }
}

/// Other systems have no safe way to redirect a stream: printed output of a tool corrupts the
/// protocol.
#[cfg(not(unix))]
pub(super) struct StdoutGuard;

#[cfg(not(unix))]
impl StdoutGuard {
    pub(super) fn take() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn output(&self) -> io::Result<Box<dyn io::Write + Send>> {
        Ok(Box::new(io::stdout()))
    }
}
