//! The extension for skills: `skills/list` and `skills/get`. Their files are resources of the box.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::answer::{Answer, Reply};
use super::exchange::Exchange;
use super::gated::{GatedSubject, GivenInputs, admit};
use super::offers::ServedSkill;
use super::pages::{ListParams, PageRequest};
use super::prompts::refused;
use super::protocol::{self, ErrorCode, ProtocolError, RequestFrame, RequestId};
use super::resources::{cache_scope, resources};
use super::rounds::CallEnd;
use super::session::RequestScope;
use super::shared::ServiceShared;
use crate::collection::Resources;
use crate::context::ToolContext;
use crate::text::{QUOTED, quote};

/// The name of the extension.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The maximum number of skills on a page. An entry may have more than 100 KB.
const MAX_PAGE: usize = 32;

/// Returns `true` if the extension is declared.
pub(super) fn is_supported(shared: &ServiceShared) -> bool {
    shared.toolbox.own_resources().is_some_and(|resources| resources.has_skills())
}

#[derive(Deserialize)]
struct SkillParams<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
}

/// The part of a request that its answer needs.
enum SkillRequest {
    List { cursor: Option<String> },
    Get { uri: String },
}

/// Admits one `skills/list` or `skills/get`. The folders are read again before the answer.
pub(super) fn respond(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
) -> Result<Reply, ProtocolError> {
    let shared = exchange.shared;
    if !is_supported(shared) {
        return Err(ProtocolError::method_not_found(&request.method));
    }
    let resources = resources(shared, &request.method)?;
    let wanted = if request.method == "skills/get" {
        let SkillParams { uri } = request.params()?;
        SkillRequest::Get { uri: uri.into_owned() }
    } else {
        let ListParams { cursor } = request.params()?;
        SkillRequest::List { cursor: cursor.map(Cow::into_owned) }
    };
    let inputs = GivenInputs { responses: None, state: None };
    let subject = GatedSubject { name: "", arguments: "", inputs };
    let (shared, version) = (Arc::clone(shared), scope.version);
    let run = |_: ToolContext| async move {
        shared.refresh_skills(&resources).await;
        let end = move |id: &RequestId| {
            let answer = match &wanted {
                SkillRequest::Get { uri } => one(&shared, &resources, id, uri),
                SkillRequest::List { cursor } => {
                    let page = PageRequest {
                        id,
                        version,
                        cursor: cursor.as_deref(),
                        size: shared.options.page_size.min(MAX_PAGE),
                        more: &shared.list_members(version),
                    };
                    shared.offers.skills(&resources).page(&page, "skills")
                }
            };
            answer.map_or_else(|error| Answer::error(id, &error), Answer::from)
        };
        Box::new(end) as CallEnd
    };
    admit(exchange, request, scope, subject, refused, run)
}

/// The result of `skills/get`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SkillAnswer<'a> {
    result_type: &'static str,
    skill: &'a ServedSkill,
    ttl_ms: u64,
    cache_scope: &'static str,
}

/// Returns the answer to `skills/get`.
fn one(
    shared: &ServiceShared,
    resources: &Resources,
    id: &RequestId,
    uri: &str,
) -> Result<Vec<u8>, ProtocolError> {
    let found = shared.offers.skills(resources);
    let skill = found.of_key(uri).ok_or_else(|| {
        let message = format!("there is no skill `{}`", quote(uri, QUOTED));
        ProtocolError::new(ErrorCode::InvalidParams, message).with_data(json!({ "uri": uri }))
    })?;
    let fresh_for = shared.options.list_fresh_for.as_millis();
    let answer = SkillAnswer {
        result_type: "complete",
        skill,
        ttl_ms: fresh_for.try_into().unwrap_or(u64::MAX),
        cache_scope: cache_scope(!shared.options.private_list),
    };
    Ok(protocol::response(id, &answer))
}
