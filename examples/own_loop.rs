//! How do I write the loop myself, over my own HTTP client?
//!
//! `wire` writes the body of a request and reads the bytes of the reply, and `ToolBox` makes the
//! calls. What sends bytes is yours: here a POST over a socket, to a server on this machine that
//! plays recorded replies of two services, whole and streamed.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolbox::model::{Delta, History, ModelRequest, ModelResponse, Replied};
use toolbox::wire::{Anthropic, Events, Format, OpenAiResponses, ResponseStream};
use toolbox::{ToolBox, tool, tools};

type Failure = Box<dyn Error + Send + Sync>;

/// Returns the weather of a city.
#[tool(read_only)]
fn weather(city: &str) -> String {
    format!("sunny in {city}, 21 °C")
}

/// A service and what is asked of it.
struct Service {
    address: SocketAddr,
    path: &'static str,
    model: &'static str,
    stream: bool,
}

impl Service {
    /// Asks until the model gives an answer; whatever it calls on the way is called.
    async fn converse<F: Format>(
        &self,
        toolbox: &ToolBox,
        question: &str,
    ) -> Result<String, Failure> {
        let mut history = History::from(question);
        for _ in 0..10 {
            // The tools cost a reference count a request: the list is lowered and serialized once.
            let request =
                ModelRequest::new(history).with_tools(toolbox).with_option("max_tokens", 1_000);
            let response = self.ask::<F>(&request).await?;
            history = match request.history.reply(response.reply) {
                Replied::Calls(open) => {
                    let results = toolbox.call_all(open.calls()).await;
                    for result in &results {
                        println!("  = {}", result.text());
                    }
                    open.answer(results)
                }
                Replied::Answer(history) => {
                    let answer = history.last_reply().ok_or("no reply")?;
                    return Ok(answer.content().into_owned());
                }
                Replied::CutOff(_) => return Err("the answer was cut off".into()),
                _ => return Err("a reply of a kind that is new".into()),
            };
        }
        Err("the model makes calls without end".into())
    }

    /// Sends one request and reads the reply, whole or as it comes.
    async fn ask<F: Format>(&self, request: &ModelRequest) -> Result<ModelResponse, Failure> {
        let body = F::body(request, self.model, self.stream);
        println!("  > {} bytes to {}", body.len(), self.path);
        let mut reply = post(self.address, self.path, &body).await?;
        if !self.stream {
            let mut body = String::new();
            reply.read_to_string(&mut body).await?;
            return Ok(F::response(&body)?);
        }
        let mut events = Events::new();
        let mut stream = F::Stream::default();
        let mut print = |delta: Delta| {
            if let Delta::Text(text) = delta {
                println!("  < {text}");
            }
        };
        let mut buffer = [0; 100];
        while !stream.is_done() {
            let count = reply.read(&mut buffer).await?;
            if count == 0 {
                break;
            }
            for data in events.push(&buffer[..count])? {
                stream.event(&data, &mut print)?;
            }
        }
        if let Some(data) = events.finish()? {
            stream.event(&data, &mut print)?;
        }
        Ok(stream.finish()?)
    }
}

/// Sends a body; returns the connection where the body of the reply begins. Put your HTTP client
/// here.
async fn post(address: SocketAddr, path: &str, body: &str) -> Result<TcpStream, Failure> {
    let mut connection = TcpStream::connect(address).await?;
    let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body.as_bytes()).await?;
    let head = head_of(&mut connection).await?;
    if head.starts_with("HTTP/1.0 200 ") { Ok(connection) } else { Err(head.into()) }
}

async fn head_of(connection: &mut TcpStream) -> Result<String, Failure> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < 8_192 {
        head.push(connection.read_u8().await?);
    }
    Ok(String::from_utf8(head)?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            if let Err(error) = replay(connection).await {
                println!("the server: {error}");
            }
        }
    });

    let toolbox = ToolBox::from(tools![weather]);
    let question = "Do I need an umbrella in Malmö?";
    for stream in [false, true] {
        println!("{}", if stream { "streamed" } else { "whole" });
        let openai = Service { address, path: "/v1/responses", model: "gpt-4.1", stream };
        let anthropic =
            Service { address, path: "/v1/messages", model: "claude-sonnet-4-5", stream };
        let first = openai.converse::<OpenAiResponses>(&toolbox, question).await?;
        let second = anthropic.converse::<Anthropic>(&toolbox, question).await?;
        assert_eq!([first.as_str(), &second], ["Leave it at home."; 2]);
    }
    Ok(())
}

/// Plays the service: the recorded reply to the first request, or to one that brings the result of
/// the call.
async fn replay(mut connection: TcpStream) -> Result<(), Failure> {
    let head = head_of(&mut connection).await?;
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("Content-Length: ")).ok_or("no length")?;
    let mut body = vec![0; length.parse()?];
    connection.read_exact(&mut body).await?;
    let request: Value = serde_json::from_slice(&body)?;
    let messages = request.get("input").or(request.get("messages")).ok_or("no messages")?;
    let replies = if head.contains("/v1/responses") { &OPENAI } else { &ANTHROPIC };
    let [call, answer] = if request["stream"] == true { &replies[1] } else { &replies[0] };
    let reply = if messages.to_string().contains("sunny in Malmö") { answer } else { call };
    connection.write_all(b"HTTP/1.0 200 OK\r\n\r\n").await?;
    connection.write_all(reply.as_bytes()).await?;
    Ok(())
}

/// The recorded replies, a call and an answer: whole, then streamed.
const OPENAI: [[&str; 2]; 2] = [
    [
        r#"{"id":"resp_1","object":"response","status":"completed","model":"gpt-4.1","output":[{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Malmö\"}"}],"usage":{"input_tokens":50,"output_tokens":16,"total_tokens":66}}"#,
        r#"{"id":"resp_2","object":"response","status":"completed","model":"gpt-4.1","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Leave it at home.","annotations":[]}]}],"usage":{"input_tokens":80,"output_tokens":6,"total_tokens":86}}"#,
    ],
    [
        r#"event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_a","name":"weather","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"city\":\"Malmö\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Malmö\"}"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-4.1","output":[{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Malmö\"}"}],"usage":{"input_tokens":50,"output_tokens":16,"total_tokens":66}}}

"#,
        r#"event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Leave it "}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"at home."}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_2","object":"response","status":"completed","model":"gpt-4.1","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Leave it at home.","annotations":[]}]}],"usage":{"input_tokens":80,"output_tokens":6,"total_tokens":86}}}

"#,
    ],
];

const ANTHROPIC: [[&str; 2]; 2] = [
    [
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Malmö"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":50,"output_tokens":30}}"#,
        r#"{"id":"msg_2","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Leave it at home."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":90,"output_tokens":7}}"#,
    ],
    [
        r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":50,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Malmö\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":30}}

event: message_stop
data: {"type":"message_stop"}

"#,
        r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":90,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Leave it "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"at home."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

"#,
    ],
];
