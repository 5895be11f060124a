//! The handlers of protocol requests.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use super::call;
use super::list::for_version;
use super::running::ServiceActivity;
use super::shared::ServiceShared;
use super::version::ClientVersion;
use crate::context::CancellationToken;
use crate::mcp::count::CountGuard;
use crate::text::{QUOTED, quote};

/// The service as one connection, session or request sees it.
pub(super) struct ConnectionHandler {
    shared: Arc<ServiceShared>,
    running: ServiceActivity,
    /// Cancelled when this handler serves no client any longer.
    gone: CancellationToken,
    _connection: CountGuard,
}

impl ConnectionHandler {
    pub(super) fn new(shared: Arc<ServiceShared>, running: ServiceActivity) -> Self {
        let connection = running.connection();
        Self { shared, running, gone: CancellationToken::new(), _connection: connection }
    }
}

impl Drop for ConnectionHandler {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

impl ServerHandler for ConnectionHandler {
    fn get_info(&self) -> ServerConfig {
        let options = &self.shared.options;
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let mut server =
            Implementation::new(options.info.name.clone(), options.info.version.clone());
        server.title.clone_from(&options.title);
        let mut info = ServerConfig::new(capabilities).with_server_info(server);
        info.instructions.clone_from(&options.instructions);
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let options = &self.shared.options;
        let listing = self.shared.listing();
        let cursor = request.and_then(|request| request.cursor);
        let (page, next) = listing.page(cursor.as_deref(), options.page_size)?;
        let version = ClientVersion::of(&context);
        let tools = page.iter().map(|tool| for_version(tool.clone(), &version)).collect();
        let mut list = ListToolsResult::with_all_items(tools);
        list.next_cursor = next;
        if version.is_modern() {
            let fresh = u64::try_from(options.list_fresh_for.as_millis()).unwrap_or(u64::MAX);
            let scope = if options.private_list { CacheScope::Private } else { CacheScope::Public };
            list = list.with_ttl_ms(fresh).with_cache_scope(scope);
        }
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Boxed: the SDK moves the futures of its requests several times, and this one is large.
        Box::pin(call::call(&self.shared, &self.running, request, context)).await.map(Into::into)
    }

    /// Also receives messages that the SDK could not parse as one of its requests, as unknown
    /// methods.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_default();
        let reason = match request.method.as_str() {
            "tools/call" => serde_json::from_value::<CallToolRequestParams>(params).err(),
            "tools/list" => serde_json::from_value::<PaginatedRequestParams>(params).err(),
            method => {
                let method = quote(method, QUOTED);
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
            }
        };
        let reason = reason.map_or_else(
            || "a key is in them twice".to_owned(),
            |error| quote(&error.to_string(), 4 * QUOTED),
        );
        let message = format!("the parameters of `{}` cannot be read: {reason}", request.method);
        Err(ErrorData::invalid_params(message, None))
    }

    /// There are no completions, prompts or resources: the SDK would answer with empty lists.
    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    /// HTTP headers that repeat arguments are checked against this definition.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.listing().get(name).cloned()
    }

    /// Clients before 2026-07-28 are notified of changes from here on.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (shared, peer) = (Arc::clone(&self.shared), context.peer);
        let (gone, closing) = (self.gone.clone(), self.running.closing().clone());
        let connection = self.running.connection();
        tokio::spawn(async move {
            let _connection = connection;
            tokio::select! {
                () = tell_of_changes(&shared, &peer) => {}
                () = gone.cancelled() => {}
                () = closing.cancelled() => {}
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed.filter(|wanted| *wanted);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let notify = async {
            let mut changes = Changes::of(&self.shared);
            loop {
                changes.next().await;
                if sink.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = notify => {}
            () = context.cancelled() => {}
            () = self.running.closing().cancelled() => {}
        }
        Ok(())
    }
}

async fn tell_of_changes(shared: &ServiceShared, peer: &Peer<RoleServer>) {
    let mut changes = Changes::of(shared);
    loop {
        changes.next().await;
        if peer.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

/// The changes of a box that are visible to a client.
struct Changes<'a> {
    shared: &'a ServiceShared,
    generation: u64,
    seen: Vec<Tool>,
}

impl<'a> Changes<'a> {
    fn of(shared: &'a ServiceShared) -> Self {
        let generation = shared.toolbox.generation();
        Self { shared, generation, seen: shared.listing().tools().to_vec() }
    }

    /// Waits until the list changes. Several changes at once count as one.
    async fn next(&mut self) {
        loop {
            self.generation = self.shared.toolbox.changed_since(self.generation).await;
            let listing = self.shared.listing();
            if listing.tools() != self.seen {
                self.seen = listing.tools().to_vec();
                return;
            }
        }
    }
}
