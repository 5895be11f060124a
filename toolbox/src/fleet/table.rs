//! The offers that are known to a box, and the definitions that it pinned.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::offer::{OfferedTool, ReadOffer};
use super::status::{WithheldOffer, WithheldOfferReason};
use crate::text::{QUOTED, quote};

/// The most offers of a fleet that are read: of one tool by one worker each.
const MAX_OFFERS: usize = 100_000;
/// The most tools of a fleet.
const MAX_TOOLS: usize = 10_000;
/// The most tools of one worker: it may not keep others out.
const MAX_OF_WORKER: usize = 5_000;
/// The most offers that a status lists as withheld.
const MAX_WITHHELD: usize = 1000;

/// The definitions that were accepted, by the name of the tool: each as it was first seen.
#[derive(Default)]
pub(super) struct Pins(HashMap<String, String>);

impl Pins {
    pub(super) fn get(&self, tool: &str) -> Option<&str> {
        self.0.get(tool).map(String::as_str)
    }

    fn pin(&mut self, tool: &str, digest: &str) {
        self.0.insert(tool.to_owned(), digest.to_owned());
    }
}

/// The offers of a fleet as the box sees them.
#[derive(Default)]
pub(super) struct Table {
    /// By the name of the tool, in order.
    tools: BTreeMap<String, OffersOfTool>,
    definitions: HashMap<String, Arc<OfferedTool>>,
    invalid: BTreeMap<String, WithheldOffer>,
    count: usize,
    /// The number of tools by the id of the worker.
    of_worker: HashMap<String, usize>,
    is_full: bool,
}

#[derive(Default)]
struct OffersOfTool {
    /// By the id of the worker.
    workers: HashMap<String, Offered>,
}

struct Offered {
    digest: String,
    /// `true` if the worker takes durable calls as well.
    #[cfg_attr(not(feature = "durable"), allow(dead_code, reason = "relays read it"))]
    durable: bool,
    seen: Instant,
}

/// A tool of the fleet with its pinned definition.
pub(super) struct AvailableTool {
    pub(super) tool: Arc<OfferedTool>,
    pub(super) digest: String,
    pub(super) workers: usize,
}

impl Table {
    /// Reads an offer; returns `true` if it changes what can be called.
    pub(super) fn put(
        &mut self,
        pins: &mut Pins,
        (tool, worker): (&str, &str),
        value: &[u8],
        now: Instant,
    ) -> bool {
        let invalid = |detail: String| WithheldOffer {
            tool: quote(tool, QUOTED),
            worker: quote(worker, QUOTED),
            reason: WithheldOfferReason::Invalid,
            detail: quote(&detail, 4 * QUOTED),
            digest: None,
        };
        let read = match ReadOffer::of(value) {
            Ok(read) => read,
            Err(detail) => {
                self.note_invalid(invalid(detail));
                return self.remove(tool, worker);
            }
        };
        let known = self.tools.get_mut(tool).and_then(|tool| tool.workers.get_mut(worker));
        if let Some(known) = known
            && known.digest == read.digest
        {
            (known.seen, known.durable) = (now, read.durable);
            return false;
        }
        if !self.definitions.contains_key(&read.digest) {
            match read.tool(tool) {
                Ok(definition) => {
                    self.definitions.insert(read.digest.clone(), definition);
                }
                Err(detail) => {
                    self.note_invalid(invalid(detail));
                    return self.remove(tool, worker);
                }
            }
        } else if self.definitions.get(&read.digest).is_none_or(|known| known.name != tool) {
            self.note_invalid(invalid("its digest is that of another tool".to_owned()));
            return self.remove(tool, worker);
        }
        if self.of_worker.get(worker).is_some_and(|count| *count >= MAX_OF_WORKER) {
            let detail = format!("its worker offers more than {MAX_OF_WORKER} tools");
            let offer = WithheldOffer { reason: WithheldOfferReason::TooMany, ..invalid(detail) };
            // One of them is enough to tell.
            if self.invalid.len() < MAX_WITHHELD {
                self.invalid.insert(offer.worker.clone(), offer);
            }
            return false;
        }
        let is_new_tool = !self.tools.contains_key(tool);
        if self.count >= MAX_OFFERS || is_new_tool && self.tools.len() >= MAX_TOOLS {
            self.is_full = true;
            return false;
        }
        if pins.get(tool).is_none() {
            pins.pin(tool, &read.digest);
        }
        let offered = Offered { digest: read.digest, durable: read.durable, seen: now };
        let workers = &mut self.tools.entry(tool.to_owned()).or_default().workers;
        if workers.insert(worker.to_owned(), offered).is_none() {
            self.count += 1;
            *self.of_worker.entry(worker.to_owned()).or_default() += 1;
        }
        true
    }

    /// Forgets an offer; returns `true` if there was one.
    pub(super) fn remove(&mut self, tool: &str, worker: &str) -> bool {
        let Some(of_tool) = self.tools.get_mut(tool) else { return false };
        let was_there = of_tool.workers.remove(worker).is_some();
        if was_there {
            self.count -= 1;
            if let Some(count) = self.of_worker.get_mut(worker) {
                *count -= 1;
            }
            self.invalid.remove(&*quote(worker, QUOTED));
        }
        if of_tool.workers.is_empty() {
            self.tools.remove(tool);
        }
        if was_there {
            self.forget_unused();
        }
        was_there
    }

    /// Forgets the offers that were not repeated in time; returns `true` if there were any.
    pub(super) fn expire(&mut self, lifetime: Duration, now: Instant) -> bool {
        let before = self.count;
        self.tools.retain(|_, tool| {
            tool.workers.retain(|_, offered| now.duration_since(offered.seen) < lifetime);
            !tool.workers.is_empty()
        });
        self.of_worker.clear();
        for worker in self.tools.values().flat_map(|tool| tool.workers.keys()) {
            *self.of_worker.entry(worker.clone()).or_default() += 1;
        }
        self.count = self.of_worker.values().sum();
        let workers = &self.of_worker;
        self.invalid.retain(|_, offer| {
            offer.reason != WithheldOfferReason::TooMany || workers.contains_key(&offer.worker)
        });
        let changed = self.count != before;
        if changed {
            self.forget_unused();
        }
        changed
    }

    fn forget_unused(&mut self) {
        let used: HashSet<&str> = self
            .tools
            .values()
            .flat_map(|tool| tool.workers.values().map(|offered| &*offered.digest))
            .collect();
        self.definitions.retain(|digest, _| used.contains(digest.as_str()));
        if self.count < MAX_OFFERS && self.tools.len() < MAX_TOOLS {
            self.is_full = false;
        }
    }

    fn note_invalid(&mut self, offer: WithheldOffer) {
        if self.invalid.len() < MAX_WITHHELD {
            self.invalid.insert(format!("{} {}", offer.tool, offer.worker), offer);
        }
    }

    /// Returns the tools whose pinned definition is offered, in the order of their names.
    pub(super) fn available<'a>(
        &'a self,
        pins: &'a Pins,
    ) -> impl Iterator<Item = AvailableTool> + 'a {
        self.tools.iter().filter_map(|(name, tool)| {
            let digest = pins.get(name)?;
            let workers = tool.workers.values().filter(|offered| offered.digest == digest).count();
            let definition = self.definitions.get(digest).filter(|_| workers > 0)?;
            let tool = Arc::clone(definition);
            Some(AvailableTool { tool, digest: digest.to_owned(), workers })
        })
    }

    /// Returns `true` if a worker takes durable calls of a definition.
    #[cfg(feature = "durable")]
    pub(super) fn takes_durable(&self, tool: &str, digest: &str) -> bool {
        let workers = self.tools.get(tool).into_iter().flat_map(|tool| tool.workers.values());
        workers.into_iter().any(|offered| offered.durable && offered.digest == digest)
    }

    /// Returns the offers that are not taken: other definitions than the pinned ones, and invalid
    /// ones.
    pub(super) fn withheld(&self, pins: &Pins) -> Vec<WithheldOffer> {
        let mut withheld: Vec<WithheldOffer> = self.invalid.values().cloned().collect();
        for (name, tool) in &self.tools {
            for (worker, offered) in &tool.workers {
                if withheld.len() >= MAX_WITHHELD {
                    return withheld;
                }
                if pins.get(name) != Some(&offered.digest) {
                    withheld.push(WithheldOffer {
                        tool: name.clone(),
                        worker: quote(worker, QUOTED),
                        reason: WithheldOfferReason::Changed,
                        detail: "its definition differs from the one that was first seen; look at it, then approve of the tool".to_owned(),
                        digest: Some(offered.digest.clone()),
                    });
                }
            }
        }
        withheld
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Pins the definition of a digest; returns `true` if it is offered now and is not the pinned
    /// one.
    pub(super) fn approve(&self, pins: &mut Pins, tool: &str, digest: &str) -> bool {
        let workers = self.tools.get(tool).into_iter().flat_map(|tool| tool.workers.values());
        let is_offered = workers.into_iter().any(|offered| offered.digest == digest);
        let is_new = is_offered && pins.get(tool) != Some(digest);
        if is_new {
            pins.pin(tool, digest);
        }
        is_new
    }
}
