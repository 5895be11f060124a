/// Searches.
#[must_use]
fn search(limit: u32) -> u32 {
    limit
}
#[allow(non_camel_case_types, dead_code, missing_docs)]
struct search {}
#[allow(dead_code, missing_docs)]
impl search {
    const NAME: &'static str = ::core::concat!(::core::file!(), ":", ::core::line!());
    const ORIGIN: &'static str = "";
    fn tool() -> ::toolbox::Tool {
        ::core::unreachable!()
    }
}
::core::compile_error! {
    "unknown option `naem` in `#[tool(...)]`\nhelp: did you mean `name`?\nnote: the options are `name`, `description`, `title`, `version`, `replaces`, `type`, `timeout`, `max_result_tokens`, `collect`, `check`, `available`, `blocking`, `exclusive`, `read_only`, `destructive`, `idempotent`, `open_world`, `background`, `durable`, `approval`, `deferred`, `untrusted`, `tags`, `icons`, `meta`, `example`, `crate`"
}
