//! The requests for prompts, resources and completion over one connection.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, CompleteRequest, CompleteRequestParams, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListSkillsRequest, PaginatedRequestParams,
};
use rmcp::service::PeerRequestOptions;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::connection::{Connection, RequestOrigin};
use super::connection_error::ConnectionError;
use super::list::{MAX_PAGES, ToolList};
use super::offers::{MAX_OFFERS, OfferList};
use super::pages::{NextPage, PageWalk};
use super::questions::{self, InputAnswers};
use super::request_meta::meta_of;
use super::server_request::{ServerRequest, TaskRequest};
use crate::context::ToolContext;
use crate::mcp::apps::{APPS, AppsOfClient};

/// The key in `_meta` of a request for the capabilities of the client.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The extension of the protocol by which a call may be answered with a task.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The extension of the protocol by which a server lists its skills.
const SKILLS: &str = "io.modelcontextprotocol/skills";

/// One page of a list of prompts, resources, templates or skills, with each as raw JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfferPage<'a> {
    #[serde(borrow, default)]
    prompts: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    resources: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    resource_templates: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    skills: Vec<&'a RawValue>,
    #[serde(default)]
    next_cursor: Option<String>,
}

/// A list that pages are requested of.
#[derive(Clone, Copy)]
enum OfferKind {
    Prompts,
    Resources,
    Templates,
    Skills,
}

impl OfferKind {
    fn noun(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resource templates",
            Self::Skills => "skills",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params))
            }
            Self::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
            }
            Self::Templates => ClientRequest::ListResourceTemplatesRequest(
                ListResourceTemplatesRequest::with_param(params),
            ),
            Self::Skills => ClientRequest::ListSkillsRequest(ListSkillsRequest::with_param(params)),
        }
    }
}

impl Connection {
    /// Sends a request for a call, and returns the text of its result. `is_first` is `true` for the
    /// first request of a call.
    pub(super) async fn call(
        &self,
        request: ServerRequest<'_>,
        answers: InputAnswers,
        context: &ToolContext,
        is_first: bool,
        silence: Option<Duration>,
    ) -> Result<String, ConnectionError> {
        let takes_tasks = matches!(request, ServerRequest::Tool { .. });
        let options = self.call_options(context, takes_tasks);
        let origin = RequestOrigin { context: Some(context), joins_call: is_first };
        let sent = self.send_from(request.with_answers(answers), options, origin).await?;
        let listening = self.notifications.listen(sent.handle.progress_token.clone(), context);
        let Some(limit) = silence else { return Ok(self.answer(sent).await?.raw) };
        tokio::select! {
            biased;
            answer = self.answer(sent) => Ok(answer?.raw),
            () = listening.until_silent(limit, context) => Err(ConnectionError::Silent(limit)),
        }
    }

    /// Sends a request about a task of a call, and returns the text of its result.
    pub(super) async fn ask_of_task(
        &self,
        request: TaskRequest<'_>,
        context: &ToolContext,
    ) -> Result<String, ConnectionError> {
        let origin = RequestOrigin { context: Some(context), joins_call: false };
        let options = self.call_options(context, true);
        let sent = self.send_from(request.into(), options, origin).await?;
        Ok(self.answer(sent).await?.raw)
    }

    /// Returns the options of a request that is made for a call. A server of the newer protocol is
    /// told with each what can be answered for this call.
    fn call_options(&self, context: &ToolContext, takes_tasks: bool) -> PeerRequestOptions {
        let mut meta = meta_of(context);
        if self.is_stateless() {
            let can_ask = context.can_ask();
            let mut capabilities = if can_ask { questions::capabilities() } else { json!({}) };
            let mut extensions = self.extensions().cloned().unwrap_or_default();
            if let Some(AppsOfClient(declared)) = context.extension() {
                extensions.remove(APPS);
                let declared = declared.as_ref().and_then(Value::as_object);
                extensions.extend(declared.map(|own| (APPS.to_owned(), own.clone())));
            }
            if takes_tasks {
                extensions.insert(TASKS.to_owned(), Map::new());
            }
            if !extensions.is_empty() {
                capabilities["extensions"] = json!(extensions);
            }
            meta.insert(CLIENT_CAPABILITIES.to_owned(), capabilities);
        }
        let mut options = PeerRequestOptions::no_options();
        options.meta = Some(meta);
        options
    }

    /// Reads the prompts and resources that the server declares to have. A list that cannot be read
    /// is a notice, and the tools stay.
    pub(super) async fn list_offers(&self, listed: &mut ToolList) {
        let Some(info) = self.info() else { return };
        let declared = &info.capabilities;
        listed.completes = declared.completions.is_some();
        let has_prompts = declared.prompts.is_some();
        let has_resources = declared.resources.is_some();
        let extensions = declared.extensions.as_ref();
        let has_skills =
            self.is_stateless() && extensions.is_some_and(|all| all.contains_key(SKILLS));
        let kinds = [
            (OfferKind::Prompts, has_prompts),
            (OfferKind::Resources, has_resources),
            (OfferKind::Templates, has_resources),
            (OfferKind::Skills, has_resources && has_skills),
        ];
        let mut offers = OfferList::default();
        for (kind, _) in kinds.into_iter().filter(|(_, declared)| *declared) {
            if let Err(reason) = self.list_kind(kind, &mut offers).await {
                listed.notice(format!("its list of {} cannot be used: {reason}", kind.noun()));
            }
        }
        listed.offers = offers;
    }

    async fn list_kind(&self, kind: OfferKind, offers: &mut OfferList) -> Result<(), String> {
        let (mut walk, mut count) = (PageWalk::default(), 0);
        for page in 1.. {
            let sent =
                self.send(kind.request(walk.cursor())).await.map_err(|error| error.to_string())?;
            let raw = match self.answer(sent).await {
                Err(ConnectionError::Refused { .. }) if walk.may_be_over() => return Ok(()),
                answer => answer.map_err(|error| error.to_string())?.raw,
            };
            let read: OfferPage<'_> =
                serde_json::from_str(&raw).map_err(|error| error.to_string())?;
            let items = match kind {
                OfferKind::Prompts => read.prompts,
                OfferKind::Resources => read.resources,
                OfferKind::Templates => read.resource_templates,
                OfferKind::Skills => read.skills,
            };
            let is_new = walk.enter(&items);
            for item in items.into_iter().filter(|_| is_new) {
                if count == MAX_OFFERS {
                    return Err(format!("only the first {MAX_OFFERS} are used"));
                }
                count += 1;
                match kind {
                    OfferKind::Prompts => offers.add_prompt(item.get()),
                    OfferKind::Skills => offers.skills.add(item.get()),
                    OfferKind::Resources | OfferKind::Templates => offers.add_resource(item.get()),
                }
            }
            match walk.next(read.next_cursor, is_new) {
                NextPage::Another if page < MAX_PAGES => {}
                NextPage::End => return Ok(()),
                NextPage::Another | NextPage::Repeats => {
                    return Err(format!("it goes on after {page} pages; the rest was not read"));
                }
            }
        }
        Ok(())
    }

    /// Requests values that complete an argument.
    pub(super) async fn complete(
        &self,
        reference: Value,
        argument: &str,
        value: &str,
        given: BTreeMap<String, String>,
    ) -> Result<Vec<String>, ConnectionError> {
        #[derive(Deserialize)]
        struct CompleteResult {
            completion: Values,
        }
        #[derive(Deserialize)]
        struct Values {
            values: Vec<String>,
        }
        let unread = |error: serde_json::Error| ConnectionError::Unread(error.to_string());
        let mut params = json!({"ref": reference, "argument": {"name": argument, "value": value}});
        if !given.is_empty() {
            params["context"] = json!({ "arguments": given });
        }
        let params: CompleteRequestParams = serde_json::from_value(params).map_err(unread)?;
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
        let sent = self.send(request).await?;
        let raw = self.answer(sent).await?.raw;
        let result: CompleteResult = serde_json::from_str(&raw).map_err(unread)?;
        Ok(result.completion.values.into_iter().take(100).collect())
    }
}
