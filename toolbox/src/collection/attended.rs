//! A box whose calls are watched, and decided on, by people whom its program did not name.

use std::sync::Arc;

use super::ToolBox;
use super::settings::BoxSettings;
use crate::context::question::SharedAsker;
use crate::context::rules::Rules;
use crate::context::{Approver, Asker, StateMap};
use crate::event::{EventSink, Reporter};

impl ToolBox {
    /// Returns a new box with the tools, the limits and the rules of this one, whose calls are
    /// reported to a sink as well.
    #[allow(dead_code, reason = "for programs that send telemetry")]
    pub(crate) fn observed(&self, sink: EventSink) -> Self {
        let mut settings = self.shared.settings.clone();
        settings.reporter = self.reporter_with(sink);
        self.rebuilt(settings, self.shared.state.clone())
    }

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
        settings.reporter = self.reporter_with(sink);
        let mut state = self.shared.state.as_deref().cloned().unwrap_or_default();
        if !state.has_asker() {
            SharedAsker::new(Arc::new(asker)).store_in(&mut state);
        }
        self.rebuilt(settings, Some(Arc::new(state)))
    }

    fn reporter_with(&self, sink: EventSink) -> Option<Arc<Reporter>> {
        let sinks: Vec<EventSink> = self.sinks().iter().cloned().chain([sink]).collect();
        Reporter::of_box(&sinks)
    }

    /// Returns a new box with the tools and the rules of this one.
    fn rebuilt(&self, settings: BoxSettings, state: Option<Arc<StateMap>>) -> Self {
        let base = Self::from_shared(settings, state);
        base.change(|next| {
            next.change_rules(|own| *own = Rules::clone(self.snapshot().rules()));
        });
        base.merge(self);
        base
    }
}
