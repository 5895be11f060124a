//! Which tool does what I want? Searches lists of tools from the command line.
//!
//! ```sh
//! cargo run -p toolbox-examples --example search                                              # a few questions to a small sample
//! cargo run -p toolbox-examples --example search -- TOOLS.json... -- what time is it in Oslo  # lists as MCP servers give them, or JSON lines
//! cargo run -p toolbox-examples --example search -- TOOLS.json... -- --regex '^get_.*time'
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;

use serde_json::Value;
use toolbox::ToolDefinition;
use toolbox::search::{Catalog, Hit};

const SAMPLE: &str = include_str!("data/retrieval/tools.jsonl");

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let catalog = Catalog::new();
    if arguments.is_empty() {
        add(&catalog, "sample", SAMPLE)?;
        for question in
            ["book a table for tonight", "how warm is it in Oslo", "translate this sentence"]
        {
            println!("\n{question}");
            show(&catalog.search(question).limit(3).hits());
        }
        return Ok(());
    }
    let split = arguments.iter().position(|argument| argument == "--");
    let (files, query) =
        arguments.split_at(split.ok_or("put `--` between the files and the question")?);
    for file in files {
        let name = Path::new(file)
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        add(&catalog, &name, &std::fs::read_to_string(file)?)?;
    }
    println!("{} tools", catalog.len());
    match query {
        [_, flag, pattern] if flag == "--regex" => show(&catalog.search_pattern(pattern)?.hits()),
        [_, words @ ..] => show(&catalog.search(&words.join(" ")).hits()),
        [] => {}
    }
    Ok(())
}

/// Adds the tools of a document: one with a list of `tools`, or a line for each.
fn add(catalog: &Catalog, server: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let whole: Result<Value, _> = serde_json::from_str(text);
    let tools: Vec<Value> = match whole {
        Ok(document) => document["tools"].as_array().cloned().unwrap_or_default(),
        Err(_) => text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?,
    };
    let definition = |tool: &Value| {
        let schema = [&tool["inputSchema"], &tool["input_schema"]]
            .into_iter()
            .find(|schema| schema.is_object());
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        ToolDefinition::new(text("name"), text("description"), schema.cloned().unwrap_or_default())
    };
    catalog.extend_from(server, tools.iter().map(definition));
    Ok(())
}

fn show(hits: &[Hit]) {
    for hit in hits {
        let line = hit.definition.description.lines().next().unwrap_or_default();
        let about: String = line.chars().take(80).collect();
        println!("{:>2}. {:<32} {about}", hit.rank, hit.definition.name);
    }
}
