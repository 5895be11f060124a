use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Dialect, Lowered, list, lower};
use crate::definition::{Namespace, ToolDefinition};
use crate::dialect::{Definitions, outbound_name, restore_optional, restore_strict};
use crate::schema::corpus::CASES;
use crate::schema::sample::{Dice, any_json, any_schema};
use crate::schema::{normalize, walk};
use crate::validate::{CheckOutcome, ValidationLimits, check_arguments};

fn tool(schema: Value) -> ToolDefinition {
    ToolDefinition::new("search", "Search the documentation.", schema)
}

fn search() -> ToolDefinition {
    tool(json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "words to look for"},
            "limit": {"type": "integer", "description": "how many hits", "minimum": 1, "maximum": 100, "default": 10},
        },
        "required": ["query"],
        "additionalProperties": false,
    }))
}

/// The schema inside an entry.
fn sent(lowered: &Lowered) -> &Value {
    let tool = &lowered.tool;
    let places = [
        "/function/parameters",
        "/parameters",
        "/input_schema",
        "/parametersJsonSchema",
        "/inputSchema",
    ];
    places.iter().find_map(|place| tool.pointer(place)).unwrap_or(&Value::Null)
}

fn chat(schema: Value) -> Lowered {
    lower(&tool(schema), Dialect::OpenAiChat)
}

#[allow(clippy::needless_pass_by_value, reason = "so that a call holds nothing but `json!`")]
fn closed(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[test]
fn search_in_each_dialect() {
    let input = search().input_schema;
    let strict = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "words to look for"},
            "limit": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 100}, {"type": "null"}],
                      "description": "how many hits; null means 10"},
        },
        "required": ["query", "limit"],
        "additionalProperties": false,
    });
    let text = "Search the documentation.";
    let cases = [
        (
            Dialect::OpenAiChat,
            json!([{"type": "function", "function":
                {"name": "search", "description": text, "strict": true, "parameters": strict}}]),
        ),
        (
            Dialect::OpenAiResponses,
            json!([{"type": "function", "name": "search", "description": text, "strict": true, "parameters": strict}]),
        ),
        (
            Dialect::Anthropic,
            json!([{"name": "search", "description": text, "input_schema": input}]),
        ),
        (
            Dialect::Gemini,
            json!([{"functionDeclarations": [{"name": "search", "description": text, "parametersJsonSchema": input}]}]),
        ),
        (
            Dialect::GeminiInteractions,
            json!([{"type": "function", "name": "search", "description": text, "parameters": input}]),
        ),
        (Dialect::Mcp, json!([{"name": "search", "description": text, "inputSchema": input}])),
    ];
    for (dialect, expected) in cases {
        let lowered = lower(&search(), dialect);
        assert_eq!(list(std::slice::from_ref(&lowered)), expected, "{dialect:?}");
        let losses: Vec<String> = lowered.losses.iter().map(ToString::to_string).collect();
        let expected: &[&str] = if lowered.strict {
            &["`default` at /properties/limit: moved to the description"]
        } else {
            &[]
        };
        assert_eq!(losses, expected, "{dialect:?}");
    }
}

/// The payload of the specification: an open schema, so nothing is promised and nothing added.
#[test]
fn read_file_as_specified() {
    let parameters = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Path to the file to read"}},
        "required": ["path"],
    });
    let definition =
        ToolDefinition::new("read_file", "Read the contents of a file", parameters.clone());
    let lowered = lower(&definition, Dialect::OpenAiChat);
    assert_eq!(
        lowered.tool.to_string(),
        json!({"type": "function", "function": {
            "name": "read_file", "description": "Read the contents of a file", "parameters": parameters,
        }})
        .to_string()
    );
    assert_eq!(
        lowered.strict_obstacle.as_deref(),
        Some("the root does not refuse unknown properties")
    );
    let lowered = lower(&definition, Dialect::OpenAiResponses);
    assert_eq!(lowered.tool["strict"], false);
}

#[test]
fn everything_a_definition_can_say() {
    let mut definition = search();
    definition.name = "docs.search".to_owned();
    definition.title = Some("Search".to_owned());
    definition.annotations.read_only = Some(true);
    definition.output_schema = Some(json!({"type": "array"}).into());
    definition.examples = vec![json!({"query": "a"}), json!(1)];
    let mcp = lower(&definition, Dialect::Mcp);
    assert_eq!(
        mcp.tool,
        json!({"name": "docs.search", "title": "Search", "description": "Search the documentation.",
            "inputSchema": definition.input_schema, "outputSchema": {"type": "array"},
            "annotations": {"readOnlyHint": true}})
    );
    let anthropic = lower(&definition, Dialect::Anthropic);
    assert_eq!(anthropic.tool["input_examples"], json!([{"query": "a"}]));
    assert_eq!(anthropic.tool["name"], anthropic.name);
    assert!(anthropic.name.starts_with("docs_search_"));
    assert_eq!(mcp.losses[0].to_string(), "`examples` at the root: dropped");
}

#[test]
fn no_arguments() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    for schema in [schema, json!({"type": "object", "additionalProperties": false})] {
        assert!(chat(schema.clone()).strict);
        assert_eq!(sent(&chat(schema.clone())), &closed(json!({})));
        let gemini = lower(&tool(schema.clone()), Dialect::Gemini).tool;
        assert_eq!(gemini, json!({"name": "search", "description": "Search the documentation."}));
        let newer = lower(&tool(schema.clone()), Dialect::GeminiInteractions).tool;
        assert_eq!(newer["type"], "function");
        assert_eq!(newer.get("parameters"), None);
        let mcp = lower(&tool(schema), Dialect::Mcp);
        assert_eq!(sent(&mcp)["type"], "object");
    }
    assert_eq!(list(&[]), json!([]));
}

/// One property, lowered strictly, and what became of it.
#[test]
fn strict_properties() {
    let cases = [
        (
            json!({"type": "string", "minLength": 3, "maxLength": 20, "description": "A name."}),
            json!({"type": "string", "description": "A name. At least 3 characters; at most 20 characters"}),
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            json!({"type": "string", "pattern": "^a+$"}),
        ),
        (
            json!({"type": "string", "pattern": "^(?!a)"}),
            json!({"type": "string", "description": "matches the regular expression ^(?!a)"}),
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "format": "date-time"}),
        ),
        (
            json!({"type": "string", "format": "uri"}),
            json!({"type": "string", "description": "format uri"}),
        ),
        (
            json!({"type": "integer", "default": 3}),
            json!({"type": "integer", "description": "default 3"}),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 1}),
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "no duplicates"}),
        ),
        (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
        (json!({"type": ["integer", "null"]}), json!({"type": ["integer", "null"]})),
        (
            json!({"type": "string", "oneOf": [{"const": "a", "description": "A."}, {"enum": ["b", "c"]}]}),
            json!({"anyOf": [{"type": "string", "enum": ["a"], "description": "A."}, {"type": "string", "enum": ["b", "c"]}]}),
        ),
        (
            json!({"type": "object", "properties": {"x": {"type": "null"}}, "unevaluatedProperties": false, "title": "T"}),
            json!({"type": "object", "properties": {"x": {"type": "null"}}, "required": ["x"], "additionalProperties": false}),
        ),
    ];
    for (property, expected) in cases {
        let lowered = chat(closed(json!({"p": property})));
        assert!(lowered.strict, "{property}: {:?}", lowered.strict_obstacle);
        assert_eq!(sent(&lowered)["properties"]["p"], expected, "{property}");
    }
}

/// Constraints that strict mode cannot express are listed as losses, and the tool is sent without
/// it.
#[test]
fn strict_obstacles() {
    let cases = [
        (json!({}), "/properties/p has no type"),
        (json!(true), "/properties/p has no type"),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "/properties/p takes properties of any name",
        ),
        (
            json!({"type": "object", "properties": {}}),
            "/properties/p does not refuse unknown properties",
        ),
        (
            json!({"type": "object", "patternProperties": {}, "additionalProperties": false}),
            "/properties/p uses `patternProperties`",
        ),
        (json!({"type": "array"}), "/properties/p does not say what its items are"),
        (
            json!({"type": "array", "prefixItems": [{"type": "null"}]}),
            "/properties/p uses `prefixItems`",
        ),
        (json!({"allOf": [{"type": "null"}]}), "/properties/p uses `allOf`"),
        (json!({"type": "string", "not": {"const": "a"}}), "/properties/p uses `not`"),
        (json!({"anyOf": [{"type": "null"}, {}]}), "/properties/p/anyOf/1 has no type"),
        (json!({"$ref": "#", "minimum": 1}), "/properties/p adds something to what it refers to"),
        (json!({"enum": [{"a": 1}]}), "/properties/p has no type"),
    ];
    for (property, obstacle) in cases {
        let lowered = chat(closed(json!({"p": property})));
        assert_eq!(lowered.strict_obstacle.as_deref(), Some(obstacle), "{property}");
        assert!(!lowered.strict && lowered.tool["function"].get("strict").is_none());
    }
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = closed(json!({"p": deep}));
    }
    let wide: serde_json::Map<_, _> =
        (0..5001).map(|at| (at.to_string(), json!({"type": "null"}))).collect();
    let values: Vec<String> = (0..1001).map(|at| at.to_string()).collect();
    let long: Vec<String> = (0..300).map(|at| at.to_string().repeat(30)).collect();
    let cases = [
        (deep, "objects nest deeper than 10 levels"),
        (closed(json!(wide)), "5001 properties are more than 5000"),
        (closed(json!({"p": {"enum": values}})), "1001 enum values are more than 1000"),
        (closed(json!({"p": {"enum": long}})), "/properties/p lists too many long values"),
        (
            json!({"type": "object", "properties": {"p": {"type": ["integer", "null"], "default": 3}}, "additionalProperties": false}),
            "/properties/p means one thing when null and another when left out",
        ),
    ];
    for (schema, obstacle) in cases {
        assert_eq!(chat(schema).strict_obstacle.as_deref(), Some(obstacle));
    }
}

#[test]
fn recursion_is_strict() {
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }, "required": ["name", "children"], "additionalProperties": false});
    let mut schema = closed(json!({"tree": {"$ref": "#/$defs/Tree", "description": "the whole"}}));
    schema["$defs"] = json!({"Tree": tree});
    let lowered = chat(schema.clone());
    assert!(lowered.strict, "{:?}", lowered.strict_obstacle);
    schema["properties"]["tree"] =
        json!({"description": "the whole", "anyOf": [{"$ref": "#/$defs/Tree"}]});
    assert_eq!(sent(&lowered), &schema);
}

/// Every dialect gets an object with properties, whatever stood there.
#[test]
fn roots_that_are_no_objects() {
    let circle = json!({"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
        "required": ["kind", "radius"], "additionalProperties": false});
    let square = json!({"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
        "required": ["kind"], "additionalProperties": false});
    let union = json!({"oneOf": [circle, {"$ref": "#/$defs/Square"}], "$defs": {"Square": square}});
    let both = json!({"anyOf": [{"const": "circle"}, {"const": "square"}]});
    for dialect in Dialect::ALL {
        let lowered = lower(&tool(union.clone()), dialect);
        let schema = sent(&lowered);
        assert_eq!(schema["type"], "object");
        assert!(schema["properties"].is_object());
        if dialect == Dialect::Mcp {
            assert_eq!(schema["oneOf"], union["oneOf"]);
            continue;
        }
        assert!(schema.get("oneOf").is_none());
        let kinds = &schema["properties"]["kind"];
        assert!(
            *kinds == json!({"type": "string", "enum": ["circle", "square"]}) || *kinds == both,
            "{kinds}"
        );
        assert_eq!(schema["required"], json!(["kind"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(lowered.losses[0].to_string(), "`oneOf` at the root: moved to the description");
        let description =
            lowered.tool.pointer("/function/description").unwrap_or(&lowered.tool["description"]);
        assert_eq!(
            description,
            "Search the documentation. Arguments take one of these forms: \
             {kind: \"circle\", radius} or {kind: \"square\", side?}"
        );
    }
    for schema in [json!(null), json!([]), json!({"type": "string"}), json!("x"), json!(false)] {
        for dialect in Dialect::ALL {
            let lowered = lower(&tool(schema.clone()), dialect);
            assert_eq!(lowered.losses.len(), 1, "{schema}");
            assert!(!lowered.strict);
        }
    }
    let referred =
        json!({"$ref": "#/$defs/A", "$defs": {"A": closed(json!({"x": {"type": "string"}}))}});
    for dialect in Dialect::ALL {
        let lowered = lower(&tool(referred.clone()), dialect);
        assert_eq!(sent(&lowered)["properties"], json!({"x": {"type": "string"}}));
        assert_eq!(lowered.losses, []);
    }
}

// Reports about other libraries, each with the payload that was refused.

/// schemars#473: a doc comment on a field of a named type put `description` beside `$ref`, and
/// `OpenAI` answered 400.
#[test]
fn schemars_473_reference_with_description() {
    let person =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    for closed in [true, false] {
        let mut person = person.clone();
        if closed {
            person["additionalProperties"] = json!(false);
        }
        let mut schema = self::closed(json!({
            "from": {"$ref": "#/$defs/Person", "description": "Who sends"},
            "to": {"$ref": "#/$defs/Person", "description": "Who receives"},
        }));
        schema["$defs"] = json!({"Person": person});
        let dialects = Dialect::ALL.into_iter().filter(|own| own.is_open_ai() || own.is_gemini());
        for dialect in dialects {
            let lowered = lower(&tool(schema.clone()), dialect);
            assert_eq!(lowered.strict, closed && dialect.is_open_ai());
            walk::each(sent(&lowered), &mut |map| {
                assert!(!map.contains_key("$ref") || map.len() == 1, "{map:?}");
            });
            assert_eq!(sent(&lowered)["properties"]["from"]["description"], "Who sends");
        }
    }
}

/// gemini-cli#14970 and #13326: servers sent `$schema` and `$defs` to a field that knows neither.
#[test]
fn gemini_cli_14970_and_13326_unknown_names() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string", "const": "x"}},
    });
    let tool = lower(&tool(schema), Dialect::Gemini).tool;
    assert!(tool.get("parameters").is_none());
    assert!(tool["parametersJsonSchema"].get("$schema").is_none());
    assert_eq!(
        tool["parametersJsonSchema"]["$defs"],
        json!({"A": {"type": "string", "enum": ["x"]}})
    );
}

/// The service takes some keywords and ignores them, so the model reads of them in a description.
#[test]
fn keywords_that_gemini_interactions_ignores_are_described() {
    let name =
        json!({"type": "string", "description": "A name.", "maxLength": 20, "pattern": "^a"});
    let names = json!({"type": "array", "items": name, "uniqueItems": true});
    let schema = closed(json!({"names": names}));
    let lowered = lower(&tool(schema.clone()), Dialect::GeminiInteractions);
    let mut expected = schema;
    expected["properties"]["names"]["description"] = json!("no duplicates");
    expected["properties"]["names"]["items"]["description"] =
        json!("A name. At most 20 characters");
    assert_eq!(sent(&lowered), &expected);
    let losses: Vec<String> = lowered.losses.iter().map(ToString::to_string).collect();
    let described = [
        "`uniqueItems` at /properties/names: moved to the description",
        "`maxLength` at /properties/names/items: moved to the description",
    ];
    assert_eq!(losses, described);
    assert_eq!(lower(&tool(expected), Dialect::Gemini).losses, []);
}

/// tower-mcp#582: `serde_json::Value` gave a schema without a type, and a host refused every tool
/// of the server.
#[test]
fn tower_mcp_582_value_has_a_type() {
    for input in [json!({"title": "AnyValue"}), json!(true), json!({})] {
        for dialect in Dialect::ALL {
            let lowered = lower(&tool(input.clone()), dialect);
            if !dialect.is_gemini() {
                assert_eq!(sent(&lowered)["type"], "object");
            }
            assert_eq!(lowered.losses, []);
        }
    }
    let input = closed(json!({"any": true, "described": {"description": "d"}}));
    for dialect in [Dialect::Mcp, Dialect::Anthropic] {
        let schema = lower(&tool(input.clone()), dialect);
        assert_eq!(sent(&schema)["properties"]["any"]["type"].as_array().unwrap().len(), 6);
        assert_eq!(sent(&schema)["properties"]["described"]["description"], "d");
    }
}

/// gents#542: `strict: true` on every tool made optional arguments required.
#[test]
fn gents_542_optional_arguments_stay_optional() {
    let mut schema = closed(json!({
        "query": {"type": "string"},
        "filter": {"type": "object", "properties": {"since": {"type": "string"}, "until": {"type": ["string", "null"]}},
            "additionalProperties": false},
        "shape": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"], "additionalProperties": false},
            {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": ["integer", "null"]}}, "required": ["kind"], "additionalProperties": false},
        ]},
    }));
    schema["required"] = json!(["query"]);
    let lowered = chat(schema.clone());
    assert!(lowered.strict, "{:?}", lowered.strict_obstacle);
    assert_eq!(sent(&lowered)["required"], json!(["query", "filter", "shape"]));
    let cases = [
        (json!({"query": "q", "filter": null, "shape": null}), json!({"query": "q"})),
        (
            json!({"query": "q", "filter": {"since": null, "until": null}, "shape": {"kind": "a", "x": null}}),
            json!({"query": "q", "filter": {"until": null}, "shape": {"kind": "a"}}),
        ),
        (
            json!({"query": null, "filter": null, "shape": {"kind": "b", "x": null}}),
            json!({"query": null, "shape": {"kind": "b", "x": null}}),
        ),
    ];
    for (mut arguments, expected) in cases {
        restore_optional(&schema, &mut arguments);
        assert_eq!(arguments, expected);
    }
}

/// Arrays without `items` are refused by `OpenAI` and Gemini; saying more must not change what is
/// taken.
#[test]
fn arrays_say_what_they_hold() {
    let tuple = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2});
    let schema = closed(json!({"pair": tuple, "any": {"type": "array"}}));
    let lowered = chat(schema);
    let properties = &sent(&lowered)["properties"];
    assert_eq!(
        properties["pair"]["items"],
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
    );
    assert_eq!(properties["any"]["items"], json!({}));
}

/// Strict accepts what the normal form accepts, nulls for what is left out apart; loose accepts
/// exactly that.
#[test]
fn lowering_keeps_the_meaning() {
    let mut stricts = 0;
    for case in CASES {
        let mut inner = (case.schema)();
        let definitions = inner.as_object_mut().unwrap().shift_remove("$defs");
        if inner.to_string().contains(r##""$ref":"#""##) {
            continue;
        }
        let mut schema =
            json!({"type": "object", "properties": {"value": inner}, "required": ["value"]});
        if let Some(definitions) = definitions {
            schema["$defs"] = definitions;
        }
        let raw = schema.clone();
        normalize(&mut schema);
        let original = jsonschema::draft202012::new(&schema).unwrap();
        for dialect in Dialect::ALL {
            let lowered = lower(&tool(schema.clone()), dialect);
            let sent = sent(&lowered);
            let validator =
                jsonschema::draft202012::new(sent).unwrap_or_else(|e| panic!("{e}: {sent:#}"));
            stricts += usize::from(lowered.strict);
            for seed in 1..200 {
                let mut dice = Dice(seed * 0x51_7cc1);
                if lowered.strict {
                    let mut instance = dice.instance(sent, sent, 0);
                    assert!(validator.is_valid(&instance), "{}: {instance} {sent:#}", case.name);
                    // The way that a call takes reads the same without help.
                    let read = check_arguments(
                        &instance.to_string(),
                        &schema,
                        &ValidationLimits::default(),
                    );
                    assert!(
                        !matches!(read, CheckOutcome::Invalid { .. }),
                        "{}: {instance} {read:?}",
                        case.name
                    );
                    restore_optional(&schema, &mut instance);
                    assert!(original.is_valid(&instance), "{}: {instance} {schema:#}", case.name);
                } else {
                    let mut instance = dice.instance(&raw, &raw, 0);
                    dice.mutate(&mut instance);
                    let (before, after) =
                        (original.is_valid(&instance), validator.is_valid(&instance));
                    assert_eq!(before, after, "{} {dialect:?}: {instance} {sent:#}", case.name);
                }
            }
        }
    }
    assert!(stricts > 30, "{stricts}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_schema_is_lowered(schema in prop_oneof![any_json(), any_schema()]) {
        let valid = jsonschema::draft202012::meta::is_valid(&schema);
        let mut narrowed = tool(schema.clone());
        narrowed.strict = true;
        let lowered = lower(&narrowed, Dialect::OpenAiChat);
        let meta = jsonschema::draft202012::meta::is_valid(sent(&lowered));
        prop_assert!(!valid || meta, "{:#} from {:#}", sent(&lowered), schema);
        for dialect in Dialect::ALL {
            let lowered = lower(&tool(schema.clone()), dialect);
            let sent = sent(&lowered);
            if !dialect.is_gemini() {
                prop_assert_eq!(&sent["type"], "object");
                prop_assert!(sent["properties"].is_object());
            }
            prop_assert!(!valid || sent.is_null() || jsonschema::draft202012::meta::is_valid(sent), "{:#} from {:#}", sent, schema);
        }
        restore_optional(&schema, &mut json!({"a": null, "A": {"B": [null]}}));
    }
}

#[test]
fn hostile_schemas_are_lowered_in_time() {
    let reference = |at: usize| json!({"$ref": format!("#/$defs/d{}", at + 1)});
    let chain = |count: usize, link: fn(Value) -> Value| -> Value {
        let mut definitions: serde_json::Map<_, _> =
            (0..count).map(|at| (format!("d{at}"), link(reference(at)))).collect();
        definitions.insert(format!("d{count}"), closed(json!({"x": {"type": "string"}})));
        Value::Object(definitions)
    };
    let nested =
        |depth: usize, wrap: fn(Value) -> Value| (0..depth).fold(json!({}), |inner, _| wrap(inner));
    let definitions = [
        chain(crate::size(4_000, 20_000), |next| next),
        chain(28, |next| json!({"allOf": [next, next]})),
        chain(28, |next| json!({"anyOf": [next, next], "type": "object"})),
        chain(28, |next| closed(json!({"a": next, "b": next}))),
        json!({"d0": {"$ref": "#/$defs/d0"}}),
        json!({"d0": {"allOf": [{"$ref": "#/$defs/d0"}, {"$ref": "#/$defs/d0"}]}}),
        json!({"d0": nested(400, |inner| json!({"not": inner}))}),
        json!({"d0": nested(190, |inner| json!({"items": inner, "type": "array"}))}),
        json!({"d0": nested(95, |inner| json!({"anyOf": [inner]}))}),
        json!({"d0": nested(95, |inner| closed(json!({"a": inner})))}),
    ];
    for definitions in definitions {
        let root = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        let mut inside = closed(json!({"a": {"$ref": "#/$defs/d0"}}));
        inside["$defs"] = definitions;
        for schema in [root, inside] {
            for dialect in Dialect::ALL {
                let mut tool = tool(schema.clone());
                let _ = lower(&tool, dialect);
                tool.strict = true;
                let _ = lower(&tool, dialect);
            }
            let mut value = json!({"a": null});
            for _ in 0..50 {
                value = json!({"a": value, "b": null});
            }
            let _ = restore_strict(&schema, &value.to_string());
            restore_optional(&schema, &mut value);
        }
    }
}

#[test]
fn tools_of_a_namespace_are_sent_together() {
    let own = |name: &str, namespace: Option<(&str, &str)>| ToolDefinition {
        namespace: namespace.map(|(name, about)| Namespace::new(name, about).unwrap()),
        ..ToolDefinition::new(name, "Does it.", json!({"type": "object", "properties": {}}))
    };
    let tools = [
        own("first", None),
        own("orders", Some(("crm", "Customers."))),
        own("pages", Some(("docs.v2", " "))),
        own("people", Some(("crm", "Others."))),
        own("last", None),
    ];
    let plain: Vec<ToolDefinition> =
        tools.iter().map(|own| ToolDefinition { namespace: None, ..own.clone() }).collect();
    for dialect in Dialect::ALL {
        let (sent, flat) =
            (Definitions::from(tools.to_vec()), Definitions::from(plain.clone()).lowered(dialect));
        let sent = sent.lowered(dialect);
        let mut expected = flat.to_value();
        let lost: Vec<&str> = sent.losses().map(|(name, _)| name).collect();
        if dialect == Dialect::OpenAiResponses {
            let part = |at: usize| expected[at].clone();
            expected = json!([
                part(0),
                {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [part(1), part(3)]},
                {"type": "namespace", "name": outbound_name("docs.v2", dialect), "description": "docs.v2", "tools": [part(2)]},
                part(4),
            ]);
            assert_eq!(lost, [""; 0]);
        } else {
            assert_eq!(lost, ["orders", "pages", "people"], "{dialect:?}");
        }
        assert_eq!(sent.to_value(), expected, "{dialect:?}");
        assert_eq!(serde_json::from_str::<Value>(sent.json()).unwrap(), expected);
        assert_eq!(serde_json::to_string(&*sent).unwrap(), sent.json());
        assert_eq!(sent.tools().len(), 5);
    }
    assert!(Namespace::new("two words", "x").is_err() && Namespace::new("", "x").is_err());
}
