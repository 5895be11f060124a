//! Results in memory.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::{self, Write as _};
use std::hash::BuildHasher as _;
use std::sync::Arc;

use super::blocking::{SHUT_DOWN, on_thread};
use super::store::{KeptResult, Lookup, ResultOwner, ResultStore, ResultStoreError, texts};
use crate::context::keeper::TranscriptStore;
use crate::future::BoxFuture;
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};

/// The most owners and handles that are remembered once their results are gone.
const REMEMBERED: usize = 100_000;

/// A store of results in memory, bounded in bytes: the oldest go first. Clones share it.
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::results::MemoryResults;
///
/// let results = MemoryResults::new().max_bytes(8 << 20);
/// let toolbox = ToolBox::builder().keep_results(results).build().unwrap();
/// assert_eq!(toolbox.definitions()[0].name, "result_read");
/// ```
#[derive(Clone)]
pub struct MemoryResults {
    max_bytes: usize,
    kept: Arc<Mutex<Kept>>,
    hasher: foldhash::fast::RandomState,
}

#[derive(Default)]
struct Kept {
    owners: HashMap<ResultOwner, ResultList>,
    /// The owners and numbers of what is kept, the oldest first.
    order: VecDeque<(ResultOwner, u64)>,
    bytes: usize,
    /// The lines about what is gone.
    remembered: usize,
    /// The number after which forgotten owners begin again, so that no handle gets a second
    /// meaning.
    floor: u64,
    /// The highest number that the transcript names of results of an earlier process.
    named: u64,
}

#[derive(Default)]
struct ResultList {
    last: u64,
    results: HashMap<u64, (u64, Arc<KeptResult>)>,
    /// The numbers of results by their hashes.
    by_hash: HashMap<u64, Vec<u64>>,
    gone: BTreeMap<u64, String>,
}

impl MemoryResults {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_bytes: 64 << 20,
            kept: Arc::default(),
            hasher: foldhash::fast::RandomState::default(),
        }
    }

    /// Limits the bytes of all results together. Default 64 MiB. A result that is larger than the
    /// whole store is not kept.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

impl Default for MemoryResults {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept.lock();
        f.debug_struct("MemoryResults")
            .field("results", &kept.order.len())
            .field("bytes", &kept.bytes)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl Kept {
    /// Keeps a result of a hash, unless it is there.
    fn keep(
        &mut self,
        owner: ResultOwner,
        hash: u64,
        result: Arc<KeptResult>,
        max_bytes: usize,
    ) -> u64 {
        let floor = self.floor;
        let new = || ResultList { last: floor, ..ResultList::default() };
        let list = self.owners.entry(owner.clone()).or_insert_with(new);
        let alike = list.by_hash.entry(hash).or_default();
        let is_same =
            |number: &&u64| list.results.get(*number).is_some_and(|(_, kept)| **kept == *result);
        if let Some(number) = alike.iter().find(is_same) {
            return *number;
        }
        list.last += 1;
        let number = list.last;
        alike.push(number);
        self.bytes += result.bytes();
        list.results.insert(number, (hash, result));
        self.order.push_back((owner, number));
        while self.bytes > max_bytes && self.order.len() > 1 {
            self.forget_oldest();
        }
        number
    }

    fn forget_oldest(&mut self) {
        let Some((owner, number)) = self.order.pop_front() else { return };
        let Some(list) = self.owners.get_mut(&owner) else { return };
        if let Some((hash, result)) = list.results.remove(&number) {
            if let Some(alike) = list.by_hash.get_mut(&hash) {
                alike.retain(|own| *own != number);
                if alike.is_empty() {
                    list.by_hash.remove(&hash);
                }
            }
            self.bytes -= result.bytes();
            list.gone.insert(number, summary(&result));
            self.remembered += 1;
        }
        // What is gone is remembered in a line, and lines are bounded too.
        if self.remembered > REMEMBERED {
            self.remembered = 0;
            let floor = &mut self.floor;
            self.owners.retain(|_, list| {
                list.gone.clear();
                let stays = !list.results.is_empty();
                *floor = if stays { *floor } else { list.last.max(*floor) };
                stays
            });
        }
    }
}

/// Returns a line about a result that goes.
pub(super) fn summary(result: &KeptResult) -> String {
    let (tool, bytes) = (quote(&result.tool, QUOTED), result.bytes());
    let mut summary = format!("a result of `{tool}` of {bytes} bytes");
    // Nobody notes the source of this line, so words of others do not belong in it.
    if !result.is_untrusted
        && let Some(first) = texts(&result.content).next().and_then(|text| text.lines().next())
    {
        let _ = write!(summary, " that began with `{}`", quote(first, QUOTED));
    }
    summary
}

impl TranscriptStore for MemoryResults {
    fn is_unused(&self) -> bool {
        self.kept.lock().owners.is_empty()
    }

    fn number_above(&self, number: u64) {
        let mut kept = self.kept.lock();
        kept.floor = kept.floor.max(number);
        kept.named = kept.named.max(number);
        for list in kept.owners.values_mut() {
            list.last = list.last.max(number);
        }
    }
}

impl ResultStore for MemoryResults {
    fn keep(
        &self,
        owner: ResultOwner,
        result: Arc<KeptResult>,
    ) -> BoxFuture<'_, Result<u64, ResultStoreError>> {
        Box::pin(async move {
            let bytes = result.bytes();
            if bytes > self.max_bytes {
                let max = self.max_bytes;
                return Err(ResultStoreError::new(format!(
                    "{bytes} bytes are more than the store of results holds, {max}"
                )));
            }
            let Self { max_bytes, kept, hasher } = self.clone();
            let keep = move || {
                let hash = hasher.hash_one((&result.tool, result.text()));
                kept.lock().keep(owner, hash, result, max_bytes)
            };
            on_thread(bytes, keep).await.ok_or_else(|| ResultStoreError::new(SHUT_DOWN))
        })
    }

    fn get(
        &self,
        owner: ResultOwner,
        number: u64,
    ) -> BoxFuture<'_, Result<Lookup, ResultStoreError>> {
        Box::pin(async move {
            let kept = self.kept.lock();
            let list = kept.owners.get(&owner);
            let highest = list.map_or(kept.named, |list| list.last);
            let result = list.and_then(|list| list.results.get(&number));
            let line = list.and_then(|list| list.gone.get(&number));
            Ok(match (result, line) {
                (Some((_, result)), _) => Lookup::Kept(Arc::clone(result)),
                (_, Some(line)) => Lookup::Gone(line.clone()),
                _ if number >= 1 && number <= highest => {
                    Lookup::Gone("a result that was kept".to_owned())
                }
                _ => Lookup::Unknown,
            })
        })
    }
}
