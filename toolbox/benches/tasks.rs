//! Tokens of whole tasks: what a model reads in all rounds, where it knows every tool, and where it finds them.
//!
//! A scripted model works through 40 tasks of one to eight calls. Each step of a task is a labelled request; a search uses the
//! words of the request, and where that does not find the tool, its name.
//!
//! ```sh
//! cargo bench -p llm-toolbox --features agent,search --bench tasks                                    # the sample, 58 tools
//! cargo bench -p llm-toolbox --features agent,search --bench tasks -- TOOLS.jsonl QUERIES.jsonl 1000  # of a set, so many tools
//! ```

#![allow(clippy::pedantic, clippy::print_stdout, missing_docs)]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::Arguments;
use toolbox::dialect::Dialect;
use toolbox::model::{Deltas, Message, Model, ModelError, ModelRequest, ModelResponse, Reply};
use toolbox::search::{EXECUTE, Gateway, SEARCH_WORDS};
use toolbox::testing::Caller;
use toolbox::{BoxFuture, Tool, ToolBox, ToolCall};

/// The number of tasks.
const TASKS: usize = 40;
/// The share that a cached token costs.
const CACHED: f64 = 0.1;
/// The words of each result.
const RESULT: usize = 120;

/// A step of a task: what is asked for, and the call that does it.
#[derive(Clone)]
struct Step {
    request: String,
    tool: String,
    arguments: String,
}

/// A way to get at the tools.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Each request has all definitions.
    All,
    /// Tools are found and called through the gateway.
    Gateway,
    /// Tools that were found are in the requests after that.
    Promoted,
    /// The service loads the definition of a tool where a result refers to it.
    Deferred,
}

/// What the rounds of tasks cost.
#[derive(Default, Clone, Copy)]
struct Cost {
    rounds: usize,
    /// The tokens of the first requests.
    first: f64,
    tokens: f64,
    /// The same, where what an earlier request began with costs a tenth.
    cached: f64,
}

/// A model that knows what to do, and counts what it reads.
struct Worker {
    way: Way,
    steps: Vec<Step>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: usize,
    searches: usize,
    found: HashSet<String>,
    cost: Cost,
    /// The parts of the request before, with their tokens.
    before: Vec<(String, usize)>,
    deferred: HashMap<String, usize>,
}

impl Model for Worker {
    fn name(&self) -> &str {
        "worker"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move { Ok(ModelResponse::from(self.reply(request))) })
    }
}

impl Worker {
    fn reply(&self, request: &ModelRequest) -> Reply {
        let mut state = self.state.lock().expect("one at a time");
        state.count(request, self.way);
        if let Some(Message::Step(step)) = request.history.messages().last() {
            let failed = step.results().iter().find(|result| result.is_error());
            assert!(failed.is_none(), "a call failed: {failed:?}");
            state
                .found
                .extend(step.results().iter().flat_map(|result| result.references().to_vec()));
        }
        let Some(step) = self.steps.get(state.done) else { return Reply::text("Done.") };
        let is_known = match self.way {
            Way::All => true,
            Way::Gateway | Way::Deferred => state.found.contains(&step.tool),
            Way::Promoted => request.tools.iter().any(|tool| tool.name == step.tool),
        };
        let id = format!("call_{}", state.cost.rounds);
        let (name, arguments) = if !is_known {
            state.searches += 1;
            let text = if state.searches == 1 {
                step.request.clone()
            } else {
                step.tool.replace(['_', '.', '-'], " ")
            };
            assert!(state.searches < 4, "`{}` is not found", step.tool);
            (SEARCH_WORDS.to_owned(), json!({"text": text}).to_string())
        } else {
            state.done += 1;
            state.searches = 0;
            match self.way {
                Way::Gateway => {
                    let arguments: Value = serde_json::from_str(&step.arguments).expect("JSON");
                    (
                        EXECUTE.to_owned(),
                        json!({"name": step.tool, "arguments": arguments}).to_string(),
                    )
                }
                _ => (step.tool.clone(), step.arguments.clone()),
            }
        };
        Reply::calls([ToolCall::new(id, name, arguments)])
    }
}

impl State {
    /// Adds the tokens of a request.
    fn count(&mut self, request: &ModelRequest, way: Way) {
        let tokens = request.tokens();
        let mut parts: Vec<(String, usize)> = Vec::new();
        parts.extend(tokens.definitions.iter().map(|tool| (tool.name.clone(), tool.tokens)));
        parts.push(("system".to_owned(), tokens.system));
        let mut loaded = HashSet::new();
        for (at, (message, own)) in
            request.history.messages().iter().zip(&tokens.messages).enumerate()
        {
            let mut own = own.total();
            if let (Way::Deferred, Message::Step(step)) = (way, message) {
                // The service writes the definitions where the references stand.
                for name in step.results().iter().flat_map(|result| result.references()) {
                    if loaded.insert(name.clone()) {
                        own += self.deferred[name];
                    }
                }
            }
            parts.push((format!("message {at}"), own));
        }
        let total: usize = parts.iter().map(|(_, tokens)| tokens).sum();
        let same = parts.iter().zip(&self.before).take_while(|(now, before)| now == before);
        let cached: usize = same.map(|((_, tokens), _)| tokens).sum();
        if self.cost.rounds == 0 {
            self.cost.first = total as f64;
        }
        self.cost.rounds += 1;
        self.cost.tokens += total as f64;
        self.cost.cached += (total - cached) as f64 + CACHED * cached as f64;
        self.before = parts;
    }
}

/// A catalog of tools and labelled requests.
struct Set {
    tools: Vec<Tool>,
    requests: Vec<(String, String)>,
}

/// The generator "xorshift".
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

fn read_set(tools: &str, queries: &str) -> Set {
    let lines = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    };
    let result = "word ".repeat(RESULT);
    let mut names = HashMap::new();
    let mut of_name = HashMap::new();
    for tool in lines(tools) {
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let result = result.clone();
        let made = Tool::try_raw(
            text("name"),
            text("description"),
            tool["input_schema"].clone(),
            move |_: Arguments| result.clone(),
        );
        if let Ok(made) = made {
            names.insert(text("id"), text("name"));
            of_name.entry(text("name")).or_insert(made);
        }
    }
    let mut requests = Vec::new();
    for query in lines(queries) {
        if let [only] = query["relevant"].as_array().expect("a list").as_slice()
            && let Some(name) = names.get(only.as_str().unwrap_or_default())
        {
            requests.push((query["query"].as_str().expect("a text").to_owned(), name.clone()));
        }
    }
    let mut tools: Vec<Tool> = of_name.into_values().collect();
    tools.sort_by(|a, b| a.name().cmp(b.name()));
    Set { tools, requests }
}

/// Returns tasks, and a catalog of `count` tools that has those of the tasks.
fn tasks(set: &Set, count: usize, rng: &mut Seeded) -> (Vec<Vec<Step>>, Vec<Tool>) {
    let by_name: HashMap<&str, &Tool> = set.tools.iter().map(|tool| (tool.name(), tool)).collect();
    let mut caller = Caller::new(7);
    let (mut used, mut tasks) = (HashMap::new(), Vec::new());
    for at in 0..TASKS {
        let steps = 1 + at % 8;
        let mut task = Vec::new();
        while task.len() < steps {
            let (request, name) = &set.requests[rng.below(set.requests.len())];
            let tool = by_name[name.as_str()];
            // The catalog is to hold all tools of the tasks.
            if used.len() >= count && !used.contains_key(name) {
                continue;
            }
            let Some(arguments) = caller.valid(tool) else { continue };
            used.insert(name.clone(), tool.clone());
            task.push(Step {
                request: request.clone(),
                tool: name.clone(),
                arguments: arguments.as_str().to_owned(),
            });
        }
        tasks.push(task);
    }
    while used.len() < count.min(set.tools.len()) {
        let tool = &set.tools[rng.below(set.tools.len())];
        used.entry(tool.name().to_owned()).or_insert_with(|| tool.clone());
    }
    let mut tools: Vec<Tool> = used.into_values().collect();
    tools.sort_by(|a, b| a.name().cmp(b.name()));
    (tasks, tools)
}

async fn cost_of(way: Way, task: &[Step], tools: &[Tool]) -> Cost {
    let toolbox = ToolBox::new();
    for tool in tools {
        toolbox.register(if way == Way::All { tool.clone() } else { tool.clone().deferred() });
    }
    if way != Way::All {
        let gateway = Gateway::over(&toolbox);
        toolbox.register(if way == Way::Promoted {
            gateway.promoting_for(u32::MAX)
        } else {
            gateway
        });
    }
    let deferred = if way == Way::Deferred {
        let all: ToolBox = tools.iter().cloned().collect();
        all.tokens(Dialect::OpenAiChat).into_iter().map(|tool| (tool.name, tool.tokens)).collect()
    } else {
        HashMap::new()
    };
    let worker = Arc::new(Worker {
        way,
        steps: task.to_vec(),
        state: Mutex::new(State { deferred, ..State::default() }),
    });
    let agent = Agent::builder(Arc::clone(&worker))
        .system("You are a careful assistant. Do what the user asks for with the tools you have, and say what you did.")
        .toolbox(toolbox)
        .native_tool_search(way == Way::Deferred)
        .max_iterations(64)
        .no_repeat_limit()
        .build()
        .expect("an agent");
    let request: Vec<&str> = task.iter().map(|step| step.request.as_str()).collect();
    let outcome = agent.run(request.join("\n")).await.expect("a run");
    assert_eq!(outcome.content, "Done.");
    let state = worker.state.lock().expect("one at a time");
    assert_eq!(state.done, task.len());
    state.cost
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let sample = (
        include_str!("../../examples/data/retrieval/tools.jsonl").to_owned(),
        include_str!("../../examples/data/retrieval/queries.jsonl").to_owned(),
    );
    let ((tools, queries), counts) = match arguments.as_slice() {
        [tools, queries, counts @ ..] => {
            let read = |path: &String| std::fs::read_to_string(path).expect("a file");
            (
                (read(tools), read(queries)),
                counts.iter().map(|count| count.parse().expect("a number")).collect(),
            )
        }
        _ => (sample, vec![58]),
    };
    let set = read_set(&tools, &queries);
    for count in counts {
        let (tasks, tools) = tasks(&set, count, &mut Seeded(0x9e37_79b9_7f4a_7c15));
        let calls: usize = tasks.iter().map(Vec::len).sum();
        println!("{} tools, {TASKS} tasks, {calls} calls; tokens of a task:", tools.len());
        println!("{:<42}{:>12}{:>12}{:>12}{:>10}", "", "first", "all rounds", "cached", "rounds");
        let ways = [
            (Way::All, "all definitions"),
            (Way::Gateway, "the gateway"),
            (Way::Promoted, "the gateway, found tools promoted"),
            (Way::Deferred, "deferred, loaded by the service"),
        ];
        for (way, name) in ways {
            let mut sum = Cost::default();
            for task in &tasks {
                let cost = cost_of(way, task, &tools).await;
                sum.rounds += cost.rounds;
                sum.first += cost.first;
                sum.tokens += cost.tokens;
                sum.cached += cost.cached;
            }
            let mean = |part: f64| part / TASKS as f64;
            println!(
                "{name:<42}{:>12.0}{:>12.0}{:>12.0}{:>10.1}",
                mean(sum.first),
                mean(sum.tokens),
                mean(sum.cached),
                sum.rounds as f64 / TASKS as f64
            );
        }
        println!();
    }
}
