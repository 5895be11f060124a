//! A file of settings that is changed in place: JSON with comments, or TOML.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The byte order mark that some editors write at the head of a file.
const MARK: char = '\u{feff}';

/// A parsed file; what is not changed keeps its text.
pub(in crate::cli) struct SettingsDocument {
    content: Content,
    has_mark: bool,
}

enum Content {
    Json(CstRootNode),
    /// With `true` if lines end in `\r\n`, which the parser does not keep.
    Toml(Box<DocumentMut>, bool),
}

impl SettingsDocument {
    /// Parses a text, or returns the fault.
    pub(in crate::cli) fn parse(text: &str, is_toml: bool) -> Result<Self, String> {
        let unmarked = text.strip_prefix(MARK);
        let content = Content::parse(unmarked.unwrap_or(text), is_toml)?;
        Ok(Self { content, has_mark: unmarked.is_some() })
    }

    /// Returns the servers under a path of keys, in order; none if there is no such key.
    pub(in crate::cli) fn servers(&self, path: &[&str]) -> Result<Vec<(String, Value)>, String> {
        self.content.servers(path)
    }

    /// Returns the object under a path of keys in a file of JSON.
    pub(in crate::cli) fn object(&self, path: &[&str]) -> Result<CstObject, String> {
        let object = match &self.content {
            Content::Json(root) => object_at(root, path),
            Content::Toml(..) => None,
        };
        object.ok_or_else(|| format!("`{}` is no object", path.join(".")))
    }

    /// Removes all servers of a name under a path of keys.
    pub(in crate::cli) fn remove(&mut self, path: &[&str], name: &str) {
        self.content.remove(path, name);
    }

    /// Adds a server under a path of keys, which are made if they are missing. Returns `false` if
    /// one of them is something else than an object.
    #[must_use]
    pub(in crate::cli) fn add(&mut self, path: &[&str], name: &str, value: &Value) -> bool {
        self.content.add(path, name, value)
    }

    pub(in crate::cli) fn text(&self) -> String {
        let text = self.content.text();
        if self.has_mark { format!("{MARK}{text}") } else { text }
    }
}

impl Content {
    fn parse(text: &str, is_toml: bool) -> Result<Self, String> {
        if is_toml {
            let document: Result<DocumentMut, _> = text.parse();
            return document
                .map(|document| Self::Toml(Box::new(document), has_carriage_returns(text)))
                .map_err(|error| {
                    let message = error.message().to_owned();
                    let line =
                        error.span().map(|span| text[..span.start].matches('\n').count() + 1);
                    line.map_or(message.clone(), |line| format!("line {line}: {message}"))
                });
        }
        let root = CstRootNode::parse(text, &crate::mcp::config::strict())
            .map_err(|error| error.to_string())?;
        if root.object_value().is_none() {
            return Err("it does not hold an object".to_owned());
        }
        Ok(Self::Json(root))
    }

    fn servers(&self, path: &[&str]) -> Result<Vec<(String, Value)>, String> {
        let no_object = || format!("`{}` is no object", path.join("."));
        match self {
            Self::Json(root) => {
                let Some(object) = root.object_value() else { return Ok(Vec::new()) };
                let mut object = object;
                for key in path {
                    let Some(property) = object.get(key) else { return Ok(Vec::new()) };
                    object = property.object_value().ok_or_else(no_object)?;
                }
                let properties = object.properties().into_iter();
                Ok(properties
                    .filter_map(|property| {
                        let name = property.decoded_name()?;
                        Some((name, property.value()?.to_serde_value()?))
                    })
                    .collect())
            }
            Self::Toml(document, _) => {
                let mut table: &dyn TableLike = document.as_table();
                for key in path {
                    let Some(item) = table.get(key) else { return Ok(Vec::new()) };
                    table = item.as_table_like().ok_or_else(no_object)?;
                }
                Ok(table.iter().map(|(name, item)| (name.to_owned(), of_toml(item))).collect())
            }
        }
    }

    fn remove(&mut self, path: &[&str], name: &str) {
        match self {
            Self::Json(root) => {
                let Some(object) = object_at(root, path) else { return };
                for property in object.properties() {
                    if property.decoded_name().as_deref() == Some(name) {
                        property.remove();
                    }
                }
            }
            Self::Toml(document, _) => {
                let mut table: &mut dyn TableLike = document.as_table_mut();
                for key in path {
                    let Some(next) = table.get_mut(key).and_then(Item::as_table_like_mut) else {
                        return;
                    };
                    table = next;
                }
                table.remove(name);
            }
        }
    }

    fn add(&mut self, path: &[&str], name: &str, value: &Value) -> bool {
        match self {
            Self::Json(root) => {
                let Some(mut object) = root.object_value_or_create() else { return false };
                for key in path {
                    let Some(next) = object.object_value_or_create(key) else { return false };
                    object = next;
                }
                object.ensure_multiline();
                object.append(name, input(value));
                true
            }
            Self::Toml(document, _) => {
                let mut table: &mut dyn TableLike = document.as_table_mut();
                for key in path {
                    let made = || {
                        let mut made = Table::new();
                        made.set_implicit(true);
                        Item::Table(made)
                    };
                    let next = table.entry(key).or_insert_with(made);
                    let Some(next) = next.as_table_like_mut() else { return false };
                    table = next;
                }
                let mut server = Table::new();
                for (key, value) in value.as_object().into_iter().flatten() {
                    server.insert(key, to_toml(value));
                }
                table.insert(name, Item::Table(server));
                true
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Json(root) => root.to_string(),
            Self::Toml(document, false) => document.to_string(),
            Self::Toml(document, true) => document.to_string().replace('\n', "\r\n"),
        }
    }
}

fn has_carriage_returns(text: &str) -> bool {
    let ends = text.matches("\r\n").count();
    ends > 0 && ends == text.matches('\n').count()
}

fn object_at(root: &CstRootNode, path: &[&str]) -> Option<CstObject> {
    path.iter().try_fold(root.object_value()?, |object, key| object.object_value(key))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

fn of_toml(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_toml_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table(table)).collect(),
    }
}

fn of_table(table: &dyn TableLike) -> Value {
    let members = table.iter().map(|(key, item)| (key.to_owned(), of_toml(item)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn of_toml_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(of_toml_value).collect(),
        toml_edit::Value::InlineTable(table) => of_table(table),
    }
}

/// Returns text, and lists and tables of text, of which the entry of a command consists.
fn to_toml(value: &Value) -> Item {
    match value {
        Value::Array(items) => {
            let texts: toml_edit::Array = items.iter().filter_map(Value::as_str).collect();
            toml_edit::value(texts)
        }
        Value::Object(members) => {
            let texts: toml_edit::InlineTable = members
                .iter()
                .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
                .collect();
            toml_edit::value(texts)
        }
        Value::String(text) => toml_edit::value(text.as_str()),
        other => toml_edit::value(other.to_string()),
    }
}
