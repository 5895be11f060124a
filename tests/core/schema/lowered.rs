//! The schema that a provider gets, and all that is in it.

use serde_json::Value;

/// Returns the schema inside an entry of a provider's list; Gemini takes none for a tool without
/// arguments.
pub(crate) fn sent(tool: &Value) -> Option<&Value> {
    let places = [
        "/function/parameters",
        "/parameters",
        "/input_schema",
        "/parametersJsonSchema",
        "/inputSchema",
    ];
    places.iter().find_map(|place| tool.pointer(place))
}

/// Calls `visit` with each schema inside `schema`, itself included.
pub(crate) fn each(schema: &Value, visit: &mut dyn FnMut(&Value)) {
    visit(schema);
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            (
                "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                Value::Object(named),
            ) => {
                for schema in named.values() {
                    each(schema, visit);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                for schema in list {
                    each(schema, visit);
                }
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                schema,
            ) => each(schema, visit),
            _ => {}
        }
    }
}
