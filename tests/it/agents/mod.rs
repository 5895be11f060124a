//! Agents: the loop, agents below agents, handoffs, hooks, guards, approvals, background jobs, events.

mod approvals;
mod below;
mod budgets;
mod built;
mod combined;
mod context;
mod costs;
mod events;
mod fallback;
mod guards;
mod handoffs;
mod inherited;
mod jobs;
mod own_results;
mod questions;
mod random;
mod results;
mod run;
mod services;
mod steering;
mod steps;
mod types;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use toolbox::Tool;
use toolbox::agent::{Agent, Event};
use toolbox::testing::ScriptedModel;

/// A tool without arguments that counts its calls.
pub(crate) fn counted(name: &str, count: &Arc<AtomicUsize>) -> Tool {
    let count = Arc::clone(count);
    Tool::new(name, "Counts.").call(move |_| format!("{}", count.fetch_add(1, SeqCst) + 1))
}

/// An agent over a script and some tools.
pub(crate) fn agent(model: &ScriptedModel, tools: Vec<Tool>) -> Agent {
    Agent::builder(model.clone()).tools(tools).build().unwrap()
}

/// The names of the tools that the model was told of, request by request.
pub(crate) fn offers(model: &ScriptedModel) -> Vec<Vec<String>> {
    let names = |request: &toolbox::model::ModelRequest| {
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    model.requests().iter().map(names).collect()
}

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
