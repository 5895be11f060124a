//! The compiler decides what a type is, not how it is spelled.
use std::collections::HashMap;
use std::result::Result as Res;
use std::sync::Arc as A;

use serde::Serialize;
use toolbox::{State, ToolBox, ToolCall, ToolContext, tool, tools, toolset};

type Context<'a> = &'a ToolContext;
type Db = State<Database>;
type Maybe<T> = Option<T>;
type Text<'a> = &'a str;
type Answer = std::result::Result<String, String>;
type Fallible<T> = Result<T, &'static str>;
type Failing<E> = Result<u32, E>;
type Turned<E, T> = Result<T, E>;

struct Database(u32);

/// Uses aliases of everything.
#[tool]
async fn search(context: Context<'_>, db: Db, limit: Maybe<u32>, query: Text<'_>) -> Answer {
    Ok(format!("{} {} {limit:?} {query}", context.call_id(), db.0))
}

/// Uses references to what the program supplies.
#[tool]
fn count(db: &State<Database>, context: ToolContext, alias: &Db) -> String {
    format!("{} {} {}", db.0, alias.0, context.tool_name())
}

/// Fails by an alias with one argument.
#[tool]
fn fallible(good: bool) -> Fallible<u32> {
    good.then_some(1).ok_or("fallible")
}

/// Fails by an alias whose argument is the error.
#[tool]
fn failing(good: bool) -> Failing<String> {
    good.then_some(2).ok_or_else(|| "failing".to_owned())
}

/// Fails by an alias with the arguments turned round.
#[tool]
async fn turned(good: bool) -> Turned<String, u32> {
    good.then_some(3).ok_or_else(|| "turned".to_owned())
}

/// Fails by another name of `Result`.
#[tool]
fn renamed(good: bool) -> Res<u32, String> {
    good.then_some(4).ok_or_else(|| "renamed".to_owned())
}

mod own {
    /// A type of the name, and not that of the standard library.
    #[derive(serde::Serialize)]
    pub struct Result<T, E> {
        pub value: T,
        pub error: E,
    }
}

/// Returns what is no `Result`, and named like one.
#[tool]
fn named() -> own::Result<u32, String> {
    own::Result { value: 5, error: "none".to_owned() }
}

#[derive(Serialize)]
enum Either<A, B> {
    A(A),
    B(B),
}

/// Returns what has two arguments, and is no `Result`.
#[tool]
fn either(good: bool) -> Either<u32, String> {
    if good { Either::A(6) } else { Either::B("either".to_owned()) }
}

/// Returns a map.
#[tool]
fn map() -> HashMap<String, u32> {
    HashMap::from([("map".to_owned(), 7)])
}

struct Set(u32);

type This = Set;
type Shared<T> = A<T>;

/// Not the `Arc` of the standard library.
#[allow(dead_code)]
struct Arc;

#[toolset]
impl Set {
    /// Takes itself by a renamed import.
    #[tool]
    async fn imported(self: A<Self>) -> u32 {
        self.0
    }

    /// Takes itself by an alias.
    #[tool]
    fn alias(self: Shared<Self>) -> u32 {
        self.0
    }

    /// Takes itself by its name.
    #[tool]
    fn by_name(self: std::sync::Arc<Set>) -> u32 {
        self.0
    }

    /// Takes itself by an alias of its name.
    #[tool]
    async fn by_alias(self: A<This>) -> u32 {
        self.0
    }

    /// Borrows what shares it.
    #[tool]
    fn lent_share(self: &A<Self>) -> u32 {
        self.0
    }

    /// Borrows itself, and waits.
    #[tool]
    async fn lent<'a>(self: &'a Self, name: &'a str) -> String {
        std::future::ready(()).await;
        format!("{name} {}", self.0)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::builder()
        .tools(tools![search, count, fallible, failing, turned, renamed, named, either, map])
        .tools(Set(8))
        .state(Database(7))
        .build()
        .unwrap();
    let call = async |name: &str, arguments: &str| {
        let result = toolbox.call(ToolCall::new("1", name, arguments)).await;
        (result.is_error(), result.into_text())
    };
    let cases = [
        ("search", r#"{"query":"x"}"#, "1 7 None x"),
        ("count", "", "7 7 count"),
        ("fallible", r#"{"good":true}"#, "1"),
        ("failing", r#"{"good":true}"#, "2"),
        ("turned", r#"{"good":true}"#, "3"),
        ("renamed", r#"{"good":true}"#, "4"),
        ("named", "", r#"{"value":5,"error":"none"}"#),
        ("either", r#"{"good":true}"#, r#"{"A":6}"#),
        ("either", r#"{"good":false}"#, r#"{"B":"either"}"#),
        ("map", "", r#"{"map":7}"#),
        ("imported", "", "8"),
        ("alias", "", "8"),
        ("by_name", "", "8"),
        ("by_alias", "", "8"),
        ("lent_share", "", "8"),
        ("lent", r#"{"name":"n"}"#, "n 8"),
    ];
    for (name, arguments, expected) in cases {
        assert_eq!(call(name, arguments).await, (false, expected.to_owned()), "{name}");
    }
    for name in ["fallible", "failing", "turned", "renamed"] {
        assert_eq!(call(name, r#"{"good":false}"#).await, (true, name.to_owned()));
    }
}
