//! HTTP connections: limits on their number and speed, and their shutdown.

use std::pin::pin;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::routes::HttpRoutes;
use super::share::Connections;
use crate::mcp::server::running::{CANCEL_TIMEOUT, ServiceActivity};
use crate::mcp::server::shared::ServiceOptions;

/// The maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// The pause in accepting when the process is out of descriptors.
const REST: Duration = Duration::from_millis(100);

pub(super) async fn serve(
    listener: TcpListener,
    HttpRoutes { router, stop }: HttpRoutes,
    running: ServiceActivity,
    options: &ServiceOptions,
    shutdown: impl Future<Output = ()>,
) {
    let open = Connections::default();
    let own_limit = options.http.max_connections_per_address;
    let own_limit = own_limit.unwrap_or(options.http.max_connections.div_ceil(4)).max(1);
    let mut number = 0_u64;
    let mut connections = JoinSet::new();
    let _end = running.end_on_drop();
    let stop = OnDrop(stop);
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
                let (router, running) = (router.clone(), running.clone());
                let read_timeout = options.http.read_timeout;
                connections.spawn(async move {
                    let own = listed.connection.clone();
                    let router = router.layer(Extension(own.clone()));
                    tokio::select! {
                        () = connection(stream, router, running, read_timeout) => {}
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
    drop(stop);
    let all = async { while connections.join_next().await.is_some() {} };
    // A client that does not read its responses is not waited for.
    if timeout(CANCEL_TIMEOUT, all).await.is_err() {
        connections.shutdown().await;
    }
    running.settle().await;
}

async fn connection(
    stream: TcpStream,
    router: Router,
    running: ServiceActivity,
    read_timeout: Duration,
) {
    // Responses are small and waited for.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
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

/// A guard that calls a function when dropped.
struct OnDrop(Box<dyn Fn() + Send + Sync>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}
