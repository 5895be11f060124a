//! What a tool's signature says, gathered once when the tool is made: its schema, and what reading must check.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::reader::Lead;
use super::shapes::Shapes;
use crate::context::Requirement;
use crate::schema::Policing;

/// Collects what an expansion says about the arguments of its tool, in order.
#[derive(Debug, Default)]
pub struct SignatureBuilder {
    pub(super) arguments: Vec<ArgumentBuilder>,
    pub(super) examples: Vec<Map<String, Value>>,
}

/// What was said about one argument.
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
    /// The least and the greatest length, of whatever the type has one of.
    Length(Option<Value>, Option<Value>),
}

impl SignatureBuilder {
    /// Speaks of the next argument.
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

impl ArgumentBuilder {
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
    /// The names that the schema tells.
    pub(crate) shapes: Arc<Shapes>,
}

/// One argument of a [`Signature`].
#[derive(Debug, Clone)]
pub(crate) struct ArgumentSignature {
    pub(crate) name: Cow<'static, str>,
    pub(crate) origin: ArgumentSource,
    /// What stands before the value; empty if the argument is no field by itself.
    pub(crate) lead: Lead,
    pub(crate) policing: Policing,
    /// `null` stands for nothing given: the schema does not say so, and the call notes it.
    pub(crate) null_is_absent: bool,
}

/// Where an argument is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    /// A field of the argument object.
    Field,
    /// The fields of these names, gathered into an object of their own; with `rest`, so are all that are none of another.
    Fields { names: Vec<String>, rest: bool },
    /// The program.
    Program,
}

/// Everything that a description of a tool's signature comes to.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pub(crate) signature: Signature,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) examples: Vec<Value>,
    /// What is wrong with the tool, for the programmer: each names its argument.
    pub(crate) mistakes: Vec<String>,
}
