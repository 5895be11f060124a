//! A crate without the prelude.
#![no_implicit_prelude]
use ::toolbox::{tool, tools, toolset};
/// Does.
#[tool]
fn f(a: u32, #[arg(default = 5)] b: ::std::option::Option<u32>, #[arg(default = 5, range = 1..9)] c: u8, #[arg(examples("x"), length = 1..5)] t: &str) -> u32 { a }
/// Does.
#[tool]
async fn g(a: &str, context: &::toolbox::ToolContext) -> ::std::result::Result<::std::string::String, ::std::string::String> { ::std::result::Result::Ok(::std::string::ToString::to_string(a)) }
struct S;
#[toolset]
impl S {
    /// Does.
    #[tool]
    fn a(&self, x: u32) -> u32 { x }
    /// Does.
    #[tool]
    async fn b(&self, #[arg(default = 3)] x: ::std::option::Option<u32>) -> ::std::result::Result<u32, ::std::string::String> { ::std::result::Result::Ok(1) }
    /// Asks.
    #[prompt]
    fn p(&self, #[arg(complete = done)] t: &str) -> ::std::string::String { ::std::string::String::new() }
    /// Reads.
    #[resource("a://{id}")]
    fn r(&self, id: &str) -> ::std::string::String { ::std::string::String::new() }
}
fn done(r: &::toolbox::tool::CompletionRequest) -> ::std::vec::Vec<::std::string::String> { r.matching(["a"]) }
fn main() { let b = ::toolbox::ToolBox::new(); b.register(tools![f, g]); b.register(S); }
