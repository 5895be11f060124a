//! A box whose calls are watched, and decided on, by people whom its program did not name.

use std::sync::Arc;

use super::ToolBox;
use crate::context::question::SharedAsker;
use crate::context::rules::Rules;
use crate::context::{Approver, Asker};
use crate::event::{EventSink, Reporter};

impl ToolBox {
    /// Returns a new box with the tools, the limits and the rules of this one, whose calls are
    /// reported to a sink as well, and wait for these people where nobody else was named.
    pub(crate) fn attended(
        &self,
        approver: impl Approver,
        asker: impl Asker,
        sink: EventSink,
    ) -> Self {
        let mut settings = self.shared.settings.clone();
        settings.approver.get_or_insert_with(|| Arc::new(approver));
        let sinks: Vec<EventSink> = self.sinks().iter().cloned().chain([sink]).collect();
        settings.reporter = Reporter::of_box(&sinks);
        let mut state = self.shared.state.as_deref().cloned().unwrap_or_default();
        if !state.has_asker() {
            SharedAsker::new(Arc::new(asker)).store_in(&mut state);
        }
        let base = Self::from_shared(settings, Some(Arc::new(state)));
        base.change(|next| {
            next.change_rules(|own| *own = Rules::clone(self.snapshot().rules()));
        });
        base.merge(self);
        base
    }
}
