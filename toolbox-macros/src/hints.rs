//! Hints for options of other macros that `#[tool]` and `#[arg]` spell differently.

use proc_macro2::TokenStream;
use syn::{Attribute, Meta};

use crate::args::Opt;

const DESCRIBE: &str = "write a doc comment above the argument: `/// Words to look for`";
const RANGE: &str = "write the least and the greatest number: `range = 1..=50`";
const LENGTH: &str =
    "write the least and the greatest number of characters or items: `length = 1..=200`";
const ARGUMENTS: &str = "describe an argument with a doc comment above it, and bound it with `#[arg(...)]` in front of it";
const STATE: &str = "take it as an argument: `database: State<Database>`, `context: &ToolContext`";
const CHOICES: &str =
    "take an enum with `#[derive(Deserialize, JsonSchema)]`: its variants are the choices";
const DEFAULT: &str = "write `default = value`, or `default` for that of the type";
const OPTIONAL: &str = "make its type an `Option`, or give it a `default`";
const EXAMPLES: &str = "write `examples(\"Paris\", \"Tokyo\")`";
const RENAME: &str = "write `rename = \"type\"`";

/// Returns the spelling in `#[arg(...)]` of an option of another macro.
fn of_argument(option: &str) -> Option<&'static str> {
    Some(match option {
        "description" | "desc" | "doc" | "docs" | "help" | "about" | "title" | "comment" => {
            DESCRIBE
        }
        "min" | "max" | "minimum" | "maximum" | "gt" | "ge" | "gte" | "lt" | "le" | "lte"
        | "exclusive_minimum" | "exclusive_maximum" | "bounds" | "between" => RANGE,
        "min_length" | "max_length" | "min_len" | "max_len" | "min_items" | "max_items" | "len"
        | "size" | "inner" => LENGTH,
        "required" => {
            "take it out: an argument is required unless its type is an `Option` or it has a `default`"
        }
        "optional" | "nullable" | "skip_serializing_if" => OPTIONAL,
        "name" | "alias" | "aliases" | "key" | "id" | "rename_all" => RENAME,
        "enum" | "r#enum" | "choices" | "one_of" | "values" | "variants" | "options"
        | "value_enum" => CHOICES,
        "regex" | "matches" | "regexp" => "write `pattern = \"^[a-z]+$\"`",
        "format" | "email" | "url" => {
            "take a type of that format (see the page on arguments), or bound the text: `pattern = \"^[a-z]+$\"`"
        }
        "default_value" | "default_value_t" | "default_fn" | "default_with" => DEFAULT,
        "example" => EXAMPLES,
        "type" | "ty" | "schema" | "schema_with" | "with" | "json_schema" | "transform" => {
            "take it out: the type of the argument decides its schema"
        }
        "complete" | "completer" | "completion" | "autocomplete" | "suggest" | "suggestions" => {
            "write `complete = cities`, in prompts and resources alone: tools have no completion"
        }
        "validate" | "validator" | "garde" | "custom" | "verify" | "assert" => {
            "name a function that takes the argument by reference: `check = is_even`, or `check = toolbox::rules::garde` for a type that derives `Validate`"
        }
        "deprecated" | "deprecation" => {
            "write the attribute of Rust beside it: `#[deprecated(note = \"use `to`\")]`"
        }
        "skip" | "state" | "context" | "inject" | "from_context" | "ctx" => STATE,
        _ => return None,
    })
}

/// Returns the spelling in `#[tool(...)]` of an option of another macro.
fn of_tool(option: &str) -> Option<&'static str> {
    Some(match option {
        "param" | "params" | "parameter" | "parameters" | "arg" | "args" | "argument"
        | "arguments" | "default" | "range" | "input" | "inputs" | "fields" => ARGUMENTS,
        "input_schema" | "schema" | "output_schema" | "returns" | "output" | "return" => {
            "take it out: the schemas are those of the function's types"
        }
        "desc" | "doc" | "docs" | "about" | "summary" | "help" => {
            "write a doc comment above the function, or `description = \"...\"`"
        }
        "rename" | "id" | "tool_name" | "alias" => "write `name = \"search\"`",
        "strict" => {
            "take it out: arguments are always checked against the schema, and each provider is sent what it takes"
        }
        "timeout_ms" | "timeout_s" | "timeout_secs" | "timeout_seconds" | "time_limit" => {
            "write the time with its unit: `timeout = \"30s\"`"
        }
        "max_tokens" | "max_result_size" | "max_result_bytes" | "max_output_tokens"
        | "result_limit" => {
            "write the tokens of a result that are passed on whole: `max_result_tokens = 4000`"
        }
        "annotations" | "hints" => {
            "write each hint by itself: `read_only`, `destructive`, `idempotent`, `open_world`"
        }
        "confirm"
        | "requires_approval"
        | "needs_approval"
        | "requires_confirmation"
        | "dangerous"
        | "permission" => "write `approval`",
        "validate" | "validator" | "garde" | "verify" | "assert" => {
            "name a function over several arguments: `check = in_order(start, end)`"
        }
        "deprecated" | "deprecation" => {
            "write the attribute of Rust above the function: `#[deprecated(note = \"use `search`\")]`"
        }
        "hidden" | "defer" | "defer_loading" | "lazy" => "write `deferred`",
        "icon" => "write `icons = [\"https://example.com/rain.png\"]`",
        "_meta" | "metadata" | "extra" => "write `meta(\"com.example/team\" = \"release\")`",
        "tag" | "category" | "group" | "categories" | "groups" | "keywords" => {
            "write `tags(\"docs\", \"search\")`"
        }
        "state" | "context" | "ctx" | "inject" => STATE,
        "spawn_blocking" | "sync" => "write `blocking`",
        "async" => "write `async fn`: an asynchronous tool needs no option",
        "retry" | "retries" | "max_retries" | "rate_limit" | "concurrency" | "max_concurrent" => {
            "say it of the tool when it is registered: see the methods of `Tool`"
        }
        _ => return None,
    })
}

/// Returns whether a hint for `#[tool(...)]` holds for prompts and resources as well.
fn is_general(hint: &&str) -> bool {
    [ARGUMENTS, STATE].contains(hint)
        || ["write `blocking`", "write the time", "write a doc comment above"]
            .iter()
            .any(|start| hint.starts_with(start))
}

/// Returns the spelling in `#[prompt(...)]` of an option of another macro.
fn of_prompt(option: &str) -> Option<&'static str> {
    Some(match option {
        "complete" | "completer" | "completion" => {
            "write it in front of the argument: `#[arg(complete = cities)]`"
        }
        "role" | "messages" | "system" => {
            "take it out: return the messages, `PromptMessage::user(..)` and `PromptMessage::assistant(..)`"
        }
        "icon" | "icons" | "meta" => "add it to the value: `review::prompt().with_icon(..)`",
        "async" => "write `async fn`: an asynchronous prompt needs no option",
        "rename" | "id" | "prompt_name" | "alias" => "write `name = \"review\"`",
        _ => return None,
    })
}

/// Returns the spelling in `#[resource(...)]` of an option of another macro.
fn of_resource(option: &str) -> Option<&'static str> {
    Some(match option {
        "uri" | "url" | "path" | "template" | "uri_template" => {
            "write the URI first, without a name: `#[resource(\"notes://{id}\")]`"
        }
        "mime" | "content_type" | "media_type" | "mimetype" | "format" => {
            "write `mime_type = \"text/markdown\"`"
        }
        "ttl" | "cache" | "max_age" | "ttl_ms" => "write `fresh_for = \"5m\"`",
        "private" => "take it out: each reader has contents of their own, unless it says `public`",
        "subscribe" | "subscription" | "watch" => {
            "take it out, and say when it changes: `toolbox.resources().changed(uri)`"
        }
        "icon" | "icons" | "meta" | "size" | "annotations" => {
            "add it to the value: `manual::resource().with_size(..)`"
        }
        "async" => "write `async fn`: an asynchronous resource needs no option",
        "rename" | "id" | "alias" => "write `name = \"manual\"`",
        _ => return None,
    })
}

/// Returns the spelling of an option of another macro; `attribute` is the attribute's name in
/// messages.
pub(crate) fn of(option: &str, attribute: &str) -> Option<&'static str> {
    match attribute {
        "#[arg(...)]" => of_argument(option),
        "#[tool(...)]" => of_tool(option),
        "#[prompt(...)]" => of_prompt(option).or_else(|| of_tool(option).filter(is_general)),
        "#[resource(...)]" => of_resource(option).or_else(|| of_tool(option).filter(is_general)),
        _ => None,
    }
}

/// Attributes of other macros on arguments and fields.
const FOREIGN: &[&str] =
    &["serde", "schemars", "validate", "garde", "tool", "param", "schema", "description", "desc"];

/// Returns whether an attribute on an argument belongs to another macro and `#[arg(...)]` is meant.
pub(crate) fn is_foreign(attribute: &Attribute) -> bool {
    FOREIGN.iter().any(|name| attribute.path().is_ident(name)) || is_conditional(attribute)
}

/// Returns whether an attribute is a `#[cfg_attr(..)]` around `#[arg(..)]`: the compiler decides it
/// after this macro.
fn is_conditional(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let is_arg = |tokens: &TokenStream| first_word(tokens) == "arg";
    attribute.path().is_ident("cfg_attr")
        && crate::args::split(list.tokens.clone()).iter().skip(1).any(is_arg)
}

/// Returns the spelling in `#[arg(...)]` of another macro's attribute.
pub(crate) fn instead(attribute: &Attribute) -> &'static str {
    if attribute.path().is_ident("description") || attribute.path().is_ident("desc") {
        return DESCRIBE;
    }
    if is_conditional(attribute) {
        return "write `#[arg(..)]` itself, or the function twice, each under a `#[cfg(..)]`";
    }
    let Meta::List(list) = &attribute.meta else { return DESCRIBE };
    let first = first_word(&list.tokens);
    match first.as_str() {
        "default" => "write `#[arg(default)]` or `#[arg(default = value)]`",
        "rename" => "write `#[arg(rename = \"type\")]`",
        "flatten" => "write `#[arg(flatten)]`",
        "range" => "write `#[arg(range = 1..=50)]`",
        "length" => "write `#[arg(length = 1..=200)]`",
        "regex" | "pattern" => "write `#[arg(pattern = \"^[a-z]+$\")]`",
        "example" | "examples" => "write `#[arg(examples(\"Paris\", \"Tokyo\"))]`",
        other => of_argument(other).unwrap_or(
            "write `#[arg(...)]`; or put the attribute on a field of a struct, and take that",
        ),
    }
}

fn first_word(tokens: &TokenStream) -> String {
    match tokens.clone().into_iter().next() {
        Some(proc_macro2::TokenTree::Ident(ident)) => ident.to_string(),
        _ => String::new(),
    }
}

/// Returns the likely meaning of a number without a unit after `timeout =`.
pub(crate) fn timeout(option: &Opt) -> Option<String> {
    let text = option.value.to_string();
    let digits = text.trim_matches('"');
    let number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    let is_zero = digits.chars().all(|c| c == '0');
    number.then(|| if is_zero { "30s".to_owned() } else { format!("{digits}s") })
}
