//! Agents whose builder was given a service by its key: the requests that they really send.

use crate::bounded::tokio;
use toolbox::agent::AgentBuilder;
use toolbox::provider::{Anthropic, Gemini, OpenAi};

use super::server::{Server, json};
use super::{KEY, add, mul};

type Service = fn(AgentBuilder, &str) -> AgentBuilder;

#[tokio::test]
async fn the_builder_of_an_agent_asks_the_service_and_model_it_was_given() {
    let anthropic = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;
    let gemini = r#"{"status":"completed","steps":[{"type":"model_output","content":[{"type":"text","text":"hi"}]}]}"#;
    let openai =
        r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    // A service, the path and the name of the model in a request, and the header of the key.
    let services: [(Service, &str, &str, &str, &str); 3] = [
        (
            |agent, key| agent.openai(key),
            openai,
            OpenAi::DEFAULT_MODEL,
            "authorization",
            "/chat/completions",
        ),
        (
            |agent, key| agent.anthropic(key),
            anthropic,
            Anthropic::DEFAULT_MODEL,
            "x-api-key",
            "/v1/messages",
        ),
        (
            |agent, key| agent.gemini(key),
            gemini,
            Gemini::DEFAULT_MODEL,
            "x-goog-api-key",
            "/v1beta/interactions",
        ),
    ];
    for (service, reply, usual, header, path) in services {
        for named in [None, Some("a-model-of-ones-own")] {
            let server = Server::start([json(200, "", reply)]).await;
            // The name and the address count wherever they stand in the chain.
            let agent = AgentBuilder::new("Say hi").base_url(&server.url);
            let agent = match named {
                Some(name) => service(agent.model(name), KEY),
                None => service(agent, KEY),
            };
            let agent = agent.add_tool(add::tool()).add_tool(mul::tool()).build().unwrap();
            assert_eq!(agent.run_task().await.unwrap().content, "hi");
            let seen = server.seen();
            let [request] = &seen[..] else { panic!("{} requests", seen.len()) };
            let model = named.unwrap_or(usual);
            assert_eq!(request.target, path);
            assert_eq!(request.body["model"], model);
            assert!(request.header(header).unwrap().ends_with(KEY), "{header}");
            let body = request.body.to_string();
            assert!(
                body.contains("Say hi") && body.contains("\"add\"") && body.contains("\"mul\""),
                "{body}"
            );
        }
    }
}

#[tokio::test]
async fn the_subagent_of_the_specification_builds_without_the_name_of_a_model() {
    let call = r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"math_specialist","arguments":"{\"task\":\"1 + 1\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let answer = |text: &str| {
        format!(
            r#"{{"choices":[{{"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}]}}"#
        )
    };
    let server = Server::start([
        json(200, "", call),
        json(200, "", &answer("2")),
        json(200, "", &answer("It is 2.")),
    ])
    .await;
    let calculator_agent = AgentBuilder::new("math")
        .openai(KEY)
        .base_url(&server.url)
        .add_tool(add::tool())
        .as_tool("math_specialist", "A specialist for complex mathematical proofs.");
    let agent = AgentBuilder::new("Prove the Riemann Hypothesis")
        .openai(KEY)
        .base_url(&server.url)
        .add_subagent(calculator_agent)
        .build()
        .unwrap();
    assert_eq!(agent.run_task().await.unwrap().content, "It is 2.");
    let seen = server.seen();
    let models: Vec<&str> = seen.iter().filter_map(|seen| seen.body["model"].as_str()).collect();
    assert_eq!(models, [OpenAi::DEFAULT_MODEL; 3]);
    assert_eq!(seen[1].body["tools"][0]["function"]["name"], "add");
}
