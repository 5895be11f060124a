//! The tools that are measured, as a program without any framework would write them, and the calls made of them.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

/// How many tools are registered beside each other.
pub const TOOLS: usize = 100;

/// The arguments of `add`.
#[derive(Deserialize, JsonSchema)]
pub struct Add {
    /// The first number
    pub a: i64,
    /// The second number
    pub b: i64,
}

/// The arguments of `order`: about 1 KB as text.
#[derive(Deserialize, JsonSchema)]
pub struct Order {
    /// Who orders
    pub customer: Customer,
    /// What is ordered
    pub items: Vec<Item>,
    /// How it is paid for
    pub payment: Payment,
    /// A word to the packers
    pub note: Option<String>,
    /// Whether it must arrive tomorrow
    pub express: bool,
}

#[derive(Deserialize, JsonSchema)]
pub struct Customer {
    pub name: String,
    pub email: Option<String>,
    pub address: Address,
    pub tier: Tier,
}

#[derive(Deserialize, JsonSchema)]
pub struct Address {
    pub street: String,
    pub city: String,
    pub zip: String,
    pub country: Option<String>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Standard,
    Gold,
    Platinum,
}

#[derive(Deserialize, JsonSchema)]
pub struct Item {
    pub sku: String,
    pub quantity: u32,
    pub unit_price: f64,
    pub options: Vec<Choice>,
    pub gift: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Plain,
    Colour(String),
    Size { width: u32, height: u32 },
    Engraving { text: String, font: Option<String> },
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Payment {
    Cash,
    Card { last4: String, expires: String },
    Invoice { days: u32, reference: Option<String> },
}

/// The arguments of `write`.
#[derive(Deserialize, JsonSchema)]
pub struct Write {
    /// The file to write
    pub path: String,
    /// What to put there
    pub text: String,
}

/// The arguments of `write_str`, borrowed from the call.
#[derive(Deserialize)]
pub struct WriteStr<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

/// The arguments of `read`.
#[derive(Deserialize, JsonSchema)]
pub struct Read {
    /// The file to read
    pub path: String,
}

pub fn add(a: i64, b: i64) -> i64 {
    a + b
}

pub fn order(
    customer: &Customer,
    items: &[Item],
    payment: &Payment,
    note: Option<&str>,
    express: bool,
) -> u32 {
    let quantity: u32 = items.iter().map(|item| item.quantity).sum();
    let options: usize = items.iter().map(|item| item.options.len()).sum();
    let paid = !matches!(payment, Payment::Invoice { .. });
    quantity
        + u32::try_from(options).unwrap_or(0)
        + u32::from(customer.tier == Tier::Gold)
        + u32::from(express)
        + u32::from(paid)
        + u32::from(note.is_some())
}

pub fn write(path: &str, text: &str) -> usize {
    path.len() + text.len()
}

/// Reads a file that the system has in memory: its bytes are copied out and checked to be text.
pub fn read(path: &str) -> String {
    assert!(!path.is_empty(), "a path");
    String::from_utf8(FILE.as_bytes().to_vec()).expect("the file is text")
}

/// The bare way: what a call costs when nothing is between the text and the function.
pub mod limit {
    use super::{Add, Order, Read, Write, WriteStr};

    pub fn add(arguments: &str) -> String {
        let Add { a, b } = serde_json::from_str(arguments).expect("fits");
        super::add(a, b).to_string()
    }

    pub fn order(arguments: &str) -> String {
        let order: Order = serde_json::from_str(arguments).expect("fits");
        let Order { customer, items, payment, note, express } = order;
        super::order(&customer, &items, &payment, note.as_deref(), express).to_string()
    }

    pub fn write(arguments: &str) -> String {
        let Write { path, text } = serde_json::from_str(arguments).expect("fits");
        super::write(&path, &text).to_string()
    }

    pub fn write_str(arguments: &str) -> String {
        let WriteStr { path, text } = serde_json::from_str(arguments).expect("fits");
        super::write(path, text).to_string()
    }

    pub fn read(arguments: &str) -> String {
        let Read { path } = serde_json::from_str(arguments).expect("fits");
        super::read(&path)
    }
}

pub const ADD: &str = r#"{"a":1234,"b":-56}"#;
pub const SUM: &str = "1178";

/// 1 KB, compact, as models write it.
pub const ORDER: &str = concat!(
    r#"{"customer":{"name":"Ada Lovelace","email":"ada@example.org","address":{"street":"12 St James's Square","#,
    r#""city":"London","zip":"SW1Y 4JH","country":"United Kingdom"},"tier":"gold"},"items":["#,
    r#"{"sku":"ENG-0001-BRASS","quantity":2,"unit_price":149.95,"options":[{"colour":"polished brass"},"#,
    r#"{"engraving":{"text":"To the first programmer","font":"Garamond"}}],"gift":true},"#,
    r#"{"sku":"CRD-0417-PUNCH","quantity":120,"unit_price":0.35,"options":["plain",{"size":{"width":187,"height":83}}],"gift":null},"#,
    r#"{"sku":"BOK-1843-NOTES","quantity":1,"unit_price":72.5,"options":[{"engraving":{"text":"Notes A to G","font":null}},"#,
    r#"{"colour":"dark green"}]},"#,
    r#"{"sku":"PEN-0009-STEEL","quantity":6,"unit_price":4.2,"options":[],"gift":false}],"#,
    r#""payment":{"card":{"last4":"4242","expires":"2029-08"}},"#,
    r#""note":"Please ring twice; the porter is hard of hearing. Leave nothing at the door, it rains most days. "#,
    r#"Should the brass be sold out, send the rest and write to us before you replace it by copper.","express":true}"#,
);
pub const ORDER_RESULT: &str = "139";

/// 100 KB of source text, with line ends and quotes as files have them.
pub static FILE: LazyLock<String> = LazyLock::new(|| {
    const LINES: &str = concat!(
        "/// Returns the entry of `name`, or says that there is none.\n",
        "fn entry(&self, name: &str) -> Result<&Entry, Error> {\n",
        "    let Some(entry) = self.entries.get(name) else {\n",
        "        return Err(Error::new(format!(\"no entry {name:?} in \\\"{}\\\"\", self.path)));\n",
        "    };\n",
        "\tif entry.is_stale() {\n",
        "        log::warn!(target: \"cache\", \"the entry is older than a day\");\n",
        "    }\n",
        "    Ok(entry)\n",
        "}\n\n",
    );
    LINES.chars().cycle().take(100_000).collect()
});

/// 100 KB of text that needs no escape in JSON.
pub static PLAIN: LazyLock<String> = LazyLock::new(|| {
    const WORDS: &str =
        "The quick brown fox jumps over the lazy dog, 1234567890 times; nobody counts but us. ";
    WORDS.chars().cycle().take(100_000).collect()
});

pub static WRITE: LazyLock<String> = LazyLock::new(|| write_call(&FILE));
pub static WRITE_PLAIN: LazyLock<String> = LazyLock::new(|| write_call(&PLAIN));
pub const WRITTEN: &str = "100011";
pub const READ: &str = r#"{"path":"src/main.rs"}"#;

fn write_call(text: &str) -> String {
    serde_json::json!({"path": "src/main.rs", "text": text}).to_string()
}
