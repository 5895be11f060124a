//! Results that are kept elsewhere as a whole.

use serde_json::Value;

use super::ResultParts;
use crate::call::{Content, ToolResult};

impl ToolResult {
    /// Returns the handle, such as `r3`, by which the model reads on in a result that was too large
    /// to be shown whole.
    #[must_use]
    pub fn handle(&self) -> Option<&str> {
        self.extra.as_ref()?.handle.as_deref()
    }

    pub(crate) fn set_handle(&mut self, handle: String) {
        self.extra().handle = Some(handle);
    }

    /// Changes each part in place.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn map_content(mut self, change: impl FnMut(&mut Content)) -> Self {
        let mut parts = self.content.take();
        parts.iter_mut().for_each(change);
        self.content = ResultParts::from(parts);
        self
    }

    /// Takes out all parts and the structured result.
    pub(crate) fn take_content(&mut self) -> (Vec<Content>, Option<Value>) {
        let structured = self.extra.as_mut().and_then(|extra| extra.structured.take());
        (self.content.take(), structured)
    }

    /// Puts a part of what was kept in place of all parts; it leaves out `omitted` bytes.
    pub(crate) fn replace_content(&mut self, part: Vec<Content>, omitted: usize) {
        self.content = ResultParts::from(part);
        self.flags.structured = false;
        self.flags.json = false;
        self.mark_part_of_kept();
        self.extra().omitted_bytes += omitted;
    }

    /// Marks the result as a part of what was kept, which is not to be kept again.
    pub(crate) fn mark_part_of_kept(&mut self) {
        self.extra().part_of_kept = Some(self.content().iter().map(Content::len).sum());
    }

    /// Returns `true` if the result is a part of what was kept, and nothing was added since.
    pub(crate) fn is_part_of_kept(&self) -> bool {
        let marked = self.extra.as_ref().and_then(|extra| extra.part_of_kept);
        marked.is_some_and(|bytes| bytes == self.content().iter().map(Content::len).sum::<usize>())
    }
}
