//! Questions in the form of the protocol's `elicitation/create`.

use serde_json::{Map, Value, json};

use crate::context::{Answer, Question, QuestionForm};

/// The method by which a server asks the user of its client.
pub(super) const ELICITATION: &str = "elicitation/create";

/// The keywords of one field that the protocol has.
const FIELD_KEYWORDS: [&str; 12] = [
    "type",
    "title",
    "description",
    "default",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "enum",
    "enumNames",
];

/// The formats of a text that the protocol has.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Returns the form of a question in the protocol's schema of plain fields, or the name of a field
/// that it cannot express.
pub(super) fn requested_schema(form: &Value) -> Result<Value, String> {
    let fields = form.get("properties").and_then(Value::as_object);
    let mut properties = Map::new();
    for (name, schema) in fields.into_iter().flatten() {
        let field = field(schema, form).ok_or_else(|| name.clone())?;
        properties.insert(name.clone(), field);
    }
    let mut requested = json!({ "type": "object", "properties": properties });
    if let Some(required) = form.get("required") {
        requested["required"] = required.clone();
    }
    Ok(requested)
}

/// Returns the schema of one field: a text, a number, a boolean, a choice, or a list of choices.
fn field(schema: &Value, root: &Value) -> Option<Value> {
    let mut whole = schema.as_object()?.clone();
    if let Some(definition) = referent(schema, root) {
        // What stands beside a reference is nearer to the field.
        for (key, value) in definition.as_object()? {
            whole.entry(key).or_insert_with(|| value.clone());
        }
    }
    without_null(&mut whole);
    if whole.contains_key("anyOf") && !whole.contains_key("type") {
        let parts = whole.remove("anyOf")?;
        let [only] = parts.as_array()?.as_slice() else { return choices(&whole, &parts) };
        let inner = field(only, root)?;
        for (key, value) in inner.as_object()? {
            whole.entry(key).or_insert_with(|| value.clone());
        }
    }
    if let Some(parts) = whole.remove("oneOf") {
        return choices(&whole, &parts);
    }
    if let Some(constant) = whole.remove("const") {
        whole.insert("enum".to_owned(), json!([constant]));
    }
    let kind = match whole.get("type") {
        Some(kind) => kind.as_str()?,
        None if whole.contains_key("enum") => "string",
        None => return None,
    };
    let kind = kind.to_owned();
    let is_text = |value: &Value| value.is_string();
    let mut own: Map<String, Value> = whole
        .iter()
        .filter(|(key, _)| FIELD_KEYWORDS.contains(&key.as_str()))
        .map(cloned)
        .collect();
    own.insert("type".to_owned(), Value::from(kind.as_str()));
    match kind.as_str() {
        "string" => {
            let format = whole.get("format").and_then(Value::as_str);
            if let Some(format) = format.filter(|format| FORMATS.contains(format)) {
                own.insert("format".to_owned(), format.into());
            }
            let choices = own.get("enum").and_then(Value::as_array);
            choices.is_none_or(|choices| choices.iter().all(is_text)).then_some(Value::Object(own))
        }
        "integer" | "number" | "boolean" => {
            own.remove("enum").is_none().then_some(Value::Object(own))
        }
        "array" => {
            let items = field(whole.get("items")?, root)?;
            let items = match (items.get("enum"), items.get("oneOf")) {
                (Some(choices), _) => json!({ "type": "string", "enum": choices }),
                (None, Some(choices)) => json!({ "anyOf": choices }),
                (None, None) => return None,
            };
            own.insert("items".to_owned(), items);
            Some(Value::Object(own))
        }
        _ => None,
    }
}

fn cloned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// Returns a field of a choice with titles, of parts that each are one text.
fn choices(whole: &Map<String, Value>, parts: &Value) -> Option<Value> {
    let mut titled = Vec::new();
    for part in parts.as_array()? {
        let title = part.get("title").or_else(|| part.get("description"));
        if let Some(text) = part.get("const").and_then(Value::as_str) {
            titled.push(json!({ "const": text, "title": title.unwrap_or(&text.into()) }));
        } else {
            for text in part.get("enum")?.as_array()? {
                titled.push(json!({ "const": text.as_str()?, "title": title.unwrap_or(text) }));
            }
        }
    }
    let mut own: Map<String, Value> = ["title", "description", "default"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), whole.get(key)?.clone())))
        .collect();
    own.insert("type".to_owned(), "string".into());
    own.insert("oneOf".to_owned(), titled.into());
    Some(Value::Object(own))
}

/// Returns the schema that a reference within `root` names.
fn referent<'a>(schema: &Value, root: &'a Value) -> Option<&'a Value> {
    let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    root.get("$defs")?.get(name)
}

/// Removes null from the values of a field: one without an answer is left out.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = schema.get_mut(key) {
            parts.retain(|part| part.get("type").is_none_or(|kind| kind != "null"));
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

/// Returns the answer of a client or a program in the form of the protocol.
pub(super) fn result_of(question: &Question, answer: &Answer) -> Value {
    match (answer, &question.form) {
        (Answer::Accepted(_), QuestionForm::Url(_)) => json!({ "action": "accept" }),
        (Answer::Accepted(content), QuestionForm::Fields(_)) => {
            let content = match question.only_field() {
                Some((field, _)) if !content.is_object() => json!({ field: content }),
                _ => content.clone(),
            };
            json!({ "action": "accept", "content": content })
        }
        (Answer::Declined, _) => json!({ "action": "decline" }),
        (Answer::Dismissed | Answer::Nobody, _) => json!({ "action": "cancel" }),
    }
}

/// Reads the answer of a client. One in another form accepts with null, which fits no form.
pub(super) fn answer_of(result: &Value) -> Answer {
    match result.get("action").and_then(Value::as_str) {
        Some("accept") => {
            Answer::Accepted(result.get("content").cloned().unwrap_or_else(|| json!({})))
        }
        Some("decline") => Answer::Declined,
        Some("cancel") => Answer::Dismissed,
        _ => Answer::Accepted(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is read")]
    enum Plain {
        Red,
        Blue,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is read")]
    enum Titled {
        /// The left one
        Left,
        Right,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is read")]
    struct Fields {
        /// A name
        #[schemars(length(min = 1, max = 20), regex(pattern = "^a"))]
        name: String,
        age: Option<u8>,
        #[serde(default)]
        sure: bool,
        plain: Plain,
        titled: Option<Titled>,
        several: Vec<Plain>,
        share: f64,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is read")]
    struct Nested {
        inner: std::collections::BTreeMap<String, u8>,
    }

    #[test]
    fn a_form_is_one_of_plain_fields() {
        let form = requested_schema(&crate::schema::for_input::<Fields>()).unwrap();
        assert_eq!(
            form,
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "A name", "minLength": 1, "maxLength": 20},
                    "age": {"type": "integer", "minimum": 0, "maximum": 255},
                    "sure": {"type": "boolean", "default": false},
                    "plain": {"type": "string", "enum": ["Red", "Blue"]},
                    "titled": {"type": "string", "oneOf": [
                        {"const": "Right", "title": "Right"},
                        {"const": "Left", "title": "The left one"},
                    ]},
                    "several": {"type": "array", "items": {"type": "string", "enum": ["Red", "Blue"]}},
                    "share": {"type": "number"},
                },
                "required": ["name", "plain", "several", "share"],
            }),
        );
        assert_eq!(
            requested_schema(&crate::schema::for_input::<Nested>()),
            Err("inner".to_owned()),
        );
    }

    #[test]
    fn an_answer_of_another_form_fits_none() {
        for (result, expected) in [
            (json!({"action": "accept", "content": {"a": 1}}), Answer::Accepted(json!({"a": 1}))),
            (json!({"action": "accept"}), Answer::Accepted(json!({}))),
            (json!({"action": "decline"}), Answer::Declined),
            (json!({"action": "cancel"}), Answer::Dismissed),
            (json!({"action": "later"}), Answer::Accepted(Value::Null)),
            (json!("accept"), Answer::Accepted(Value::Null)),
        ] {
            assert_eq!(answer_of(&result), expected, "{result}");
        }
    }
}
