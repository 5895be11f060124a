//! The skills that a server lists, as resources of a box.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use super::flags;
use super::list::ToolList;
use super::mounted::MountedOffers;
use super::outward::Outward;
use super::server::Server;
use super::server_request::ServerRequest;
use super::skills::{PassedFile, ServerSkill, passed_uri};
use super::status::WithheldReason;
use crate::call::{Arguments, FailureKind, ToolResult};
use crate::context::ToolContext;
use crate::resource::{Resource, SkillManifest};
use crate::tool::Tool;

/// Makes resources of the files of skills. Their URIs begin with the name of the server.
pub(super) fn mount_skills(
    server: &Arc<Server>,
    listed: &ToolList,
    approved: &HashSet<String>,
    mounted: &mut MountedOffers,
) {
    let (mut files, mut manifests) = (BTreeMap::new(), BTreeMap::new());
    let outward = Outward::of(server);
    for skill in listed.offers.skills.skills.iter().filter(|own| approved.contains(&own.key())) {
        let passed: Vec<PassedFile> =
            skill.files.iter().map(|file| PassedFile::new(&server.name, file)).collect();
        if !passed.iter().all(|passed| outward.is_free(&passed.file.uri)) {
            let detail = "the URI of a file of it is that of another resource of the box";
            mounted.withhold(&skill.key(), WithheldReason::NameTaken, detail.to_owned());
            continue;
        }
        let clashes = |passed: &PassedFile| {
            let other: Option<&PassedFile> = files.get(&passed.file.uri);
            other.is_some_and(|other| other.own_uri != passed.own_uri)
        };
        if passed.iter().any(clashes) {
            let detail = "its URI differs from that of another skill by the scheme alone";
            mounted.withhold(&skill.key(), WithheldReason::NameTaken, detail.to_owned());
            continue;
        }
        mounted.notices.extend(suspicion(skill));
        let manifest = SkillManifest {
            frontmatter: skill.frontmatter.clone(),
            files: passed.iter().map(|passed| passed.file.clone()).collect(),
        };
        manifests.insert(passed_uri(&server.name, &skill.uri), manifest);
        files.extend(passed.into_iter().map(|passed| (passed.file.uri.clone(), passed)));
    }
    for (uri, passed) in files {
        let manifest = manifests.remove(&uri);
        mounted.resources.push(make_resource(server, passed, manifest));
    }
}

/// Returns a notice of a description with suspicious words. It stays as it is: hosts compare it
/// with the file.
fn suspicion(skill: &ServerSkill) -> Option<String> {
    let description = SkillManifest::text_of(&skill.frontmatter, "description")?;
    let phrase = flags::suspicious(description)?;
    Some(format!("the skill `{}` is described in suspicious words: \"{phrase}\"", skill.uri))
}

fn make_resource(
    server: &Arc<Server>,
    passed: PassedFile,
    manifest: Option<SkillManifest>,
) -> Resource {
    let (uri, size) = (passed.file.uri.clone(), passed.file.size);
    let (owner, passed) = (Arc::downgrade(server), Arc::new(passed));
    let call = move |context: ToolContext, _: Arguments| {
        let (owner, passed) = (owner.clone(), Arc::clone(&passed));
        async move {
            let Some(server) = owner.upgrade() else {
                return ToolResult::failure(FailureKind::Infrastructure, "its servers were closed");
            };
            let result = server.offer(ServerRequest::SkillFile { file: &passed }, &context).await;
            if result.failure_kind() == Some(FailureKind::InvalidOutput) {
                // The list may be older than the file.
                server.list_again();
            }
            result
        }
    };
    let tool = Tool::raw("skill_file", "", json!({"type": "object"}), call)
        .from_source(Arc::clone(&server.name))
        .with_server_timeout(server.config.timeout)
        .deferred();
    let tool = if server.config.trusted { tool } else { tool.untrusted() };
    let resource = Resource::foreign(&uri, false, tool).with_size(size);
    match manifest {
        Some(manifest) => resource.with_skill(manifest),
        None => resource,
    }
}
