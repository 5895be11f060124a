//! The thread that writes an audit log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::file::AuditFile;
use super::line::AuditEntry;
use crate::sync::Mutex;

/// The most lines that wait to be written.
const QUEUE: usize = 4096;

/// The most lines that are written before those who wait are told.
const BATCH: usize = 256;

/// Makes the content of a line, on the thread that writes it.
pub(super) type MakeEntry = Box<dyn FnOnce() -> AuditEntry + Send>;

/// A line that is to be written, or none.
struct AuditOrder {
    entry: Option<MakeEntry>,
    /// Told when the line is on the disk.
    written: Option<oneshot::Sender<Result<(), String>>>,
}

/// A handle to the thread; dropped, it waits until what was ordered is written.
pub(super) struct AuditWriter {
    orders: Mutex<Option<SyncSender<AuditOrder>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    dropped: Arc<AtomicU64>,
}

impl AuditWriter {
    pub(super) fn start(file: AuditFile) -> io::Result<Self> {
        let (sender, orders) = sync_channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let lost = Arc::clone(&dropped);
        let thread = std::thread::Builder::new()
            .name("toolbox-audit".to_owned())
            .spawn(move || write_all(file, &orders, &lost))?;
        Ok(Self { orders: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)), dropped })
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Orders a line, if there is room.
    pub(super) fn put(&self, entry: MakeEntry) {
        let order = AuditOrder { entry: Some(entry), written: None };
        if self.sender().is_none_or(|sender| sender.try_send(order).is_err()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Orders a line, or none, and returns when all that was ordered is on the disk.
    pub(super) async fn write(&self, entry: Option<MakeEntry>) -> Result<(), String> {
        let gone = || "the audit log was closed".to_owned();
        let sender = self.sender().ok_or_else(gone)?;
        let (written, done) = oneshot::channel();
        let mut order = AuditOrder { entry, written: Some(written) };
        while let Err(refused) = sender.try_send(order) {
            match refused {
                TrySendError::Full(back) => order = back,
                TrySendError::Disconnected(_) => return Err(gone()),
            }
            // As many calls wait as the queue holds: the disk is slow.
            tokio::task::yield_now().await;
        }
        done.await.unwrap_or_else(|_| Err(gone()))
    }

    fn sender(&self) -> Option<SyncSender<AuditOrder>> {
        self.orders.lock().clone()
    }
}

impl Drop for AuditWriter {
    fn drop(&mut self) {
        drop(self.orders.lock().take());
        if let Some(thread) = self.thread.lock().take() {
            // It ends when it has written what was ordered.
            let _ = thread.join();
        }
    }
}

fn write_all(mut file: AuditFile, orders: &Receiver<AuditOrder>, dropped: &AtomicU64) {
    let mut told = 0;
    while let Ok(first) = orders.recv() {
        let more = std::iter::from_fn(|| orders.try_recv().ok()).take(BATCH - 1);
        let batch: Vec<AuditOrder> = std::iter::once(first).chain(more).collect();
        let mut waiting = Vec::new();
        for order in batch {
            let is_awaited = order.written.is_some();
            let end = order.entry.map_or(Ok(()), |make| {
                let end = append(&mut file, &make(), dropped, &mut told);
                if end.is_err() && !is_awaited {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
                end
            });
            waiting.extend(order.written.map(|written| (written, end)));
        }
        if waiting.is_empty() {
            continue;
        }
        let synced = file.sync().map_err(|error| error.to_string());
        for (written, end) in waiting {
            // Whoever does not wait any longer needs no word.
            let _ = written.send(end.and_then(|()| synced.clone()));
        }
    }
    if let Err(error) = file.close() {
        tracing::error!(%error, "an audit log may not be on the disk");
    }
}

/// Appends a line, and before it how many could not be.
fn append(
    file: &mut AuditFile,
    entry: &AuditEntry,
    dropped: &AtomicU64,
    told: &mut u64,
) -> Result<(), String> {
    let lost = dropped.load(Ordering::Relaxed);
    let mut append = || {
        if lost > *told {
            file.append(&AuditEntry::Dropped { count: lost - *told })?;
            *told = lost;
        }
        file.append(entry)
    };
    append().map_err(|error: io::Error| {
        tracing::error!(%error, "a line of an audit log was not written");
        error.to_string()
    })
}
