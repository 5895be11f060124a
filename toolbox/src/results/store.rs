//! The interface of a store of results.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::line_index::LineIndex;
use crate::call::{Content, SharedError};
use crate::context::{Conversation, Principal, ToolContext};
use crate::future::BoxFuture;

/// The owner of kept results: a principal, and the conversation if the calls name one.
///
/// ```
/// use toolbox::ToolContext;
/// use toolbox::context::{Conversation, Principal};
/// use toolbox::results::ResultOwner;
///
/// let chat = Conversation::new("cli", "7");
/// let context = ToolContext::new().with(Principal::new("ada")).with(chat);
/// let owner = ResultOwner::of(&context);
/// assert_eq!(owner.principal.as_str(), "ada");
/// assert_ne!(owner, ResultOwner::of(&ToolContext::new()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ResultOwner {
    /// The principal of the call.
    pub principal: Principal,
    /// The conversation of the call.
    pub conversation: Option<Conversation>,
}

impl ResultOwner {
    /// Returns the owner of the results of calls with this context.
    #[must_use]
    pub fn of(context: &ToolContext) -> Self {
        Self {
            principal: Principal::of(context),
            conversation: context.state::<Conversation>().map(|own| (*own).clone()),
        }
    }
}

/// A result that is kept as a whole.
///
/// ```
/// use toolbox::Content;
/// use toolbox::results::KeptResult;
///
/// let kept = KeptResult::new("read", vec![Content::text("one"), Content::text("two")]);
/// assert_eq!((&*kept.text(), kept.bytes()), ("one\ntwo", 6));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeptResult {
    /// The name of the tool.
    pub tool: String,
    /// All parts.
    pub content: Vec<Content>,
    /// The structured result, if the tool has one beside its text.
    pub structured_content: Option<Value>,
    /// `true` if reading it taints the conversation.
    pub is_untrusted: bool,
    /// `true` if its URLs count as shown to the model when it is read.
    pub shows_urls: bool,
    /// The line breaks of its text.
    pub(super) lines: LineIndex,
}

impl KeptResult {
    /// Returns the structure of a result, unless its text repeats it.
    pub(super) fn own_structure(&self) -> Option<&Value> {
        let structured = self.structured_content.as_ref()?;
        let text = serde_json::from_str::<Value>(&self.text());
        (!text.is_ok_and(|text| text == *structured)).then_some(structured)
    }

    /// Returns a result of one tool, trusted, whose URLs do not count as shown.
    #[must_use]
    pub fn new(tool: impl Into<String>, content: Vec<Content>) -> Self {
        Self {
            tool: tool.into(),
            content,
            structured_content: None,
            is_untrusted: false,
            shows_urls: false,
            lines: LineIndex::default(),
        }
    }

    /// Returns the texts of all parts, joined by line breaks; of a single one, without a copy.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = texts(&self.content);
        let first = texts.next().unwrap_or_default();
        match texts.next() {
            None => Cow::Borrowed(first),
            Some(second) => {
                let mut joined = format!("{first}\n{second}");
                for text in texts {
                    joined.push('\n');
                    joined.push_str(text);
                }
                Cow::Owned(joined)
            }
        }
    }

    /// Returns the size of its parts, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.content.iter().map(Content::len).sum()
    }
}

/// Returns the texts that a model reads in parts.
pub(super) fn texts(parts: &[Content]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Content::Resource(resource) => resource.text.as_deref(),
        part => part.as_text(),
    })
}

/// The answer of a store to a handle.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Lookup {
    /// The result.
    Kept(Arc<KeptResult>),
    /// It was there and is not any more; a line says what it was.
    Gone(String),
    /// It is there and damaged, so that nothing of it can be read.
    Unreadable,
    /// The owner never had a result of this handle.
    Unknown,
}

/// A store of results.
///
/// [`MemoryResults`](super::MemoryResults) is one, and
/// [`SqliteStore`](crate::store::SqliteStore) another. The crate calls it from within a call: it is
/// to return soon, and a failure costs the model the rest of that result and nothing else.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use toolbox::results::{KeptResult, Lookup, ResultOwner, ResultStore, ResultStoreError};
/// use toolbox::BoxFuture;
///
/// /// Keeps everything, for everybody who has the same owner.
/// #[derive(Default)]
/// struct All(Mutex<Vec<(ResultOwner, Arc<KeptResult>)>>);
///
/// impl ResultStore for All {
///     fn keep(
///         &self,
///         owner: ResultOwner,
///         result: Arc<KeptResult>,
///     ) -> BoxFuture<'_, Result<u64, ResultStoreError>> {
///         let mut all = self.0.lock().unwrap();
///         all.push((owner.clone(), result));
///         let number = all.iter().filter(|(of, _)| *of == owner).count() as u64;
///         Box::pin(async move { Ok(number) })
///     }
///
///     fn get(
///         &self,
///         owner: ResultOwner,
///         number: u64,
///     ) -> BoxFuture<'_, Result<Lookup, ResultStoreError>> {
///         let all = self.0.lock().unwrap();
///         let mut own = all.iter().filter(|(of, _)| *of == owner);
///         let found = number.checked_sub(1).and_then(|at| own.nth(at as usize));
///         let found = found.map_or(Lookup::Unknown, |(_, result)| Lookup::Kept(result.clone()));
///         Box::pin(async move { Ok(found) })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no store of results",
    label = "needs `ResultStore`",
    note = "`MemoryResults::new()` keeps them in memory, a `SqliteStore` in a file"
)]
pub trait ResultStore: Send + Sync + 'static {
    /// Keeps a result, durably if the store is, and returns its number: 1 for the owner's first, 2
    /// for the next. A result equal to one that is kept has the number of that one.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    fn keep(
        &self,
        owner: ResultOwner,
        result: Arc<KeptResult>,
    ) -> BoxFuture<'_, Result<u64, ResultStoreError>>;

    /// Returns the result of a number.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    fn get(
        &self,
        owner: ResultOwner,
        number: u64,
    ) -> BoxFuture<'_, Result<Lookup, ResultStoreError>>;
}

impl<S: ResultStore + ?Sized> ResultStore for Arc<S> {
    fn keep(
        &self,
        owner: ResultOwner,
        result: Arc<KeptResult>,
    ) -> BoxFuture<'_, Result<u64, ResultStoreError>> {
        (**self).keep(owner, result)
    }

    fn get(
        &self,
        owner: ResultOwner,
        number: u64,
    ) -> BoxFuture<'_, Result<Lookup, ResultStoreError>> {
        (**self).get(owner, number)
    }
}

/// Why a store could not keep or return a result. The model reads the message.
///
/// ```
/// use toolbox::results::ResultStoreError;
///
/// let cause = std::io::Error::other("ENOSPC");
/// let error = ResultStoreError::new("the disk is full").with_source(cause);
/// assert_eq!(error.to_string(), "the disk is full");
/// ```
#[derive(Debug, Clone)]
pub struct ResultStoreError {
    message: String,
    source: Option<SharedError>,
}

impl ResultStoreError {
    /// Returns an error with a message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Adds the underlying error, which no model reads.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }
}

impl fmt::Display for ResultStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ResultStoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
