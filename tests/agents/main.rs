//! Agents: the loop, agents below agents, handoffs, hooks, guards, approvals, background jobs, events.

#![allow(
    clippy::items_after_statements,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "the tools under test take, return and stand where those of users do"
)]

mod approvals;
mod available;
mod below;
mod budgets;
mod built;
mod combined;
mod context;
mod costs;
mod echoes;
mod events;
mod fallback;
mod given;
mod guards;
mod handoffs;
mod inherited;
mod jobs;
mod kit;
mod model_approver;
mod nothing;
mod odd_fields;
mod own_results;
mod prefixes;
mod programs;
mod provider;
mod questions;
mod random;
mod recordings;
mod reported;
mod results;
mod run;
mod run_events;
mod services;
mod steering;
mod steps;
mod stream_items;
mod streamed_calls;
mod streams;
mod types;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};

use support::bounded;
use toolbox::agent::Event;

/// Keeps events as `path kind`, in short words.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    pub(crate) fn listener(&self) -> impl Fn(Event) + Send + Sync + 'static {
        let log = self.clone();
        move |event| log.0.lock().unwrap_or_else(PoisonError::into_inner).push(event)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
