//! Tools that scripts call, and models do not, and the other way round.

use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::definition::Callers;
use toolbox::model::ModelRequest;
use toolbox::search::Gateway;
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext};
use toolbox_script::{CalledByScript, for_scripts_alone};

use crate::bounded::tokio;

/// Answers with what is known of its caller.
#[toolbox::tool]
fn by(context: &ToolContext) -> bool {
    context.state::<CalledByScript>().is_some()
}

fn of(name: &str, callers: Callers) -> Tool {
    Tool::new(name, "Has callers.").call(|_| "called").with_callers(callers)
}

/// The box: a tool for each of the callers, one for scripts alone, and an agent that calls that.
fn toolbox(for_programs: bool) -> ToolBox {
    let alone = for_scripts_alone(Tool::new("alone", "For scripts.").call(|_| "called"));
    let toolbox = ToolBox::from_iter([
        of("model", Callers::Model),
        of("programs", Callers::Programs),
        of("both", Callers::Both),
        alone,
        by::tool().with_callers(Callers::Both),
    ]);
    let of_last = |request: &ModelRequest| {
        let step = request.history.steps().last().unwrap();
        Ok(step.results()[0].code().unwrap_or("called").to_owned().into())
    };
    let below = ScriptedModel::new().calls("alone", json!({})).respond(of_last);
    let below = Agent::builder(below).toolbox(toolbox.clone()).build().unwrap();
    toolbox.register(below.as_tool("helper", "Helps.").with_callers(Callers::Both));
    toolbox.register(Gateway::over(&toolbox));
    let scripts = crate::over(&toolbox);
    toolbox.register(if for_programs { scripts.for_programs() } else { scripts });
    toolbox
}

/// Makes a call by an agent, and returns its result with the tools that its model was sent.
async fn called(toolbox: &ToolBox, name: &str, arguments: Value) -> (String, Vec<String>) {
    let model = ScriptedModel::new().calls(name, arguments).text("done");
    let agent = Agent::builder(model.clone()).toolbox(toolbox.clone()).build().unwrap();
    let outcome = agent.run("go").await.unwrap();
    let result = &outcome.history.steps().next().unwrap().results()[0];
    let sent = model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    (result.code().map_or_else(|| result.text().into_owned(), str::to_owned), sent)
}

const NOT_FOUND: &str = "tool.not_found";

/// Each tool with what becomes of its call by a model, by a script, and by a script that calls the
/// tools of programs.
#[tokio::test]
async fn a_tool_is_called_by_its_callers() {
    for (tool, by_model, by_script, by_program) in [
        ("model", "called", "called", NOT_FOUND),
        ("programs", "called", "called", "called"),
        ("both", "called", "called", "called"),
        ("alone", NOT_FOUND, "called", "called"),
        ("by", "false", "true", "true"),
    ] {
        let (result, sent) = called(&toolbox(false), tool, json!({})).await;
        assert_eq!(
            (&*result, sent.contains(&tool.to_owned())),
            (by_model, tool != "alone"),
            "{tool}"
        );
        let through = json!({"name": tool, "arguments": {}});
        let (result, _) = called(&toolbox(false), "toolbox_execute", through).await;
        assert_eq!(
            result.contains("not found") || result == NOT_FOUND,
            tool == "alone",
            "{tool}: {result}"
        );
        let direct = toolbox(false).call(ToolCall::new("1", tool, "{}")).await;
        assert_eq!(direct.is_error(), tool == "alone", "{tool}");
        for (for_programs, expected) in [(false, by_script), (true, by_program)] {
            let script = format!(
                "let end; try {{ end = String(await tools.{tool}()) }} catch (e) {{ end = e.code }}
                return [end, (await tools.types('*')).includes(' {tool}(input')].join()"
            );
            let toolbox = toolbox(for_programs);
            let (result, _) = called(&toolbox, "run_script", json!({ "script": script })).await;
            let is_declared = expected != NOT_FOUND;
            assert_eq!(result, format!("{expected},{is_declared}"), "{tool} {for_programs}");
        }
    }
}

/// An agent that a script calls is not the script.
#[tokio::test]
async fn an_agent_in_a_script_is_no_script() {
    let script = json!({"script": "return await tools.helper({task: 'go'})"});
    let (result, _) = called(&toolbox(false), "run_script", script).await;
    assert_eq!(result, NOT_FOUND);
}
