//! How do I write the loop myself, over my own HTTP client?
//!
//! `wire` writes the body of a request and reads the bytes of the reply, and `ToolBox` makes the calls. In between stands
//! whatever sends bytes: here a recording of two streamed replies, in pieces as a socket gives them.

#![allow(clippy::print_stdout, reason = "an example prints")]

use toolbox::model::{Delta, History, ModelRequest, ModelResponse, Replied};
use toolbox::wire::{Events, Format, OpenAiChat, ResponseStream, WireError};
use toolbox::{ToolBox, tool, tools};

/// Returns the weather of a city.
#[tool]
fn weather(city: &str) -> String {
    format!("sunny in {city}, 21 °C")
}

/// The recorded replies.
const REPLIES: [&str; 2] = [
    concat!(
        ": connected\r\n\r\n",
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Let me "}}]}"#,
        "\r\n\r\n",
        r#"data: {"choices":[{"index":0,"delta":{"content":"look.","tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}}]}"#,
        "\r\n\r\n",
        r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Malmö\"}"}}]},"finish_reason":"tool_calls"}]}"#,
        "\r\n\r\ndata: [DONE]\r\n\r\n",
    ),
    concat!(
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Leave the umbrella "}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"index":0,"delta":{"content":"at home."},"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n",
    ),
];

/// Sends a request and hands out the bytes of the reply as they come. Put your HTTP client here.
fn send(body: &str, number: usize) -> impl Iterator<Item = &'static [u8]> {
    println!("> request {number}: {} bytes", body.len());
    REPLIES.get(number).map_or("", |reply| reply).as_bytes().chunks(100)
}

/// Reads a streamed reply, printing its words as they come.
fn read<F: Format>(
    chunks: impl Iterator<Item = &'static [u8]>,
) -> Result<ModelResponse, WireError> {
    let mut events = Events::new();
    let mut stream = F::Stream::default();
    let mut print = |delta: Delta| {
        if let Delta::Text(text) = delta {
            println!("< {text}");
        }
    };
    for chunk in chunks {
        for data in events.push(chunk)? {
            stream.event(&data, &mut print)?;
        }
    }
    if let Some(data) = events.finish()? {
        stream.event(&data, &mut print)?;
    }
    stream.finish()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let toolbox = ToolBox::from(tools![weather]);
    let mut history = History::from("Do I need an umbrella in Malmö?");
    for number in 0..10 {
        // The tools cost a reference count a request: the list is lowered and serialized once.
        let request = ModelRequest::new(history).with_tools(toolbox.definitions());
        let body = OpenAiChat::body(&request, "gpt-4.1", true);
        let response = read::<OpenAiChat>(send(&body, number))?;
        history = match request.history.reply(response.reply) {
            Replied::Calls(open) => {
                let results = toolbox.call_all(open.calls().cloned()).await;
                for result in &results {
                    println!("= {}", result.text());
                }
                open.answer(results)
            }
            Replied::Answer(history) | Replied::CutOff(history) => {
                println!("{} messages, {} steps", history.len(), history.steps().count());
                return Ok(());
            }
            _ => return Err("a reply of a kind that is new".into()),
        };
    }
    Err("the model makes calls without end".into())
}
