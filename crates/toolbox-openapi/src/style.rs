//! Values of parameters as text: `style` and `explode`.

use serde_json::Value;

use crate::operation::Location;
use crate::text::encoded;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    /// `tsv` of Swagger 2.
    TabDelimited,
    DeepObject,
}

/// The form in which a parameter is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) style: Style,
    pub(crate) explode: bool,
    /// `true` if reserved characters stay as they are.
    pub(crate) reserved: bool,
    /// `true` if the value is written as JSON.
    pub(crate) as_json: bool,
}

/// The reserved characters that mean nothing within the value of a query.
const RESERVED: &str = ":/?[]@!$'()*,;";

impl Shape {
    pub(crate) fn of(parameter: &Value, location: Location) -> Self {
        let default = match location {
            Location::Path | Location::Header => Style::Simple,
            Location::Query | Location::Cookie => Style::Form,
        };
        let style = match parameter.get("style").and_then(Value::as_str) {
            Some("simple") => Style::Simple,
            Some("label") => Style::Label,
            Some("matrix") => Style::Matrix,
            Some("form") => Style::Form,
            Some("spaceDelimited") => Style::SpaceDelimited,
            Some("pipeDelimited") => Style::PipeDelimited,
            Some("deepObject") => Style::DeepObject,
            _ => default,
        };
        let explode = parameter.get("explode").and_then(Value::as_bool);
        let reserved = parameter.get("allowReserved").and_then(Value::as_bool);
        Self {
            style,
            explode: explode.unwrap_or(style == Style::Form),
            reserved: reserved.unwrap_or(false),
            as_json: false,
        }
    }

    fn text(self, value: &Value) -> String {
        encoded(&plain(value), if self.reserved { RESERVED } else { "" })
    }

    /// Returns the pairs of a query or a form, percent-encoded.
    pub(crate) fn pairs(self, name: &str, value: &Value) -> Vec<(String, String)> {
        let key = encoded(name, "[]$");
        if self.as_json {
            return vec![(key, encoded(&value.to_string(), ""))];
        }
        match value {
            Value::Array(items) => match (self.style, self.explode) {
                (Style::DeepObject, _) => {
                    items.iter().map(|item| (format!("{key}[]"), self.text(item))).collect()
                }
                (_, true) => items.iter().map(|item| (key.clone(), self.text(item))).collect(),
                (style, false) => vec![(key, self.joined(items, separator(style)))],
            },
            Value::Object(map) => match (self.style, self.explode) {
                (Style::DeepObject, _) => {
                    let mut pairs = Vec::new();
                    self.deep(&key, value, &mut pairs);
                    pairs
                }
                (_, true) => {
                    map.iter().map(|(name, item)| (encoded(name, ""), self.text(item))).collect()
                }
                (style, false) => {
                    let separator = separator(style);
                    let pair = |(name, item): (&String, &Value)| {
                        format!("{}{separator}{}", encoded(name, ""), self.text(item))
                    };
                    vec![(key, map.iter().map(pair).collect::<Vec<_>>().join(separator))]
                }
            },
            scalar => vec![(key, self.text(scalar))],
        }
    }

    /// Writes `name[key][key]=value`, as servers read nested values.
    fn deep(self, key: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
        match value {
            Value::Object(map) => {
                for (name, item) in map {
                    self.deep(&format!("{key}[{}]", encoded(name, "")), item, pairs);
                }
            }
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    // Objects in a list are told apart by their number, scalars by their order.
                    let nested = item.is_object() || item.is_array();
                    let index = if nested { number.to_string() } else { String::new() };
                    self.deep(&format!("{key}[{index}]"), item, pairs);
                }
            }
            scalar => pairs.push((key.to_owned(), self.text(scalar))),
        }
    }

    /// Returns the text in a path, percent-encoded.
    pub(crate) fn path(self, name: &str, value: &Value) -> String {
        if self.as_json {
            return encoded(&value.to_string(), "");
        }
        // A path keeps nothing: a slash in a value would reach another operation.
        let text = |value: &Value| encoded(&plain(value), "");
        let key = encoded(name, "");
        let pairs = |join: &str| match value {
            Value::Object(map) => {
                let pairs: Vec<String> = map
                    .iter()
                    .map(|(name, item)| format!("{}{join}{}", encoded(name, ""), text(item)))
                    .collect();
                pairs
            }
            Value::Array(items) => items.iter().map(text).collect(),
            scalar => vec![text(scalar)],
        };
        match (self.style, self.explode) {
            (Style::Label, false) => format!(".{}", pairs(",").join(",")),
            (Style::Label, true) => format!(".{}", pairs("=").join(".")),
            (Style::Matrix, true) => match value {
                Value::Object(_) => format!(";{}", pairs("=").join(";")),
                _ => format!(";{key}={}", pairs("").join(&format!(";{key}="))),
            },
            (Style::Matrix, false) => format!(";{key}={}", pairs(",").join(",")),
            (_, true) => pairs("=").join(","),
            (style, false) => {
                let join = if style == Style::Form { "," } else { separator(style) };
                pairs(join).join(join)
            }
        }
    }

    /// Returns the value of a header.
    pub(crate) fn header(self, value: &Value) -> String {
        if self.as_json {
            return value.to_string();
        }
        match value {
            Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
            Value::Object(map) => {
                let join = if self.explode { "=" } else { "," };
                let pair = |(name, item): (&String, &Value)| format!("{name}{join}{}", plain(item));
                map.iter().map(pair).collect::<Vec<_>>().join(",")
            }
            scalar => plain(scalar),
        }
    }

    fn joined(self, items: &[Value], separator: &str) -> String {
        items.iter().map(|item| self.text(item)).collect::<Vec<_>>().join(separator)
    }
}

/// Returns the separator of items, percent-encoded where it has to be.
fn separator(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::TabDelimited => "%09",
        _ => ",",
    }
}

/// Returns a value as text: that of a string, and JSON for anything else.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
