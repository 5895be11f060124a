//! Derived types that show every form schemars writes, with instances serde does and does not take.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// One type of the corpus, judged through function pointers.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) schema: fn() -> Value,
    pub(crate) reads: fn(&Value) -> bool,
}

fn schema<T: JsonSchema>() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

fn reads<T: for<'de> Deserialize<'de>>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

macro_rules! corpus {
    ($($kind:ty),* $(,)?) => {
        &[$(Case { name: stringify!($kind), schema: schema::<$kind>, reads: reads::<$kind> }),*]
    };
}

#[derive(JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

#[derive(JsonSchema, Deserialize)]
struct EmptyOpen {}

#[derive(JsonSchema, Deserialize)]
struct Unit;

/// Doc of the inner struct.
#[derive(JsonSchema, Deserialize)]
struct InnerStruct {
    /// Doc of a.
    a: i64,
    #[serde(default)]
    b: Option<String>,
}

/// Outer doc.
#[derive(JsonSchema, Deserialize)]
struct NestedStruct {
    /// Use site.
    one: InnerStruct,
    /// A property called title.
    title: String,
    maybe: Option<UnitEnum>,
}

#[derive(JsonSchema, Deserialize)]
struct Twice {
    one: InnerStruct,
    two: Option<InnerStruct>,
    many: Vec<InnerStruct>,
}

#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UnitEnum {
    Fast,
    Slow,
}

#[derive(JsonSchema, Deserialize)]
enum DocMode {
    /// Be quick.
    Fast,
    /// Be thorough.
    Slow,
    Other,
    Another,
}

/// A tree.
#[derive(JsonSchema, Deserialize)]
struct TreeStruct {
    name: String,
    #[serde(default)]
    left: Option<Box<TreeStruct>>,
    #[serde(default)]
    children: Vec<TreeStruct>,
}

#[derive(JsonSchema, Deserialize)]
struct Forest {
    /// The first.
    tree: TreeStruct,
}

#[derive(JsonSchema, Deserialize)]
struct Odd {
    next: Option<Box<Even>>,
}

#[derive(JsonSchema, Deserialize)]
struct Even {
    next: Option<Box<Odd>>,
}

#[derive(JsonSchema, Deserialize)]
enum External {
    Unit,
    Newtype(InnerStruct),
    Tuple(i32, String),
    /// Struct doc.
    Struct {
        x: u8,
        y: i16,
    },
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "kind")]
enum Internal {
    Nothing,
    /// Holds inner.
    Newtype(InnerStruct),
    Struct {
        x: u8,
    },
    Map(HashMap<String, i32>),
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Unit,
    Newtype(InnerStruct),
    Tuple(i32, String),
    Struct { x: u8 },
}

#[derive(JsonSchema, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Inner(InnerStruct),
    Struct { z: bool },
    Null,
}

#[derive(JsonSchema, Deserialize)]
struct FlattenStruct {
    own: i32,
    #[serde(flatten)]
    inner: InnerStruct,
}

#[derive(JsonSchema, Deserialize)]
struct FlattenOption {
    own: i32,
    #[serde(flatten)]
    inner: Option<InnerStruct>,
}

#[derive(JsonSchema, Deserialize)]
struct FlattenMap {
    own: i32,
    #[serde(flatten)]
    rest: BTreeMap<String, i32>,
}

#[derive(JsonSchema, Deserialize)]
struct FlattenEnum {
    own: i32,
    #[serde(flatten)]
    external: External,
}

#[derive(JsonSchema, Deserialize)]
struct FlattenTagged {
    own: i32,
    #[serde(flatten)]
    internal: Internal,
}

#[derive(JsonSchema, Deserialize)]
struct FlattenTwo {
    #[serde(flatten)]
    mode: DocPayload,
    #[serde(flatten)]
    internal: Adjacent,
}

#[derive(JsonSchema, Deserialize)]
#[serde(untagged)]
enum DocPayload {
    /// One.
    One { p: i32 },
    /// Two.
    Two { q: InnerStruct },
}

#[derive(JsonSchema, Deserialize)]
struct Mixed {
    tagged: Internal,
    plain: InnerStruct,
}

#[derive(JsonSchema, Deserialize)]
struct Meters(f64);

#[derive(JsonSchema, Deserialize)]
struct Pair(u8, String);

#[derive(JsonSchema, Deserialize)]
struct Everything {
    byte: u8,
    short: i16,
    int: u32,
    long: i64,
    size: usize,
    float: f32,
    character: char,
    three: [i32; 3],
    set: HashSet<String>,
    map: HashMap<String, i32>,
    tuple: (u8, String),
    nested: Option<Vec<Option<i64>>>,
    meters: Meters,
    pair: Pair,
    any: Value,
    unit: (),
    object: serde_json::Map<String, Value>,
    /// With a default.
    #[serde(default = "ten")]
    limit: u32,
    /// Bounded.
    #[schemars(range(min = 1, max = 100))]
    bounded: Option<u32>,
    #[schemars(length(min = 1, max = 4), regex(pattern = "^a"))]
    text: String,
    unit_struct: Unit,
    empty: EmptyOpen,
    borrowed: std::borrow::Cow<'static, str>,
    non_zero: std::num::NonZeroU32,
    time: std::time::Duration,
}

fn ten() -> u32 {
    10
}

#[derive(JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
struct Denying {
    a: i32,
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
enum DenyingInternal {
    A(Denying),
    B { b: i32 },
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "outer")]
enum DoublyTagged {
    First(Internal),
    Second(Untagged),
}

pub(crate) const CASES: &[Case] = corpus![
    Empty, EmptyOpen, Unit, InnerStruct, NestedStruct, Twice, UnitEnum, DocMode, TreeStruct, Forest,
    Odd, External, Internal, Adjacent, Untagged, FlattenStruct, FlattenOption, FlattenMap, FlattenEnum, FlattenTagged, FlattenTwo, Mixed, Meters, Pair,
    Everything, Denying, DenyingInternal, DoublyTagged, Option<InnerStruct>, Option<UnitEnum>, Option<i32>, Vec<InnerStruct>,
    HashMap<String, i32>, Option<Option<i32>>,
];
