//! Calls that programs of a model make, calls that are answered in a later request, and calls with a
//! text in place of JSON: what their services demand of the requests that follow.

use serde_json::{Value, json};
use toolbox::definition::{Callers, Grammar};
use toolbox::dialect::{Dialect, lower};
use toolbox::model::{
    Delta, Finish, History, ModelRequest, Replied, Reply, ToolChoice, Unanswered,
};
use toolbox::wire::{Anthropic, Format, OpenAiResponses, ResponseStream};
use toolbox::{Content, Tool, ToolBox, ToolDefinition, ToolResult};

/// A tool with a result of a known shape, for some callers.
fn stock(callers: Callers) -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"],
        "additionalProperties": false});
    let mut definition = ToolDefinition::new("stock", "Tells the units", schema);
    definition.output_schema =
        Some(json!({"type": "object", "properties": {"units": {"type": "integer"}}}).into());
    definition.callers = callers;
    definition
}

fn request(history: History) -> ModelRequest {
    ModelRequest::new(history).with_tools(vec![stock(Callers::Both)])
}

fn sent<F: Format>(request: &ModelRequest) -> Value {
    serde_json::from_str(&F::body(request, "m", false)).unwrap()
}

fn read<F: Format>(body: &Value) -> Reply {
    F::response(&body.to_string()).unwrap().reply
}

fn open(history: History, reply: Reply) -> Unanswered {
    match history.reply(reply) {
        Replied::Calls(open) => open,
        other => panic!("{other:?}"),
    }
}

fn answered(history: History, reply: Reply) -> History {
    match history.reply(reply) {
        Replied::Answer(history) => history,
        other => panic!("{other:?}"),
    }
}

/// A result with a structure and a picture.
fn units() -> ToolResult {
    let parts = vec![Content::text("3 units"), Content::image(b"x", "image/png")];
    ToolResult::from(parts).with_structured_content(json!({"units": 3}))
}

#[test]
fn the_callers_of_a_tool_are_said_where_they_are_known() {
    let model = |dialect| lower(&stock(Callers::Model), dialect);
    let responses = Dialect::OpenAiResponses;
    let cases = [
        (responses, Callers::Programs, json!(["programmatic"])),
        (responses, Callers::Both, json!(["direct", "programmatic"])),
        (Dialect::Anthropic, Callers::Programs, json!(["code_execution_20260120"])),
        (Dialect::Anthropic, Callers::Both, json!(["direct", "code_execution_20260120"])),
    ];
    for (dialect, callers, expected) in cases {
        let mut lowered = lower(&stock(callers), dialect).tool;
        let tool = lowered.as_object_mut().unwrap();
        assert_eq!(tool.shift_remove("allowed_callers"), Some(expected));
        let output = tool.shift_remove("output_schema").unwrap_or_default();
        assert_eq!(
            output["type"],
            if dialect == responses { "object".into() } else { Value::Null }
        );
        assert_eq!(lowered, model(dialect).tool);
    }
    for dialect in Dialect::ALL {
        let both = lower(&stock(Callers::Both), dialect);
        assert_eq!(both.losses, []);
        let programs = lower(&stock(Callers::Programs), dialect);
        let is_known = cases_of(dialect);
        assert_eq!(programs.losses.is_empty(), is_known || dialect == Dialect::Mcp, "{dialect:?}");
        assert!(is_known || programs.tool == model(dialect).tool, "{dialect:?}");
    }
    // The service refuses a definition that leads back to itself where programs call.
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}});
    let leaf = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/End"}}});
    for (body, is_refused) in [(node, true), (leaf, false)] {
        let mut definition = stock(Callers::Programs);
        definition.input_schema =
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": body, "End": {"type": "string"}}})
            .into();
        let lowered = lower(&definition, Dialect::Anthropic);
        assert_eq!(lowered.tool.get("allowed_callers").is_none(), is_refused);
        assert_eq!(lowered.losses.len(), usize::from(is_refused));
    }
}

fn cases_of(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::OpenAiResponses | Dialect::Anthropic)
}

#[test]
fn the_service_is_asked_to_run_programs() {
    let tool = |callers| ModelRequest::new(History::from("x")).with_tools(vec![stock(callers)]);
    let last = |body: &Value| body["tools"].as_array().unwrap().last().unwrap().clone();
    let own = json!({"type": "programmatic_tool_calling"});
    let code = json!({"type": "code_execution_20260120", "name": "code_execution"});
    for callers in [Callers::Programs, Callers::Both] {
        assert_eq!(last(&sent::<OpenAiResponses>(&tool(callers))), own);
        assert_eq!(last(&sent::<Anthropic>(&tool(callers))), code);
    }
    assert_eq!(last(&sent::<OpenAiResponses>(&tool(Callers::Model)))["name"], "stock");
    assert_eq!(last(&sent::<Anthropic>(&tool(Callers::Model)))["name"], "stock");
    // A choice that the service refuses beside programs is not sent.
    let chosen = tool(Callers::Programs).with_tool_choice(ToolChoice::Tool("stock".into()));
    assert_eq!(sent::<OpenAiResponses>(&chosen)["tool_choice"], own);
    let chosen = chosen.with_parallel_tool_calls(false);
    assert_eq!(sent::<Anthropic>(&chosen)["tool_choice"], Value::Null);
    let none = tool(Callers::Programs).with_tool_choice(ToolChoice::None);
    assert_eq!(sent::<Anthropic>(&none)["tool_choice"], json!({"type": "none"}));
}

#[test]
fn a_program_of_openai_goes_on_until_there_is_a_message() {
    let program = json!({"type": "program", "id": "prog_1", "call_id": "p1", "code": "await tools.stock({})", "fingerprint": "f"});
    let caller = json!({"type": "program", "caller_id": "p1"});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "stock",
        "arguments": "{\"sku\":\"a\"}", "caller": caller});
    let output = json!({"type": "program_output", "id": "po_1", "call_id": "p1", "result": "3", "status": "completed"});
    let message = json!({"type": "message", "id": "m1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "3 units", "annotations": []}]});
    let replied = |items: &[Value]| read::<OpenAiResponses>(&json!({"output": items}));

    let first = replied(&[program.clone(), call.clone()]);
    assert_eq!(first.finish, Finish::Calls);
    let history = open(History::from("how many?"), first).answer([units()]);
    let result = json!({"type": "function_call_output", "call_id": "c1", "output": "{\"units\":3}", "caller": caller});
    let input = sent::<OpenAiResponses>(&request(history.clone()))["input"].clone();
    assert_eq!(input.as_array().unwrap()[1..], [program.clone(), call.clone(), result.clone()]);

    // Neither a call nor a message: the program goes on.
    let second = replied(std::slice::from_ref(&output));
    assert_eq!(second.finish, Finish::Pause);
    let history = answered(history, second);
    let third = replied(std::slice::from_ref(&message));
    assert_eq!(third.finish, Finish::Stop);
    assert_eq!(replied(&[output.clone(), message.clone()]).finish, Finish::Stop);
    let history = answered(history, third);
    let body = sent::<OpenAiResponses>(&request(history.clone()));
    let all = [program, call.clone(), result, output, message];
    assert_eq!(body["input"].as_array().unwrap()[1..], all);
    let back = OpenAiResponses::history(&body["input"].to_string()).unwrap();
    assert_eq!(back.repairs, []);
    assert_eq!(sent::<OpenAiResponses>(&request(back.history)), body);

    // A call whose program is gone is the model's own.
    let alone = open(History::from("how many?"), replied(&[call])).answer([units()]);
    let input = sent::<OpenAiResponses>(&request(alone))["input"].clone();
    assert_eq!((&input[1]["caller"], &input[2]["caller"]), (&Value::Null, &Value::Null));
    assert!(input[2]["output"].is_array());
}

fn run_of_code() -> Value {
    json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "await stock()"}})
}

fn use_of_tool() -> Value {
    json!({"type": "tool_use", "id": "toolu_1", "name": "stock", "input": {"sku": "a"},
        "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}})
}

#[test]
fn the_results_for_a_program_of_anthropic_stand_alone() {
    let reply = json!({"stop_reason": "tool_use", "container": {"id": "container_1", "expires_at": "2026-11-22T00:00:00Z"},
        "content": [run_of_code(), use_of_tool()]});
    let mut history = open(History::from("how many?"), read::<Anthropic>(&reply)).answer([units()]);
    history.push_user("And quickly.");
    let body = sent::<Anthropic>(&request(history.clone()));
    assert_eq!(body["container"], "container_1");
    let results =
        json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "{\"units\":3}"}]);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1]["content"], json!([run_of_code(), use_of_tool()]));
    assert_eq!(messages[2]["content"], results);

    // What the user said in between follows as soon as it may.
    let ended = json!({"stop_reason": "end_turn", "content": [
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content":
            {"type": "code_execution_result", "stdout": "3", "stderr": "", "return_code": 0, "content": []}},
        {"type": "text", "text": "3 units."}]});
    history = answered(history, read::<Anthropic>(&ended));
    history.push_user("And now?");
    let body = sent::<Anthropic>(&request(history.clone()));
    assert_eq!(body["container"], Value::Null);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[2]["content"], results);
    assert_eq!(messages[3]["content"], ended["content"]);
    let said = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(messages[4]["content"], json!([said("And quickly."), said("And now?")]));
    let option = request(history.clone()).with_option("container", "own");
    assert_eq!(sent::<Anthropic>(&option)["container"], "own");
    // Another service is told of the calls, and of no program.
    assert!(
        !sent::<OpenAiResponses>(&request(history))["input"].to_string().contains("code_execution")
    );
}

#[test]
fn a_container_is_kept_of_a_stream_too() {
    let container = json!({"id": "container_1", "expires_at": "2026-11-22T00:00:00Z"});
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "content": []}}),
        start(0, run_of_code()),
        start(1, use_of_tool()),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "container": container}}),
        json!({"type": "message_stop"}),
    ];
    let mut stream = <Anthropic as Format>::Stream::default();
    for event in events {
        stream.event(&event.to_string(), &mut |_| {}).unwrap();
    }
    let body = json!({"stop_reason": "tool_use", "container": container, "content": [run_of_code(), use_of_tool()]});
    let reply = stream.finish().unwrap().reply;
    assert_eq!(reply, read::<Anthropic>(&body));
    let history = open(History::from("how many?"), reply).answer([]);
    assert_eq!(sent::<Anthropic>(&request(history))["container"], "container_1");
}

#[test]
fn a_call_whose_run_was_cut_off_is_the_models_own() {
    let body = json!({"stop_reason": "max_tokens", "content": [run_of_code(), use_of_tool()]});
    let Replied::CutOff(mut history) = History::from("how many?").reply(read::<Anthropic>(&body))
    else {
        panic!()
    };
    history.push_user("Go on.");
    let messages = sent::<Anthropic>(&request(history))["messages"].clone();
    assert_eq!(messages[1]["content"].as_array().unwrap().len(), 1);
    assert_eq!(messages[1]["content"][0]["caller"], Value::Null);
    assert_eq!(messages[2]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn a_call_is_answered_when_its_result_is_there() {
    let tool = Tool::new("report", "Writes a report").call(|_| "done").answered_later();
    let request =
        |history: History| ModelRequest::new(history).with_tools(&ToolBox::from(tool.clone()));
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "report", "arguments": "{}", "async": true});
    let reply = read::<OpenAiResponses>(&json!({"output": [call]}));
    let mut history = open(History::from("go"), reply).answer([ToolResult::background("at work")]);
    let body = sent::<OpenAiResponses>(&request(history.clone()));
    assert_eq!(body["tools"][0]["async"], true);
    assert_eq!(body["input"].as_array().unwrap()[1..], std::slice::from_ref(&call)[..]);
    let read = OpenAiResponses::history(&body["input"].to_string()).unwrap();
    assert_eq!(read.repairs, []);
    assert!(read.history.steps().next().unwrap().results()[0].is_pending());
    // Another service wants a result for each call.
    let messages = sent::<Anthropic>(&request(history.clone()))["messages"].clone();
    assert_eq!(messages[2]["content"][0]["content"], "at work");

    history = answered(history, Reply::text("Meanwhile."));
    history.push_user("Well?");
    assert!(history.replace_result("c1", "all is well"));
    let result = json!({"type": "function_call_output", "call_id": "c1", "output": "all is well"});
    let input = sent::<OpenAiResponses>(&request(history))["input"].clone();
    assert_eq!(input[2], result);
    // As another program may have sent it: in a later request.
    let later = json!([input[0], input[1], input[3], input[4], input[2]]);
    let read = OpenAiResponses::history(&later.to_string()).unwrap();
    assert_eq!(read.repairs, []);
    // What the model said meanwhile stands before the output: nothing tells the two replies apart.
    let expected = json!([input[0], input[1], input[3], input[2], input[4]]);
    assert_eq!(sent::<OpenAiResponses>(&request(read.history))["input"], expected);
}

/// A tool of one text, with a grammar.
fn patch(grammar: Grammar) -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"],
        "additionalProperties": false});
    let mut definition = ToolDefinition::new("patch", "Applies a patch", schema);
    definition.grammar = Some(grammar);
    definition
}

#[test]
fn a_tool_of_one_text_is_sent_with_its_grammar() {
    let lark = || Grammar::Lark("start: /.+/".to_owned());
    let formats = [
        (Grammar::Text, json!({"type": "text"})),
        (lark(), json!({"type": "grammar", "syntax": "lark", "definition": "start: /.+/"})),
        (
            Grammar::Regex("a+".into()),
            json!({"type": "grammar", "syntax": "regex", "definition": "a+"}),
        ),
    ];
    for (grammar, format) in formats {
        let lowered = lower(&patch(grammar), Dialect::OpenAiResponses);
        let expected = json!({"type": "custom", "name": "patch", "description": "Applies a patch", "format": format});
        assert_eq!((lowered.tool, lowered.strict, lowered.losses), (expected, false, vec![]));
    }
    for dialect in Dialect::ALL.into_iter().filter(|own| *own != Dialect::OpenAiResponses) {
        let lowered = lower(&patch(lark()), dialect);
        assert!(!lowered.tool.to_string().contains("start:"), "{dialect:?}");
        assert_eq!(lowered.losses.len(), usize::from(dialect != Dialect::Mcp), "{dialect:?}");
    }
    // A tool with other arguments keeps its schema.
    let mut two = patch(lark());
    two.input_schema = json!({"type": "object", "properties": {"input": {"type": "string"}, "dry": {"type": "boolean"}},
        "required": ["input"]})
    .into();
    let lowered = lower(&two, Dialect::OpenAiResponses);
    assert_eq!((&lowered.tool["type"], lowered.losses.len()), (&json!("function"), 1));
}

#[test]
fn a_call_with_a_text_reaches_the_tool_and_goes_back_as_it_came() {
    let item = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "patch", "input": "say \"a\"\n"});
    let reply = read::<OpenAiResponses>(&json!({"output": [item]}));
    let call = reply.tool_calls().next().unwrap().clone();
    assert_eq!(call.arguments.as_str(), r#"{"input":"say \"a\"\n"}"#);
    let history = open(History::from("go"), reply).answer([ToolResult::new("done")]);
    let request = |history| {
        let choice = ToolChoice::Tool("patch".to_owned());
        ModelRequest::new(history).with_tools(vec![patch(Grammar::Text)]).with_tool_choice(choice)
    };
    let body = sent::<OpenAiResponses>(&request(history.clone()));
    assert_eq!(body["tool_choice"], json!({"type": "custom", "name": "patch"}));
    let output = json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "done"});
    assert_eq!(body["input"].as_array().unwrap()[1..], [item.clone(), output]);
    let back = OpenAiResponses::history(&body["input"].to_string()).unwrap();
    assert_eq!(back.repairs, []);
    assert_eq!(sent::<OpenAiResponses>(&request(back.history)), body);
    let there = sent::<Anthropic>(&request(history));
    assert_eq!(there["messages"][1]["content"][0]["input"], json!({"input": "say \"a\"\n"}));

    let event = |kind: &str, more: Value| {
        let mut event = json!({"type": kind, "output_index": 0});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let delta = |text: &str| event("response.custom_tool_call_input.delta", json!({"delta": text}));
    let mut begun = item.clone();
    begun["input"] = json!("");
    let start = event("response.output_item.added", json!({"item": begun}));
    let done = event("response.output_item.done", json!({"item": item}));
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [item]}});
    let with_deltas =
        vec![start.clone(), delta("say \"a"), delta("\"\n"), done.clone(), end.clone()];
    for events in [with_deltas, vec![start, done, end]] {
        let mut stream = <OpenAiResponses as Format>::Stream::default();
        let mut heard = String::new();
        for event in events {
            let mut take = |delta| match delta {
                Delta::Arguments { index: 0, text } => heard.push_str(&text),
                Delta::Call { index: 0, id, name } => assert_eq!((&*id, &*name), ("c1", "patch")),
                other => panic!("{other:?}"),
            };
            stream.event(&event.to_string(), &mut take).unwrap();
        }
        assert_eq!(heard, call.arguments.as_str());
        assert_eq!(stream.finish().unwrap().reply.tool_calls().next(), Some(&call));
    }
}
