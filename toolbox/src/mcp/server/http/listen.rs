//! HTTP connections: limits on their number and speed, and their shutdown.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::endpoint::{Endpoint, PATH};
use super::share::{Connections, HttpConnection};
use crate::future::BoxFuture;
use crate::mcp::server::running::{CANCEL_TIMEOUT, ServiceActivity};
use crate::mcp::server::shared::ServiceOptions;

/// The maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// The pause in accepting when the process is out of descriptors.
const REST: Duration = Duration::from_millis(100);

pub(super) async fn serve(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    running: ServiceActivity,
    options: &ServiceOptions,
    shutdown: impl Future<Output = ()>,
) {
    let router = TowerToHyperService::new(Arc::clone(&endpoint).router());
    let open = Connections::default();
    let own_limit = options.http.max_connections_per_address;
    let own_limit = own_limit.unwrap_or(options.http.max_connections.div_ceil(4)).max(1);
    let mut number = 0_u64;
    let mut connections = JoinSet::new();
    let _end = running.end_on_drop();
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
                    open.admit(number, address.ip(), options.http.max_connections, own_limit);
                // An excess connection is closed by dropping it.
                let Some(listed) = listed else { continue };
                let (endpoint, router) = (Arc::clone(&endpoint), router.clone());
                let (running, read_timeout) = (running.clone(), options.http.read_timeout);
                connections.spawn(async move {
                    let own = listed.connection.clone();
                    let service = ConnectionService { endpoint, router, connection: own.clone() };
                    tokio::select! {
                        () = connection(stream, service, running, read_timeout) => {}
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
    drop(listener);
    running.wind_down(options.grace).await;
    let all = async { while connections.join_next().await.is_some() {} };
    // A client that does not read its responses is not waited for.
    if timeout(CANCEL_TIMEOUT, all).await.is_err() {
        connections.shutdown().await;
    }
    running.settle().await;
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
        if request.uri().path() != PATH {
            return Box::pin(self.router.call(request));
        }
        let (endpoint, connection) = (Arc::clone(&self.endpoint), self.connection.clone());
        Box::pin(
            async move { Ok(endpoint.answer(request.map(Body::new), Some(&connection)).await) },
        )
    }
}

async fn connection(
    stream: TcpStream,
    service: ConnectionService,
    running: ServiceActivity,
    read_timeout: Duration,
) {
    // Responses are small and waited for.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(read_timeout)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = running.closing().cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
