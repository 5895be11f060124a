//! The handlers of protocol requests over HTTP, for the SDK's service.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::changes::{Changes, tell_session};
use super::exchange::{Exchange, PeerIdentity, Reply};
use super::head;
use super::protocol::Message;
use super::requests::respond;
use super::running::ServiceActivity;
use super::session::Lifecycle;
use super::shared::ServiceShared;
use super::text::ArgumentsText;
use crate::context::{CancellationToken, Conversation, Principal};
use crate::dialect::{Dialect, lower};
use crate::mcp::count::CountGuard;
use crate::text::{QUOTED, quote};

/// The service as one session or request sees it.
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

    /// Answers a request with the text of its parameters.
    async fn answer<T: DeserializeOwned>(
        &self,
        method: &str,
        params: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        let internal =
            |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
        let id = context.id.clone().into_json_value();
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let Ok(Message::Request(request)) = Message::read(message.as_bytes()) else {
            return Err(ErrorData::internal_error("the message cannot be read again", None));
        };
        let handshake = json!({
            "protocolVersion": context.protocol_version(),
            "capabilities": context.client_capabilities().unwrap_or_default(),
            "clientInfo": context.client_info().unwrap_or_else(|| Implementation::new("", "")),
        });
        let handshake =
            format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{handshake}}}"#);
        let peer = PeerIdentity {
            principal: head::get::<Principal>(context).cloned(),
            conversation: head::get::<Conversation>(context).cloned(),
        };
        let (outlet, mut outbox) = mpsc::channel(64);
        let cancellation = self.running.ending().child();
        let mut lifecycle = Lifecycle::Unset;
        let mut exchange = |request: &_| {
            let (shared, running) = (&self.shared, &self.running);
            let cancellation = cancellation.clone();
            let lifecycle = &mut lifecycle;
            respond(
                Exchange { shared, running, lifecycle, peer: &peer, outlet: &outlet, cancellation },
                request,
            )
        };
        if let Ok(Message::Request(handshake)) = Message::read(handshake.as_bytes()) {
            exchange(&handshake);
        }
        let reply = exchange(&request);
        let answer = match reply {
            Reply::Now(answer) => answer,
            Reply::Later(mut work) => loop {
                tokio::select! {
                    biased;
                    Some(note) = outbox.recv() => {
                        let note: Value = serde_json::from_slice(&note).map_err(internal)?;
                        let params = note["params"].clone();
                        let params: ProgressNotificationParam =
                            serde_json::from_value(params).map_err(internal)?;
                        let _ = context.peer.notify_progress(params).await;
                    }
                    () = context.ct.cancelled(), if !cancellation.is_cancelled() => {
                        cancellation.cancel();
                    }
                    answer = &mut work => break answer,
                }
            },
        };
        while let Ok(note) = outbox.try_recv() {
            let note: Value = serde_json::from_slice(&note).map_err(internal)?;
            let params = serde_json::from_value(note["params"].clone()).map_err(internal)?;
            let _ = context.peer.notify_progress(params).await;
        }
        let mut message: Value = serde_json::from_slice(&answer.message).map_err(internal)?;
        match message.get_mut("error") {
            Some(error) => Err(serde_json::from_value(error.take()).map_err(internal)?),
            None => serde_json::from_value(message["result"].take()).map_err(internal),
        }
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
        let cursor = request.and_then(|request| request.cursor);
        let params = json!({ "cursor": cursor, "_meta": context.meta }).to_string();
        self.answer("tools/list", params, &context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(arguments) = ArgumentsText::of(&context) else {
            // The SDK took an invalid message for a call.
            let message = "the parameters of `tools/call` cannot be read: a key is in them twice";
            return Err(ErrorData::invalid_params(message, None));
        };
        let (name, meta) = (json!(request.name), json!(context.meta));
        let params = format!(r#"{{"name":{name},"arguments":{arguments},"_meta":{meta}}}"#);
        let answer = Box::pin(self.answer("tools/call", params, &context)).await?;
        Ok(CallToolResponse::Complete(answer))
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
        let listing = self.shared.listing();
        let tool = listing.get(name)?;
        serde_json::from_value(lower(tool.definition(), Dialect::Mcp).tool).ok()
    }

    /// Clients before 2026-07-28 are notified of changes from here on.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (outlet, mut outbox) = mpsc::channel(1);
        let (peer, gone) = (context.peer, self.gone.clone());
        let notify = tell_session(&self.shared, outlet, self.running.closing().clone());
        let connection = self.running.connection();
        tokio::spawn(async move {
            let _connection = connection;
            let forward = async {
                while outbox.recv().await.is_some() {
                    let _ = peer.notify_tool_list_changed().await;
                }
            };
            tokio::select! {
                () = notify => {}
                () = forward => {}
                () = gone.cancelled() => {}
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
        let (sink, (outlet, mut outbox)) = (context.sink().clone(), mpsc::channel(1));
        let forward = async {
            while outbox.recv().await.is_some() {
                let _ = sink.notify_tool_list_changed().await;
            }
        };
        tokio::select! {
            () = Changes::of(&self.shared).tell(&self.shared, &outlet, &Value::Null) => {}
            () = forward => {}
            () = context.cancelled() => {}
            () = self.running.closing().cancelled() => {}
        }
        Ok(())
    }
}
