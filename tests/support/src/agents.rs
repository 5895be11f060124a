//! Agents over scripts, and what their models were told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use toolbox::Tool;
use toolbox::agent::Agent;
use toolbox::testing::ScriptedModel;

/// A tool without arguments that counts its calls.
pub fn counted(name: &str, count: &Arc<AtomicUsize>) -> Tool {
    let count = Arc::clone(count);
    Tool::new(name, "Counts.").call(move |_| format!("{}", count.fetch_add(1, SeqCst) + 1))
}

/// An agent over a script and some tools.
pub fn agent(model: &ScriptedModel, tools: Vec<Tool>) -> Agent {
    Agent::builder(model.clone()).tools(tools).build().unwrap()
}

/// The names of the tools that the model was told of, request by request.
pub fn offers(model: &ScriptedModel) -> Vec<Vec<String>> {
    let names = |request: &toolbox::model::ModelRequest| {
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    model.requests().iter().map(names).collect()
}
