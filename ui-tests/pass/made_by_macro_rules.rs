//! Tools that a `macro_rules!` writes, from every kind of fragment.
use toolbox::{ToolBox, ToolCall, tools};

macro_rules! scaled {
    ($(#[$meta:meta])* $doc:literal, $name:ident, $label:literal, $argument:ident: $ty:ty = $default:expr, $by:expr) => {
        $(#[$meta])*
        #[doc = $doc]
        #[toolbox::tool(name = $label, example($argument = $default))]
        pub fn $name(#[doc = $doc] #[arg(default = $default, range = 0..=$default * 100)] $argument: $ty) -> $ty {
            $argument * $by
        }
    };
}

scaled!("Doubles a number.", double, "twice", number: u32 = 3, 2);
scaled!(#[inline] "Triples a number.", triple, "thrice", number: i64 = 1 + 1, 3);

macro_rules! listed {
    ($doc:expr, $vis:vis $name:ident($($argument:ident: $ty:ty),*) -> $out:ty $body:block) => {
        #[doc = $doc]
        #[toolbox::tool]
        $vis fn $name($($argument: $ty),*) -> $out $body
    };
}

listed!("Joins two texts.", pub(crate) join(a: &str, b: Option<&str>) -> String {
    format!("{a}{}", b.unwrap_or("!"))
});

macro_rules! set {
    ($name:ident { $($method:ident: $doc:literal => $value:expr),* }) => {
        struct $name;

        #[toolbox::toolset]
        impl $name {
            $(#[doc = $doc] #[tool] fn $method(&self) -> &'static str { $value })*
        }
    };
}

set!(Words { hello: "Says hello." => "hello", bye: "Says goodbye." => "bye" });

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![double, triple, join]);
    toolbox.register(Words);
    assert_eq!(toolbox.names(), ["twice", "thrice", "join", "hello", "bye"]);
    let text = async |name: &str, arguments: &str| {
        toolbox.call(ToolCall::new("1", name, arguments)).await.into_text()
    };
    assert_eq!(text("twice", "{}").await, "6");
    assert_eq!(text("thrice", r#"{"number":5}"#).await, "15");
    assert_eq!(text("join", r#"{"a":"hm"}"#).await, "hm!");
    assert_eq!(text("bye", "").await, "bye");
    assert_eq!(double::tool().description(), "Doubles a number.");
}
