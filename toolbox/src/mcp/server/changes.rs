//! Notifications that the list of tools changed, to sessions and to those who listen.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Reply};
use super::exchange::Exchange;
use super::list::Listing;
use super::outlet::Outlet;
use super::protocol::{self, ErrorCode, ProtocolError, RequestFrame};
use super::shared::{SERVER_INFO, ServiceShared};
use crate::context::CancellationToken;

/// The key in `_meta` for the id of the request that opened a subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

const LIST_CHANGED: &str = "notifications/tools/list_changed";

#[derive(Deserialize)]
struct ListenParams {
    notifications: SubscriptionFilter,
}

/// The notifications that a client wants; those of other kinds are never sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubscriptionFilter {
    #[serde(default)]
    tools_list_changed: Option<bool>,
}

/// Opens a subscription, which lasts until the client cancels it or the service closes.
pub(super) fn listen(
    exchange: &Exchange<'_>,
    request: &RequestFrame<'_>,
) -> Result<Reply, ProtocolError> {
    let ListenParams { notifications } = request.params()?;
    let wanted = notifications.tools_list_changed == Some(true);
    let Some(guard) = exchange.running.subscription() else {
        let message = "too many subscriptions are open: cancel one first";
        return Err(ProtocolError::new(ErrorCode::InternalError, message));
    };
    let (shared, outlet) = (Arc::clone(exchange.shared), exchange.outlet.clone());
    let (cancelled, closing) = (exchange.cancellation.clone(), exchange.running.closing().clone());
    let id = request.id.clone();
    let meta = json!({ SUBSCRIPTION: id });
    // Taken here, so that no change after the request is missed.
    let changes = Changes::of(&shared);
    Ok(Reply::Later(Box::pin(async move {
        let _guard = guard;
        let accepted = if wanted { json!({ "toolsListChanged": true }) } else { json!({}) };
        let params = json!({ "notifications": accepted, "_meta": meta });
        let notify = async {
            let method = "notifications/subscriptions/acknowledged";
            let told = outlet.send(protocol::notification(method, &params)).await.is_ok();
            if told && wanted {
                changes.tell(&shared, &outlet, &json!({ "_meta": meta })).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = notify => {}
            () = cancelled.cancelled() => {}
            () = closing.cancelled() => {}
        }
        let meta = json!({ SUBSCRIPTION: id, SERVER_INFO: shared.server_info() });
        let result = json!({ "resultType": "complete", "_meta": meta });
        Answer::from(protocol::response(&id, &result))
    })))
}

/// Notifies a client with a session of changes from here on, until the service closes.
pub(super) fn tell_session(
    shared: &Arc<ServiceShared>,
    outlet: Outlet,
    closing: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let shared = Arc::clone(shared);
    let changes = Changes::of(&shared);
    async move {
        tokio::select! {
            () = changes.tell(&shared, &outlet, &Value::Null) => {}
            () = closing.cancelled() => {}
        }
    }
}

/// The changes of a box that are visible to a client.
pub(super) struct Changes {
    generation: u64,
    seen: Arc<Listing>,
}

impl Changes {
    pub(super) fn of(shared: &ServiceShared) -> Self {
        Self { generation: shared.toolbox.generation(), seen: shared.listing() }
    }

    /// Sends a notification for each change, until the client is gone. Several changes at once
    /// count as one.
    pub(super) async fn tell(mut self, shared: &ServiceShared, outlet: &Outlet, params: &Value) {
        loop {
            self.generation = shared.toolbox.changed_since(self.generation).await;
            let listing = shared.listing();
            let is_same = listing.is_same(&self.seen);
            self.seen = listing;
            if !is_same && outlet.send(protocol::notification(LIST_CHANGED, params)).await.is_err()
            {
                return;
            }
        }
    }
}
