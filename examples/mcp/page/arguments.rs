//! Tools with every kind of argument. Each returns what it was given.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbox::{Tool, tool, tools};

/// A place on Earth.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Place {
    /// Degrees north
    #[schemars(range(min = -90, max = 90))]
    pub(crate) latitude: f64,
    /// Degrees east
    #[schemars(range(min = -180, max = 180))]
    pub(crate) longitude: f64,
    /// The name people know it by
    pub(crate) name: Option<String>,
}

/// One line of an order.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Item {
    /// The article
    pub(crate) article: String,
    /// Pieces
    #[schemars(range(min = 1, max = 100))]
    pub(crate) count: u32,
    /// Price in cents
    pub(crate) price: Option<u64>,
}

/// A way to pay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Payment {
    /// A bank transfer
    Transfer {
        /// The account, such as DE02120300000000202051
        iban: String,
    },
    /// A card
    Card {
        /// The last four digits
        digits: u16,
    },
    /// On delivery
    Cash,
}

/// The urgency of a thing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Urgency {
    /// Some day
    Low,
    /// This week
    Normal,
    /// Now
    High,
}

/// A folder with folders in it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Folder {
    /// The name of the folder
    pub(crate) name: String,
    /// The folders in it
    #[serde(default)]
    pub(crate) folders: Vec<Folder>,
}

/// Returns the text it is given.
#[tool(read_only, tags("plain"))]
fn echo(
    /// Any text
    text: &str,
) -> String {
    text.to_owned()
}

/// Adds two numbers.
#[tool(read_only, idempotent, tags("plain"), example(a = 2, b = 3))]
fn add(
    /// The first
    a: i64,
    /// The second
    b: i64,
) -> i64 {
    a + b
}

/// Returns numbers of every kind as they came.
#[tool(read_only, tags("plain"))]
fn numbers(
    /// A whole number
    whole: i32,
    /// A large whole number, such as 18446744073709551615
    large: u64,
    /// Any number
    #[arg(default = 0.5)]
    any: f64,
    /// From 1 to 10
    #[arg(default = 5, range = 1..=10)]
    small: u8,
) -> Value {
    json!({"whole": whole, "large": large, "any": any, "small": small})
}

/// Returns choices as they came.
#[tool(read_only, tags("plain"))]
fn choices(
    /// Yes or no
    agreed: bool,
    /// The urgency of it
    urgency: Urgency,
    /// May be left out
    remark: Option<String>,
) -> Value {
    json!({"agreed": agreed, "urgency": urgency, "remark": remark})
}

/// Returns a place.
#[tool(read_only, tags("nested"))]
fn place(
    /// The place
    place: Place,
) -> Place {
    place
}

/// Takes an order of several items, and returns it.
#[tool(tags("nested"))]
fn order(
    /// The lines of the order
    items: Vec<Item>,
    /// The way to pay
    payment: Payment,
    /// Notes by topic
    #[arg(default)]
    notes: BTreeMap<String, String>,
) -> Value {
    json!({"items": items, "payment": payment, "notes": notes})
}

/// Returns a pair.
#[tool(read_only, tags("nested"))]
fn pair(
    /// A name and a number
    pair: (String, i32),
) -> Value {
    json!(pair)
}

/// Counts the folders in a folder.
#[tool(read_only, tags("nested"))]
fn count_folders(
    /// The outermost folder
    folder: Folder,
) -> usize {
    fn count(folder: &Folder) -> usize {
        1 + folder.folders.iter().map(count).sum::<usize>()
    }
    count(&folder)
}

/// Returns any value.
#[tool(read_only, tags("nested"))]
fn anything(
    /// Whatever fits into JSON
    value: Value,
) -> Value {
    value
}

/// Returns the tools of this module.
pub(crate) fn tools() -> Vec<Tool> {
    let formats = json!({
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date", "description": "A day"},
            "at": {"type": "string", "format": "date-time", "description": "A moment"},
            "mail": {"type": "string", "format": "email", "description": "An address"},
            "page": {"type": "string", "format": "uri", "description": "A page"},
            "id": {"type": "string", "format": "uuid", "description": "An id"},
            "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2}$", "description": "Such as ABC-12"},
            "secret": {"type": "string", "writeOnly": true, "minLength": 4, "description": "Told to nobody"},
            "limit": {"type": ["integer", "null"], "minimum": 0, "description": "A number, or null for none"},
        },
        "required": ["day", "code"],
        "additionalProperties": false,
    });
    let texts =
        (0..200).map(|at| (format!("field_{at}"), json!({"type": "string", "maxLength": 9})));
    let many = json!({
        "type": "object",
        "properties": texts.collect::<serde_json::Map<_, _>>(),
        "required": ["field_0", "field_199"],
        "additionalProperties": false,
    });
    let from_right = json!({
        "type": "object",
        "properties": {
            "שם": {"type": "string", "title": "השם המלא", "description": "שם הלקוח (Name) כפי שהוא בתעודה"},
            "كمية": {"type": "integer", "minimum": 1, "description": "عدد القطع, at least 1"},
            "عنوان": {"type": "object", "description": "العنوان", "properties": {
                "مدينة": {"type": "string"},
                "تاريخ": {"type": "string", "format": "date-time"},
            }, "required": ["مدينة"]},
        },
        "required": ["שם", "عنوان"],
        "additionalProperties": false,
    });
    let back = |arguments: &std::collections::HashMap<String, Value>| {
        let shown = arguments.iter().filter(|(name, _)| *name != "secret");
        Ok::<_, String>(json!(shown.collect::<BTreeMap<_, _>>()))
    };
    let formats = Tool::from_map("formats", "Returns texts of every format", formats, back)
        .with_tags(["plain"]);
    let mut all = tools![echo, add, numbers, choices, place, order, pair, count_folders, anything];
    all.push(formats);
    for (name, description, schema) in [
        ("many_fields", "Returns texts of two hundred fields", many),
        ("from_the_right", "Returns texts that are written from right to left", from_right),
    ] {
        all.push(Tool::from_map(name, description, schema, back).with_tags(["nested"]));
    }
    all
}
