//! How does a tool get at my database, and at who is asking?
//!
//! `State<T>` is a value of the program, found by its type: one of the call goes before one of the box. A box that
//! lacks a state says so when it is built.
//!
//! `cargo run -p toolbox-basics --example state`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::collections::HashMap;

use toolbox::context::Conversation;
use toolbox::{State, ToolBox, ToolCall, ToolContext, tool, tools};

/// The program's: one for all calls.
struct Orders(HashMap<&'static str, Vec<&'static str>>);

/// Who is asking: another for each call.
#[derive(Debug)]
struct User(&'static str);

/// Lists the orders of whoever is asking.
#[tool(read_only)]
fn my_orders(orders: State<Orders>, user: State<User>, context: &ToolContext) -> String {
    let place = context.get::<Conversation>().map_or("nowhere", |place| &place.channel);
    let orders = orders.0.get(user.0).cloned().unwrap_or_default();
    format!("{} asks on {place} and has {} orders: {}", user.0, orders.len(), orders.join(", "))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = HashMap::from([("ada", vec!["a loom", "punch cards"]), ("alan", vec!["a tape"])]);

    // The user comes with each call. Of what else is missing, the builder speaks before the first call does.
    let error = ToolBox::builder().tools(tools![my_orders]).call_state::<User>().build();
    println!("{}\n", error.map_or_else(|error| error.to_string(), |_| "nothing is missing".into()));

    let toolbox = ToolBox::builder()
        .tools(tools![my_orders])
        .state(Orders(orders))
        .call_state::<User>()
        .build()?;
    for user in ["ada", "alan"] {
        let context = ToolContext::new().with(User(user)).with(Conversation::new("telegram", user));
        let result = toolbox.call_in(&context, ToolCall::new("1", "my_orders", "{}")).await;
        println!("{}", result.text());
    }
    Ok(())
}
