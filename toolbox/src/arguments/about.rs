//! What a tool's signature says, gathered once when the tool is made: its schema, and what reading must check.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::argument::Origin;
use super::cold::{self, Bounds};
use super::reader::Lead;
use super::slot::Fill;
use crate::context::Requirement;
use crate::schema::{self, Policing};

/// Collects what an expansion says about the arguments of its tool, in order.
#[derive(Debug, Default)]
pub struct About {
    arguments: Vec<ArgumentAbout>,
    examples: Vec<Value>,
}

/// What was said about one argument.
#[derive(Debug)]
pub struct ArgumentAbout {
    name: &'static str,
    description: Cow<'static, str>,
    optional: bool,
    default: Option<Value>,
    keywords: Vec<Keyword>,
    flatten: bool,
}

#[derive(Debug)]
enum Keyword {
    Plain(&'static str, Value),
    /// The least and the greatest length, of whatever the type has one of.
    Length(Option<Value>, Option<Value>),
}

impl About {
    /// Speaks of the next argument.
    pub fn argument(
        &mut self,
        name: &'static str,
        description: impl Into<Cow<'static, str>>,
    ) -> &mut ArgumentAbout {
        self.arguments.push(ArgumentAbout {
            name,
            description: description.into(),
            optional: false,
            default: None,
            keywords: Vec::new(),
            flatten: false,
        });
        let last = self.arguments.len() - 1;
        &mut self.arguments[last]
    }

    /// Adds a whole argument object that shows how the tool is called.
    pub fn example(&mut self, arguments: &[(&'static str, Option<Value>)]) {
        let fields = arguments
            .iter()
            .filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)))
            .collect();
        self.examples.push(Value::Object(fields));
    }
}

impl ArgumentAbout {
    /// The argument may be left out; `default` is what it is then, where that can be written as JSON.
    pub fn default(&mut self, default: Option<Value>) -> &mut Self {
        self.optional = true;
        self.default = default.filter(|default| !default.is_null());
        self
    }

    /// A keyword of JSON Schema with its value, such as `minimum`.
    pub fn keyword(&mut self, keyword: &'static str, value: impl Into<Value>) -> &mut Self {
        self.keywords.push(Keyword::Plain(keyword, value.into()));
        self
    }

    /// The least and the greatest number of characters, items or entries.
    pub fn length(&mut self, least: Option<usize>, most: Option<usize>) -> &mut Self {
        self.keywords.push(Keyword::Length(least.map(Value::from), most.map(Value::from)));
        self
    }

    /// Values that show what is meant.
    pub fn examples(&mut self, examples: Vec<Option<Value>>) -> &mut Self {
        let examples: Vec<Value> = examples.into_iter().flatten().collect();
        self.keywords.push(Keyword::Plain("examples", Value::Array(examples)));
        self
    }

    /// The fields of this argument's type stand among the arguments themselves.
    pub fn flatten(&mut self) -> &mut Self {
        self.flatten = true;
        self
    }
}

impl Signature {
    /// Returns the signature of a tool that gets its arguments as text.
    pub(crate) fn raw(schema: Value) -> Self {
        Self { schema, ..Self::default() }
    }
}

/// What reading a call's arguments needs to know, besides their types.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signature {
    pub(crate) arguments: Vec<ArgumentSignature>,
    /// The schema of the whole argument object, as the model is told.
    pub(crate) schema: Value,
    /// A bit for each argument.
    pub(crate) all: u64,
    /// Whether text is handed on as it came.
    pub(crate) unchecked: bool,
}

/// One argument of a [`Signature`].
#[derive(Debug, Clone)]
pub(crate) struct ArgumentSignature {
    pub(crate) name: Cow<'static, str>,
    pub(crate) origin: Place,
    /// What stands before the value; empty if the argument is no field by itself.
    pub(crate) lead: Lead,
    pub(crate) policing: Policing,
    /// `null` stands for nothing given: the schema does not say so, and the call notes it.
    pub(crate) null_is_absent: bool,
}

/// Where an argument is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A field of the argument object.
    Field,
    /// The fields of these names, gathered into an object of their own.
    Fields(Vec<String>),
    /// The program.
    Program,
}

/// Everything that a description of a tool's signature comes to.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pub(crate) signature: Signature,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) examples: Vec<Value>,
}

/// Returns a generator of schemas in the dialect that everything here is written in.
pub(crate) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// Puts the schema of a tool's arguments together from its slots and what was said about them.
pub(crate) fn describe(slots: &[&mut dyn Fill<'_>], about: About) -> Described {
    let mut schemas = generator();
    let mut described = Described { examples: about.examples, ..Described::default() };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (slot, about) in slots.iter().zip(about.arguments) {
        let argument = match slot.origin(&mut schemas) {
            Origin::Program(requirement) => {
                described.requirements.extend(requirement);
                ArgumentSignature::new(about.name, Place::Program)
            }
            Origin::Model { schema, .. } if about.flatten => {
                let policing = Policing::of(schema.as_value(), Some(schemas.definitions()));
                let fields = spread(&about, schema, &schemas, &mut properties, &mut required);
                ArgumentSignature {
                    policing,
                    ..ArgumentSignature::new(about.name, Place::Fields(fields))
                }
            }
            Origin::Model { schema, optional } => {
                let optional = optional || about.optional;
                let schema = about.apply(schema);
                let policing = Policing::of(&schema, Some(schemas.definitions()));
                properties.insert(about.name.to_owned(), schema);
                if !optional {
                    required.push(Value::from(about.name));
                }
                ArgumentSignature {
                    policing,
                    null_is_absent: optional,
                    ..ArgumentSignature::new(about.name, Place::Field)
                }
            }
        };
        described.signature.arguments.push(argument);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema["additionalProperties"] = Value::Bool(false);
    let definitions = schemas.take_definitions(true);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    schema::normalize(&mut schema);
    for argument in &mut described.signature.arguments {
        if argument.null_is_absent {
            argument.settle_null(&mut schema);
        }
    }
    described.signature.schema = schema;
    described.signature.all = described.signature.arguments.iter().fold(0, |all, _| all << 1 | 1);
    described
}

impl ArgumentSignature {
    fn new(name: &'static str, origin: Place) -> Self {
        Self {
            name: Cow::Borrowed(name),
            lead: if origin == Place::Field { Lead::of(name) } else { Lead::default() },
            origin,
            policing: Policing::default(),
            null_is_absent: false,
        }
    }

    /// Decides what `null` means for an optional argument: nothing given, unless its schema takes a null for a value.
    fn settle_null(&mut self, schema: &mut Value) {
        schema::without_null(&mut schema["properties"][&*self.name]);
        let own = &schema["properties"][&*self.name];
        self.null_is_absent =
            !cold::conforms("null", own, schema, "", &Bounds::default()).is_empty();
    }
}

/// Returns the signature of a function that takes its whole argument object as one value.
pub(crate) fn whole<T: JsonSchema>() -> Signature {
    let mut schema = generator().into_root_schema_for::<T>().to_value();
    let policing = Policing::of(&schema, schema["$defs"].as_object());
    schema::normalize(&mut schema);
    let argument = ArgumentSignature { policing, ..ArgumentSignature::new("", Place::Field) };
    Signature { arguments: vec![argument], schema, all: 1, unchecked: false }
}

impl ArgumentAbout {
    /// Returns the schema of the argument's type with what its declaration adds.
    fn apply(&self, schema: Schema) -> Value {
        let mut schema = schema.to_value();
        if schema.as_bool() == Some(true) {
            schema = json!({});
        }
        let Value::Object(fields) = &mut schema else { return schema };
        if !self.description.is_empty() {
            fields.insert("description".into(), Value::from(&*self.description));
        }
        if let Some(default) = &self.default {
            fields.insert("default".into(), default.clone());
        }
        for keyword in &self.keywords {
            match keyword {
                Keyword::Plain(keyword, value) => {
                    fields.insert((*keyword).to_owned(), value.clone());
                }
                Keyword::Length(least, most) => {
                    let (min, max) = length_keywords(fields);
                    let bounds = [(min, least), (max, most)];
                    for (keyword, value) in bounds {
                        if let Some(value) = value {
                            fields.insert(keyword.to_owned(), value.clone());
                        }
                    }
                }
            }
        }
        schema
    }
}

/// Returns the keywords that bound the length of what a schema describes.
fn length_keywords(schema: &Map<String, Value>) -> (&'static str, &'static str) {
    let is = |name: &str| match &schema.get("type") {
        Some(Value::String(word)) => word == name,
        Some(Value::Array(words)) => words.iter().any(|word| word == name),
        _ => false,
    };
    if is("array") {
        ("minItems", "maxItems")
    } else if is("object") {
        ("minProperties", "maxProperties")
    } else {
        ("minLength", "maxLength")
    }
}

/// Moves the fields of a flattened struct among the arguments, and returns their names.
fn spread(
    about: &ArgumentAbout,
    schema: Schema,
    schemas: &SchemaGenerator,
    properties: &mut Map<String, Value>,
    required: &mut Vec<Value>,
) -> Vec<String> {
    let mut schema = schema.to_value();
    let definition = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.strip_prefix("#/$defs/"))
        .and_then(|name| schemas.definitions().get(name));
    if let Some(definition) = definition {
        schema = definition.clone();
    }
    let Value::Object(fields) = &mut schema else { no_fields(about.name) };
    let Some(Value::Object(own)) = fields.remove("properties") else { no_fields(about.name) };
    if let Some(Value::Array(names)) = fields.remove("required") {
        required.extend(names);
    }
    let mut names = Vec::new();
    for (name, field) in own {
        assert!(
            properties.insert(name.clone(), field).is_none(),
            "the flattened argument `{}` has a field `{name}`, and so has the tool",
            about.name,
        );
        names.push(name);
    }
    names
}

fn no_fields(name: &str) -> ! {
    panic!("the flattened argument `{name}` is no struct with named fields")
}
