//! Tasks of many calls both ways: in rounds of a model, and as one script.
//!
//! The plan of a task is its script. The rounds are those of a model that makes the same calls with
//! the same arguments, and as many of them at once.
//!
//! `TOOLBOX_SCRIPT_TASKS=FILE` writes the tools, the tasks, their calls with results and their costs
//! as JSON, which `benches/scripts` runs by code modes of others.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::Seen;
use toolbox::agent::Agent;
use toolbox::dialect::Dialect;
use toolbox::event::EventKind;
use toolbox::model::{ModelRequest, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::wire::{Format as _, OpenAiChat};
use toolbox::{Tool, ToolBox, ToolCall};

use crate::bounded::tokio;
use crate::company::tools_that_take;

/// The request, and the script that a model would write.
type Task = (&'static str, &'static str);

/// The tasks of one call.
const OF_ONE_CALL: [Task; 6] = [
    ("Who is on the team?", "return await tools.team()"),
    ("What is the budget of person 7?", "return await tools.budget({ person: 7 })"),
    (
        "What is the weather in Oslo on 2026-10-05?",
        "return await tools.weather({ city: 'Oslo', day: '2026-10-05' })",
    ),
    ("What does product 3 cost?", "return await tools.product({ id: 3 })"),
    ("Close ticket 12345.", "return await tools.close_ticket({ ticket: 12345 })"),
    ("Which hotels are in Vienna?", "return await tools.hotels({ city: 'Vienna' })"),
];

/// The tasks of several calls.
const TASKS: [Task; 34] = [
    (
        "Who of the team has expenses above the budget?",
        "const people = await tools.team(); const over = await Promise.all(people.map(async ({ id, name }) => { const [all, most] = await Promise.all([tools.expenses({ person: id }), tools.budget({ person: id })]); return all.reduce((sum, one) => sum + one.cents, 0) > most ? name : null })); return over.filter(Boolean)",
    ),
    (
        "Which expenses of persons 1 to 5 are not approved?",
        "const lists = await Promise.all([1, 2, 3, 4, 5].map((person) => tools.expenses({ person }))); return lists.map((list, at) => ({ person: at + 1, open: list.filter((one) => !one.approved).length }))",
    ),
    (
        "Approve the unapproved expenses of person 2 below 90 euros.",
        "const all = await tools.expenses({ person: 2 }); const open = all.map((one, at) => [one, at]).filter(([one]) => !one.approved && one.cents < 9000); await Promise.all(open.map(([, at]) => tools.approve_expense({ person: 2, at }))); return open.length",
    ),
    (
        "Which restaurant did the engineers of the team spend most at, by their expenses?",
        "const people = (await tools.team()).filter((one) => one.role === 'engineer'); const sums = {}; for (const list of await Promise.all(people.map(({ id }) => tools.expenses({ person: id })))) for (const one of list) sums[one.place] = (sums[one.place] ?? 0) + one.cents; return Object.entries(sums).sort((a, b) => b[1] - a[1])[0]",
    ),
    (
        "When are persons 1, 2 and 3 all free in the calendar of 2026-10-05? Book a room.",
        "const day = '2026-10-05'; const all = (await Promise.all([1, 2, 3].map((person) => tools.calendar({ person, day })))).flat(); let hour = 8; while (all.some((one) => one.start <= hour && hour < one.end)) hour++; const room = (await tools.rooms()).find((one) => one.seats >= 4); return await tools.book_room({ room: room.name, day, hour })",
    ),
    (
        "How many meetings does each person of the team have in the calendar this week, 2026-10-05 to 09?",
        "const people = await tools.team(); const days = ['05', '06', '07', '08', '09'].map((day) => `2026-10-${day}`); const counts = {}; for (const { id, name } of people) counts[name] = (await Promise.all(days.map((day) => tools.calendar({ person: id, day })))).flat().length; return counts",
    ),
    (
        "Which meeting rooms does nobody of persons 1 to 6 use in their calendar on 2026-10-06?",
        "const day = '2026-10-06'; const [rooms, ...all] = await Promise.all([tools.rooms(), ...[1, 2, 3, 4, 5, 6].map((person) => tools.calendar({ person, day }))]); const used = new Set(all.flat().map((one) => one.room)); return rooms.map((one) => one.name).filter((name) => !used.has(name))",
    ),
    (
        "How many open tickets does each project have?",
        "const projects = await tools.projects(); const lists = await Promise.all(projects.map(({ key }) => tools.tickets({ project: key }))); return projects.map(({ key }, at) => [key, lists[at].filter((one) => one.state === 'open').length])",
    ),
    (
        "Who of the team has the most open tickets over all projects?",
        "const projects = await tools.projects(); const counts = {}; for (const list of await Promise.all(projects.map(({ key }) => tools.tickets({ project: key })))) for (const one of list) if (one.state === 'open') counts[one.assignee] = (counts[one.assignee] ?? 0) + 1; const most = Object.entries(counts).sort((a, b) => b[1] - a[1])[0]; return [await tools.person({ id: +most[0] }), most[1]]",
    ),
    (
        "Close the tickets of project LAB that wait and have no comments.",
        "const waiting = (await tools.tickets({ project: 'LAB' })).filter((one) => one.state === 'waiting'); const quiet = []; for (const one of waiting) if (!(await tools.comments({ ticket: one.id })).length) quiet.push(one.id); await Promise.all(quiet.map((ticket) => tools.close_ticket({ ticket }))); return quiet",
    ),
    (
        "Label the open tickets of project WEB with priority 4 as urgent.",
        "const urgent = (await tools.tickets({ project: 'WEB' })).filter((one) => one.state === 'open' && one.priority === 4); for (const one of urgent) await tools.label_ticket({ ticket: one.id, label: 'urgent' }); return urgent.length",
    ),
    (
        "Which ticket of project API has the most comments?",
        "const all = (await tools.tickets({ project: 'API' })).filter((one) => one.state !== 'closed'); const lists = await Promise.all(all.map((one) => tools.comments({ ticket: one.id }))); const at = lists.reduce((most, list, at) => list.length > lists[most].length ? at : most, 0); return [all[at], lists[at].length]",
    ),
    (
        "Mail the lead of each project the number of its open tickets.",
        "const sent = []; for (const { key, lead } of await tools.projects()) { const open = (await tools.tickets({ project: key })).filter((one) => one.state === 'open').length; sent.push(await tools.send_mail({ to: lead, subject: key, text: `${open} open tickets` })) } return sent.length",
    ),
    (
        "What do the comments of the three oldest open tickets of project OPS say?",
        "const open = (await tools.tickets({ project: 'OPS' })).filter((one) => one.state === 'open').sort((a, b) => a.opened < b.opened ? -1 : 1).slice(0, 3); const all = await Promise.all(open.map((one) => tools.comments({ ticket: one.id }))); return all.map((list) => list.slice(-1)[0]?.text ?? 'none')",
    ),
    (
        "How many lines do the files of each repository have?",
        "const all = await tools.repositories(); const lists = await Promise.all(all.map(({ name }) => tools.files({ repository: name }))); return all.map(({ name }, at) => [name, lists[at].reduce((sum, one) => sum + one.lines, 0)])",
    ),
    (
        "Which person of the team owns the most lines in the files of the Rust repositories?",
        "const rust = (await tools.repositories()).filter((one) => one.language === 'Rust'); const sums = {}; for (const { name } of rust) for (const one of await tools.files({ repository: name })) sums[one.owner] = (sums[one.owner] ?? 0) + one.lines; const [id, lines] = Object.entries(sums).sort((a, b) => b[1] - a[1])[0]; return [(await tools.person({ id: +id })).name, lines]",
    ),
    (
        "Which repositories have a failed build as their last?",
        "const all = await tools.repositories(); const lists = await Promise.all(all.map(({ name }) => tools.builds({ repository: name }))); return all.filter((_, at) => lists[at][0].state === 'failed').map((one) => one.name)",
    ),
    (
        "Who wrote the commit of the last failed build of the repository gateway? Send them a mail.",
        "const failed = (await tools.builds({ repository: 'gateway' })).find((one) => one.state === 'failed'); const commit = (await tools.commits({ repository: 'gateway' })).find((one) => one.hash === failed.commit); return await tools.send_mail({ to: commit.author, subject: 'Build ' + failed.number, text: `It failed: ${commit.message}` })",
    ),
    (
        "What is the median build time, in seconds, of each repository?",
        "const all = await tools.repositories(); const medians = {}; for (const { name } of all) { const times = (await tools.builds({ repository: name })).map((one) => one.seconds).sort((a, b) => a - b); medians[name] = times[times.length >> 1] } return medians",
    ),
    (
        "Which person has made most commits over all repositories?",
        "const counts = {}; for (const { name } of await tools.repositories()) for (const one of await tools.commits({ repository: name })) counts[one.author] = (counts[one.author] ?? 0) + 1; const [id, count] = Object.entries(counts).sort((a, b) => b[1] - a[1])[0]; return [await tools.person({ id: +id }), count]",
    ),
    (
        "What do the unpaid orders of each customer come to in cents, by the price of each product?",
        "const prices = {}; const sums = {}; for (const { id, name } of await tools.customers()) { sums[name] = 0; for (const one of await tools.orders({ customer: id })) if (!one.paid) { prices[one.product] ??= (await tools.product({ id: one.product })).cents; sums[name] += prices[one.product] * one.count } } return sums",
    ),
    (
        "Which customers have more than 8 unpaid orders?",
        "const all = await tools.customers(); const lists = await Promise.all(all.map(({ id }) => tools.orders({ customer: id }))); return all.filter((_, at) => lists[at].filter((one) => !one.paid).length > 8).map((one) => one.name)",
    ),
    (
        "Reorder each product whose stock is below the count that customers 1 to 5 have in orders.",
        "const needed = {}; for (const list of await Promise.all([1, 2, 3, 4, 5].map((customer) => tools.orders({ customer })))) for (const one of list) needed[one.product] = (needed[one.product] ?? 0) + one.count; const done = []; for (const [id, count] of Object.entries(needed)) { const own = await tools.product({ id: +id }); if (own.stock < count) done.push(await tools.reorder({ product: +id, count: count - own.stock })) } return done",
    ),
    (
        "What is the price of product 1 in the currency of each customer, by the rate?",
        "const [all, { cents }] = await Promise.all([tools.customers(), tools.product({ id: 1 })]); const kinds = [...new Set(all.map((one) => one.currency))]; const rates = await Promise.all(kinds.map((currency) => tools.rate({ currency }))); return kinds.map((kind, at) => [kind, Math.round(cents / rates[at])])",
    ),
    (
        "Which products have stock below 10? Get products 1 to 12.",
        "const all = await Promise.all([...Array(12).keys()].map((at) => tools.product({ id: at + 1 }))); return all.filter((one) => one.stock < 10).map((one) => one.name)",
    ),
    (
        "What did customers in Norway (NO) order most, by the count of each product?",
        "const counts = {}; for (const { id } of (await tools.customers()).filter((one) => one.country === 'NO')) for (const one of await tools.orders({ customer: id })) counts[one.product] = (counts[one.product] ?? 0) + one.count; const [id, count] = Object.entries(counts).sort((a, b) => b[1] - a[1])[0]; return [(await tools.product({ id: +id })).name, count]",
    ),
    (
        "In which of the five cities does it not rain in the weather from 2026-10-05 to 07?",
        "const dry = []; for (const city of ['Oslo', 'Lisbon', 'Vienna', 'Prague', 'Dublin']) { const days = await Promise.all(['05', '06', '07'].map((day) => tools.weather({ city, day: `2026-10-${day}` }))); if (days.every((one) => !one.rain)) dry.push(city) } return dry",
    ),
    (
        "What is the cheapest of the flights from Oslo to Lisbon with free seats from 2026-10-05 to 09?",
        "const days = [5, 6, 7, 8, 9].map((day) => `2026-10-0${day}`); const lists = await Promise.all(days.map((day) => tools.flights({ from: 'Oslo', to: 'Lisbon', day }))); const all = lists.flatMap((list, at) => list.map((one) => ({ ...one, day: days[at] }))); return all.filter((one) => one.seats > 0).sort((a, b) => a.cents - b.cents)[0]",
    ),
    (
        "Plan a trip from Prague to Dublin and back, 2026-10-05 to 08: the cheapest flights and a hotel of 4 stars.",
        "const [out, back, hotels] = await Promise.all([tools.flights({ from: 'Prague', to: 'Dublin', day: '2026-10-05' }), tools.flights({ from: 'Dublin', to: 'Prague', day: '2026-10-08' }), tools.hotels({ city: 'Dublin' })]); const least = (list) => list.sort((a, b) => a.cents - b.cents)[0]; return { out: least(out), back: least(back), hotel: least(hotels.filter((one) => one.stars >= 4 && one.rooms)) }",
    ),
    (
        "Which of the five cities has the cheapest of the hotels with 5 stars and free rooms?",
        "let best; for (const city of ['Oslo', 'Lisbon', 'Vienna', 'Prague', 'Dublin']) for (const one of await tools.hotels({ city })) if (one.stars === 5 && one.rooms && !(best?.cents <= one.cents)) best = { city, ...one }; return best",
    ),
    (
        "How many unread mails are in the inbox of each person of the team?",
        "const people = await tools.team(); const lists = await Promise.all(people.map(({ id }) => tools.inbox({ person: id }))); return people.map(({ name }, at) => [name, lists[at].filter((one) => one.unread).length])",
    ),
    (
        "What do the unread mail messages in the inbox of person 4 ask for, by their first sentence?",
        "const unread = (await tools.inbox({ person: 4 })).filter((one) => one.unread); const all = await Promise.all(unread.map(({ id }) => tools.message({ id }))); return all.map((one) => one.text.split('. ')[0])",
    ),
    (
        "Who writes most to persons 1 to 10, by the mail in each inbox? Name the person.",
        "const counts = {}; for (const list of await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((person) => tools.inbox({ person })))) for (const one of list) counts[one.from] = (counts[one.from] ?? 0) + 1; const [id, count] = Object.entries(counts).sort((a, b) => b[1] - a[1])[0]; return [await tools.person({ id: +id }), count]",
    ),
    (
        "Answer each unread mail about the invoice in the inbox of persons 1 to 8.",
        "const sent = []; for (let person = 1; person <= 8; person++) for (const one of (await tools.inbox({ person })).filter((one) => one.unread && one.subject.includes('invoice'))) sent.push(await tools.send_mail({ to: one.from, subject: 'Re: ' + one.subject, text: 'It is paid.' })); return sent.length",
    ),
];

/// The costs of a task one way.
#[derive(Debug, Default, Clone)]
struct Cost {
    /// The bytes of all requests and replies.
    bytes: usize,
    requests: usize,
    time: Duration,
    /// The results of the model's calls.
    results: Vec<String>,
}

impl Cost {
    fn last(&self) -> &str {
        self.results.last().unwrap()
    }

    fn to_json(&self) -> Value {
        let ms = u64::try_from(self.time.as_millis()).unwrap();
        json!({"bytes": self.bytes, "requests": self.requests, "ms": ms})
    }
}

/// The tools that the model is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Listed {
    /// All of them, with the tool for scripts.
    All,
    /// All but the tool for scripts.
    AllButScripts,
    /// The tool for scripts alone.
    ScriptsAlone,
}

/// The calls of a round: names and arguments.
type Round = Vec<(String, Value)>;

/// Plays the rounds of a model to their end, which is an answer.
async fn played(task: &str, rounds: &[Round], listed: Listed, seen: &Seen, time: Duration) -> Cost {
    let tools = tools_that_take(time).into_iter();
    let tools: Vec<Tool> = match listed {
        Listed::ScriptsAlone => tools.map(Tool::deferred).collect(),
        Listed::All | Listed::AllButScripts => tools.collect(),
    };
    let toolbox = ToolBox::builder().tools(tools).events(seen.sink()).build().unwrap();
    if listed != Listed::AllButScripts {
        toolbox.register(crate::over(&toolbox));
    }
    let mut model = ScriptedModel::new();
    let mut replies = vec!["I have it.".len()];
    for (at, round) in rounds.iter().enumerate() {
        let calls: Vec<ToolCall> = (0..)
            .zip(round)
            .map(|(n, (name, arguments))| {
                ToolCall::new(format!("c{at}_{n}"), name.as_str(), arguments.to_string())
            })
            .collect();
        replies
            .push(calls.iter().map(|call| call.name.len() + call.arguments.as_str().len()).sum());
        model = model.respond(move |_: &ModelRequest| Ok(Reply::calls(calls.clone()).into()));
    }
    let model = model.text("I have it.");
    let agent = Agent::builder(model.clone()).toolbox(toolbox).no_repeat_limit();
    let agent = agent.max_iterations(1_000).max_calls_per_step(1_000).build().unwrap();
    let began = Instant::now();
    let outcome = agent.run(task).await.unwrap();
    let time = began.elapsed();
    let requests = model.requests();
    let read: usize = requests.iter().map(|one| OpenAiChat::body(one, "m", false).len()).sum();
    let steps = outcome.history.steps();
    let results = steps.flat_map(toolbox::model::Step::calls).map(|(_, result)| {
        assert!(!result.is_error(), "{task}: {}", result.text());
        result.text().into_owned()
    });
    let results = results.collect();
    Cost { bytes: read + replies.iter().sum::<usize>(), requests: requests.len(), time, results }
}

fn run_script(script: &str) -> Round {
    vec![("run_script".to_owned(), json!({ "script": script }))]
}

/// Returns the rounds in which a script made its calls: those that it made at once are one.
fn rounds_of(seen: &Seen) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for event in seen.events() {
        match event.kind {
            EventKind::ModelFinished { provider, .. } if provider == "script" => {
                rounds.push(Round::new());
            }
            EventKind::ToolStarted { call_id, tool, arguments } if tool != "run_script" => {
                assert!(call_id.contains('-'), "{call_id}");
                let arguments = arguments.parse().unwrap();
                rounds.last_mut().unwrap().push((tool, arguments));
            }
            _ => {}
        }
    }
    rounds.retain(|round| !round.is_empty());
    rounds
}

/// A script that finds the tools of a task and returns their declarations.
fn discovery(task: &str) -> String {
    let task = Value::from(task);
    format!(
        "const found = await tools.search({task}); return (await Promise.all(found.map(({{ name }}) => tools.types(name)))).join('\\n')"
    )
}

/// The costs of a task: in rounds, as a script beside the list of all tools, and as a script that
/// finds its tools.
struct Compared {
    rounds: Vec<Round>,
    direct: Cost,
    listed: Cost,
    found: Cost,
}

async fn compared((task, script): Task, time: Duration) -> Compared {
    let seen = Seen::default();
    let listed = played(task, &[run_script(script)], Listed::All, &seen, time).await;
    let rounds = rounds_of(&seen);
    let none = Seen::default();
    let direct = played(task, &rounds, Listed::AllButScripts, &none, time).await;
    let discovery = discovery(task);
    let both = [run_script(&discovery), run_script(script)];
    let found = played(task, &both, Listed::ScriptsAlone, &none, time).await;
    assert_eq!(listed.last(), found.last(), "{task}");
    // A plan is one of this model only if it was told of the tools.
    let told =
        played(task, &[run_script(&discovery)], Listed::ScriptsAlone, &none, Duration::ZERO).await;
    for (tool, _) in rounds.iter().flatten() {
        let told = told.last();
        assert!(told.contains(&format!(" {tool}(input")), "{task}: {tool} in {told}");
    }
    Compared { rounds, direct, listed, found }
}

impl Compared {
    fn calls(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    fn to_json(&self, task: &str) -> Value {
        let mut results = self.direct.results.iter();
        let mut call = |(tool, arguments): &(String, Value)| {
            let result = results.next().unwrap();
            json!({"tool": tool, "arguments": arguments, "result": result})
        };
        let rounds: Vec<Vec<_>> =
            self.rounds.iter().map(|round| round.iter().map(&mut call).collect()).collect();
        json!({
            "task": task,
            "rounds": rounds,
            "answer": self.listed.last(),
            "direct": self.direct.to_json(),
            "listed": self.listed.to_json(),
            "found": self.found.to_json(),
        })
    }
}

/// Writes the tools and the tasks where a variable says so.
fn export(tasks: &[Value]) {
    let Some(path) = std::env::var_os("TOOLBOX_SCRIPT_TASKS") else { return };
    let definitions = ToolBox::from_iter(tools_that_take(Duration::ZERO)).definitions();
    let listed = definitions.lowered(Dialect::OpenAiChat).to_value();
    let results = definitions.iter().map(|one| (one.name.as_str(), &one.output_schema));
    let results: HashMap<_, _> = results.collect();
    let exported = json!({"tools": listed, "results": results, "tasks": tasks});
    std::fs::write(path, exported.to_string()).unwrap();
}

#[allow(clippy::cast_precision_loss, reason = "bytes")]
fn ratio(one: &Cost, other: &Cost) -> f64 {
    one.bytes as f64 / other.bytes as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The bytes are exact, so the ratios are held; the times are those of this machine, and are printed
/// with `--nocapture`, with tools that take 50 ms where `TOOLBOX_FULL_TESTS` is set.
#[tokio::test]
#[allow(clippy::print_stdout, reason = "the figures, with --nocapture")]
async fn a_script_costs_a_part_of_its_calls() {
    let is_full = std::env::var_os("TOOLBOX_FULL_TESTS").is_some();
    let time = Duration::from_millis(if is_full { 50 } else { 0 });
    let mut table = String::new();
    let (mut listed, mut found) = (Vec::new(), Vec::new());
    let mut exported = Vec::new();
    for task in TASKS {
        let compared = compared(task, time).await;
        exported.push(compared.to_json(task.0));
        let calls = compared.calls();
        let Compared { direct, listed: beside, found: alone, .. } = compared;
        listed.push(ratio(&beside, &direct));
        found.push(ratio(&alone, &direct));
        let _ = writeln!(
            table,
            "{calls:>4} calls {:>3} requests {:>9} B {:>5} ms | {} requests {:>7} B {:.3} {:>5} ms | {} requests {:>7} B {:.3} | {}",
            direct.requests,
            direct.bytes,
            direct.time.as_millis(),
            beside.requests,
            beside.bytes,
            ratio(&beside, &direct),
            beside.time.as_millis(),
            alone.requests,
            alone.bytes,
            ratio(&alone, &direct),
            task.0,
        );
        assert!(calls > 1, "{}", task.0);
    }
    println!("{table}");
    let (listed, found) = (median(listed), median(found));
    println!("median: {listed:.3} beside the list of all tools, {found:.3} alone");
    assert!(listed <= 0.35, "{listed}");
    assert!(found <= 0.35, "{found}");
    for task in OF_ONE_CALL {
        let compared = compared(task, time).await;
        exported.push(compared.to_json(task.0));
        assert_eq!(compared.calls(), 1, "{}", task.0);
        let Compared { direct, listed, found, .. } = compared;
        let (beside, alone) = (ratio(&listed, &direct), ratio(&found, &direct));
        println!("{:>9} B | {beside:.3} | {alone:.3} | {}", direct.bytes, task.0);
        assert!(alone <= 1.05, "{alone} {}", task.0);
        // The definition of the tool for scripts, beside 28 others. The least that says how a script
        // calls, finds and returns comes to 1.05; this also says what fails, and what there is not.
        assert!(beside <= 1.10, "{beside} {}", task.0);
    }
    export(&exported);
}
