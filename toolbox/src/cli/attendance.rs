//! The people at a page, for the box that the program builds.

use crate::collection::{ToolBox, ToolBoxBuilder};
use crate::event::{EventReceiver, EventSink};
use crate::page::{Inbox, Page};

/// The events of a box that wait for the page to take them.
const EVENTS: usize = 1024;

/// The people at a page: the inbox and the sink of a box.
pub(super) struct Attendance {
    inbox: Inbox,
    sink: EventSink,
    events: EventReceiver,
}

impl Attendance {
    pub(super) fn new() -> Self {
        let (sink, events) = EventSink::bounded(EVENTS);
        Self { inbox: Inbox::new(), sink: sink.with_content(), events }
    }

    /// Lets the calls of a box wait for these people, and reports them.
    pub(super) fn attend(&self, builder: ToolBoxBuilder) -> ToolBoxBuilder {
        let inbox = &self.inbox;
        builder.approver(inbox.clone()).asker(inbox.clone()).events(self.sink.clone())
    }

    /// Returns the page over a box that was built so.
    pub(super) fn page(self, toolbox: ToolBox) -> Page {
        Page::new(toolbox).inbox(self.inbox).events(self.events)
    }

    /// Returns the page over a box that was built without, and the box with them.
    pub(super) fn page_over(self, toolbox: &ToolBox) -> (Page, ToolBox) {
        let inbox = self.inbox.clone();
        let attended = toolbox.attended(inbox.clone(), inbox, self.sink.clone());
        (self.page(attended.clone()), attended)
    }
}
