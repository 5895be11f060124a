//! Subscriptions to the changes of a server: of its lists, and of the resources that clients of the
//! box want to hear of.

#![expect(deprecated, reason = "servers of older versions know no other requests")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ServerCapabilities, SubscribeRequest, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequest, UnsubscribeRequestParams,
};
use rmcp::service::Peer;

use tokio::sync::broadcast::error::RecvError;

use super::backoff::Backoff;
use super::connection::Connection;
use crate::collection::{Resources, WantedUris};
use crate::resource::{at_server, prefixed};

/// The time in which several changes of what is wanted count as one.
const SETTLING: Duration = Duration::from_millis(20);

/// The maximum number of resources of one server that are subscribed to.
const MAX_SUBSCRIBED: usize = 1024;

impl Connection {
    /// Keeps subscriptions open for as long as it is polled.
    pub(super) async fn follow_changes(&self, resources: &Resources, server: &str) {
        let Some(info) = self.info() else { return };
        let announced = &info.capabilities;
        let updates = announced.resources.as_ref().is_some_and(|own| own.subscribe == Some(true));
        let mut wanted = OwnUris { wanted: resources.wanted(), resources, server };
        if !info.protocol_version.has_initialize() {
            self.listen_to_changes(announced, updates, &mut wanted).await;
        } else if updates {
            self.subscribe_to_each(&mut wanted).await;
        }
        std::future::pending::<()>().await;
    }

    /// Passes on the changes that the server announces of its own resources, for as long as it is
    /// polled.
    pub(super) async fn forward_updates(&self, resources: &Resources, server: &str) {
        let mut updates = self.notifications.updates();
        let mut wanted = OwnUris { wanted: resources.wanted(), resources, server };
        loop {
            match updates.recv().await {
                Ok(uri) => match wanted.announced(&uri) {
                    Some(uri) => resources.changed(uri),
                    None => {
                        tracing::warn!(server, "a change was announced of what is another's");
                    }
                },
                // Which ones is unknown.
                Err(RecvError::Lagged(_)) => {
                    for uri in wanted.in_the_box() {
                        resources.changed(uri);
                    }
                }
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }

    /// Subscribes at a server of an older version, which announces changes of lists unasked.
    async fn subscribe_to_each(&self, wanted: &mut OwnUris<'_>) {
        let mut subscribed = BTreeSet::new();
        loop {
            let now = wanted.current();
            for uri in now.difference(&subscribed) {
                let params = SubscribeRequestParams::new(uri.clone());
                let request = SubscribeRequest::new(params);
                self.request_quietly(ClientRequest::SubscribeRequest(request)).await;
            }
            for uri in subscribed.difference(&now) {
                let params = UnsubscribeRequestParams::new(uri.clone());
                let request = UnsubscribeRequest::new(params);
                self.request_quietly(ClientRequest::UnsubscribeRequest(request)).await;
            }
            subscribed = now;
            wanted.changed().await;
        }
    }

    async fn request_quietly(&self, request: ClientRequest) {
        let answer = match self.send(request).await {
            Ok(sent) => self.answer(sent).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = answer {
            tracing::debug!(%error, "a server refused a subscription");
        }
    }

    /// Listens at a server of the newer protocol, again after each interruption.
    async fn listen_to_changes(
        &self,
        announced: &ServerCapabilities,
        updates: bool,
        wanted: &mut OwnUris<'_>,
    ) {
        let peer: &Peer<RoleClient> = self.peer();
        let (mut failures, mut backoff) = (0_u32, Backoff::default());
        while failures < 3 {
            let uris = if updates { wanted.current() } else { BTreeSet::new() };
            let Some(filter) = filter(announced, &uris) else {
                if !updates {
                    return;
                }
                wanted.changed().await;
                continue;
            };
            let began = Instant::now();
            let mut was_heard = false;
            match peer.listen(filter).await {
                Err(_) => failures += 1,
                Ok(mut subscription) => {
                    failures = 0;
                    let mut is_outdated = false;
                    while !is_outdated {
                        tokio::select! {
                            next = subscription.next() => match next {
                                Ok(Some(_)) => {
                                    was_heard = true;
                                    self.notifications.list_changed();
                                }
                                _ => break,
                            },
                            () = wanted.changed(), if updates => {}
                        }
                        is_outdated = updates && wanted.current() != uris;
                    }
                    // Changes may have been missed while there was no subscription.
                    self.notifications.list_changed();
                    if is_outdated {
                        continue;
                    }
                }
            }
            let lived = began.elapsed();
            tokio::time::sleep(backoff.after(lived, was_heard).saturating_sub(lived)).await;
        }
    }
}

/// The resources of one server that clients of the box want to hear of.
struct OwnUris<'a> {
    wanted: WantedUris,
    resources: &'a Resources,
    server: &'a str,
}

impl OwnUris<'_> {
    /// Returns `true` if a URI names a resource of the server; `None` if it names none of the box.
    fn is_own(&self, uri: &str) -> Option<bool> {
        let (found, _) = self.resources.find(uri)?;
        Some(found.source() == Some(self.server))
    }

    /// Returns `true` if the server may say that a resource changed: one of its own, or one that is
    /// in no list, below one of its own that clients want to hear of.
    fn may_announce(&self, uri: &str) -> bool {
        self.is_own(uri).unwrap_or_else(|| {
            let wanted = self.wanted.borrow();
            wanted
                .keys()
                .any(|above| uri.starts_with(above.as_str()) && self.is_own(above) == Some(true))
        })
    }

    /// Returns the URI in the box of one that the server may announce.
    fn announced(&self, own: &str) -> Option<String> {
        let prefixed = prefixed(self.server, own);
        [own.to_owned(), prefixed].into_iter().find(|uri| self.may_announce(uri))
    }

    /// Returns the URIs at the server.
    fn current(&mut self) -> BTreeSet<String> {
        let in_the_box = self.in_the_box();
        in_the_box.iter().map(|uri| at_server(self.server, uri).to_owned()).collect()
    }

    fn in_the_box(&mut self) -> BTreeSet<String> {
        let wanted = self.wanted.borrow_and_update().clone();
        wanted
            .into_keys()
            .filter(|uri| self.is_own(uri) == Some(true))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .take(MAX_SUBSCRIBED)
            .collect()
    }

    /// Waits until something else is wanted.
    async fn changed(&mut self) {
        if self.wanted.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(SETTLING).await;
    }
}

/// Returns what to listen to; `None` for nothing.
fn filter(announced: &ServerCapabilities, uris: &BTreeSet<String>) -> Option<SubscriptionFilter> {
    let tools = announced.tools.as_ref().is_some_and(|own| own.list_changed == Some(true));
    let prompts = announced.prompts.as_ref().is_some_and(|own| own.list_changed == Some(true));
    let resources = announced.resources.as_ref().is_some_and(|own| own.list_changed == Some(true));
    let mut filter = SubscriptionFilter::builder();
    if tools {
        filter = filter.tools_list_changed();
    }
    if prompts {
        filter = filter.prompts_list_changed();
    }
    if resources {
        filter = filter.resources_list_changed();
    }
    if !uris.is_empty() {
        filter = filter.resource_subscriptions(uris.iter().cloned());
    }
    (tools || prompts || resources || !uris.is_empty()).then(|| filter.build())
}
