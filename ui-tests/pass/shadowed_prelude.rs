//! Names of the prelude that mean something else where the tool stands.
#![allow(dead_code, non_snake_case, unused_macros)]

use toolbox::{ToolBox, ToolCall, tools};

mod odd {
    pub struct Option;
    pub struct String;
    pub struct Vec;
    pub struct Box;
    pub struct Default;
    pub struct Fn;
    pub trait Send {}
    pub trait Sync {}
    pub trait Into {}
    pub trait Iterator {}
    pub type Result = std::result::Result<u32, std::string::String>;
    pub fn Ok() {}
    pub fn Err() {}
    pub fn Some() {}
    pub fn None() {}
    macro_rules! vec { () => { compile_error!("not that one") }; }
    macro_rules! concat { () => { compile_error!("not that one") }; }
    macro_rules! file { () => { compile_error!("not that one") }; }
    mod core {}
    mod std_ {}

    /// Halves a number.
    #[toolbox::tool(name = "halve", example(number = 4, unit = "m"), tags("math"), timeout = "2s")]
    pub async fn halve(
        #[arg(default = 8, range = 0..=100, examples(2, 4))] number: u32,
        #[arg(length = 1..)] unit: &str,
    ) -> Result {
        match number % 2 {
            0 => Result::Ok(number / 2),
            _ => Result::Err(format!("{number} {unit} is odd")),
        }
    }

    pub struct Set;

    #[toolbox::toolset]
    impl Set {
        /// Says nothing.
        #[tool]
        pub fn nothing(&self) {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![odd::halve]);
    toolbox.register(odd::Set);
    let call = |arguments: &str| toolbox.call(ToolCall::new("1", "halve", arguments));
    assert_eq!(call(r#"{"unit":"km"}"#).await.text(), "4");
    assert_eq!(call(r#"{"unit":"km","number":3}"#).await.text(), "3 km is odd");
    assert_eq!(toolbox.call(ToolCall::new("2", "nothing", "{}")).await.text(), "ok");
}
