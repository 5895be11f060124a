//! The schema of a tool's arguments, composed when the tool is made, and the mistakes that only
//! then can be detected.

use std::collections::HashMap;
use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::arena::Arena;
use super::argument::ArgumentOrigin;
use super::reader::{ArgumentReader, Lead, NO_KEY};
use super::shapes::Shapes;
use super::signature::{
    ArgumentBuilder, ArgumentSignature, ArgumentSource, Described, Keyword, Signature,
    SignatureBuilder,
};
use super::slot::Fill;
use super::specimen;
use super::unfit;
use crate::schema::{self, Kinds, Policing};
use crate::validate::{self, ValidationLimits};

/// Returns a generator of schemas in draft 2020-12.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// The form of times in a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Text, which the reader turns into the two numbers that serde reads.
    AsText,
    /// Objects of two numbers.
    AsObjects,
}

/// Composes the signature of a tool from its slots and their description.
pub(super) fn describe(
    slots: &[&mut dyn Fill<'_>],
    mut builder: SignatureBuilder,
    times: Times,
) -> Described {
    let mut schemas = generator();
    let mut described = Described::default();
    let mut fields = DescribedFields::default();
    for (slot, argument) in slots.iter().zip(&builder.arguments) {
        let signature = match slot.origin(&mut schemas) {
            ArgumentOrigin::Program(requirement) => {
                described.requirements.extend(requirement);
                described.signature.uses_context = true;
                ArgumentSignature::new(argument.name, ArgumentSource::Program)
            }
            ArgumentOrigin::Model { schema, type_name, .. } if argument.flatten => {
                fields.refuse_shared(argument.name, type_name);
                let policing = Policing::of(schema.as_value(), Some(schemas.definitions()));
                let place = fields.spread(argument, &schema, &schemas, type_name);
                ArgumentSignature { policing, ..ArgumentSignature::new(argument.name, place) }
            }
            ArgumentOrigin::Model { schema, optional, type_name } => {
                fields.refuse_shared(argument.name, type_name);
                let optional = optional || argument.optional;
                let mistakes =
                    argument.mistakes(schema.as_value(), schemas.definitions(), type_name);
                fields.mistakes.extend(mistakes);
                let schema = argument.apply(schema, schemas.definitions());
                let policing = Policing::of(&schema, Some(schemas.definitions()));
                fields.add(argument.name, argument.name, schema);
                if !optional {
                    fields.required.push(Value::from(argument.name));
                }
                ArgumentSignature {
                    lead: Lead::of(argument.name, described.signature.arguments.is_empty()),
                    policing,
                    null_is_absent: optional,
                    ..ArgumentSignature::new(argument.name, ArgumentSource::Field)
                }
            }
        };
        described.signature.arguments.push(signature);
    }
    let (mut schema, mistakes) = fields.into_schema();
    described.mistakes = mistakes;
    let definitions = schemas.take_definitions(true);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    if times == Times::AsText && schema::show_as_text(&mut schema) {
        described.signature.has_times = true;
        builder.show_times_as_text();
    }
    schema::normalize(&mut schema);
    for argument in &mut described.signature.arguments {
        match &argument.origin {
            ArgumentSource::Field if argument.null_is_absent => argument.settle_null(&mut schema),
            ArgumentSource::Fields { names, .. } => settle_nulls(names, &mut schema),
            _ => {}
        }
    }
    for (argument, signature) in builder.arguments.iter().zip(&described.signature.arguments) {
        if signature.origin == ArgumentSource::Field {
            let own = &mut schema["properties"][argument.name];
            described.mistakes.extend(argument.unfilled(own));
        }
    }
    for (argument, signature) in builder.arguments.iter().zip(&described.signature.arguments) {
        if signature.origin == ArgumentSource::Field {
            argument.hold(&mut schema, &mut described.mistakes);
        }
    }
    for example in builder.examples {
        let example = Value::Object(gathered(example, &described.signature.arguments));
        let faults = conforms(&example, &schema, &schema, "");
        described
            .mistakes
            .extend(faults.map(|faults| format!("an example of it would be refused: {faults}")));
        described.examples.push(example);
    }
    described.signature.shapes = Arc::new(Shapes::of(&schema));
    described.signature.schema = schema.into();
    described.signature.all = described.signature.arguments.iter().fold(0, |all, _| all << 1 | 1);
    described
}

/// Shows the optional fields of a flattened argument as optional arguments are shown.
fn settle_nulls(names: &[String], schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    for name in names.iter().filter(|name| !required.iter().any(|own| *own == name.as_str())) {
        schema::without_null(&mut schema["properties"][name]);
    }
}

/// Checks a value against a schema, and returns its faults on one line.
fn conforms(value: &Value, schema: &Value, root: &Value, path: &str) -> Option<String> {
    let faults =
        validate::conforms(&value.to_string(), schema, root, path, &ValidationLimits::default());
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// Moves the fields of flattened arguments among the arguments of an example.
fn gathered(example: Map<String, Value>, arguments: &[ArgumentSignature]) -> Map<String, Value> {
    let mut whole = Map::new();
    for (name, value) in example {
        let flat = arguments.iter().any(|argument| {
            argument.name == name && matches!(argument.origin, ArgumentSource::Fields { .. })
        });
        match value {
            Value::Object(own) if flat => whole.extend(own),
            value => {
                whole.insert(name, value);
            }
        }
    }
    whole
}

/// The fields of the argument object so far.
#[derive(Default)]
struct DescribedFields {
    properties: Map<String, Value>,
    /// The argument that each of the properties belongs to.
    owners: HashMap<String, &'static str>,
    required: Vec<Value>,
    /// The argument that takes all other fields, and the keywords that describe those.
    rest: Option<(&'static str, Map<String, Value>)>,
    mistakes: Vec<String>,
}

impl DescribedFields {
    fn refuse_shared(&mut self, name: &str, type_name: &str) {
        if let Some(part) = unfit::shared_part(type_name) {
            self.mistakes.push(format!(
                "argument `{name}` holds a `{part}`, which is shared or changes behind `&`: the model would fill in a new one for each call; take `State<..>`, or the plain value"
            ));
        }
    }

    /// Adds a field of an argument.
    fn add(&mut self, owner: &'static str, name: &str, schema: Value) {
        if let Some(first) = self.owners.get(name) {
            self.mistakes.push(format!(
                "argument `{owner}` brings a field `{name}`, and argument `{first}` has one of that name already: rename one of them"
            ));
            return;
        }
        self.properties.insert(name.to_owned(), schema);
        self.owners.insert(name.to_owned(), owner);
    }

    /// Moves the fields of a flattened struct or map among the arguments.
    fn spread(
        &mut self,
        builder: &ArgumentBuilder,
        schema: &Schema,
        schemas: &SchemaGenerator,
        type_name: &str,
    ) -> ArgumentSource {
        let schema = resolved(schema.as_value(), schemas.definitions()).clone();
        let no_fields = ArgumentSource::Fields { names: Vec::new(), rest: false };
        let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
        let Value::Object(mut fields) = schema else { return no_fields };
        let own = match fields.remove("properties") {
            Some(Value::Object(own)) => own,
            _ if is_object => Map::new(),
            _ => {
                self.mistakes.push(format!(
                    "argument `{}` is flattened, and `{type_name}` is no struct with named fields and no map",
                    builder.name
                ));
                return no_fields;
            }
        };
        if let Some(Value::Array(names)) = fields.remove("required") {
            self.required.extend(names);
        }
        let names = own.keys().cloned().collect();
        for (name, field) in own {
            self.add(builder.name, &name, field);
        }
        fields.retain(|keyword, value| {
            matches!(keyword.as_str(), "additionalProperties" | "patternProperties")
                && *value != false
        });
        let rest = !fields.is_empty();
        if rest {
            if let Some((first, _)) = &self.rest {
                self.mistakes.push(format!(
                    "arguments `{first}` and `{}` both take whatever else is given: flatten one map at most",
                    builder.name
                ));
            }
            self.rest = Some((builder.name, fields));
        }
        ArgumentSource::Fields { names, rest }
    }

    fn into_schema(self) -> (Value, Vec<String>) {
        let mut schema = json!({ "type": "object", "properties": self.properties });
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema["additionalProperties"] = Value::Bool(false);
        for (keyword, value) in self.rest.into_iter().flat_map(|(_, keywords)| keywords) {
            schema[keyword] = value;
        }
        (schema, self.mistakes)
    }
}

/// Follows the references of a schema to its target.
fn resolved<'s>(mut schema: &'s Value, definitions: &'s Map<String, Value>) -> &'s Value {
    for _ in 0..definitions.len() {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|reference| reference.strip_prefix("#/$defs/"));
        match target.and_then(|name| definitions.get(name)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

impl ArgumentSignature {
    fn new(name: &'static str, origin: ArgumentSource) -> Self {
        Self {
            name: name.into(),
            lead: Lead::none(),
            origin,
            policing: Policing::default(),
            null_is_absent: false,
        }
    }

    /// Decides on the meaning of `null` for an optional argument: absent, unless its schema accepts
    /// a null.
    fn settle_null(&mut self, schema: &mut Value) {
        schema::without_null(&mut schema["properties"][&*self.name]);
        let own = &schema["properties"][&*self.name];
        self.null_is_absent =
            !validate::conforms("null", own, schema, "", &ValidationLimits::default()).is_empty();
    }
}

/// Returns the signature of a function that takes its whole argument object as one value, and its
/// mistake, if it has one.
///
/// As text, times are shown only if they reach the types that they are for.
pub(crate) fn whole<T: JsonSchema + DeserializeOwned>(times: Times) -> (Signature, Option<String>) {
    let (signature, mistake) = whole_with::<T>(times);
    let arena = Arena::new();
    let mut read = |text: String| {
        let depth = ValidationLimits::default().depth;
        T::deserialize(&mut ArgumentReader::new(&text, &arena, depth)).is_ok()
    };
    let schema = &signature.schema;
    let reads_text = !signature.has_times
        || specimen::with_times(schema, schema)
            .all(|specimen| specimen::takes_text(specimen, &mut read));
    if reads_text { (signature, mistake) } else { whole_with::<T>(Times::AsObjects) }
}

fn whole_with<T: JsonSchema>(times: Times) -> (Signature, Option<String>) {
    let mut schema = generator().into_root_schema_for::<T>().to_value();
    let has_times = times == Times::AsText && schema::show_as_text(&mut schema);
    let policing = Policing::of(&schema, schema["$defs"].as_object());
    schema::normalize(&mut schema);
    let type_name = std::any::type_name::<T>();
    let mistake = if let Some(part) = unfit::shared_part(type_name) {
        Some(format!(
            "its arguments `{type_name}` hold a `{part}`, which is shared or changes behind `&`: take the plain value, and share what the closure captures"
        ))
    } else if !Kinds::of(&schema, schema["$defs"].as_object()).meets(Kinds::OBJECT) {
        Some(format!(
            "its arguments are a `{type_name}`, and a model gives an object: take a struct with a field for each argument"
        ))
    } else {
        None
    };
    let argument =
        ArgumentSignature { policing, ..ArgumentSignature::new("", ArgumentSource::Field) };
    let shapes = Arc::new(Shapes::of(&schema));
    let schema = schema.into();
    let arguments = vec![argument];
    let signature = Signature {
        arguments,
        schema,
        all: 1,
        uses_context: true,
        unchecked: false,
        has_times,
        shapes,
    };
    (signature, mistake)
}

/// Returns the mistake of a whole argument object that holds a map without keys.
pub(crate) fn unkeyed<T: DeserializeOwned>(schema: &Value) -> Option<String> {
    let text = specimen::with_maps(schema, schema)?.to_string();
    let arena = Arena::new();
    let read =
        T::deserialize(&mut ArgumentReader::new(&text, &arena, ValidationLimits::default().depth));
    let unkeyed = read.is_err_and(|error| error.message() == NO_KEY);
    unkeyed.then(|| format!("its arguments hold a map that no model can fill in: {NO_KEY}"))
}

impl ArgumentBuilder {
    /// Returns the parts of the declaration that contradict the argument's type.
    fn mistakes(
        &self,
        schema: &Value,
        definitions: &Map<String, Value>,
        type_name: &str,
    ) -> Vec<String> {
        let kinds = Kinds::of(schema, Some(definitions));
        let name = self.name;
        if kinds == Kinds::NONE {
            return vec![format!(
                "argument `{name}` can never be filled in: there is no value of `{type_name}` for a model to give"
            )];
        }
        let bounded = |kind, what: &str, fix: &str| {
            (!kinds.meets(kind))
                .then(|| format!("argument `{name}` has a `{what}`, and `{type_name}` {fix}"))
        };
        let counted = Kinds::STRING.or(Kinds::ARRAY).or(Kinds::OBJECT);
        let own = resolved(schema, definitions);
        let mut mistakes = Vec::new();
        for keyword in &self.keywords {
            mistakes.extend(match keyword {
                Keyword::Plain("minimum" | "maximum" | "exclusiveMaximum", _)
                    if !kinds.meets(Kinds::NUMBER) =>
                {
                    bounded(Kinds::NUMBER, "range", "is no number")
                }
                Keyword::Plain(keyword @ ("minimum" | "maximum" | "exclusiveMaximum"), end) => {
                    beyond(own, keyword, end).map(|bound| {
                        format!(
                            "the range of argument `{name}` goes beyond `{type_name}`, which {bound}"
                        )
                    })
                }
                Keyword::Plain("pattern", _) => bounded(Kinds::STRING, "pattern", "is no text"),
                Keyword::Length(..) => bounded(counted, "length", "has none"),
                Keyword::Plain(..) => None,
            });
        }
        mistakes.dedup();
        mistakes
    }

    /// Returns the mistake of constraints that leave no value for the argument.
    fn unfilled(&self, own: &Value) -> Option<String> {
        let kinds = Kinds::of(&bounds(own), None);
        let ruled = self.keywords.iter().any(|keyword| match keyword {
            Keyword::Length(..) => {
                !kinds.meets(Kinds::STRING)
                    || !kinds.meets(Kinds::ARRAY)
                    || !kinds.meets(Kinds::OBJECT)
            }
            Keyword::Plain(keyword, _) => keyword.contains("imum") && !kinds.meets(Kinds::NUMBER),
        });
        ruled.then(|| format!("the range of argument `{}` is empty", self.name))
    }

    /// Checks the default and the examples against the constraints of the argument.
    fn hold(&self, schema: &mut Value, mistakes: &mut Vec<String>) {
        let name = self.name;
        let own = &schema["properties"][name];
        let mut fits = true;
        if let Some(default) = &self.default {
            if !self.keywords.is_empty()
                && let Some(faults) = conforms(default, &bounds(own), schema, name)
            {
                mistakes
                    .push(format!("the default of argument `{name}` would be refused: {faults}"));
            }
            // A type that serializes in another form than it deserializes from has a misleading
            // default.
            fits = conforms(default, own, schema, name).is_none();
        }
        for keyword in &self.keywords {
            if let Keyword::Plain("examples", Value::Array(examples)) = keyword {
                let faults = examples.iter().filter_map(|value| conforms(value, own, schema, name));
                mistakes.extend(faults.map(|faults| {
                    format!("an example of argument `{name}` would be refused: {faults}")
                }));
            }
        }
        if !fits && let Some(own) = schema["properties"][name].as_object_mut() {
            own.shift_remove("default");
        }
    }

    /// Returns the schema of the argument's type with the keywords of its declaration.
    fn apply(&self, schema: Schema, definitions: &Map<String, Value>) -> Value {
        let mut schema = schema.to_value();
        if schema.as_bool() == Some(true) {
            schema = json!({});
        }
        let kinds = Kinds::of(&schema, Some(definitions));
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
                    let (min, max) = length_keywords(kinds);
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

/// Returns the part of a schema that bounds values of any type.
fn bounds(own: &Value) -> Value {
    const BOUNDS: &[&str] = &[
        "minimum",
        "maximum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "pattern",
    ];
    let bounds =
        BOUNDS.iter().filter_map(|bound| Some(((*bound).to_owned(), own.get(bound)?.clone())));
    Value::Object(bounds.collect())
}

/// Returns the keywords that bound the length of values of these kinds.
fn length_keywords(kinds: Kinds) -> (&'static str, &'static str) {
    if kinds.meets(Kinds::STRING) {
        ("minLength", "maxLength")
    } else if kinds.meets(Kinds::ARRAY) {
        ("minItems", "maxItems")
    } else {
        ("minProperties", "maxProperties")
    }
}

/// Returns the bound of a number type, if the end of a range lies beyond it.
fn beyond(own: &Value, keyword: &str, end: &Value) -> Option<String> {
    let format = own.get("format").and_then(Value::as_str).unwrap_or_default();
    let natural: Option<(i128, i128)> = match format {
        "uint8" => Some((0, u8::MAX.into())),
        "uint16" => Some((0, u16::MAX.into())),
        "uint32" => Some((0, u32::MAX.into())),
        "uint" | "uint64" => Some((0, u64::MAX.into())),
        "int8" => Some((i8::MIN.into(), i8::MAX.into())),
        "int16" => Some((i16::MIN.into(), i16::MAX.into())),
        "int32" => Some((i32::MIN.into(), i32::MAX.into())),
        _ => None,
    };
    #[allow(
        clippy::cast_precision_loss,
        reason = "an end is told apart from a bound that it is far from"
    )]
    let bound = |keyword: &str, natural: Option<i128>| {
        own.get(keyword).and_then(Value::as_f64).or(natural.map(|bound| bound as f64))
    };
    let spare = if keyword == "exclusiveMaximum" { 1.0 } else { 0.0 };
    let end = end.as_f64()?;
    let least = bound("minimum", natural.map(|(least, _)| least));
    let most = bound("maximum", natural.map(|(_, most)| most));
    match (least, most) {
        (Some(least), _) if end < least => Some(format!("begins at {least}")),
        (_, Some(most)) if end > most + spare => Some(format!("ends at {most}")),
        _ => None,
    }
}
