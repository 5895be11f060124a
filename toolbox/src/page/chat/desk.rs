//! Whole results in the calls of a conversation.

use std::sync::Arc;
use std::time::Duration;

use super::conversation::{CHANNEL, ChatConversation};
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::model::History;
use crate::page::inner::PageInner;
use crate::page::{app_frames, calls};

/// Shows whole results in the calls of a conversation.
pub(super) struct ResultDesk {
    pub(super) page: Arc<PageInner>,
    pub(super) talk: Arc<ChatConversation>,
    pub(super) session: u64,
    pub(super) name: String,
    pub(super) toolbox: ToolBox,
    pub(super) context: ToolContext,
}

impl ResultDesk {
    /// Shows the results in a transcript that are not shown yet.
    pub(super) async fn show(&self, history: &History) {
        for step in history.steps().rev() {
            for (call, result) in step.calls() {
                let Some(at) = self.talk.change(|own| own.lacks_result(&call.id)) else { continue };
                let mut shown = calls::shown(result, Duration::ZERO);
                let id = format!("{CHANNEL}-{}-{at}", self.name);
                let of = (&*id, self.session);
                let large = &self.page.large;
                large.take(of, (&self.toolbox, &self.context), result, &mut shown).await;
                shown["is_whole"] = true.into();
                shown["app"] = app_frames::of_tool(&self.page.options.toolbox, &call.name);
                self.talk.change(|own| own.set_result(at, shown));
            }
        }
    }
}
