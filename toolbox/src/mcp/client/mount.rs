//! The tools that a server lists, as tools of a box.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::flags;
use super::list::{ServerTool, ToolList};
use super::mounted::MountedOffers;
use super::outward::Outward;
use super::server::{CalledTool, Server};
use super::status::WithheldReason;
use serde_json::{Map, Value};

use crate::call::{Arguments, FailureKind, ToolResult};
use crate::context::ToolContext;
use crate::contract::ChangeKind;
use crate::mcp::lock::{Lock, PinStatus};
use crate::mcp::names;
use crate::tool::Tool;

/// Makes tools of a list; the box is not changed yet. Returns the keys of all definitions that the
/// lock admits as well.
pub(super) fn mount(server: &Arc<Server>, listed: &ToolList) -> (MountedOffers, HashSet<String>) {
    let mut mounted = MountedOffers::default();
    for (name, detail) in &listed.dropped {
        mounted.withhold(name, WithheldReason::Invalid, detail.clone());
    }
    let approved = approved(server, listed, &mut mounted);
    // A definition that was pinned when first listed was not reviewed.
    let is_read = server.config.trusted || server.shared.has_lock() && server.shared.withhold_new;
    let shared = &server.shared;
    let taken = shared.taken();
    // Names are chosen over the whole list, so that an approval renames no other tool.
    let all = listed.tools.iter().map(|tool| tool.name.as_str());
    let names = shared.names.lock().of_server(&server.name, all);
    for (tool, name) in listed.tools.iter().zip(names) {
        if !approved.contains(&tool.name) {
            continue;
        }
        let spare = names::with_digest(&server.name, &tool.name);
        let is_free = |name: &str| taken.is_free(name, &server.name, &tool.name);
        let name = if is_free(&name) {
            name
        } else if is_free(&spare) {
            mounted.notices.push(format!(
                "`{name}` is another tool of the box; this server's is called `{spare}`"
            ));
            spare
        } else {
            let detail = format!("`{name}` and `{spare}` are other tools of the box");
            mounted.withhold(&tool.name, WithheldReason::NameTaken, detail);
            continue;
        };
        match make_tool(server, tool, &name, &mut mounted.notices) {
            Ok(made) if is_read => mounted.tools.push(made),
            Ok(made) => mounted.tools.push(made.with_untrusted_definition()),
            Err(detail) => mounted.withhold(&tool.name, WithheldReason::Invalid, detail),
        }
    }
    (mounted, approved)
}

/// The most withheld definitions of a list of which it is said what their changes mean: a server
/// may change thousands.
const JUDGED: usize = 100;

/// Returns the tools that the lock admits, and withholds the others.
pub(super) fn approved(
    server: &Server,
    listed: &ToolList,
    mounted: &mut MountedOffers,
) -> HashSet<String> {
    let keys = listed.pins().map(|(key, _)| key.into_owned());
    let Some(mut lock) = server.shared.lock() else { return keys.collect() };
    let is_new = |lock: &Lock, (key, raw): (&str, &Value)| {
        lock.judge(&server.name, key, raw) == PinStatus::New
    };
    let mut kept = lock.refresh();
    let has_new = listed.pins().any(|(key, raw)| is_new(&lock, (&key, raw)));
    if !server.shared.withhold_new && has_new {
        kept = lock.update(|lock| {
            for (key, raw) in listed.pins() {
                // Another program may have pinned it first.
                if is_new(lock, (&key, raw)) {
                    lock.pin(&server.name, &key, raw);
                }
            }
        });
    }
    if let Err(error) = kept {
        tracing::warn!(%error, "the lock file cannot be read or written");
        mounted.notices.push(error.to_string());
    }
    let mut approved = HashSet::new();
    for (key, raw) in listed.pins() {
        match lock.judge(&server.name, &key, raw) {
            PinStatus::Approved => {
                approved.insert(key.into_owned());
            }
            PinStatus::Unreadable => {
                let detail = "its entry in the lock file cannot be read; look at it, then approve of the server's tools";
                mounted.withhold_unapproved(
                    &key,
                    WithheldReason::Unreadable,
                    detail.to_owned(),
                    raw,
                );
            }
            PinStatus::New => {
                let detail =
                    "it was never approved; look at it, then approve of the server's tools";
                mounted.withhold_unapproved(&key, WithheldReason::New, detail.to_owned(), raw);
            }
            PinStatus::Changed(parts) => {
                let is_judged = mounted.withheld.len() < JUDGED;
                let changes = is_judged.then(|| lock.changes(&server.name, &key, raw));
                let detail = format!(
                    "its {} changed since it was approved{}; look at it, then approve of the server's tools",
                    parts.join(", "),
                    meaning(&changes.unwrap_or_default())
                );
                mounted.withhold_unapproved(&key, WithheldReason::Changed, detail, raw);
            }
        }
    }
    approved
}

/// Returns the first changes of a definition in parentheses, each with what it means to callers.
fn meaning(changes: &[(ChangeKind, String)]) -> String {
    const NAMED: usize = 8;
    let first = changes.iter().take(NAMED).map(|(kind, change)| format!("{kind}: {change}"));
    let more = changes.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    let all: Vec<String> = first.chain(more).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

fn make_tool(
    server: &Arc<Server>,
    listed: &ServerTool,
    name: &str,
    notices: &mut Vec<String>,
) -> Result<Tool, String> {
    let mut description = listed.description.clone();
    let texts = format!("{description}\n{}", listed.input_schema);
    if let Some(phrase) = flags::suspicious(&texts) {
        notices.push(format!("`{name}` is described in suspicious words: \"{phrase}\""));
        description = flags::quoted(&server.name, &description);
    }
    let owner = Arc::downgrade(server);
    let own_name: Arc<str> = Arc::from(listed.name.as_str());
    let output_schema = listed.output_schema.clone();
    let hints = &listed.annotations;
    let repeats = hints.idempotent == Some(true) || hints.read_only == Some(true);
    let called = Arc::new(CalledTool { name: Arc::clone(&own_name), output_schema, repeats });
    let call = move |context: ToolContext, arguments: Arguments| {
        let (owner, called) = (owner.clone(), Arc::clone(&called));
        async move {
            match owner.upgrade() {
                Some(server) => server.call(&called, &context, arguments.as_str()).await,
                None => {
                    let message = format!(
                        "tool `{}` is gone: its server was removed or closed",
                        context.tool_name()
                    );
                    ToolResult::failure(FailureKind::Infrastructure, message)
                }
            }
        }
    };
    let tool = Tool::try_raw(name, description, listed.input_schema.clone(), call)
        .map_err(|error| error.to_string())?;
    let mut tool = tool
        .from_source(Arc::clone(&server.name))
        .with_name_at_source(own_name)
        .with_annotations(listed.annotations)
        .with_server_timeout(server.config.longest_call());
    if !server.config.trusted {
        tool = tool.untrusted();
    }
    if server.config.strict {
        tool = tool.strict();
    }
    if let Some(title) = &listed.title {
        tool = tool.with_title(title.as_str());
    }
    if let Some(schema) = &listed.output_schema
        && !server.distrusts_output_of(&listed.name)
    {
        tool = tool.with_output_schema(schema.clone());
    }
    let tool = tool.with_presentation(
        listed.hint_title.clone(),
        listed.icons.clone(),
        meta_in_the_box(server, listed),
    );
    Ok(if server.deferred { tool.deferred() } else { tool })
}

/// Returns the `_meta` of a tool, with the URI in the box of the page that it refers to.
fn meta_in_the_box(server: &Server, listed: &ServerTool) -> Map<String, Value> {
    let mut meta = listed.meta.clone();
    let Some(page) = listed.linked_resource() else { return meta };
    let uri = Outward::of(server).of_listed(page);
    let Some(uri) = uri.filter(|uri| uri != page) else { return meta };
    if let Some(nested) = meta.get_mut("ui").and_then(|ui| ui.get_mut("resourceUri")) {
        *nested = uri.as_str().into();
    }
    if let Some(flat) = meta.get_mut("ui/resourceUri") {
        *flat = uri.into();
    }
    meta
}

/// Returns a notice for each tool whose description names a tool of another server.
pub(super) fn mentions(tools: &[Tool], others: &HashMap<&str, &Tool>) -> Vec<String> {
    let mentioned = |tool: &Tool| {
        let mut words = flags::words(tool.description());
        words.find_map(|word| others.get(word).filter(|other| other.source() != tool.source()))
    };
    let notice = |tool: &Tool| {
        let (name, other) = (tool.name(), mentioned(tool)?.name());
        Some(format!("the description of `{name}` speaks of `{other}`, a tool of another server"))
    };
    tools.iter().filter_map(notice).collect()
}

/// Returns tools by the words that refer to them: their names in the box, and the servers' own
/// names unless they are plain words.
pub(super) fn by_word<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> HashMap<&'a str, &'a Tool> {
    let mut words = HashMap::new();
    for tool in tools {
        words.insert(tool.name(), tool);
        let own = tool.name_at_source().unwrap_or_default();
        if own.len() >= 6 && own.contains(['_', '-']) {
            words.entry(own).or_insert(tool);
        }
    }
    words
}
