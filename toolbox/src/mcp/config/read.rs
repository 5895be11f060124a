//! Reads a configuration file by its tables, and reports every fault with its position.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::launcher::expands_itself;
use super::problem::ConfigProblem;
use super::table::{self, FILE, KeySpec, SERVER, ValueKind};
use super::values::{ConfigValue, ObjectValues, RawServer};
use super::variables::{self, VariableFault};
use crate::context::InvalidRuleError;
use crate::mcp::names::{InvalidServerNameError, check_server_name, fitting_server_name};
use crate::text::nearest_n;

/// Returns the options of JSON with comments and trailing commas, and no other leniency.
pub(crate) fn strict() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The longest time that a setting may have.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum length of a server's name, in characters.
pub(super) const LONGEST_NAME: usize = 64;

/// A reader of one file, with the problems found so far.
pub(super) struct ConfigReader<'a> {
    text: &'a str,
    file: &'a Path,
    environment: &'a dyn Fn(&str) -> Option<String>,
    /// The server that is being read.
    server: Option<String>,
    /// `true` if it is disabled; its variables need not be set then.
    unused: bool,
    /// `true` if its program expands variables in its arguments.
    expands: bool,
    pub(super) problems: Vec<ConfigProblem>,
    /// What nothing is left out for.
    pub(super) warnings: Vec<ConfigProblem>,
}

impl<'a> ConfigReader<'a> {
    pub(super) fn new(
        text: &'a str,
        file: &'a Path,
        environment: &'a dyn Fn(&str) -> Option<String>,
    ) -> Self {
        Self {
            text,
            file,
            environment,
            server: None,
            unused: false,
            expands: false,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn problem(&mut self, place: Range<usize>, message: String, help: Option<String>) {
        let problem = self.problem_at(place, message, help);
        self.problems.push(problem);
    }

    /// Returns a problem of the server that is being read.
    pub(super) fn problem_at(
        &self,
        place: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> ConfigProblem {
        let problem = ConfigProblem::new(self.file, message)
            .at(self.text, place)
            .of_server(self.server.as_deref());
        match help {
            Some(help) => problem.help(help),
            None => problem,
        }
    }

    /// Sets the server that the following problems concern.
    pub(super) fn set_server(&mut self, server: Option<&str>) {
        self.server = server.map(str::to_owned);
    }

    /// Reads the whole file; `None` if it is not an object.
    pub(super) fn file(&mut self) -> Option<ObjectValues> {
        match parse_to_ast(self.text, &CollectOptions::default(), &strict()) {
            Ok(parsed) => match parsed.value {
                Some(Value::Object(object)) => Some(self.object(&object, FILE)),
                Some(other) => {
                    let message = format!("expected an object, found {}", found(&other));
                    self.problem(span(&other), message, Some("begin the file with `{`".to_owned()));
                    None
                }
                None => {
                    let help =
                        r#"write `{"mcp": {}}`, or let `toolbox init --force` write the file"#;
                    self.problem(0..0, "the file is empty".to_owned(), Some(help.to_owned()));
                    None
                }
            },
            Err(error) => {
                let message = lowered(&error.kind().to_string());
                self.problem(error.range().start..error.range().end, message, None);
                None
            }
        }
    }

    fn object(&mut self, object: &Object<'_>, keys: &'static [KeySpec]) -> ObjectValues {
        let mut fields = ObjectValues::default();
        for property in &object.properties {
            let name = property.name.as_str();
            let place = name_span(property);
            let Some(key) = keys.iter().find(|key| key.is(name)) else {
                self.unknown(place, name, keys);
                continue;
            };
            if fields.has(key.name) || fields.is_refused(key.name) {
                let whose = self.whose();
                let message = format!("`{}` is given twice{whose}", key.name);
                self.problem(place, message, Some("keep one of them".to_owned()));
                fields.values.remove(key.name);
                fields.refused.push(key.name);
                continue;
            }
            match self.value(key, &property.value) {
                Some(given) => {
                    fields.values.insert(key.name, (given, span(&property.value)));
                }
                None => fields.refused.push(key.name),
            }
        }
        fields
    }

    fn unknown(&mut self, place: Range<usize>, name: &str, keys: &[KeySpec]) {
        let known =
            || keys.iter().flat_map(|key| [key.name].into_iter().chain(key.also.iter().copied()));
        let of_other =
            keys.iter().any(|key| key.is("command")).then(|| table::key_of_other(name)).flatten();
        let help = match (of_other, nearest_n(name, known(), 1).first()) {
            (Some(help), _) => help.to_owned(),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => {
                let quoted: Vec<String> = known().map(|key| format!("`{key}`")).collect();
                format!("the keys are {}", quoted.join(", "))
            }
        };
        let message = format!("unknown key `{name}`{}", self.whose());
        self.problem(place, message, Some(help));
    }

    pub(super) fn whose(&self) -> String {
        self.server.as_ref().map_or_else(String::new, |server| format!(" of server `{server}`"))
    }

    fn value(&mut self, key: &KeySpec, value: &Value<'_>) -> Option<ConfigValue> {
        match (key.kind, value) {
            (ValueKind::Flag | ValueKind::Switch(_), Value::BooleanLit(flag)) => {
                Some(ConfigValue::Flag(flag.value))
            }
            (ValueKind::Count { least, most }, Value::NumberLit(number)) => {
                let count =
                    number.value.parse().ok().filter(|count| (least..=most).contains(count));
                if count.is_none() {
                    self.mismatch(key, value, number.value);
                }
                count.map(ConfigValue::Count)
            }
            (ValueKind::Time, Value::NumberLit(number)) => {
                let time = number.value.parse().ok().map(Duration::from_millis).filter(is_sensible);
                match time {
                    Some(time) => self.question(key, value, (number.value, "ms"), time),
                    None => self.mismatch(key, value, number.value),
                }
                time.map(ConfigValue::Time)
            }
            (ValueKind::Time, Value::StringLit(_)) => {
                let text = self.text_of(value, key)?;
                let time = time(&text).filter(is_sensible);
                match time {
                    Some(time) => {
                        if let Some(number) = text.strip_suffix('s').map(str::trim_end) {
                            self.question(key, value, (number, "s"), time);
                        }
                    }
                    None => {
                        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
                        let help = (is_number && !text.is_empty())
                            .then(|| format!("write \"{text}s\" for seconds"));
                        self.mismatch_with(key, value, &format!("{text:?}"), help);
                    }
                }
                time.map(ConfigValue::Time)
            }
            (ValueKind::Text, Value::StringLit(_)) => {
                let text = self.text_of(value, key)?;
                if text.is_empty() {
                    self.mismatch(key, value, "an empty string");
                    return None;
                }
                let is_path = matches!(key.name, "cwd" | "folder") || key.name.ends_with("File");
                self.is_plain(value, key, is_path).then_some(ConfigValue::Text(text))
            }
            (ValueKind::OneOf(words), Value::StringLit(_)) => {
                let text = self.text_of(value, key)?;
                if words.contains(&text.as_str()) {
                    return Some(ConfigValue::Text(text));
                }
                if key.name == "type" && text == "sse" {
                    let message =
                        format!("`type` is \"sse\"{}: that transport is not spoken", self.whose());
                    let help =
                        "use the server's streamable HTTP address, and `\"type\": \"remote\"`";
                    self.problem(span(value), message, Some(help.to_owned()));
                } else {
                    self.mismatch(key, value, &format!("{text:?}"));
                }
                None
            }
            (ValueKind::Command, Value::StringLit(_)) => self.program(key, value),
            (ValueKind::Texts | ValueKind::Command, Value::Array(array)) => {
                let texts = self.texts(key, array)?;
                if matches!(key.kind, ValueKind::Command)
                    && texts.first().is_none_or(String::is_empty)
                {
                    self.mismatch(key, value, "a list without a program");
                    return None;
                }
                Some(ConfigValue::Texts(texts))
            }
            (ValueKind::Texts, Value::StringLit(_)) => {
                self.no_list(value, key);
                None
            }
            (ValueKind::Rules, Value::Array(array)) => self.rules(key, array),
            (ValueKind::Map, Value::Object(object)) => self.map(key, object),
            (ValueKind::Object(keys) | ValueKind::Switch(keys), Value::Object(object)) => {
                Some(ConfigValue::Object(self.object(object, keys)))
            }
            (ValueKind::Servers, Value::Object(object)) => {
                Some(ConfigValue::Servers(self.servers(object)))
            }
            _ => {
                self.mismatch(key, value, found(value));
                None
            }
        }
    }

    fn mismatch(&mut self, key: &KeySpec, value: &Value<'_>, found: &str) {
        self.mismatch_with(key, value, found, None);
    }

    fn mismatch_with(
        &mut self,
        key: &KeySpec,
        value: &Value<'_>,
        found: &str,
        help: Option<String>,
    ) {
        let expected = key.kind.expected();
        let message = format!("`{}`{} must be {expected}, found {found}", key.name, self.whose());
        self.problem(span(value), message, help);
    }

    /// Reads a program without arguments. A shell command line is refused, since nothing would
    /// split it.
    fn program(&mut self, key: &KeySpec, value: &Value<'_>) -> Option<ConfigValue> {
        let text = self.text_of(value, key)?;
        if text.is_empty() {
            self.mismatch(key, value, "an empty string");
            return None;
        }
        if text.contains(char::is_whitespace)
            && let Value::StringLit(literal) = value
        {
            // Not the values of its variables.
            let words: Vec<&str> = literal.value.split_whitespace().collect();
            let message = format!(
                "`{}`{} is one string with blanks, which would be the name of one program: no shell reads it",
                key.name,
                self.whose()
            );
            let help = format!(
                "write the program and each argument by itself, such as {}, or {} for a program with blanks in its name",
                serde_json::json!(words),
                serde_json::json!([literal.value]),
            );
            self.problem(span(value), message, Some(help));
            return None;
        }
        self.is_plain(value, key, true).then(|| ConfigValue::Texts(vec![text]))
    }

    fn texts(&mut self, key: &KeySpec, array: &Array<'_>) -> Option<Vec<String>> {
        // All elements are read, so that every fault is reported.
        let texts: Vec<Option<String>> =
            array.elements.iter().map(|element| self.text_of(element, key)).collect();
        let mut arguments = array.elements.iter();
        let is_plain = match (key.kind, array.elements.first()) {
            (ValueKind::Command, Some(program)) => {
                arguments.next();
                self.is_plain(program, key, true)
            }
            _ => true,
        };
        if !self.expands {
            arguments.for_each(|argument| self.passed_on(argument, key));
        }
        texts.into_iter().collect::<Option<_>>().filter(|_| is_plain)
    }

    fn rules(&mut self, key: &KeySpec, array: &Array<'_>) -> Option<ConfigValue> {
        let mut rules = Vec::with_capacity(array.elements.len());
        for element in &array.elements {
            let Some(rule) = self.text_of(element, key) else { continue };
            match InvalidRuleError::check(&rule) {
                Ok(()) => rules.push(rule),
                Err(error) => self.problem(span(element), error.to_string(), None),
            }
        }
        (rules.len() == array.elements.len()).then_some(ConfigValue::Texts(rules))
    }

    fn map(&mut self, key: &KeySpec, object: &Object<'_>) -> Option<ConfigValue> {
        let mut map = BTreeMap::new();
        let before = self.problems.len();
        for property in &object.properties {
            let name = property.name.as_str();
            let text = match &property.value {
                Value::StringLit(_) => self.text_of(&property.value, key),
                other => {
                    let message = format!(
                        "`{name}` in `{}`{} must be a string, found {}",
                        key.name,
                        self.whose(),
                        found(other)
                    );
                    self.no_string(other, message);
                    None
                }
            };
            let Some(text) = text else { continue };
            if key.name == "environment" {
                self.passed_on(&property.value, key);
            } else {
                self.is_plain(&property.value, key, false);
            }
            if map.insert(name.to_owned(), text).is_some() {
                let message = format!("`{name}` is given twice in `{}`{}", key.name, self.whose());
                self.problem(name_span(property), message, Some("keep one of them".to_owned()));
            }
        }
        (self.problems.len() == before).then_some(ConfigValue::Map(map))
    }

    fn servers(&mut self, object: &Object<'_>) -> Vec<RawServer> {
        let mut servers = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let name = property.name.as_str().to_owned();
            let place = name_span(property);
            let before = self.problems.len();
            self.set_server(Some(&name));
            if let Some((what, help)) = fault_of_name(&name) {
                self.problem(place.clone(), format!("the server name {name:?} {what}"), Some(help));
            }
            let fields = if let Value::Object(object) = &property.value {
                let is_set = |key: &str, value: bool| {
                    object.get_boolean(key).is_some_and(|flag| flag.value == value)
                };
                self.unused = is_set("enabled", false) || is_set("disabled", true);
                self.expands = expands_itself(object);
                self.object(object, SERVER)
            } else {
                let message =
                    format!("server `{name}` must be an object, found {}", found(&property.value));
                self.problem(span(&property.value), message, None);
                ObjectValues::default()
            };
            self.set_server(None);
            (self.unused, self.expands) = (false, false);
            let broken = self.problems.len() > before;
            servers.push(RawServer { name, place, fields, broken });
        }
        servers
    }

    /// Returns a string with its variables expanded.
    fn text_of(&mut self, value: &Value<'_>, key: &KeySpec) -> Option<String> {
        let Value::StringLit(literal) = value else {
            let message = format!(
                "`{}`{} must be {}, found {} in it",
                key.name,
                self.whose(),
                key.kind.expected(),
                found(value)
            );
            self.no_string(value, message);
            return None;
        };
        let unused = self.unused;
        let set = |name: &str| (self.environment)(name).or_else(|| unused.then(|| "?".to_owned()));
        let faults = match variables::expand(&literal.value, &set) {
            Ok(text) => return Some(text),
            Err(faults) => faults,
        };
        let (start, source) = (literal.range.start, literal.range);
        let source = &self.text[source.start..source.end];
        for fault in faults {
            let (variable, message, help) = match fault {
                VariableFault::Missing(name) => (
                    format!("{{env:{name}"),
                    format!(
                        "the environment variable `{name}` that `{}`{} needs is not set",
                        key.name,
                        self.whose()
                    ),
                    format!(
                        "set it where the host is started, or write a default: {{env:{name}:-…}}"
                    ),
                ),
                VariableFault::Malformed(text) => (
                    text,
                    format!("a variable in `{}`{} is not well formed", key.name, self.whose()),
                    "write {env:NAME} or {env:NAME:-default}".to_owned(),
                ),
            };
            // If the literal has no escapes, the variable itself is marked.
            let place = match source.find(&variable) {
                Some(at) => {
                    let end =
                        source[at..].find('}').map_or(at + variable.len(), |end| at + end + 1);
                    start + at..start + end
                }
                None => start..start + source.len(),
            };
            self.problem(place, message, Some(help));
        }
        None
    }
}

/// Returns the fault in the name of a server, and its correction.
fn fault_of_name(name: &str) -> Option<(&'static str, String)> {
    let help = match fitting_server_name(name) {
        None => "write one of letters, digits, `_` and `-`".to_owned(),
        Some(better) => format!("write `{better}`"),
    };
    let what = match check_server_name(name).err()? {
        _ if name.is_empty() => "is empty",
        InvalidServerNameError::Length(_) => "is longer than 64 characters",
        InvalidServerNameError::Separator(_) => {
            "holds `__`, which other programs take for the end of a name"
        }
        _ => "holds something else than letters, digits, `_` and `-`",
    };
    Some((what, help))
}

/// Parses a number with a unit, such as `1.5s`.
fn time(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit.trim_start() {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if !digits(whole) || !digits(part) {
        return None;
    }
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape that `filter` wants")]
fn is_sensible(time: &Duration) -> bool {
    !time.is_zero() && *time <= LONGEST
}

pub(super) fn found(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(flag) if flag.value => "`true`",
        Value::BooleanLit(_) => "`false`",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "`null`",
    }
}

pub(super) fn span(value: &Value<'_>) -> Range<usize> {
    value.start()..value.end()
}

fn name_span(property: &ObjectProp<'_>) -> Range<usize> {
    property.name.start()..property.name.end()
}

/// Returns a message in the style of the others.
fn lowered(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
