//! The signature of a tool, collected once when the tool is made: its schema, and the checks that
//! reading needs.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::reader::Lead;
use super::shapes::Shapes;
use crate::context::Requirement;
use crate::definition::Schema;
use crate::schema::{Policing, write_as_text};
use crate::text;

/// Collects the description of a tool's arguments from a macro expansion, in order.
#[derive(Debug, Default)]
pub struct SignatureBuilder {
    pub(super) arguments: Vec<ArgumentBuilder>,
    pub(super) examples: Vec<Map<String, Value>>,
}

/// The description of one argument.
#[derive(Debug)]
pub struct ArgumentBuilder {
    pub(super) name: &'static str,
    pub(super) description: Cow<'static, str>,
    pub(super) optional: bool,
    pub(super) default: Option<Value>,
    pub(super) keywords: Vec<Keyword>,
    pub(super) flatten: bool,
}

#[derive(Debug)]
pub(super) enum Keyword {
    Plain(&'static str, Value),
    /// The least and the greatest length, in the unit of the type.
    Length(Option<Value>, Option<Value>),
}

impl SignatureBuilder {
    /// Adds the next argument.
    pub fn argument(
        &mut self,
        name: &'static str,
        description: impl Into<Cow<'static, str>>,
    ) -> &mut ArgumentBuilder {
        self.arguments.push(ArgumentBuilder {
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
        self.examples.push(fields);
    }
}

impl SignatureBuilder {
    /// Writes the times in defaults and examples as the schema shows them.
    pub(super) fn show_times_as_text(&mut self) {
        for argument in &mut self.arguments {
            argument.default.iter_mut().for_each(write_as_text);
            for keyword in &mut argument.keywords {
                if let Keyword::Plain("examples", examples) = keyword {
                    write_as_text(examples);
                }
            }
        }
        self.examples.iter_mut().flat_map(Map::values_mut).for_each(write_as_text);
    }
}

impl ArgumentBuilder {
    /// Makes the argument optional; `default` is its value then, if that can be written as JSON.
    pub fn default(&mut self, default: Option<Value>) -> &mut Self {
        self.optional = true;
        self.default = default.filter(|default| !default.is_null());
        self
    }

    /// Adds a keyword of JSON Schema with its value, such as `minimum`.
    pub fn keyword(&mut self, keyword: &'static str, value: impl Into<Value>) -> &mut Self {
        self.keywords.push(Keyword::Plain(keyword, value.into()));
        self
    }

    /// Sets the least and the greatest number of characters, items or entries.
    pub fn length(&mut self, least: Option<usize>, most: Option<usize>) -> &mut Self {
        self.keywords.push(Keyword::Length(least.map(Value::from), most.map(Value::from)));
        self
    }

    /// Adds example values.
    pub fn examples(&mut self, examples: Vec<Option<Value>>) -> &mut Self {
        let examples: Vec<Value> = examples.into_iter().flatten().collect();
        self.keywords.push(Keyword::Plain("examples", Value::Array(examples)));
        self
    }

    /// Marks the argument as deprecated; `note` says what to give instead, and may be empty.
    pub fn deprecated(&mut self, note: &str) -> &mut Self {
        self.description = text::deprecated(&self.description, note).into();
        self.keyword("deprecated", true)
    }

    /// Makes the fields of this argument's type arguments of their own.
    pub fn flatten(&mut self) -> &mut Self {
        self.flatten = true;
        self
    }
}

impl Signature {
    /// Returns the signature of a tool that gets its arguments as text.
    pub(crate) fn raw(schema: Schema) -> Self {
        Self { schema, uses_context: true, ..Self::default() }
    }
}

/// The signature of a tool: everything that reading a call's arguments needs besides their types.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signature {
    pub(crate) arguments: Vec<ArgumentSignature>,
    /// The schema of the whole argument object, as the model receives it.
    pub(crate) schema: Schema,
    /// A bit for each argument.
    pub(crate) all: u64,
    /// `true` if the handler may read the context of a call.
    pub(crate) uses_context: bool,
    /// `true` if the text is passed on without a check.
    pub(crate) unchecked: bool,
    /// `true` if the schema shows times as text.
    pub(crate) has_times: bool,
    /// The names in the schema, by type.
    pub(crate) shapes: Arc<Shapes>,
}

/// One argument of a [`Signature`].
#[derive(Debug, Clone)]
pub(crate) struct ArgumentSignature {
    pub(crate) name: Cow<'static, str>,
    pub(crate) origin: ArgumentSource,
    /// The key as it stands before the value; empty if the argument is no field by itself.
    pub(crate) lead: Lead,
    pub(crate) policing: Policing,
    /// `true` if `null` counts as absent although the schema does not accept it; the result lists
    /// it as a repair.
    pub(crate) null_is_absent: bool,
}

/// The source that an argument is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    /// A field of the argument object.
    Field,
    /// The fields of these names, gathered into an object of their own; with `rest`, all fields
    /// that belong to no other argument too.
    Fields { names: Vec<String>, rest: bool },
    /// The program.
    Program,
}

/// The result of describing a tool's signature.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pub(crate) signature: Signature,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) examples: Vec<Value>,
    /// The mistakes in the tool's definition, for the programmer; each names its argument.
    pub(crate) mistakes: Vec<String>,
}
