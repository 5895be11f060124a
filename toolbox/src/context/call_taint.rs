//! The part of a call in the taint of its conversation: whether the call met text of others.

use std::any::{Any, TypeId};
use std::sync::{Arc, OnceLock};

use super::call_mark::CallMark;
use super::context::ToolContext;
use super::state::State;
use super::taint::{ResultSource, Taint};
use crate::call::ToolResult;

/// The mark of the call that a context belongs to, made when somebody may set it.
#[derive(Default)]
pub(crate) struct CallTaint {
    above: Option<Arc<CallMark>>,
    mark: OnceLock<Arc<CallMark>>,
    /// The taint of the conversation, as the handler of this call has it.
    own: OnceLock<Box<Taint>>,
}

impl CallTaint {
    /// Returns the mark of a call that is made in a context.
    pub(crate) fn below(caller: Option<&ToolContext>) -> Self {
        let above = caller.and_then(|caller| caller.taint.as_ref()).map(Self::mark);
        Self { above, ..Self::default() }
    }

    fn mark(&self) -> Arc<CallMark> {
        let new = || Arc::new(CallMark::below(self.above.clone()));
        Arc::clone(self.mark.get_or_init(new))
    }

    fn is_set(&self) -> bool {
        self.mark.get().is_some_and(|mark| mark.is_set())
    }

    fn of(&self, conversation: &Taint) -> &Taint {
        self.own.get_or_init(|| Box::new(conversation.within(self.mark())))
    }

    /// Forgets which conversation it is a part of.
    pub(super) fn leave(&mut self) {
        self.own.take();
    }
}

/// A clone is of the same call, perhaps in another conversation.
impl Clone for CallTaint {
    fn clone(&self) -> Self {
        Self { above: self.above.clone(), mark: OnceLock::from(self.mark()), own: OnceLock::new() }
    }
}

impl ToolContext {
    /// Returns `true` if the conversation holds text from an untrusted source: never, if the
    /// context has no [`Taint`].
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.get::<Taint>().is_some_and(Taint::is_tainted)
    }

    /// Returns the taint of the conversation that a run has in this context.
    #[allow(dead_code, reason = "agents are a module on top of this one")]
    pub(crate) fn taint_of_run(&self) -> Taint {
        self.get::<Taint>().cloned().unwrap_or_else(|| match &self.taint {
            Some(call) => Taint::new().within(call.mark()),
            None => Taint::new(),
        })
    }

    /// Lends the taint as the handler of a call has it, if that is what `T` is.
    #[inline]
    pub(super) fn own_taint<T: 'static>(&self, found: &T) -> Option<&T> {
        if TypeId::of::<T>() != TypeId::of::<Taint>() {
            return None;
        }
        let conversation = (found as &dyn Any).downcast_ref::<Taint>()?;
        (self.taint.as_ref()?.of(conversation) as &dyn Any).downcast_ref()
    }

    /// Returns the same as a state.
    pub(super) fn own_state<T: Send + Sync + 'static>(&self, found: &T) -> Option<State<T>> {
        let own = (self.own_taint(found)? as &dyn Any).downcast_ref::<Taint>()?;
        let own: Arc<dyn Any + Send + Sync> = Arc::new(own.clone());
        own.downcast().ok().map(State::from)
    }

    /// Marks a result of a handler that comes from others, by the tool or by what its call met.
    #[inline]
    pub(crate) fn mark_result(&self, is_untrusted: bool, result: &mut ToolResult) {
        let is_of_others = is_untrusted || self.taint.as_ref().is_some_and(CallTaint::is_set);
        if is_of_others && !result.is_of_gate() {
            result.mark_as_untrusted();
        }
    }

    /// Records a result that the maker of this call is about to read.
    pub(crate) fn note_result(&self, source: &ResultSource<'_>, result: &ToolResult) {
        if let Some(conversation) = self.conversation_taint() {
            conversation.note(source, result);
        }
        if let Some(above) = self.taint.as_ref().and_then(|call| call.above.as_ref())
            && source.taints(result)
        {
            above.set();
        }
    }
}
