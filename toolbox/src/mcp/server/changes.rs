//! Notifications of changes, to sessions and to those who listen: of the lists, and of resources.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::answer::{Answer, Reply};
use super::caller::MissingCapability;
use super::exchange::Exchange;
use super::list::Listing;
use super::offers::OfferListing;
use super::outlet::{ClientGone, Outlet};
use super::protocol::{self, ErrorCode, ProtocolError, RequestFrame};
use super::session::{Handshake, RequestScope};
use super::shared::{SERVER_INFO, ServiceShared};
use super::subscribed::covers;
use super::tasks::ServedTask;
use crate::collection::WantedUri;
use crate::context::{CancellationToken, ToolContext};
use crate::future::BoxFuture;
use crate::prompt::Prompt;
use crate::resource::Resource;

/// The key in `_meta` for the id of the request that opened a subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The maximum number of resources in one subscription.
const MAX_RESOURCES: usize = 1024;

/// The maximum number of tasks in one subscription.
const MAX_TASKS: usize = 1024;

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
    #[serde(default)]
    prompts_list_changed: Option<bool>,
    #[serde(default)]
    resources_list_changed: Option<bool>,
    #[serde(default)]
    resource_subscriptions: Option<Vec<String>>,
    #[serde(default)]
    task_ids: Option<Vec<String>>,
}

/// The notifications that a client gets.
struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    updates: Updates,
    tasks: Vec<Arc<ServedTask>>,
}

/// The resources whose changes a client is notified of.
enum Updates {
    Of(Vec<WantedUri>),
    /// Those that it subscribed to by requests of its session.
    OfSession(Arc<Handshake>),
}

impl Updates {
    fn cover(&self, uri: &str) -> bool {
        match self {
            Self::Of(uris) => uris.iter().any(|own| covers(own.as_str(), uri)),
            Self::OfSession(handshake) => handshake.subscribed.cover(uri),
        }
    }

    fn all(&self) -> Vec<String> {
        match self {
            Self::Of(uris) => uris.iter().map(|own| own.as_str().to_owned()).collect(),
            Self::OfSession(handshake) => handshake.subscribed.all(),
        }
    }
}

impl Wanted {
    /// Returns what is accepted of a filter.
    fn of(filter: SubscriptionFilter, exchange: &Exchange<'_>) -> Result<Self, ProtocolError> {
        let shared = exchange.shared;
        let has_prompts = shared.toolbox.own_prompts().is_some();
        let has_resources = shared.toolbox.own_resources().is_some();
        let all = shared.toolbox.resources();
        let uris = filter.resource_subscriptions.filter(|_| has_resources).unwrap_or_default();
        if uris.len() > MAX_RESOURCES {
            let text = format!("a subscription names at most {MAX_RESOURCES} resources");
            return Err(ProtocolError::invalid_params(text));
        }
        Ok(Self {
            tools: filter.tools_list_changed == Some(true),
            prompts: has_prompts && filter.prompts_list_changed == Some(true),
            resources: has_resources && filter.resources_list_changed == Some(true),
            updates: Updates::Of(uris.iter().map(|uri| all.want(uri)).collect()),
            tasks: tasks_of(filter.task_ids.unwrap_or_default(), exchange)?,
        })
    }

    /// Returns what is accepted, in the form of the protocol.
    fn accepted(&self) -> Value {
        let mut accepted = json!({});
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (flag, _) in flags.into_iter().filter(|(_, wanted)| *wanted) {
            accepted[flag] = true.into();
        }
        let uris = self.updates.all();
        if !uris.is_empty() {
            accepted["resourceSubscriptions"] = json!(uris);
        }
        if !self.tasks.is_empty() {
            accepted["taskIds"] = self.tasks.iter().map(|task| task.id()).collect();
        }
        accepted
    }
}

/// Returns those tasks of the client that a filter names.
fn tasks_of(
    mut ids: Vec<String>,
    exchange: &Exchange<'_>,
) -> Result<Vec<Arc<ServedTask>>, ProtocolError> {
    if ids.len() > MAX_TASKS {
        let text = format!("a subscription names at most {MAX_TASKS} tasks");
        return Err(ProtocolError::invalid_params(text));
    }
    ids.sort();
    ids.dedup();
    let principal = exchange.peer.principal.as_ref();
    Ok(ids.iter().filter_map(|id| exchange.shared.tasks.get(id, principal)).collect())
}

/// Opens a subscription, which lasts until the client cancels it or the service closes.
pub(super) fn listen(
    exchange: &Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
) -> Result<Reply, ProtocolError> {
    let ListenParams { notifications } = request.params()?;
    if notifications.task_ids.is_some() && !scope.takes_tasks() {
        return Err(MissingCapability::of_tasks());
    }
    // Taken here, so that no change after the request is missed.
    let identity = exchange.peer.context();
    let changes = Changes::of(exchange.shared, &identity);
    let wanted = Wanted::of(notifications, exchange)?;
    let Some(guard) = exchange.running.subscription() else {
        let message = "too many subscriptions are open: cancel one first";
        return Err(ProtocolError::new(ErrorCode::InternalError, message));
    };
    let (shared, outlet) = (Arc::clone(exchange.shared), exchange.outlet.clone());
    let (cancelled, closing) = (exchange.cancellation.clone(), exchange.running.closing().clone());
    let id = request.id.clone();
    let meta = json!({ SUBSCRIPTION: id });
    Ok(Reply::Later(Box::pin(async move {
        let _guard = guard;
        let params = json!({ "notifications": wanted.accepted(), "_meta": meta });
        let notify = async {
            let method = "notifications/subscriptions/acknowledged";
            let meta = Some(meta.clone());
            let client = Client { shared: &shared, outlet: &outlet, identity, meta };
            if outlet.send(protocol::notification(method, &params)).await.is_ok() {
                changes.tell(&client, &wanted).await;
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
    handshake: Arc<Handshake>,
    identity: ToolContext,
    outlet: Outlet,
    closing: CancellationToken,
) -> BoxFuture<'static, ()> {
    let shared = Arc::clone(shared);
    let changes = Changes::of(&shared, &identity);
    let updates = Updates::OfSession(handshake);
    let tasks = Vec::new();
    let wanted = Wanted { tools: true, prompts: true, resources: true, updates, tasks };
    Box::pin(async move {
        let client = Client { shared: &shared, outlet: &outlet, identity, meta: None };
        tokio::select! {
            () = changes.tell(&client, &wanted) => {}
            () = closing.cancelled() => {}
        }
    })
}

/// The client that is notified.
struct Client<'a> {
    shared: &'a ServiceShared,
    outlet: &'a Outlet,
    /// What is known of it beside its requests.
    identity: ToolContext,
    /// The `_meta` of its notifications.
    meta: Option<Value>,
}

impl Client<'_> {
    async fn notify(&self, method: &str, mut params: Value) -> Result<(), ClientGone> {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let has_none = params.as_object().is_some_and(serde_json::Map::is_empty);
        let params = if has_none { Value::Null } else { params };
        self.outlet.send(protocol::notification(method, &params)).await
    }
}

/// The resources, and the templates.
type ResourceLists = [Arc<OfferListing<Resource>>; 2];

fn resource_lists(shared: &ServiceShared) -> ResourceLists {
    let resources = shared.toolbox.resources();
    [shared.offers.resources(&resources), shared.offers.templates(&resources)]
}

/// The changes of a box that are visible to a client.
struct Changes {
    tools: (u64, Arc<Listing>),
    prompts: (u64, Arc<OfferListing<Prompt>>),
    resources: (u64, ResourceLists),
    updates: Receiver<Arc<str>>,
    tasks: Receiver<Arc<str>>,
}

impl Changes {
    fn of(shared: &ServiceShared, identity: &ToolContext) -> Self {
        let (prompts, resources) = (shared.toolbox.prompts(), shared.toolbox.resources());
        Self {
            tools: (shared.toolbox.generation(), shared.listing(identity)),
            prompts: (prompts.generation(), shared.offers.prompts(&prompts)),
            resources: (resources.generation(), resource_lists(shared)),
            updates: resources.updates(),
            tasks: shared.tasks.changes(),
        }
    }

    /// Sends a notification for each change, until the client is gone. Several changes of a list at
    /// once count as one.
    async fn tell(self, client: &Client<'_>, wanted: &Wanted) {
        let Self { tools, prompts, resources, updates, tasks } = self;
        tokio::select! {
            _ = tell_tools(tools, client), if wanted.tools => {}
            _ = tell_prompts(prompts, client), if wanted.prompts => {}
            _ = tell_resources(resources, client), if wanted.resources => {}
            _ = tell_updates(updates, client, wanted) => {}
            _ = tell_tasks(tasks, client, &wanted.tasks), if !wanted.tasks.is_empty() => {}
        }
    }
}

async fn tell_tools(
    (mut generation, mut seen): (u64, Arc<Listing>),
    client: &Client<'_>,
) -> Result<(), ClientGone> {
    loop {
        generation = client.shared.toolbox.changed_since(generation).await;
        let listing = client.shared.listing(&client.identity);
        let is_same = listing.is_same(&seen);
        seen = listing;
        if !is_same {
            client.notify("notifications/tools/list_changed", json!({})).await?;
        }
    }
}

async fn tell_prompts(
    (mut generation, mut seen): (u64, Arc<OfferListing<Prompt>>),
    client: &Client<'_>,
) -> Result<(), ClientGone> {
    let prompts = client.shared.toolbox.prompts();
    loop {
        generation = prompts.changed_since(generation).await;
        let listing = client.shared.offers.prompts(&prompts);
        let is_same = listing.is_same(&seen);
        seen = listing;
        if !is_same {
            client.notify("notifications/prompts/list_changed", json!({})).await?;
        }
    }
}

async fn tell_resources(
    (mut generation, mut seen): (u64, ResourceLists),
    client: &Client<'_>,
) -> Result<(), ClientGone> {
    let resources = client.shared.toolbox.resources();
    loop {
        generation = resources.changed_since(generation).await;
        let lists = resource_lists(client.shared);
        let is_same = lists.iter().zip(&seen).all(|(new, old)| new.is_same(old));
        seen = lists;
        if !is_same {
            client.notify("notifications/resources/list_changed", json!({})).await?;
        }
    }
}

async fn tell_updates(
    mut updates: Receiver<Arc<str>>,
    client: &Client<'_>,
    wanted: &Wanted,
) -> Result<(), ClientGone> {
    let resources = client.shared.toolbox.resources();
    loop {
        let changed = match updates.recv().await {
            Ok(uri) if wanted.updates.cover(&uri) => vec![uri.as_ref().to_owned()],
            Ok(_) => continue,
            // Some changes are unknown: each of the resources may have changed.
            Err(RecvError::Lagged(_)) => wanted.updates.all(),
            Err(RecvError::Closed) => return std::future::pending().await,
        };
        for uri in changed.into_iter().filter(|uri| !resources.forbids(uri)) {
            client.notify("notifications/resources/updated", json!({ "uri": uri })).await?;
        }
    }
}

async fn tell_tasks(
    mut changes: Receiver<Arc<str>>,
    client: &Client<'_>,
    tasks: &[Arc<ServedTask>],
) -> Result<(), ClientGone> {
    let method = "notifications/tasks";
    loop {
        match changes.recv().await {
            Ok(id) => {
                if let Some(task) = tasks.iter().find(|task| *task.id() == *id) {
                    client.notify(method, task.notification()).await?;
                }
            }
            // Some changes are unknown: each of the tasks may have changed.
            Err(RecvError::Lagged(_)) => {
                for task in tasks {
                    client.notify(method, task.notification()).await?;
                }
            }
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}
