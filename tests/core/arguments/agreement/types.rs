//! Argument types of every shape, each behind a tool of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::{NonZeroI8, NonZeroU32};

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::{Tool, tool};

/// Declares types that the model fills in; nobody reads their fields.
macro_rules! types {
    ($($(#[$attribute:meta])* $kind:ident $name:ident $body:tt)*) => {$(
        #[derive(Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
        #[allow(dead_code, reason = "reached or not is all that is asked")]
        $(#[$attribute])*
        $kind $name $body
    )*};
}

types! {
    struct Flat { a: i32, b: Option<String>, c: Vec<bool> }
    struct Nested { left: Flat, x: Option<Flat>, y: Vec<Flat> }
    struct Tree { value: i32, left: Option<Box<Tree>>, x: Vec<Tree> }
    #[serde(rename_all = "camelCase")]
    struct Renamed { inner_name: i32, #[serde(rename = "type")] kind: bool }
    #[serde(rename_all = "camelCase")]
    struct Aliased { #[serde(alias = "name")] inner_name: i32 }
    struct AliasedBeside { left: Aliased, name: i32, x: Option<Aliased>, y: Vec<Aliased> }
    enum AliasedChoice { #[serde(alias = "a")] One, Two }
    enum AliasedVariant { #[serde(alias = "a")] Unit, #[serde(alias = "b")] One(i32), Fields { #[serde(alias = "y")] x: i32 } }
    struct Defaults { #[serde(default)] a: i32, #[serde(default = "seven")] b: u8, c: Option<i32>, #[serde(skip)] x: i32 }
    #[serde(default)]
    #[derive(Default)]
    struct AllDefaults { a: i32, b: String }
    #[serde(deny_unknown_fields)]
    struct Closed { a: i32 }
    struct Empty {}
    enum Choice { One, #[serde(rename = "b")] Two, Three }
    /// Says what to do.
    enum Told {
        /// The first.
        One,
        /// The second.
        Two,
    }
    enum External { Unit, One(i32), Pair(i32, bool), Fields { x: i32, y: Option<bool> } }
    #[serde(tag = "kind")]
    enum Internal { Unit, One(Flat), Fields { x: i32, y: Option<bool> } }
    #[serde(tag = "kind", deny_unknown_fields)]
    enum InternalClosed { Unit, Fields { x: i32 } }
    #[serde(tag = "type", content = "content")]
    enum Adjacent { Unit, One(i32), Pair(i32, bool), Fields { x: i32, y: Option<bool> } }
    #[serde(untagged)]
    enum Untagged { Number(i32), Text(String), List(Vec<i32>), Fields { x: i32, y: Option<bool> } }
    #[serde(untagged)]
    enum UntaggedStructs { First { a: i32 }, Second { b: i32 } }
    #[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
    enum RenamedEnum { FirstCase { inner_name: i32 }, SecondCase }
    struct WithStruct { a: i32, #[serde(flatten)] rest: Coordinates }
    struct Coordinates { x: i32, y: Option<i32> }
    struct WithMap { a: i32, #[serde(flatten)] rest: BTreeMap<String, i32> }
    struct WithAny { a: i32, #[serde(flatten)] rest: BTreeMap<String, serde_json::Value> }
    struct WithTagged { z: i32, #[serde(flatten)] rest: Internal }
    struct WithExternal { a: i32, #[serde(flatten)] rest: Wrapped }
    struct WithOption { a: i32, #[serde(flatten)] rest: Option<Coordinates> }
    enum Wrapped { One(i32), Fields { x: i32 } }
    struct WithOptionalChoice { a: i32, #[serde(flatten)] rest: Option<Wrapped> }
    struct WithOptionalTagged { z: i32, #[serde(flatten)] rest: Option<Internal> }
    struct WithTwoChoices { a: i32, #[serde(flatten)] left: Wrapped, #[serde(flatten)] right: Adjacent }
    struct WithUntagged { z: i32, #[serde(flatten)] rest: UntaggedStructs }
    struct WithStructTwice { z: i32, #[serde(flatten)] rest: WithStruct }
    struct WithChoiceTwice { z: i32, #[serde(flatten)] rest: WithExternal }
    #[serde(tag = "kind")]
    enum TaggedTwice { Fields(TaggedWithin) }
    #[serde(tag = "type")]
    enum TaggedWithin { Closed(Closed) }
    struct Bounded {
        #[schemars(range(min = 1, max = 5))] a: i32,
        #[schemars(length(min = 1, max = 3))] b: String,
        #[schemars(length(min = 1, max = 2))] c: Vec<i32>,
        #[schemars(regex(pattern = "^[a-z]+$"))] name: Option<String>,
    }
    struct Transparent { a: Wrapper, b: Meters }
    #[serde(transparent)]
    struct Wrapper { inner: Vec<i32> }
    struct Enums { kind: Choice, a: Option<Choice>, x: Internal, y: Vec<External> }
    struct Lists { a: Vec<Option<i32>>, b: Option<Vec<Told>>, c: Set }
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Shape { Leaf, Branch { left: Box<Shape>, x: Vec<Shape> } }
}

#[derive(Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
struct Meters(u16);

#[derive(Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
struct Pair(i32, bool);

#[derive(Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
struct Unit;

#[derive(Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
struct Set(BTreeSet<u8>);

fn seven() -> u8 {
    7
}

/// Declares a tool for each type, of one argument `value`.
macro_rules! tools {
    ($group:ident; $($name:ident: $type:ty),* $(,)?) => {
        pub(crate) fn $group() -> Vec<Tool> {
            $(
                #[tool(description = "Takes a value.")]
                #[allow(clippy::boxed_local, clippy::option_option, reason = "every type is tried")]
                fn $name(value: $type) -> &'static str {
                    let _ = value;
                    super::REACHED
                }
            )*
            vec![$($name::tool()),*]
        }
    };
}

/// Declares a tool for each type, whose fields are the arguments.
macro_rules! whole {
    ($group:ident; $($name:ident: $type:ty),* $(,)?) => {
        pub(crate) fn $group() -> Vec<Tool> {
            vec![$(
                Tool::from_fn(stringify!($name), "Takes fields.", |_: $type| super::REACHED)
            ),*]
        }
    };
}

tools! { numbers;
    an_i8: i8, an_i16: i16, an_i32: i32, an_i64: i64, an_i128: i128, an_isize: isize,
    a_u8: u8, a_u16: u16, a_u32: u32, a_u64: u64, a_u128: u128, a_usize: usize,
    an_f32: f32, an_f64: f64, a_bool: bool, a_non_zero: NonZeroU32, a_small_non_zero: NonZeroI8,
}

tools! { texts;
    a_string: String, a_str: &str, a_char: char, an_optional_str: Option<&str>, a_cow: Cow<'_, str>,
    a_unit: (), an_optional_char: Option<char>, any: serde_json::Value,
}

tools! { options;
    optional_i32: Option<i32>, optional_twice: Option<Option<i32>>, optional_list: Option<Vec<Option<i32>>>,
    optional_map: Option<HashMap<String, Option<i32>>>, optional_flat: Option<Flat>, optional_unit: Option<()>,
    optional_choice: Option<Choice>, optional_told: Option<Told>, optional_untagged: Option<Untagged>,
    optional_external: Option<External>, optional_tree: Option<Tree>, optional_any: Option<serde_json::Value>,
}

tools! { containers;
    list: Vec<i32>, slice: &[i32], lists: Vec<Vec<bool>>, array: [i32; 3], no_array: [i32; 0], pair: (i32, String),
    triple: (i32, Option<bool>, Vec<u8>), one: (i32,), map: HashMap<String, i32>, tree_map: BTreeMap<String, Vec<bool>>,
    by_number: HashMap<u8, i32>, by_signed: BTreeMap<i8, bool>,
    by_choice: BTreeMap<Choice2, i32>, set: HashSet<i32>, tree_set: BTreeSet<String>, boxed: Box<i32>,
    set_of_choice: HashSet<Choice>, list_of_any: Vec<serde_json::Value>, deque: std::collections::VecDeque<u8>,
    map_of_any: serde_json::Map<String, serde_json::Value>, pairs: Vec<(String, i32)>, map_of_flat: HashMap<String, Flat>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "reached or not is all that is asked")]
pub(super) enum Choice2 {
    #[serde(rename = "a")]
    First,
    #[serde(rename = "b")]
    Second,
}

tools! { structs;
    flat: Flat, nested: Nested, tree: Tree, renamed: Renamed, aliased: Aliased, aliased_beside: AliasedBeside, defaults: Defaults, all_defaults: AllDefaults,
    closed: Closed, empty: Empty, meters: Meters, pair_struct: Pair, unit_struct: Unit, transparent: Transparent,
    bounded: Bounded, enums: Enums, lists_struct: Lists, borrowed: &Flat, list_of_flat: Vec<Flat>, slice_of_flat: &[Flat],
    list_of_bounded: Vec<Bounded>,
}

tools! { choices;
    aliased_choice: AliasedChoice, aliased_variant: AliasedVariant, list_of_aliased_choice: Vec<AliasedChoice>, choice: Choice, told: Told, external: External, internal: Internal, internal_closed: InternalClosed,
    adjacent: Adjacent, untagged: Untagged, untagged_structs: UntaggedStructs, renamed_enum: RenamedEnum, shape: Shape,
    list_of_internal: Vec<Internal>, map_of_adjacent: HashMap<String, Adjacent>, list_of_untagged: Vec<Untagged>,
}

tools! { flattened;
    with_struct: WithStruct, with_map: WithMap, with_any: WithAny, with_tagged: WithTagged, with_external: WithExternal,
    with_option: WithOption, with_optional_choice: WithOptionalChoice, with_optional_tagged: WithOptionalTagged, with_two_choices: WithTwoChoices,
    with_untagged: WithUntagged, with_struct_twice: WithStructTwice, with_choice_twice: WithChoiceTwice, tagged_twice: TaggedTwice, list_with_struct: Vec<WithStruct>, map_with_tagged: BTreeMap<String, WithTagged>,
}

whole! { whole_objects;
    Flat: Flat, Nested: Nested, Tree: Tree, Renamed: Renamed, Aliased: Aliased, AliasedBeside: AliasedBeside, AliasedVariant: AliasedVariant, Defaults: Defaults, AllDefaults: AllDefaults, Closed: Closed, Empty: Empty, Bounded: Bounded, Transparent: Transparent, Enums: Enums, Lists: Lists, External: External, Internal: Internal, InternalClosed: InternalClosed, Adjacent: Adjacent, UntaggedStructs: UntaggedStructs, RenamedEnum: RenamedEnum, Shape: Shape, WithStruct: WithStruct, WithMap: WithMap, WithAny: WithAny, WithTagged: WithTagged, WithExternal: WithExternal, WithOption: WithOption,
    Map: HashMap<String, i32>, ByNumber: BTreeMap<u8, bool>,
}

/// Takes what `#[arg]` restricts.
#[tool]
#[allow(clippy::many_single_char_names, reason = "names that mutations know")]
fn restricted(
    #[arg(range = 1..=5)] a: i32,
    #[arg(range = -1.5..)] b: f64,
    #[arg(length = 1..=3)] c: &str,
    #[arg(length = 1..=2)] x: Vec<i32>,
    #[arg(length = ..=1)] y: HashMap<String, i32>,
    #[arg(pattern = "^[a-z]+$")] name: Option<&str>,
    #[arg(range = 0..10, default = 3)] value: u64,
    #[arg(rename = "type", default)] kind: bool,
    #[arg(default = "zz".to_owned())] content: String,
    #[arg(range = 1..=5)] left: Option<i32>,
    #[arg(length = 1..)] right: Option<Vec<i32>>,
) -> &'static str {
    let _ = (a, b, c, x, y, name, value, kind, content, left, right);
    super::REACHED
}

/// Takes fields among its arguments.
#[tool]
fn spread(value: i32, #[arg(flatten)] fields: Flat, name: Option<&str>) -> &'static str {
    let _ = (value, fields, name);
    super::REACHED
}

/// Takes restricted fields among its arguments.
#[tool]
fn spread_bounded(
    #[arg(flatten)] fields: Bounded,
    #[arg(flatten)] more: Coordinates,
) -> &'static str {
    let _ = (fields, more);
    super::REACHED
}

/// Takes fields with defaults among its arguments.
#[tool]
fn spread_defaults(#[arg(flatten)] fields: Defaults, x: Option<Internal>) -> &'static str {
    let _ = (fields, x);
    super::REACHED
}

/// Takes deep fields among its arguments.
#[tool]
fn spread_nested(#[arg(flatten)] fields: Nested, value: Option<External>) -> &'static str {
    let _ = (fields, value);
    super::REACHED
}

/// Takes nothing.
#[tool]
fn nothing() -> &'static str {
    super::REACHED
}

/// Takes fields with other names among its arguments.
#[tool]
fn spread_aliased(#[arg(flatten)] fields: AliasedBeside, kind: AliasedChoice) -> &'static str {
    let _ = (fields, kind);
    super::REACHED
}

pub(crate) fn attributes() -> Vec<Tool> {
    toolbox::tools![
        spread_aliased,
        restricted,
        spread,
        spread_bounded,
        spread_defaults,
        spread_nested,
        nothing
    ]
}
