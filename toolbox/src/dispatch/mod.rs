//! The gate: the one way to a tool, whoever calls.
//!
//! Each call passes, in this order: find the tool, ask the lists, bound and read the arguments, ask for approval, wait
//! for a place, run within its time and behind a wall against panics, fit the result, trace. Whatever happens on the way
//! is a [`ToolResult`] under the call's id.

mod background;
mod batch;
mod held;
mod place;
pub(crate) mod run;
mod supervise;
mod trace;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

#[cfg(feature = "agent")]
pub(crate) use batch::Batch;
#[cfg(feature = "agent")]
pub(crate) use supervise::forget_quietly;

use crate::approval::Approver;

use crate::arguments::Fault;
use crate::arguments::cold::{ArgumentsError, nearest_n};
use crate::call::{Arguments, AsArguments, ToolCall};
use crate::collection::{Entry, Shared, Snapshot, ToolBox};
use crate::context::{Requirement, ToolContext};
use crate::error::FailureKind;
use crate::layer::Layers;
use crate::result::ToolResult;
use crate::taint::Taint;
use crate::tool::{Handler, Tool};
use crate::unseen::{QUOTED, quote};

/// How a box treats the calls that pass it.
#[derive(Clone)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of the box with a name of its own"
)]
pub(crate) struct Settings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    pub(crate) exclusive: Arc<Semaphore>,
    pub(crate) parallel: bool,
    pub(crate) batch_calls: usize,
    pub(crate) argument_bytes: usize,
    pub(crate) argument_depth: usize,
    pub(crate) result_bytes: usize,
    pub(crate) runtime: Option<Handle>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) record_content: bool,
    pub(crate) suggest_tools: bool,
    /// Whether all tools are closed for strict providers.
    pub(crate) strict: bool,
    /// Whether a deferred tool can be called by its own name.
    pub(crate) deferred_calls: bool,
    /// What the program gives with each call.
    pub(crate) call_state: Vec<Requirement>,
    /// Code around the calls of every tool, the innermost first.
    pub(crate) layers: Layers,
    /// Whether a call can run right where it is made, as far as the box goes.
    is_plain: bool,
}

impl Settings {
    pub(crate) const MAX_DEPTH: usize = 64;

    /// Works out what each call would have to ask again.
    pub(crate) fn settled(mut self) -> Self {
        self.is_plain = self.concurrency.is_none()
            && self.runtime.is_none()
            && self.layers.is_empty()
            && !self.strict;
        self
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            concurrency: None,
            exclusive: Arc::new(Semaphore::new(1)),
            parallel: true,
            batch_calls: 1024,
            argument_bytes: 1 << 20,
            argument_depth: Self::MAX_DEPTH,
            result_bytes: 256 << 10,
            runtime: None,
            approver: None,
            record_content: false,
            suggest_tools: false,
            strict: false,
            deferred_calls: true,
            call_state: Vec::new(),
            layers: Layers::default(),
            is_plain: true,
        }
    }
}

impl ToolBox {
    /// Makes one call and returns its result, whatever happens: there is no error to handle.
    ///
    /// An unknown name gives `tool not found: <name>`, an error of the tool its own message, arguments that do not fit a
    /// list of what is wrong, a panic and a timeout a sentence that says so; see [`ToolResult::code`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops the tool's own where it waits. What a blocking or background tool began goes on.
    pub fn call(&self, call: ToolCall) -> impl Future<Output = ToolResult> + Send {
        self.dispatch(None, call, Pass::default())
    }

    /// Makes one call with what the program gives along: a conversation, a cancellation, a deadline.
    ///
    /// # Cancellation
    ///
    /// As for [`ToolBox::call`].
    pub fn call_in(
        &self,
        context: &ToolContext,
        call: ToolCall,
    ) -> impl Future<Output = ToolResult> + Send {
        self.dispatch(Some(context), call, Pass::default())
    }

    /// Makes one call of a tool that may be one of those hidden behind others.
    #[cfg(feature = "search")]
    pub(crate) async fn call_hidden(&self, context: &ToolContext, call: ToolCall) -> ToolResult {
        // Who approved of the call of the gateway saw what it asks for.
        let pass = Pass { approved: context.approved, hidden: true };
        // The call stands in the place of the gateway's own, and may wait for a decision as that one could.
        self.dispatch(Some(&context.in_its_place()), call, pass).await
    }

    /// Makes one call.
    #[inline]
    pub(crate) async fn dispatch(
        &self,
        given: Option<&ToolContext>,
        call: ToolCall,
        pass: Pass,
    ) -> ToolResult {
        match self.begin(call.id, &call.name, call.arguments.as_str(), given, pass) {
            Begun::Done(result) => result,
            Begun::Ready(admitted) => admitted.run_at_once(call.arguments.as_str()).await,
            Begun::Waiting(admitted) => Waiting::finish(admitted, call.arguments).await,
        }
    }

    /// Runs a tool by name, with arguments as JSON text or as JSON; no id, no context. Text is not copied.
    ///
    /// # Errors
    ///
    /// The text of a failure, as a model would read it.
    ///
    /// # Cancellation
    ///
    /// As for [`ToolBox::call`].
    pub async fn execute(&self, name: &str, arguments: impl AsArguments) -> Result<String, String> {
        let arguments = &*arguments.as_arguments();
        let result = match self.begin(String::new(), name, arguments, None, Pass::default()) {
            Begun::Done(result) => result,
            Begun::Ready(admitted) => admitted.run_at_once(arguments).await,
            Begun::Waiting(admitted) => Waiting::finish(admitted, arguments.into()).await,
        };
        let failed = result.is_error();
        let text = result.into_text();
        if failed { Err(text) } else { Ok(text) }
    }

    /// Takes a call as far as it goes without waiting: for most synchronous tools, to its end.
    #[allow(clippy::inline_always, reason = "else every result is moved once more")]
    #[inline(always)]
    fn begin(
        &self,
        id: String,
        name: &str,
        text: &str,
        given: Option<&ToolContext>,
        pass: Pass,
    ) -> Begun {
        let snapshot = self.shared.current.load();
        let found = snapshot.get(name).or_else(|| snapshot.by_alias(name));
        let Some(entry) = found.filter(|entry| self.is_open_to(entry, pass)) else {
            return Begun::Done(not_found(&snapshot, id, name, &self.shared.settings, given));
        };
        let settings = &self.shared.settings;
        let permitted =
            entry.permitted && given.is_none_or(|context| context.permits(entry.tool.name()));
        if !permitted || text.len() > settings.argument_bytes {
            return Begun::Done(refuse(entry, permitted, id, text, settings));
        }
        let tool = entry.tool.inner();
        let mut context = ToolContext {
            call_id: id,
            tool: Some(Arc::clone(&tool.definition)),
            given: given.and_then(ToolContext::given_below),
            bound: tool.running.state.clone(),
            state: self.shared.state.clone(),
            approved: pass.approved,
        };
        if !(entry.at_once && settings.is_plain && context.given.is_none()) || trace::is_on() {
            return Begun::Waiting(self.admit(entry, context));
        }
        match &tool.handler {
            Handler::Async(_) => Begun::Ready(self.admit(entry, context)),
            Handler::Sync(handler) => {
                let depth = settings.argument_depth;
                let mut result = run::sync(&**handler, tool, &context, text, depth);
                result.call_id = std::mem::take(&mut context.call_id);
                result.fit(settings.result_bytes, entry.tool.definition());
                Begun::Done(result)
            }
        }
    }

    /// Whether a tool can be called at all: a deferred one may be hidden behind those that search.
    #[inline]
    fn is_open_to(&self, entry: &Entry, pass: Pass) -> bool {
        self.shared.settings.deferred_calls || pass.hidden || !entry.tool.definition().deferred
    }

    #[inline]
    fn admit(&self, entry: &Entry, context: ToolContext) -> Admitted {
        Admitted { tool: entry.tool.clone(), shared: Arc::clone(&self.shared), context }
    }
}

/// What is known of a call before it is made.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pass {
    /// Somebody gave their word for it already.
    pub(crate) approved: bool,
    /// It comes through a gateway, and may reach what is hidden behind it.
    pub(crate) hidden: bool,
}

/// How far a call came without waiting.
enum Begun {
    Done(ToolResult),
    /// Only the tool's own future is left to wait for.
    Ready(Admitted),
    Waiting(Admitted),
}

/// A call that was let in: its tool, its box, and its context.
struct Admitted {
    tool: Tool,
    shared: Arc<Shared>,
    context: ToolContext,
}

/// A call that was let in, and owns all it needs to end.
struct Waiting {
    admitted: Admitted,
    arguments: Arguments,
}

impl std::ops::Deref for Waiting {
    type Target = Admitted;

    fn deref(&self) -> &Admitted {
        &self.admitted
    }
}

#[cold]
fn not_found(
    snapshot: &Snapshot,
    id: String,
    name: &str,
    settings: &Settings,
    given: Option<&ToolContext>,
) -> ToolResult {
    let shown = quote(name, QUOTED);
    tracing::warn!(tool = shown, "the tool that was called is not in the box");
    let mut text = format!("tool not found: {shown}");
    if settings.suggest_tools && name.is_ascii() {
        let near = nearest_n(name, snapshot.listed().map(Tool::name), 3);
        if !near.is_empty() {
            let shown = near.iter().filter_map(|name| snapshot.get(name));
            if let Some(taint) = given.and_then(ToolContext::get::<Taint>) {
                // A name is a text as well, and whoever wrote the definition chose it.
                shown.for_each(|entry| {
                    taint.show_definitions(std::slice::from_ref(entry.tool.definition()));
                });
            }
            text = format!("{text}; the nearest names are {}", near.join(", "));
        }
    }
    answer(id, ToolResult::refusal(FailureKind::NotFound, text))
}

#[cold]
fn refuse(
    entry: &Entry,
    permitted: bool,
    id: String,
    arguments: &str,
    settings: &Settings,
) -> ToolResult {
    let name = entry.tool.name();
    if !permitted {
        tracing::warn!(tool = name, "a blacklisted tool was called");
        let text = format!("tool `{name}` is blacklisted: it may not be called");
        return answer(id, ToolResult::refusal(FailureKind::Blacklisted, text));
    }
    let fault = Fault::too_large(settings.argument_bytes, arguments.len());
    let error = ArgumentsError::new(name, fault);
    let text = format!("{error}; `ToolBoxBuilder::max_argument_bytes` raises the limit");
    let result = ToolResult::refusal(FailureKind::InvalidArguments, text);
    answer(id, result.with_code(error.code()))
}

fn answer(id: String, mut result: ToolResult) -> ToolResult {
    result.call_id = id;
    result
}
