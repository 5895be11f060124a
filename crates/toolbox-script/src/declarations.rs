//! Declarations of tools in TypeScript.

use std::fmt::Write as _;

use toolbox::ToolDefinition;
use toolbox_codegen::typescript::{SchemaTypes, comment_of, identifier, is_optional, key_of};

use crate::functions::Names;

/// Returns the declarations of tools in TypeScript, as properties of a constant `tools`.
///
/// Arguments and results have the types of their schemas, as far as TypeScript can say them: what it
/// cannot, such as the bounds of a number, is left out, and a result without a schema is
/// its text. A value that fits a schema fits its type.
///
/// ```
/// use toolbox::tool;
/// use toolbox_script::{Names, declarations};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: Option<i64>) -> i64 {
///     a + b.unwrap_or_default()
/// }
///
/// let tool = add::tool();
/// let text = declarations([tool.definition()], &Names::of(["add"]));
/// assert_eq!(
///     text,
///     "declare const tools: {\n    /** Adds two numbers. */\n    \
///      add(input: { a: number; b?: number }): Promise<number>;\n};\n",
/// );
/// ```
#[must_use]
pub fn declarations<'a>(
    definitions: impl IntoIterator<Item = &'a ToolDefinition>,
    names: &Names,
) -> String {
    let mut types = SchemaTypes::default();
    let mut functions = String::new();
    for definition in definitions {
        let name = names.identifier(&definition.name);
        if let Some(words) = comment_of(&definition.description) {
            let _ = writeln!(functions, "    {words}");
        }
        let stem = identifier(name);
        let input = &*definition.input_schema;
        let input_type = types.of(input, &format!("{stem}_input"));
        let mark = if is_optional(input) { "?" } else { "" };
        let output = definition.output_schema.as_deref().map_or_else(
            || "string".to_owned(),
            |schema| types.of(schema, &format!("{stem}_output")),
        );
        let key = key_of(name);
        let _ = writeln!(functions, "    {key}(input{mark}: {input_type}): Promise<{output}>;");
    }
    format!("{}declare const tools: {{\n{functions}}};\n", types.definitions())
}
