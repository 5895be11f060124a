//! HTTP connections: limits on their number and speed, and their shutdown.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::body::Outgoing;
use super::endpoint::{Endpoint, PATH, SLASHED};
use super::share::{Connections, HttpConnection, RequestInProgress};
use crate::context::CancellationToken;
use crate::future::BoxFuture;
use crate::mcp::server::running::{CANCEL_TIMEOUT, ServiceActivity};
use crate::mcp::server::shared::ServiceOptions;

/// The maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// The pause in accepting when the process is out of descriptors.
const REST: Duration = Duration::from_millis(100);

/// The limits on the connections of a listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    pub(crate) connections: usize,
    /// Those of one address, other than the loopback.
    pub(crate) per_address: usize,
    /// The time for the head of a request.
    pub(crate) read_timeout: Duration,
}

pub(super) async fn serve(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    running: ServiceActivity,
    options: &ServiceOptions,
    shutdown: impl Future<Output = ()>,
) {
    let router = TowerToHyperService::new(Arc::clone(&endpoint).router());
    let connections = options.http.max_connections;
    let per_address = options.http.max_connections_per_address;
    let limits = ConnectionLimits {
        connections,
        per_address: per_address.unwrap_or(connections.div_ceil(4)).max(1),
        read_timeout: options.http.read_timeout,
    };
    let _end = running.end_on_drop();
    let service = |connection| {
        let (endpoint, router) = (Arc::clone(&endpoint), router.clone());
        ConnectionService { endpoint, router, connection }
    };
    let mut connections = accept(listener, limits, running.closing(), service, shutdown).await;
    running.wind_down(options.grace).await;
    let all = async { while connections.join_next().await.is_some() {} };
    // A client that does not read its responses is not waited for.
    if timeout(CANCEL_TIMEOUT, all).await.is_err() {
        connections.shutdown().await;
    }
    running.settle().await;
}

/// Accepts connections until `shutdown` ends, and returns those that are open then. Each finishes
/// its request once `closing` is cancelled.
pub(crate) async fn accept<S>(
    listener: TcpListener,
    limits: ConnectionLimits,
    closing: &CancellationToken,
    service: impl Fn(HttpConnection) -> S,
    shutdown: impl Future<Output = ()>,
) -> JoinSet<()>
where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible> + Send + 'static,
    S::Future: Send + Unpin,
{
    let open = Connections::default();
    let mut number = 0_u64;
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = &mut shutdown => break,
        };
        match stream {
            Ok((stream, address)) => {
                number += 1;
                let listed =
                    open.admit(number, address.ip(), limits.connections, limits.per_address);
                // An excess connection is closed by dropping it.
                let Some(listed) = listed else { continue };
                let own = listed.connection.clone();
                let (service, closing) = (service(own.clone()), closing.clone());
                connections.spawn(async move {
                    let service = CountedService { service, connection: own.clone() };
                    tokio::select! {
                        () = connection(stream, service, closing) => {}
                        () = own.head_timeout(limits.read_timeout) => {}
                        () = own.closed() => {}
                    }
                    drop(listed);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(REST).await;
            }
        }
    }
    connections
}

/// The service of one connection.
struct ConnectionService {
    endpoint: Arc<Endpoint>,
    /// The routes beside the endpoint.
    router: TowerToHyperService<Router>,
    connection: HttpConnection,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        if ![PATH, SLASHED].contains(&request.uri().path()) {
            return Box::pin(self.router.call(request));
        }
        let (endpoint, connection) = (Arc::clone(&self.endpoint), self.connection.clone());
        Box::pin(
            async move { Ok(endpoint.answer(request.map(Body::new), Some(&connection)).await) },
        )
    }
}

/// A service whose connection knows of the requests in progress.
struct CountedService<S> {
    service: S,
    connection: HttpConnection,
}

impl<S> Service<Request<Incoming>> for CountedService<S>
where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Unpin>,
{
    type Response = Response<Outgoing>;
    type Error = Infallible;
    type Future = CountedResponse<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let in_progress = Some(self.connection.request());
        CountedResponse { response: self.service.call(request), in_progress }
    }
}

/// The response to a request in progress.
struct CountedResponse<F> {
    response: F,
    /// Moved into the body.
    in_progress: Option<RequestInProgress>,
}

impl<F: Future<Output = Result<Response, Infallible>> + Unpin> Future for CountedResponse<F> {
    type Output = Result<Response<Outgoing>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Ok(response) = ready!(Pin::new(&mut self.response).poll(context));
        let guards = self.in_progress.take().map(Into::into).unwrap_or_default();
        Poll::Ready(Ok(response.map(|body| Outgoing::new(body, None, guards, None))))
    }
}

/// A stream whose connection knows when something was sent.
struct CountedStream {
    stream: TcpStream,
    connection: HttpConnection,
}

impl CountedStream {
    fn noted(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(sent, Poll::Ready(Ok(1..))) {
            self.connection.note_sent();
        }
        sent
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.noted(sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.noted(sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

async fn connection<S>(stream: TcpStream, service: CountedService<S>, closing: CancellationToken)
where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Unpin>,
{
    // Responses are small and waited for.
    let _ = stream.set_nodelay(true);
    let stream = CountedStream { stream, connection: service.connection.clone() };
    let connection = http1::Builder::new()
        // The timeout of this module takes its place.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
