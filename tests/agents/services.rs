//! Agents over a service, built from its key.

use toolbox::agent::{Agent, AgentBuilder, BuildAgentError};
use toolbox::testing::ScriptedModel;

use support::says;

#[test]
fn a_service_a_key_and_a_model_are_an_agent() {
    fn chain(
        service: impl Fn(AgentBuilder) -> AgentBuilder,
        model: &str,
    ) -> Result<Agent, BuildAgentError> {
        service(AgentBuilder::new("Count")).model(model).add_tool(says("one", "1")).build()
    }
    type Service = fn(AgentBuilder) -> AgentBuilder;
    let services: [(&str, Service); 3] = [
        ("openai", |builder| builder.openai("key")),
        ("anthropic", |builder| builder.anthropic("key")),
        ("gemini", |builder| builder.gemini("key")),
    ];
    for (name, service) in services {
        let agent = chain(service, "model-of-mine").unwrap();
        let shown = format!("{agent:?}");
        // The model is the one that was named, the tools those that were added, and the key is
        // nobody's to read.
        assert!(shown.contains("model-of-mine") && shown.contains("one"), "{name}: {shown}");
        assert!(!shown.contains("key"), "{name}: {shown}");
        // In the other order too.
        let agent = service(AgentBuilder::new("Count").model("another-model")).build().unwrap();
        assert!(format!("{agent:?}").contains("another-model"), "{name}");
    }
    // A name is no model, and a model that is handed in keeps its own.
    let error =
        AgentBuilder::new("Count").model("gpt").add_tool(says("one", "1")).build().unwrap_err();
    assert_eq!(error, BuildAgentError::NoModel);
    let agent = AgentBuilder::new("Count").llm(ScriptedModel::answering("done")).build().unwrap();
    assert!(!format!("{agent:?}").contains("gpt"));
}
