//! The offers that are known to a box, and the definitions that it pinned.

use std::collections::{BTreeMap, HashMap};
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
    definitions: Definitions,
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

/// The definitions of the offers, each once, by its digest.
#[derive(Default)]
struct Definitions(HashMap<String, Definition>);

struct Definition {
    tool: Arc<OfferedTool>,
    /// The number of offers that have it.
    offers: usize,
}

impl Definitions {
    fn get(&self, digest: &str) -> Option<&Arc<OfferedTool>> {
        self.0.get(digest).map(|own| &own.tool)
    }

    /// Counts an offer of a definition.
    fn add(&mut self, digest: &str, tool: Arc<OfferedTool>) {
        match self.0.get_mut(digest) {
            Some(own) => own.offers += 1,
            None => drop(self.0.insert(digest.to_owned(), Definition { tool, offers: 1 })),
        }
    }

    /// Forgets an offer, and its definition with the last one.
    fn release(&mut self, digest: &str) {
        if let Some(own) = self.0.get_mut(digest) {
            own.offers -= 1;
            if own.offers == 0 {
                self.0.remove(digest);
            }
        }
    }
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
        let is_new = known.is_none();
        if let Some(known) = known
            && known.digest == read.digest
        {
            (known.seen, known.durable) = (now, read.durable);
            return false;
        }
        let definition = match self.definitions.get(&read.digest) {
            Some(known) if known.name == tool => Ok(Arc::clone(known)),
            Some(_) => Err("its digest is that of another tool".to_owned()),
            None => read.tool(tool),
        };
        let definition = match definition {
            Ok(definition) => definition,
            Err(detail) => {
                self.note_invalid(invalid(detail));
                return self.remove(tool, worker);
            }
        };
        if is_new && self.of_worker.get(worker).is_some_and(|count| *count >= MAX_OF_WORKER) {
            let detail = format!("its worker offers more than {MAX_OF_WORKER} tools");
            let offer = WithheldOffer { reason: WithheldOfferReason::TooMany, ..invalid(detail) };
            // One of them is enough to tell.
            if self.invalid.len() < MAX_WITHHELD {
                self.invalid.insert(offer.worker.clone(), offer);
            }
            return false;
        }
        let is_new_tool = !self.tools.contains_key(tool);
        if is_new && self.count >= MAX_OFFERS || is_new_tool && self.tools.len() >= MAX_TOOLS {
            self.is_full = true;
            return false;
        }
        if pins.get(tool).is_none() {
            pins.pin(tool, &read.digest);
        }
        self.definitions.add(&read.digest, definition);
        let offered = Offered { digest: read.digest, durable: read.durable, seen: now };
        let workers = &mut self.tools.entry(tool.to_owned()).or_default().workers;
        match workers.insert(worker.to_owned(), offered) {
            Some(before) => self.definitions.release(&before.digest),
            None => {
                self.count += 1;
                *self.of_worker.entry(worker.to_owned()).or_default() += 1;
            }
        }
        true
    }

    /// Forgets an offer; returns `true` if there was one.
    pub(super) fn remove(&mut self, tool: &str, worker: &str) -> bool {
        let Some(of_tool) = self.tools.get_mut(tool) else { return false };
        let before = of_tool.workers.remove(worker);
        if of_tool.workers.is_empty() {
            self.tools.remove(tool);
        }
        let Some(before) = before else { return false };
        self.definitions.release(&before.digest);
        self.count -= 1;
        if let Some(count) = self.of_worker.get_mut(worker) {
            *count -= 1;
            if *count == 0 {
                self.of_worker.remove(worker);
            }
        }
        self.invalid.remove(&*quote(worker, QUOTED));
        self.note_room();
        true
    }

    /// Forgets the offers that were not repeated in time; returns `true` if there were any.
    pub(super) fn expire(&mut self, lifetime: Duration, now: Instant) -> bool {
        let before = self.count;
        let (definitions, of_worker) = (&mut self.definitions, &mut self.of_worker);
        of_worker.clear();
        self.tools.retain(|_, tool| {
            tool.workers.retain(|worker, offered| {
                let stays = now.duration_since(offered.seen) < lifetime;
                if stays {
                    *of_worker.entry(worker.clone()).or_default() += 1;
                } else {
                    definitions.release(&offered.digest);
                }
                stays
            });
            !tool.workers.is_empty()
        });
        self.count = of_worker.values().sum();
        self.invalid.retain(|_, offer| {
            offer.reason != WithheldOfferReason::TooMany || of_worker.contains_key(&offer.worker)
        });
        self.note_room();
        self.count != before
    }

    fn note_room(&mut self) {
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
