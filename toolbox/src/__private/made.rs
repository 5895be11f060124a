//! Construction of a [`Tool`] from the options and the function of an expansion.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use serde_json::Value;

use crate::arguments::call::HandlerCall;
use crate::arguments::signature::{Described, Signature};
use crate::call::ToolResult;
use crate::context::ToolContext;
use crate::context::approval::Approval;
use crate::definition::{ToolAnnotations, ToolDefinition};
use crate::future::BoxFuture;
use crate::sync::Mutex;
use crate::text;
use crate::tool::{BoxedHandler, Origin, Tool, Toolset, made};

/// The options of `#[tool(...)]`, as constants.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of `#[tool]` with a name of its own"
)]
#[allow(missing_docs, reason = "the options of `#[tool]`, documented there")]
pub struct Meta {
    pub name: &'static str,
    pub description: &'static str,
    /// `true` if the description still has the blank after `///`, because an expression is part of
    /// it.
    pub untidy: bool,
    pub title: Option<&'static str>,
    pub version: Option<&'static str>,
    pub replaces: &'static [&'static str],
    pub deprecated: Option<&'static str>,
    pub timeout: Option<Duration>,
    pub result_tokens: Option<usize>,
    pub annotations: [Option<bool>; 4],
    pub tags: &'static [&'static str],
    pub available: &'static [fn(&ToolContext) -> bool],
    pub blocking: bool,
    pub exclusive: bool,
    pub background: bool,
    pub durable: bool,
    pub approval: bool,
    pub deferred: bool,
    pub untrusted: bool,
}

/// Returns a name that a constant holds; evaluated when the crate of the tool is compiled.
///
/// # Panics
///
/// If no tool may have the name.
#[must_use]
pub const fn checked_name(name: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    let mut is_sound = !bytes.is_empty()
        && bytes.len() <= 64
        && (bytes[0].is_ascii_alphabetic() || bytes[0] == b'_');
    let mut at = 0;
    while at < bytes.len() {
        is_sound &= bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'_' | b'-');
        at += 1;
    }
    assert!(
        is_sound,
        "this is no name of a tool: write 1 to 64 letters, digits, `_` and `-`, and start with a letter or `_`"
    );
    name
}

impl Meta {
    /// The values of options that are not given.
    pub const DEFAULT: Self = Self {
        name: "",
        description: "",
        untidy: false,
        title: None,
        version: None,
        replaces: &[],
        deprecated: None,
        timeout: None,
        result_tokens: None,
        annotations: [None; 4],
        tags: &[],
        available: &[],
        blocking: false,
        exclusive: false,
        background: false,
        durable: false,
        approval: false,
        deferred: false,
        untrusted: false,
    };

    /// Makes the tool; its caller is the expansion, at the line of the tool.
    #[track_caller]
    fn tool(self, handler: BoxedHandler, mut described: Described, output: Option<Value>) -> Tool {
        if self.description.trim().is_empty() {
            described.mistakes.push("it has no description".to_owned());
        }
        if !described.mistakes.is_empty() {
            self.refuse(&described.mistakes);
        }
        let [read_only, destructive, idempotent, open_world] = self.annotations;
        let description =
            if self.untidy { tidy(self.description) } else { self.description.to_owned() };
        let mut definition =
            ToolDefinition::new(self.name, description, described.signature.schema.clone());
        definition.title = self.title.map(str::to_owned);
        if let Some(version) = self.version {
            definition.set_version(version.to_owned());
        }
        definition.replaces = self.replaces.iter().map(|&old| old.to_owned()).collect();
        definition.annotations = ToolAnnotations { read_only, destructive, idempotent, open_world };
        definition.tags = self.tags.iter().map(|&tag| tag.to_owned()).collect();
        definition.deferred = self.deferred;
        definition.output_schema = output.map(Into::into);
        if let Some(note) = self.deprecated {
            definition.deprecate(note);
        }
        let tool = made(Tool::from_parts(definition, handler, described.signature, Origin::here()));
        let mut tool =
            tool.with_examples(described.examples).with_requirements(described.requirements);
        let running = &mut tool.inner_mut().running;
        running.timeout = self.timeout;
        running.result_tokens = self.result_tokens;
        running.blocking = self.blocking;
        running.exclusive = self.exclusive;
        running.background = self.background;
        running.durable = self.durable;
        running.untrusted = self.untrusted;
        if self.approval {
            running.approval = Approval::OfBox;
        }
        self.available.iter().fold(tool, |tool, predicate| tool.available_if(predicate))
    }
}

impl Meta {
    /// Panics with the mistakes of a tool that the compiler could not detect.
    #[cold]
    #[track_caller]
    fn refuse(&self, mistakes: &[String]) -> ! {
        let (name, origin) = (self.name, Origin::here());
        panic!("tool `{name}` at {origin} cannot be made: {}", mistakes.join("\n- "))
    }
}

/// Makes a tool of a synchronous function.
#[track_caller]
pub fn make_sync(
    meta: Meta,
    output: Option<Value>,
    run: impl for<'call> Fn(&'call HandlerCall<'call>) -> ToolResult + Send + Sync + 'static,
) -> Tool {
    let described = Mutex::default();
    run(&HandlerCall::asking(&ToolContext::new(), &Signature::default(), &described));
    meta.tool(BoxedHandler::Sync(Arc::new(run)), described.into_inner(), output)
}

/// Makes a tool of an async function.
#[track_caller]
pub fn make_async(
    meta: Meta,
    output: Option<Value>,
    run: impl for<'call> Fn(&'call HandlerCall<'call>) -> BoxFuture<'call, ToolResult>
    + Send
    + Sync
    + 'static,
) -> Tool {
    let described = Mutex::default();
    // A handler that describes its signature returns before it awaits anything.
    let (context, signature) = (ToolContext::new(), Signature::default());
    let _ = run(&HandlerCall::asking(&context, &signature, &described))
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    meta.tool(BoxedHandler::Async(Arc::new(run)), described.into_inner(), output)
}

/// Makes a tool of a synchronous method of a set.
///
/// The set is an argument and not captured, so that a set that cannot be shared is one error, at
/// its type.
#[track_caller]
pub fn make_sync_of<S: Toolset>(
    meta: Meta,
    output: Option<Value>,
    set: &Arc<S>,
    run: for<'call> fn(&Arc<S>, &'call HandlerCall<'call>) -> ToolResult,
) -> Tool {
    make_sync_of_trait(meta, output, set, run)
}

/// Makes a tool of an async method of a set.
#[track_caller]
pub fn make_async_of<S: Toolset>(
    meta: Meta,
    output: Option<Value>,
    set: &Arc<S>,
    run: for<'call> fn(Arc<S>, &'call HandlerCall<'call>) -> BoxFuture<'call, ToolResult>,
) -> Tool {
    make_async_of_trait(meta, output, set, run)
}

/// Makes a tool of a synchronous method of a trait.
#[track_caller]
pub fn make_sync_of_trait<S: Send + Sync + ?Sized + 'static>(
    meta: Meta,
    output: Option<Value>,
    set: &Arc<S>,
    run: for<'call> fn(&Arc<S>, &'call HandlerCall<'call>) -> ToolResult,
) -> Tool {
    let set = Arc::clone(set);
    make_sync(meta, output, move |call| run(&set, call))
}

/// Makes a tool of an async method of a trait.
#[track_caller]
pub fn make_async_of_trait<S: Send + Sync + ?Sized + 'static>(
    meta: Meta,
    output: Option<Value>,
    set: &Arc<S>,
    run: for<'call> fn(Arc<S>, &'call HandlerCall<'call>) -> BoxFuture<'call, ToolResult>,
) -> Tool {
    let set = Arc::clone(set);
    make_async(meta, output, move |call| run(Arc::clone(&set), call))
}

/// Takes the blank after `///` off each line, and blank space off both ends; leaves out code blocks
/// and the sections for programmers.
#[must_use]
pub fn tidy(doc: &str) -> String {
    let lines: Vec<&str> =
        doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    text::for_model(lines.join("\n").trim()).into_owned()
}

/// Boxes the future of a tool.
#[inline]
pub fn tool_future_must_be_send<'call>(
    future: impl Future<Output = ToolResult> + Send + 'call, // three ways round: docs/not-send.md
) -> BoxFuture<'call, ToolResult> {
    Box::pin(future)
}

/// Fails to compile if a tool has the name of one listed before it; each comes with its location.
#[track_caller]
pub const fn two_tools_of_one_name(name: &str, origin: &str, tools: &[(&str, &str)]) {
    if let Some(first) = earlier(name, origin, tools) {
        let mend = "; give one another name: `#[tool(name = \"...\")]`";
        clash(["two tools are named `", name, "`: one at ", first, ", one at ", origin, mend]);
    }
}

/// Fails to compile if a prompt has the name of one listed before it.
#[track_caller]
pub const fn two_prompts_of_one_name(name: &str, origin: &str, prompts: &[(&str, &str)]) {
    if let Some(first) = earlier(name, origin, prompts) {
        let mend = "; give one another name: `#[prompt(name = \"...\")]`";
        clash(["two prompts are named `", name, "`: one at ", first, ", one at ", origin, mend]);
    }
}

/// Fails to compile if a resource has the URI of one listed before it.
#[track_caller]
pub const fn two_resources_of_one_uri(uri: &str, origin: &str, resources: &[(&str, &str)]) {
    if let Some(first) = earlier(uri, origin, resources) {
        let mend = "; give one another URI";
        clash([
            "two resources have the URI `",
            uri,
            "`: one at ",
            first,
            ", one at ",
            origin,
            mend,
        ]);
    }
}

/// Returns the location of the first of a name, unless that is the one at `origin` itself.
const fn earlier<'a>(name: &str, origin: &str, all: &[(&str, &'a str)]) -> Option<&'a str> {
    let mut at = 0;
    while at < all.len() {
        let (other, first) = all[at];
        if same(name, other) {
            return if same(origin, first) { None } else { Some(first) };
        }
        at += 1;
    }
    None
}

/// Compares from the end: names and locations of one program tend to start alike.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut left = a.len();
    if left != b.len() {
        return false;
    }
    while left > 0 && a[left - 1] == b[left - 1] {
        left -= 1;
    }
    left == 0
}

/// Panics with a message about two of one name. Constant evaluation has no `format!`, so the
/// text is put together by hand.
#[track_caller]
const fn clash(parts: [&str; 7]) -> ! {
    let mut text = [0; 1024];
    let (mut len, mut part) = (0, 0);
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut at = 0;
        while at < bytes.len() && len < text.len() {
            text[len] = bytes[at];
            len += 1;
            at += 1;
        }
        part += 1;
    }
    match std::str::from_utf8(text.split_at(len).0) {
        Ok(text) => panic!("{}", text),
        Err(_) => panic!("two have one name"),
    }
}
