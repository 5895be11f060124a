//! The whole way, without a key and without a network: functions become tools, their definitions go to a provider, and
//! the calls of a recorded model response are dispatched, good and broken ones alike.
//!
//! `cargo run -p toolbox-basics --example quickstart`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbox::dialect::Dialect;
use toolbox::{State, ToolBox, ToolCall, tool, tools};

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct City {
    name: String,
    country: String,
    population: u32,
    latitude: f64,
    longitude: f64,
    timezone: String,
}

/// What the tools work on: the program loads it, the model never sees it.
struct Atlas(Vec<City>);

impl Atlas {
    fn city(&self, name: &str) -> Result<&City, UnknownCity> {
        let named = |city: &&City| city.name.eq_ignore_ascii_case(name);
        self.0.iter().find(named).ok_or_else(|| UnknownCity(name.to_owned()))
    }
}

#[derive(Debug)]
struct UnknownCity(String);

impl fmt::Display for UnknownCity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "city not found: {}", self.0)
    }
}

#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Kilometers,
    Miles,
}

/// Looks a city up: country, population, coordinates, time zone.
#[tool(read_only)]
fn find_city(
    /// The city's English name
    name: &str,
    atlas: State<Atlas>,
) -> Result<City, UnknownCity> {
    atlas.city(name).cloned()
}

/// Lists the largest cities, of one country or of the world.
#[tool(read_only, example(country = Some("France"), limit = 2))]
fn largest_cities(
    /// The country's English name; the world if left out
    country: Option<&str>,
    /// How many cities to list
    #[arg(default = 5, range = 1..=20)]
    limit: usize,
    atlas: State<Atlas>,
) -> Vec<String> {
    let wanted = |city: &&City| country.is_none_or(|country| city.country == country);
    let mut cities: Vec<&City> = atlas.0.iter().filter(wanted).collect();
    cities.sort_by_key(|city| std::cmp::Reverse(city.population));
    cities.iter().take(limit).map(|city| format!("{} ({})", city.name, city.population)).collect()
}

/// Measures the great-circle distance between two cities.
#[tool(read_only)]
fn distance_between(
    /// Where to start
    from: &str,
    /// Where to end
    to: &str,
    /// The unit of the answer
    #[arg(default)]
    unit: Unit,
    atlas: State<Atlas>,
) -> Result<String, UnknownCity> {
    let (a, b) = (atlas.city(from)?, atlas.city(to)?);
    let (lat_a, lat_b) = (a.latitude.to_radians(), b.latitude.to_radians());
    let half = |angle: f64| (angle / 2.0).sin().powi(2);
    let h = half(lat_b - lat_a)
        + lat_a.cos() * lat_b.cos() * half((b.longitude - a.longitude).to_radians());
    let kilometers = 2.0 * 6371.0 * h.sqrt().asin();
    Ok(match unit {
        Unit::Kilometers => format!("{kilometers:.0} km"),
        Unit::Miles => format!("{:.0} miles", kilometers / 1.609_344),
    })
}

/// Searches this project's README, and returns the lines that hold all words.
#[tool(read_only)]
fn search_readme(
    /// Words to look for
    #[arg(length = 2..=80)]
    words: &str,
) -> Vec<&'static str> {
    let holds = |line: &&str| {
        let line = line.to_lowercase();
        words.to_lowercase().split_whitespace().all(|word| line.contains(word))
    };
    include_str!("../../README.md").lines().filter(holds).take(5).collect()
}

/// The part of a chat completion that holds the calls.
#[derive(Deserialize)]
struct Response {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    tool_calls: Vec<ToolCall>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let atlas = Atlas(serde_json::from_str(include_str!("data/cities.json"))?);
    let toolbox = ToolBox::builder()
        .tools(tools![find_city, largest_cities, distance_between, search_readme])
        .state(atlas)
        .build()?;

    println!("What goes to the provider with the request:\n");
    let list = toolbox.definitions_for(Dialect::OpenAiChat);
    println!("{}\n", serde_json::to_string_pretty(&list.to_value())?);

    println!(
        "What a model answered (examples/basics/data/response.json), and what each call came to:\n"
    );
    let response: Response = serde_json::from_str(include_str!("data/response.json"))?;
    for choice in response.choices {
        let calls = choice.message.tool_calls;
        let results = toolbox.call_all(calls.clone()).await;
        for (call, result) in calls.iter().zip(&results) {
            println!("{} {}({})", call.id, call.name, call.arguments);
            let mark = result.code().unwrap_or("ok");
            println!("  {mark}: {}", result.text().replace('\n', "\n  "));
            for repair in result.repairs() {
                println!("  repaired: {repair}");
            }
        }
    }
    Ok(())
}
