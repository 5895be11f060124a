//! Calls and questions that wait for a person at the page.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::call::Faults;
use crate::context::{
    Answer, ApprovalRequest, Approver, Asker, Conversation, Decision, Principal, Question,
    QuestionForm, Taint, TaintSource, ToolContext,
};
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;
use crate::sync::Mutex;
use crate::text::cut;
use crate::validate::{CheckOutcome, ValidationLimits, check_arguments, conforms};

/// The most entries that wait at once; a further one is answered as if nobody had decided.
const MAX_WAITING: usize = 1000;

/// The most bytes of the entries that wait at once, as pages show them.
const MAX_BYTES: usize = 32 << 20;

/// The bytes of new entries that a page is told of at once; one that is longer goes alone.
const MAX_CHANGE: usize = 256 << 10;

/// The most bytes that are shown of a line.
const LINE_BYTES: usize = 1000;

/// The number of decisions that are remembered, to tell whoever comes late.
const MAX_DECIDED: usize = 200;

/// The approver and asker of a box whose people sit before a [`Page`](super::Page): calls that need
/// approval and questions of tools wait here until somebody decides.
///
/// One decision holds: whoever decides later is told. An entry whose call ends is taken back. After
/// the [time limit](Self::time_limit) a call is deferred, and a question is dismissed.
///
/// ```
/// use toolbox::page::{Inbox, Page};
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Sends money.
/// #[tool(approval)]
/// fn pay(cents: u64) -> String {
///     format!("paid {cents}")
/// }
///
/// let inbox = Inbox::new();
/// let toolbox = ToolBox::builder()
///     .tools(tools![pay])
///     .approver(inbox.clone())
///     .asker(inbox.clone())
///     .build()?;
/// let page = Page::new(toolbox).inbox(inbox);
/// # Ok::<(), toolbox::collection::BuildToolBoxError>(())
/// ```
#[derive(Clone)]
pub struct Inbox {
    shared: Arc<InboxInner>,
    time_limit: Duration,
}

struct InboxInner {
    entries: Mutex<Entries>,
    /// Counts the changes.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Entries {
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// The bytes of what is shown of those that wait.
    bytes: usize,
    decided: VecDeque<(u64, String)>,
}

/// An entry that waits.
struct Waiting {
    /// The JSON that pages show.
    shown: Box<str>,
    kind: EntryKind,
    form: EntryForm,
    answer: oneshot::Sender<Word>,
}

/// What the value of an entry's form is checked against.
#[derive(Clone)]
enum EntryForm {
    /// The tool of a call that waits for approval, whose arguments may be edited.
    Arguments(Arc<ToolDefinition>),
    /// The schema of the answer to a question.
    Answer(Arc<Value>),
    /// The entry has no form.
    None,
}

/// What a page that shows some entries has to show instead.
pub(super) struct InboxChange {
    /// `added`, the entries that are new to it, the oldest first; `gone`, the ids of those that
    /// wait no longer; `count`, the number of those that wait.
    pub(super) text: String,
    /// `true` if more are new to it than fit in.
    pub(super) is_part: bool,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Approval,
    Question,
}

impl EntryKind {
    fn code(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Question => "question",
        }
    }
}

impl Entries {
    fn remove(&mut self, id: u64) -> Option<Waiting> {
        let entry = self.waiting.remove(&id)?;
        self.bytes -= entry.shown.len();
        Some(entry)
    }
}

/// The word of a person.
enum Word {
    OnCall(Decision),
    OnQuestion(Answer),
}

/// The reason why a decision does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TooLate {
    /// Another decision was earlier, which this describes.
    Decided(String),
    /// The call ended before.
    Gone,
    /// The decision is none for this kind of entry.
    Unfit(&'static str),
}

impl Inbox {
    /// Returns an empty inbox, with a time limit of 10 minutes.
    #[must_use]
    pub fn new() -> Self {
        let shared = InboxInner { entries: Mutex::default(), changed: watch::Sender::new(0) };
        Self { shared: Arc::new(shared), time_limit: Duration::from_secs(600) }
    }

    /// Sets the time after which an entry that nobody decided on is given up. Default 10 minutes.
    #[must_use]
    pub fn time_limit(mut self, time: Duration) -> Self {
        self.time_limit = time;
        self
    }

    /// Returns the number of entries that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.entries.lock().waiting.len()
    }

    /// Returns `true` if nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what a page has to show in place of the entries that it shows, and notes it; `None`
    /// if that is the same.
    pub(super) fn change(&self, shown: &mut BTreeSet<u64>) -> Option<InboxChange> {
        let entries = self.shared.entries.lock();
        let is_gone = |id: &u64| !entries.waiting.contains_key(id);
        let gone: Vec<u64> = shown.iter().copied().filter(is_gone).collect();
        shown.retain(|id| !is_gone(id));
        let mut added = String::new();
        let mut is_part = false;
        for (id, entry) in &entries.waiting {
            if shown.contains(id) {
                continue;
            }
            is_part = !added.is_empty() && added.len() + entry.shown.len() > MAX_CHANGE;
            if is_part {
                break;
            }
            if !added.is_empty() {
                added.push(',');
            }
            added.push_str(&entry.shown);
            shown.insert(*id);
        }
        if added.is_empty() && gone.is_empty() {
            return None;
        }
        let (gone, count) = (json!(gone), entries.waiting.len());
        let text = format!(r#"{{"added":[{added}],"gone":{gone},"count":{count}}}"#);
        Some(InboxChange { text, is_part })
    }

    /// Returns the count of changes.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// Returns the faults of other arguments of a call that waits for approval, or of an answer to
    /// a question. The tool may be of another box than the page's.
    pub(super) fn check(&self, id: u64, text: &str) -> Faults {
        let form = {
            let entries = self.shared.entries.lock();
            entries.waiting.get(&id).map_or(EntryForm::None, |waiting| waiting.form.clone())
        };
        let limits = ValidationLimits::default();
        match form {
            EntryForm::Arguments(definition) => {
                match check_arguments(text, &definition.input_schema, &limits) {
                    CheckOutcome::Invalid { faults, .. } => faults,
                    CheckOutcome::Valid | CheckOutcome::Repaired { .. } => Faults::default(),
                }
            }
            EntryForm::Answer(schema) => conforms(text, &schema, &schema, "", &limits),
            EntryForm::None => Faults::default(),
        }
    }

    /// Decides on a call. `by` says who, for those who come late.
    pub(super) fn decide(&self, id: u64, decision: Decision, by: &str) -> Result<(), TooLate> {
        let what = match &decision {
            Decision::Approve => "approved",
            Decision::Deny(_) => "denied",
            Decision::Edit(_) => "approved with other arguments",
            Decision::Answer(_) | Decision::Reply(_) => "answered",
            Decision::Defer => "deferred",
        };
        self.settle(id, EntryKind::Approval, Word::OnCall(decision), format!("{what} by {by}"))
    }

    /// Answers a question.
    pub(super) fn answer(&self, id: u64, answer: Answer, by: &str) -> Result<(), TooLate> {
        self.settle(id, EntryKind::Question, Word::OnQuestion(answer), format!("answered by {by}"))
    }

    fn settle(&self, id: u64, kind: EntryKind, word: Word, what: String) -> Result<(), TooLate> {
        let waiting = {
            let mut entries = self.shared.entries.lock();
            match entries.waiting.get(&id) {
                Some(waiting) if waiting.kind != kind => {
                    return Err(TooLate::Unfit("this entry takes another kind of decision"));
                }
                Some(_) => {}
                None => {
                    let decided = entries.decided.iter().find(|(own, _)| *own == id);
                    let gone = |(_, what): &(u64, String)| TooLate::Decided(what.clone());
                    return Err(decided.map_or(TooLate::Gone, gone));
                }
            }
            if entries.decided.len() >= MAX_DECIDED {
                entries.decided.pop_front();
            }
            entries.decided.push_back((id, what));
            entries.remove(id)
        };
        self.shared.note();
        match waiting.map(|waiting| waiting.answer.send(word)) {
            Some(Ok(())) => Ok(()),
            _ => Err(TooLate::Gone),
        }
    }

    /// Puts an entry and waits for its word; `None` if nobody says any.
    async fn put(&self, kind: EntryKind, mut shown: Value, form: EntryForm) -> Option<Word> {
        let (answer, word) = oneshot::channel();
        let id = {
            let mut entries = self.shared.entries.lock();
            entries.next += 1;
            let id = entries.next;
            shown["id"] = id.into();
            shown["kind"] = kind.code().into();
            let shown = shown.to_string().into_boxed_str();
            let bytes = entries.bytes.saturating_add(shown.len());
            if entries.waiting.len() >= MAX_WAITING || bytes > MAX_BYTES {
                tracing::warn!(
                    waiting = entries.waiting.len(),
                    "the inbox of the page is full: an entry is given up"
                );
                return None;
            }
            entries.bytes = bytes;
            entries.waiting.insert(id, Waiting { shown, kind, form, answer });
            id
        };
        self.shared.note();
        let _entry = EntryGuard { inbox: Arc::clone(&self.shared), id };
        timeout(self.time_limit, word).await.ok()?.ok()
    }
}

impl InboxInner {
    fn note(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }
}

/// Takes an entry back when its call no longer waits for it.
struct EntryGuard {
    inbox: Arc<InboxInner>,
    id: u64,
}

impl Drop for EntryGuard {
    fn drop(&mut self) {
        if self.inbox.entries.lock().remove(self.id).is_some() {
            self.inbox.note();
        }
    }
}

fn taint_source(source: &TaintSource) -> Value {
    match source {
        TaintSource::Result(tool) => json!({"kind": "result", "tool": tool}),
        TaintSource::Definition(tool) => json!({"kind": "definition", "tool": tool}),
        TaintSource::App(tool) => json!({"kind": "app", "tool": tool}),
        TaintSource::Other => json!({"kind": "other", "tool": null}),
    }
}

/// Returns the line of the script at which a call stands, with the lines around it.
fn of_script(context: &ToolContext) -> Option<Value> {
    let excerpt = context.script_excerpt()?;
    let lines: Vec<&str> = excerpt.lines.iter().map(|text| cut(text, LINE_BYTES)).collect();
    Some(json!({"line": excerpt.line, "first": excerpt.first, "lines": lines}))
}

/// Returns the facts about the call that an entry belongs to.
fn of_call(context: &ToolContext) -> Value {
    let conversation = context.get::<Conversation>();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "call": context.call_id(),
        "tool": context.tool_name(),
        "principal": Principal::of(context).as_str(),
        "conversation": conversation.map(|own| format!("{}/{}", own.channel, own.chat_id)),
        "depth": context.depth(),
        "script": of_script(context),
        "tainted": context.is_tainted(),
        "taint": context.get::<Taint>().map(Taint::sources).unwrap_or_default().iter()
            .map(taint_source).collect::<Vec<_>>(),
        "since_ms": u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
    })
}

#[diagnostic::do_not_recommend]
impl Approver for Inbox {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("page")
    }

    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Decision> {
        let inbox = self.clone();
        Box::pin(async move {
            let definition = request.definition();
            let mut shown = of_call(&request.context);
            shown["arguments"] = request.arguments.as_str().into();
            shown["schema"] = definition.input_schema.to_string().into();
            shown["description"] = definition.description.as_str().into();
            shown["annotations"] = json!(definition.annotations);
            let form = EntryForm::Arguments(Arc::new(definition.clone()));
            match inbox.put(EntryKind::Approval, shown, form).await {
                Some(Word::OnCall(decision)) => decision,
                _ => Decision::Defer,
            }
        })
    }
}

#[diagnostic::do_not_recommend]
impl Asker for Inbox {
    fn ask(&self, question: Question) -> BoxFuture<'static, Answer> {
        let inbox = self.clone();
        Box::pin(async move {
            let mut shown = of_call(&question.context);
            shown["message"] = question.message.as_str().into();
            shown["origin"] = question.origin().into();
            let form = match &question.form {
                QuestionForm::Fields(schema) => {
                    shown["schema"] = schema.to_string().into();
                    EntryForm::Answer(Arc::new(schema.clone()))
                }
                QuestionForm::Url(url) => {
                    shown["url"] = url.as_str().into();
                    EntryForm::None
                }
            };
            match inbox.put(EntryKind::Question, shown, form).await {
                Some(Word::OnQuestion(answer)) => answer,
                _ => Answer::Dismissed,
            }
        })
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("waiting", &self.len()).finish_non_exhaustive()
    }
}
