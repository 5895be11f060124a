//! Items that a tool puts out before its call ends.

use std::task::Poll;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{Receiver, Sender};

use super::context::ToolContext;
use super::observer::CallReport;
use crate::call::Content;
use crate::text::cut;

/// The maximum length of the message of a report of progress that stands for an item, in
/// bytes.
const MESSAGE: usize = 1_000;

/// An item of a tool that streams, as it comes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutputItem {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The number of the item, from 0.
    pub index: u64,
    /// The item as the model would read it; empty in an event for a sink that does not ask for
    /// content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
}

impl OutputItem {
    /// Returns the text of the item, its parts joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(Content::to_text);
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The channel that items are sent into, as a context keeps it.
#[derive(Clone)]
struct Outputs(Sender<OutputItem>);

impl ToolContext {
    /// Sends the items of tools that stream into `outputs` as they come.
    ///
    /// The channel has the bound that it was made with: a tool waits while it is full, so that a
    /// slow reader slows the tool, within the time limit of the call. A closed channel takes
    /// nothing, and stops nothing. Calls that the tool makes in this context send their items into
    /// it as well, under their own ids.
    ///
    /// Without it, a sink of [`with_progress`](Self::with_progress) gets a report for each item:
    /// its number, and the beginning of its text.
    #[must_use]
    pub fn with_outputs(self, outputs: Sender<OutputItem>) -> Self {
        self.with_extension(Outputs(outputs))
    }

    /// Returns `true` if somebody sees the items of a tool that streams before its call ends.
    pub(crate) fn shows_outputs(&self) -> bool {
        self.has_progress_sink() || self.has_outputs()
    }

    /// Returns `true` if a channel takes items.
    pub(crate) fn has_outputs(&self) -> bool {
        self.extension::<Outputs>().is_some_and(|Outputs(outputs)| !outputs.is_closed())
    }

    /// Passes an item on to whoever sees it.
    pub(crate) async fn put_out(&self, index: u64, content: Vec<Content>) {
        let (call_id, tool) = (self.call_id().to_owned(), self.tool_name().to_owned());
        let item = OutputItem { call_id, tool, index, content };
        self.report(|| CallReport::Output(&item));
        match self.extension::<Outputs>() {
            Some(Outputs(outputs)) if !outputs.is_closed() => {
                let _ = outputs.send(item).await;
            }
            _ => self.report_item(&item),
        }
    }

    /// Reports an item as progress.
    fn report_item(&self, item: &OutputItem) {
        if let Some(sink) = self.progress_sink() {
            #[expect(clippy::cast_precision_loss, reason = "fewer items than 2^53 are collected")]
            let done = item.index as f64 + 1.0;
            sink(self.progress(done, None, cut(&item.text(), MESSAGE)));
        }
    }
}

/// Waits for a call, and passes its items on meanwhile; the last ones before the output is
/// returned.
#[allow(dead_code, reason = "modules of features wait")]
pub(crate) async fn passing_on<T, P: Future<Output = ()>>(
    call: impl Future<Output = T>,
    items: &mut Receiver<OutputItem>,
    mut pass: impl FnMut(OutputItem) -> P,
) -> T {
    let mut call = std::pin::pin!(call);
    let output = loop {
        let next = std::future::poll_fn(|task| {
            if let Poll::Ready(output) = call.as_mut().poll(task) {
                return Poll::Ready(Ok(output));
            }
            match items.poll_recv(task) {
                Poll::Ready(Some(item)) => Poll::Ready(Err(item)),
                // Closed or empty, it is the call that is waited for.
                _ => Poll::Pending,
            }
        });
        match next.await {
            Ok(output) => break output,
            Err(item) => pass(item).await,
        }
    };
    while let Ok(item) = items.try_recv() {
        pass(item).await;
    }
    output
}
