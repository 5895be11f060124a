//! Hostile inputs cost no more than their length: four times the input asks for about four times
//! the memory, and what is refused for its depth or its size for no more at all.
//!
//! Memory is counted and not time, so that a test says the same on each machine and beside any
//! load. Each test runs in a thread of its own that is given up after a while: what never ends
//! fails. In a binary of its own, since the count is the whole process's.

use std::alloc::System;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use toolbox::call::Arguments;
use toolbox::dialect::Dialect;
use toolbox::search::Catalog;
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition, ToolResult};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Beyond any machine's slowness: what takes as long does not end.
const FOR_EVER: Duration = Duration::from_secs(120);
/// Less than any recursion over the input would need, more than what a build without optimizations
/// takes besides.
const SMALL_STACK: usize = 512 << 10;
/// The stack of a thread, of the standard library and of tokio.
const USUAL_STACK: usize = 2 << 20;
/// Enough for a test to make what it tries.
const LARGE_STACK: usize = 64 << 20;

/// Runs a test alone, in a thread with a small stack, and fails if it does not end.
#[track_caller]
fn alone(test: impl FnOnce() + Send + 'static) {
    alone_on(SMALL_STACK, test);
}

/// Runs a test alone, in a thread with a stack of this size.
#[track_caller]
fn alone_on(stack: usize, test: impl FnOnce() + Send + 'static) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (done, ended) = channel();
    let work = move || {
        test();
        let _ = done.send(());
    };
    let thread = std::thread::Builder::new().stack_size(stack).spawn(work).unwrap();
    match ended.recv_timeout(FOR_EVER) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => panic!("not done within {FOR_EVER:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            if let Err(payload) = thread.join() {
                std::panic::resume_unwind(payload);
            }
        }
    }
}

/// The allocations of some work.
#[derive(Debug, Clone, Copy)]
struct Allocated {
    bytes: usize,
    times: usize,
}

fn allocated<T>(work: impl FnOnce() -> T) -> (Allocated, T) {
    let before = ALLOCATOR.stats();
    let value = work();
    let after = ALLOCATOR.stats() - before;
    let times = after.allocations + after.reallocations;
    (Allocated { bytes: after.bytes_allocated, times }, value)
}

/// Checks that work on an input of four times the size asks for at most `times` as much.
#[track_caller]
fn grows<I>(what: &str, size: usize, times: usize, input: impl Fn(usize) -> I, work: impl Fn(&I)) {
    // What is made once and kept is not counted.
    work(&input(size));
    let [one, four] = [size, 4 * size].map(|size| {
        let input = input(size);
        allocated(|| work(&input)).0
    });
    // Room for what other threads of the process ask for meanwhile, and for a buffer that doubles
    // once more.
    assert!(four.bytes <= times * one.bytes + (64 << 10), "{what}: {one:?}, then {four:?}");
    assert!(four.times <= times * one.times + 256, "{what}: {one:?}, then {four:?}");
}

fn now<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn call(toolbox: &ToolBox, tool: &str, arguments: &str) -> ToolResult {
    now(toolbox.call(ToolCall::new("c", tool, arguments)))
}

/// A box that takes long arguments, with a tool of this schema.
fn taking(schema: Value) -> ToolBox {
    let tool = Tool::raw("t", "A tool.", schema, |_: Arguments| "ran");
    ToolBox::builder().max_argument_bytes(64 << 20).tools(tool).build().unwrap()
}

fn any() -> Value {
    json!({"type": "object", "properties": {"any": {}, "list": {"type": "array", "items": {"type": "integer"}}}})
}

#[test]
fn depth_is_refused_before_it_costs_anything() {
    alone(|| {
        let toolbox = taking(any());
        for open in ["[", "{\"a\":", "[{\"a\":", "{\"any\":["] {
            // What is counted begins when the box has the text.
            let text = |size| open.repeat(size);
            grows(open, 50_000, 1, text, |text| {
                let refused = now(toolbox.execute("t", text.as_str())).unwrap_err();
                assert!(refused.contains("nest too deeply"), "{refused}");
            });
        }
    });
}

#[test]
fn rules_one_by_one_cost_as_much_as_they_are_many() {
    alone(|| {
        let names = |size: usize| (0..size).map(|at| format!("Tool_{at:05}")).collect();
        for before in ["", "*", "tag:"] {
            grows(before, 500, 5, names, |names: &Vec<String>| {
                let toolbox = ToolBox::new();
                for name in names {
                    toolbox.blacklist(&format!("{before}{name}"));
                }
                for name in names {
                    assert!(toolbox.lift_blacklist(&format!("{before}{name}")));
                }
            });
        }
        // Each of the tools changes with its own rule.
        let tools = |size: usize| -> (Vec<Tool>, Vec<String>) {
            let tool = |name: &String| {
                Tool::raw(name.clone(), "A tool.", json!({"type": "object"}), |_: Arguments| "ran")
            };
            let names: Vec<String> = names(size);
            (names.iter().map(tool).collect(), names)
        };
        grows("rules of tools", 500, 5, tools, |(tools, names)| {
            let toolbox: ToolBox = tools.iter().cloned().collect();
            for name in names {
                toolbox.blacklist(&name.to_uppercase());
                assert!(!toolbox.permits(name));
            }
            assert!(toolbox.definitions().is_empty());
        });
    });
}

#[test]
fn repeated_keys_cost_as_much_as_they_are_long() {
    alone(|| {
        let toolbox = taking(any());
        for (start, part) in
            [("", "\"a\":"), ("{", "\"a\":"), ("{", "\"a\":1,"), ("{\"list\":[", "\"a\",")]
        {
            let text = |size| format!("{start}{}", part.repeat(size));
            grows(part, 20_000, 5, text, |text| assert!(call(&toolbox, "t", text).is_error()));
        }
        // Whole documents, whose keys are all the same or all others.
        let same = |size| format!("{{{}\"a\":1}}", "\"a\":1,".repeat(size));
        grows("one key", 20_000, 5, same, |text| assert!(call(&toolbox, "t", text).is_error()));
        let others = |size: usize| {
            let fields: Vec<String> = (0..size).map(|at| format!("\"k{at:08}\":1")).collect();
            format!("{{{}}}", fields.join(","))
        };
        grows("other keys", 20_000, 5, others, |text| {
            call(&toolbox, "t", text);
        });
    });
}

#[test]
fn a_large_schema_costs_as_much_as_it_is_long() {
    alone(|| {
        let schema = |size: usize| {
            let one = |at| (format!("p{at:08}"), json!({"type": "string"}));
            let properties: Map<String, Value> = (0..size).map(one).collect();
            taking(
                json!({"type": "object", "properties": properties, "additionalProperties": false}),
            )
        };
        grows("properties", 5_000, 5, schema, |toolbox| {
            let result = call(toolbox, "t", r#"{"p00000007": 7, "zzz": 1}"#);
            assert_eq!(result.code(), Some("args.wrong_type"), "{}", result.text());
            assert!(result.text().len() < 4096);
        });
    });
}

#[test]
fn many_faults_cost_as_much_as_they_are_and_few_are_told() {
    alone(|| {
        let toolbox = taking(
            json!({"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}}),
        );
        let items = |size| json!({"items": vec![7; size]}).to_string();
        grows("items", 20_000, 5, items, |text| {
            let result = call(&toolbox, "t", text);
            let told = result.text().matches("items[").count();
            assert!((1..=20).contains(&told), "{told} faults are told of: {}", result.text());
        });
        // What is told does not grow at all.
        let [few, many] =
            [20_000, 80_000].map(|size| call(&toolbox, "t", &items(size)).text().len());
        assert!(many.abs_diff(few) < 16, "{few} bytes, then {many}");
    });
}

/// Fields of an alternative that was not chosen are told apart from those of the chosen one, which
/// looks at the names of each alternative once.
#[test]
fn fields_of_another_alternative_cost_as_much_as_they_are() {
    alone(|| {
        let fields = |size: usize| {
            let names = (0..size).map(|at| format!("f{at}"));
            let all: Map<String, Value> = names.map(|name| (name, json!({}))).collect();
            let kind = |word: &str| json!({"const": word});
            let mut other = all.clone();
            other.insert("kind".to_owned(), kind("other"));
            let schema = json!({
                "type": "object", "unevaluatedProperties": false,
                "oneOf": [
                    {"properties": {"kind": kind("one"), "needed": {}}, "required": ["kind", "needed"]},
                    {"properties": other, "required": ["kind"]},
                ],
            });
            let mut arguments = all;
            arguments.insert("kind".to_owned(), json!("one"));
            (taking(schema), Value::Object(arguments).to_string())
        };
        grows("fields of another alternative", 500, 4, fields, |(toolbox, arguments)| {
            let result = call(toolbox, "t", arguments);
            let text = result.text();
            assert!(
                text.contains("`needed`") && text.contains("`f0` is not an argument"),
                "{text}"
            );
        });
    });
}

#[test]
fn patterns_cost_no_more_than_their_text_and_their_limit() {
    alone(|| {
        for pattern in ["(a+)+$", "(a|a?)+$", "(.*a){20}b", "(?=a)b", r"(a)\1", "^.{0,404600}$"] {
            let toolbox = taking(
                json!({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}),
            );
            let text = |size| json!({"x": "a".repeat(size)}).to_string();
            grows(pattern, 500, 5, text, |text| {
                call(&toolbox, "t", text);
            });
        }
        // What would be large is not compiled: each takes less than the limit of one.
        for pattern in ["^.{0,404600}$", "(((a{100}){100}){100})", "((a{1000}){1000}){1000}"] {
            let toolbox = taking(
                json!({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}),
            );
            let (allocation, _) = allocated(|| call(&toolbox, "t", r#"{"x": "aaa"}"#));
            assert!(allocation.bytes < 64 << 20, "{pattern}: {allocation:?}");
        }
    });
}

fn catalog(tools: usize, description: &str) -> Catalog {
    let tool = |at| ToolDefinition::new(format!("t{at}"), description, json!({"type": "object"}));
    (0..tools).map(tool).collect()
}

#[test]
fn patterns_of_a_search_cost_as_much_as_what_is_searched() {
    alone(|| {
        for pattern in ["(a+)+$b", "(a|aa)+c", "(a|a?)+d", "(.*a){20}b", "^(a+)*e"] {
            let over = |size: usize| catalog(20, &"a".repeat(size));
            grows(pattern, 2_000, 5, over, |catalog| {
                let hits = catalog.search_pattern(pattern).unwrap().hits();
                assert!(hits.is_empty(), "{pattern}");
            });
        }
        // A pattern that is too long is not read, and one that is too large not built.
        let catalog = catalog(3, "a");
        let long = |size| "(a*)*".repeat(size);
        grows("long", 50_000, 1, long, |pattern| {
            assert_eq!(catalog.search_pattern(pattern).unwrap_err().code(), "pattern_too_long");
        });
        let (allocation, error) =
            allocated(|| catalog.search_pattern(r"((a{1000}){1000}){1000}").unwrap_err());
        assert_eq!(error.code(), "pattern_too_large");
        assert!(allocation.bytes < 16 << 20, "{allocation:?}");
    });
}

#[test]
fn queries_cost_no_more_than_their_length_and_find_no_more() {
    alone(|| {
        let catalog = catalog(200, "Gives the weather forecast for a city");
        let one = |size: usize| "weather ".repeat(size);
        let other =
            |size: usize| (0..size).map(|at| format!("term{at:08}")).collect::<Vec<_>>().join(" ");
        let unbroken = |size: usize| "漢".repeat(size);
        let camel = |size: usize| "aB".repeat(size);
        let texts: [(&str, &dyn Fn(usize) -> String); 4] =
            [("one", &one), ("others", &other), ("unbroken", &unbroken), ("camel", &camel)];
        for (name, text) in texts {
            grows(name, 5_000, 5, text, |text| {
                assert!(catalog.search(text).hits().len() <= 5, "{name}");
            });
        }
    });
}

/// A tool of its own name, with a schema of its own.
fn one(at: usize) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "repository": {"type": "string", "description": "The repository, as owner and name"},
            "limit": {"type": "integer", "description": "How many entries there are at most"},
        },
        "required": ["repository"],
        "additionalProperties": false,
    });
    Tool::raw(
        format!("tool_{at}"),
        "Lists the entries of a repository.",
        schema,
        |_: Arguments| "ran",
    )
}

fn of_tools(size: usize) -> ToolBox {
    (0..size).map(one).collect()
}

type Change = fn(&ToolBox);

/// The changes of a box, each of one tool.
const CHANGES: [(&str, Change); 7] = [
    ("register another", |toolbox| toolbox.register(one(1_000_000))),
    ("register one again", |toolbox| toolbox.register(one(7))),
    ("try to register another", |toolbox| toolbox.try_register(one(1_000_001)).unwrap()),
    ("try to register one again", |toolbox| {
        assert!(toolbox.try_register(one(7)).is_err());
    }),
    ("try another case", |toolbox| {
        assert!(toolbox.try_register(one(7).renamed("TOOL_8")).is_err());
    }),
    ("unregister", |toolbox| assert!(toolbox.unregister("tool_5").is_some())),
    ("merge", |toolbox| toolbox.merge(&ToolBox::from(one(1_000_002)))),
];

#[test]
fn a_change_of_a_box_costs_the_same_at_any_size() {
    alone(|| {
        for (name, change) in CHANGES {
            let [few, many] = [500, 8_000].map(|size| {
                let toolbox = of_tools(size);
                allocated(|| change(&toolbox)).0
            });
            // One more level of two trees, of nodes of 16.
            assert!(many.bytes <= few.bytes + (4 << 10), "{name}: {few:?}, then {many:?}");
            assert!(many.times <= few.times + 8, "{name}: {few:?}, then {many:?}");
        }
    });
}

#[test]
fn a_list_after_a_change_lowers_what_changed_alone() {
    alone(|| {
        let count = support::size(500, 2_000);
        for dialect in Dialect::ALL {
            for (name, change) in CHANGES {
                let toolbox = of_tools(count);
                let before = toolbox.definitions_for(dialect).json().len();
                change(&toolbox);
                let (allocation, after) =
                    allocated(|| toolbox.definitions_for(dialect).json().len());
                assert!(after.abs_diff(before) < 1_000);
                // A pointer for each tool, twice, and the text of all as one.
                let most = 64 * count + 2 * after;
                assert!(allocation.bytes <= most, "{name} for {dialect:?}: {allocation:?}");
                assert!(allocation.times <= 300, "{name} for {dialect:?}: {allocation:?}");
            }
        }
    });
}

#[test]
fn a_rule_lowers_nothing_again() {
    alone(|| {
        let toolbox = of_tools(support::size(500, 2_000));
        let len = || toolbox.definitions_for(Dialect::Anthropic).json().len();
        let all = len();
        for (rule, share) in [("tool_7", all), ("tool_1*", all / 2)] {
            toolbox.blacklist(rule);
            let (allocation, less) = allocated(len);
            assert!(less < all && less >= share / 2, "{less} of {all}");
            assert!(allocation.times <= 300, "{rule}: {allocation:?}");
            assert!(toolbox.lift_blacklist(rule));
            let (allocation, again) = allocated(len);
            assert!(again == all && allocation.times <= 300, "{rule}: {allocation:?}");
        }
    });
}

#[test]
fn building_a_box_costs_as_much_as_it_has_tools() {
    alone(|| {
        let tools = |size| (0..size).map(one).collect::<Vec<_>>();
        // More levels of the trees are a little more for each tool.
        grows("build", 1_000, 5, tools, |tools| {
            assert_eq!(ToolBox::builder().tools(tools.clone()).build().unwrap().len(), tools.len());
        });
        grows("try_register", 1_000, 5, tools, |tools| {
            let toolbox = ToolBox::new();
            toolbox.try_register(tools.clone()).unwrap();
            assert_eq!(
                toolbox.try_register(tools.clone()).unwrap_err().faults().len(),
                tools.len()
            );
        });
        // As many comparisons as pairs of tools would take minutes here, and allocate nothing.
        let begin = std::time::Instant::now();
        ToolBox::builder().tools(tools(30_000)).build().unwrap();
        assert!(begin.elapsed() < FOR_EVER / 4);
    });
}

#[test]
fn a_tool_takes_a_few_times_its_text() {
    alone(|| {
        const SIZE: usize = 2_000;
        let kept = |work: &mut dyn FnMut()| {
            let before = ALLOCATOR.stats();
            work();
            let after = ALLOCATOR.stats() - before;
            after.bytes_allocated.saturating_sub(after.bytes_deallocated)
        };
        let mut all = None;
        let bytes = kept(&mut || {
            let toolbox = of_tools(SIZE);
            let list = toolbox.definitions_for(Dialect::Anthropic);
            assert!(list.json().starts_with('['));
            all = Some((toolbox.definitions(), list, toolbox));
        });
        let (definitions, list, _toolbox) = all.unwrap();
        let text = list.json().len();
        // Eight times, and room for what others of this process keep.
        assert!(bytes <= 9 * text, "{bytes} bytes for {text} of text");
        // What is read of them keeps no more.
        let read = kept(&mut || {
            assert!(definitions.iter().all(|definition| definition.lints().is_empty()));
            assert_eq!(definitions.len(), SIZE);
            serde_json::to_string(&definitions).unwrap();
        });
        assert!(read < 64 << 10, "{read} bytes");
    });
}

/// A value for schemas that are below each other: itself, or as deep as they are.
enum Given {
    Value(Value),
    Deep(fn(Value) -> Value),
}

type Level = fn(Value, usize) -> Value;

/// Schemas around another, which none of them looks at more than once.
fn levels() -> Vec<(&'static str, Level, Given)> {
    let plain = |value: Value| Given::Value(value);
    let (one, text, object) = (|| plain(json!(1)), || plain(json!("a")), || plain(json!({"a": 1})));
    let (fields, lists) =
        (Given::Deep(|below| json!({"a": below})), || Given::Deep(|below| json!([below])));
    vec![
        ("if", |below, _| json!({"if": below}), one()),
        ("then", |below, _| json!({"if": {"type": "integer"}, "then": below}), one()),
        ("else", |below, _| json!({"if": {"type": "null"}, "else": below}), one()),
        ("if and anyOf", |below, _| json!({"anyOf": [{"if": below, "then": false}]}), text()),
        ("not", |below, _| json!({"not": below}), one()),
        ("not in oneOf", |below, _| json!({"oneOf": [{"not": below}, true]}), text()),
        ("anyOf", |below, _| json!({"anyOf": [below]}), one()),
        ("anyOf first", |below, _| json!({"anyOf": [below, {"type": "null"}]}), one()),
        ("anyOf last", |below, _| json!({"anyOf": [{"type": "null"}, below]}), one()),
        ("anyOf fits", |below, _| json!({"anyOf": [{"type": "null"}, below]}), text()),
        ("oneOf", |below, _| json!({"oneOf": [below, {"type": "null"}]}), one()),
        ("oneOf, two", |below, _| json!({"oneOf": [below, {}, {"not": {}}]}), text()),
        ("oneOf, as one", |below, _| json!({"anyOf": [{"oneOf": [below, true]}, false]}), text()),
        ("allOf", |below, _| json!({"allOf": [below, {"type": "string"}]}), one()),
        (
            "anyOf, oneOf, allOf",
            |below, at| json!({["anyOf", "oneOf", "allOf"][at % 3]: [below, {"type": "null"}]}),
            one(),
        ),
        ("oneOf in allOf", |below, _| json!({"allOf": [{"oneOf": [below]}]}), one()),
        (
            "anyOf, required",
            |below, _| json!({"anyOf": [below, {"properties": {"b": {}}, "required": ["b"]}]}),
            object(),
        ),
        ("propertyNames", |below, _| json!({"anyOf": [below, {"propertyNames": false}]}), object()),
        ("dependentSchemas", |below, _| json!({"dependentSchemas": {"a": below}}), object()),
        ("dependencies", |below, _| json!({"anyOf": [{"dependencies": {"a": below}}]}), object()),
        (
            "unevaluatedProperties, anyOf",
            |below, _| json!({"anyOf": [below], "unevaluatedProperties": false}),
            object(),
        ),
        (
            "unevaluatedProperties, oneOf",
            |below, _| json!({"oneOf": [below, false], "unevaluatedProperties": {"type": "null"}}),
            object(),
        ),
        (
            "unevaluatedProperties, if",
            |below, _| json!({"if": below, "then": {"type": "null"}, "unevaluatedProperties": false}),
            object(),
        ),
        (
            "unevaluatedItems, anyOf",
            |below, _| json!({"anyOf": [below], "unevaluatedItems": false}),
            plain(json!([1])),
        ),
        (
            "unevaluatedItems, allOf",
            |below, _| json!({"allOf": [below], "prefixItems": [{}], "unevaluatedItems": false}),
            plain(json!([1, 2])),
        ),
        ("contains", |below, _| json!({"contains": below, "unevaluatedItems": false}), lists()),
        (
            "items",
            |below, _| json!({"anyOf": [{"type": "array", "items": below}, {"type": "null"}]}),
            lists(),
        ),
        (
            "prefixItems",
            |below, _| json!({"oneOf": [{"type": "array", "prefixItems": [below]}, false]}),
            lists(),
        ),
        (
            "properties",
            |below, _| json!({"anyOf": [{"type": "object", "properties": {"a": below}}, false]}),
            fields,
        ),
    ]
}

/// Both what a check asks for is counted, and its steps: one that takes too many of them is
/// refused for that, and there are fewer than the square of the levels.
#[test]
fn schemas_below_each_other_are_looked_at_once() {
    alone_on(USUAL_STACK, || {
        for (name, level, given) in levels() {
            // Arguments nest no deeper than 64 levels.
            let size = if matches!(given, Given::Deep(_)) { 12 } else { 40 };
            let nested = |levels: usize| {
                let leaf = json!({"type": "string"});
                let deep = (0..levels).fold(leaf, level);
                // Every other way through references.
                let defined: Map<String, Value> = (0..levels)
                    .map(|at| {
                        let below = json!({"$ref": format!("#/$defs/d{}", at.wrapping_sub(1))});
                        let below = if at == 0 { json!({"type": "string"}) } else { below };
                        (format!("d{at}"), level(below, at))
                    })
                    .collect();
                let by_name = json!({"$ref": format!("#/$defs/d{}", levels - 1)});
                let value = match &given {
                    Given::Value(value) => value.clone(),
                    Given::Deep(around) => (0..levels).fold(json!(1), |below, _| around(below)),
                };
                let schema = json!({"type": "object", "properties": {"any": deep, "named": by_name}, "$defs": defined});
                let texts = ["any", "named"].map(|key| json!({key: value}).to_string());
                (taking(schema), texts)
            };
            // A message looks at 32 levels for the types of a value, so the first cost less.
            grows(name, size, 8, nested, |(toolbox, texts)| {
                for text in texts {
                    let result = call(toolbox, "t", text);
                    assert!(!result.text().contains("too many steps"), "{name}: {}", result.text());
                }
            });
        }
    });
}

/// A check goes 512 schemas deep, within the stack of any thread, and refuses what is deeper.
#[test]
fn schemas_of_any_depth_leave_the_stack_alone() {
    alone_on(LARGE_STACK, || {
        for (name, level, given) in levels() {
            let Given::Value(value) = given else { continue };
            let toolbox = taking(json!({
                "type": "object",
                "properties": {"any": (0..520).fold(json!({"type": "string"}), level)},
            }));
            let text = json!({"any": value}).to_string();
            let calling = toolbox.clone();
            let work = move || call(&calling, "t", &text);
            let thread = std::thread::Builder::new().stack_size(USUAL_STACK).spawn(work).unwrap();
            let result = thread.join().unwrap();
            assert_eq!(result.code(), Some("args.schema_too_large"), "{name}: {}", result.text());
        }
    });
}
