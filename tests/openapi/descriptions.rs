//! What is made of a description: names, arguments, schemas, annotations, choices.

use serde_json::{Value, json};
use toolbox::dialect::Dialect;
use toolbox::{ToolBox, ToolCall};
use toolbox_openapi::{Api, OpenApi, ReadError, Select};

use crate::bounded::tokio;
use crate::{Server, from, of_one};

const URL: &str = "https://api.example.com";

fn built(open: OpenApi) -> Api {
    open.base_url(URL).build().unwrap()
}

/// The input schema of the only operation.
fn input(method: &str, operation: &Value) -> Value {
    let api = built(of_one(method, "/x", operation));
    assert_eq!(api.len(), 1, "{}", api.report());
    api.tools()[0].definition().input_schema.clone().into()
}

fn names(api: &Api) -> Vec<&str> {
    api.tools().iter().map(toolbox::Tool::name).collect()
}

#[test]
fn json_yaml_and_the_versions_are_read() {
    for text in [
        r#"{"openapi": "3.0.3", "paths": {"/a": {"get": {}}}}"#,
        "\u{feff}\n openapi: 3.1.0\n paths: {/a: {get: {}}}",
        "openapi: 3.2.0\npaths:\n  /a:\n    get: {}",
        "openapi: 3.0\npaths: {/a: {get: {}}}",
        "swagger: 2.0\npaths: {/a: {get: {}}}",
        "{swagger: '2.0', paths: {/a: {get: {}}}}",
        "openapi: 3.0.0\nx: &get {get: {}}\npaths: {/a: *get}",
    ] {
        assert_eq!(names(&built(OpenApi::parse(text).unwrap())), ["get_a"], "{text}");
    }
    for (text, expected) in [
        (
            "",
            "the description is of no stated version; OpenAPI 3.0 to 3.2 and Swagger 2.0 are read",
        ),
        (
            "openapi: 4.0.0",
            "the description is of version `4.0.0`; OpenAPI 3.0 to 3.2 and Swagger 2.0 are read",
        ),
        (
            "swagger: '1.2'",
            "the description is of version `1.2`; OpenAPI 3.0 to 3.2 and Swagger 2.0 are read",
        ),
        ("[1", "the description cannot be read: "),
    ] {
        let error: ReadError = OpenApi::parse(text).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let file = support::Scratch::new();
    let path = file.path().join("api.yaml");
    std::fs::write(&path, "swagger: 2.0\npaths: {/a: {get: {}}}").unwrap();
    assert_eq!(built(OpenApi::read(&path).unwrap()).len(), 1);
    assert!(matches!(OpenApi::read(file.path().join("none")), Err(ReadError::Io(_))));
}

#[test]
fn names_are_valid_unique_and_told_where_they_change() {
    let long = "a".repeat(100);
    let operation = |id: Value| json!({"operationId": id});
    let api = built(from(&json!({"openapi": "3.0.0", "paths": {
        "/a": {"get": operation(json!("listPets")), "post": operation(json!("listPets"))},
        "/b": {"get": operation(json!("repos/list all")), "post": operation(json!("日本"))},
        "/c/{id}.json": {"get": {}, "delete": operation(json!("  "))},
        "/": {"get": {}},
        "/d": {"get": operation(json!(long)), "put": operation(json!(format!("{long}b")))},
        "/e": {"get": operation(json!("2fa"))},
    }})));
    let all = names(&api);
    assert_eq!(
        &all[..6],
        [
            "listPets",
            "listPets_2",
            "repos_list_all",
            "unnamed",
            "get_c_id_json",
            "delete_c_id_json"
        ]
    );
    assert_eq!(all[6], "get_root");
    assert!(all[7].len() == 64 && all[8].len() == 64 && all[7] != all[8]);
    assert_eq!(all[9], "_2fa");
    let report = api.report().to_string();
    for line in [
        "`listPets_2`: it is the operation `listPets`",
        "`repos_list_all`: it is the operation `repos/list all`",
        "10 of 10 operations are tools",
    ] {
        assert!(report.contains(line), "{report}");
    }
    let api = built(of_one("get", "/x", &json!({"operationId": "list"})).prefixed("pets"));
    assert_eq!(names(&api), ["pets_list"]);
}

#[test]
fn the_parts_of_a_request_are_one_flat_object() {
    let operation = json!({
        "parameters": [
            {"name": "h", "in": "header", "schema": {"type": "string"}, "description": "A header", "deprecated": true},
            {"name": "Accept", "in": "header", "schema": {}},
            {"name": "authorization", "in": "header", "schema": {}},
            {"name": "$top", "in": "query", "required": true, "schema": {"type": "integer", "description": "Count"}},
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"allOf": [
            {"type": "object", "required": ["a", "r"], "properties": {"a": {"type": "string"}, "r": {"readOnly": true}}},
            {"properties": {"h": {"type": "boolean"}}},
        ]}}}},
    });
    assert_eq!(
        input("post", &operation),
        json!({
            "type": "object",
            "properties": {
                "top": {"type": "integer", "description": "Count (`$top` of the query)"},
                "h": {"type": "string", "description": "A header", "deprecated": true},
                "a": {"type": "string"},
                "body_h": {"type": "boolean", "description": "(`h` of the body)"},
            },
            "required": ["top", "a"],
            "additionalProperties": false,
        })
    );
    let report = built(of_one("post", "/x", &operation)).report().to_string();
    for line in [
        "`$top` of the query is the argument `top`",
        "`h` of the body is the argument `body_h` (the name is taken)",
    ] {
        assert!(report.contains(line), "{report}");
    }
}

#[test]
fn a_body_that_is_no_plain_object_is_one_argument() {
    let body = |required: bool, schema: Value| json!({"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}});
    let object = |more: Value| {
        let mut all = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    for (required, schema, is_flat) in [
        (true, object(json!({})), true),
        (true, object(json!({"additionalProperties": false})), true),
        (true, object(json!({"x-more": 1, "title": "T"})), true),
        (true, object(json!({"additionalProperties": true})), false),
        (true, object(json!({"additionalProperties": {"type": "string"}})), false),
        (true, object(json!({"oneOf": [{}]})), false),
        (true, object(json!({"minProperties": 1})), false),
        (true, object(json!({"allOf": [{"properties": {"a": {"type": "integer"}}}]})), false),
        (true, json!({"type": "array"}), false),
        (true, json!({}), false),
        (true, object(json!({"required": ["a"]})), true),
        (false, object(json!({"required": ["a"]})), false),
    ] {
        let schema = input("post", &body(required, schema.clone()));
        let has_body = schema["properties"].get("body").is_some();
        assert_eq!(has_body, !is_flat, "{schema}");
        let expects = schema["required"].as_array().is_some_and(|all| all.contains(&json!("body")));
        assert_eq!(expects, required && !is_flat, "{schema}");
    }
}

#[test]
fn the_body_is_sent_in_the_media_type_that_is_easiest_to_write() {
    for (kinds, expected) in [
        (vec!["text/plain", "application/json"], "a"),
        (vec!["application/octet-stream", "multipart/form-data"], "a"),
        (vec!["application/xml", "application/x-www-form-urlencoded"], "a"),
        (vec!["application/pdf", "application/xml"], "body"),
    ] {
        let media = json!({"schema": {"type": "object", "properties": {"a": {}}}});
        let content: Value = kinds
            .iter()
            .map(|kind| ((*kind).to_owned(), media.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let schema = input("post", &json!({"requestBody": {"content": content}}));
        assert!(schema["properties"].get(expected).is_some(), "{kinds:?} {schema}");
    }
}

#[test]
fn files_are_base64() {
    let multipart = json!({"type": "object", "properties": {
        "file": {"type": "string", "format": "binary"}, "files": {"type": "array", "items": {"type": "string", "format": "binary"}}}});
    let schema = input(
        "post",
        &json!({"requestBody": {"content": {"multipart/form-data": {"schema": multipart}}}}),
    );
    assert_eq!(schema["properties"]["file"]["contentEncoding"], "base64");
    assert_eq!(
        schema["properties"]["files"]["description"],
        "(files, the bytes of each in base64)"
    );
    let schema = input("post", &json!({"requestBody": {"content": {"image/png": {}}}}));
    assert_eq!(
        schema["properties"]["body"],
        json!({"type": "string", "contentEncoding": "base64", "description": "The body (image/png), its bytes in base64"})
    );
}

#[test]
fn swagger_2_has_the_same_arguments() {
    let description = |parameters: Value, consumes: Value| {
        json!({
            "swagger": "2.0", "host": "api.example.com", "consumes": consumes,
            "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "x-nullable": true}}}},
            "paths": {"/x": {"post": {"parameters": parameters, "responses": {"200": {"schema": {"$ref": "#/definitions/Pet"}}}}}},
        })
    };
    for (parameters, consumes, expected) in [
        (
            json!([{"name": "pet", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Pet"}}]),
            json!(["application/json"]),
            json!({"name": {"type": ["string", "null"]}}),
        ),
        (
            json!([{"name": "f", "in": "formData", "type": "file", "description": "The file"}]),
            json!(["multipart/form-data"]),
            json!({"f": {"contentEncoding": "base64", "type": "string", "description": "The file (a file, its bytes in base64)"}}),
        ),
        (
            json!([{"name": "n", "in": "formData", "type": "integer", "maximum": 3, "exclusiveMaximum": true}]),
            json!([]),
            json!({"n": {"type": "integer", "exclusiveMaximum": 3}}),
        ),
        (
            json!([{"name": "q", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "csv"}]),
            json!([]),
            json!({"q": {"type": "array", "items": {"type": "string"}}}),
        ),
    ] {
        let api = from(&description(parameters, consumes)).build().unwrap();
        let definition = api.tools()[0].definition();
        assert_eq!(definition.input_schema["properties"], expected);
        let output = definition.output_schema.as_deref().unwrap();
        assert_eq!(
            *output,
            json!({"type": "object", "required": ["name"], "properties": {"name": {"type": ["string", "null"]}}})
        );
    }
}

#[test]
fn schemas_are_those_of_the_draft() {
    for (version, schema, expected) in [
        (
            "3.0.0",
            json!({"type": "string", "nullable": true, "enum": ["a"]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (
            "3.0.0",
            json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false}),
            json!({"maximum": 2, "exclusiveMinimum": 1}),
        ),
        (
            "3.1.0",
            json!({"exclusiveMinimum": 1, "const": 2, "prefixItems": [{}]}),
            json!({"exclusiveMinimum": 1, "const": 2, "prefixItems": [{}]}),
        ),
        (
            "3.0.0",
            json!({"nullable": true, "allOf": [{"type": "object"}], "description": "D"}),
            json!({"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}], "description": "D"}),
        ),
        (
            "3.0.0",
            json!({"type": "string", "format": "byte", "example": "x", "xml": {}, "x-own": 1, "title": "T"}),
            json!({"type": "string", "contentEncoding": "base64"}),
        ),
        (
            "3.0.0",
            json!({"type": "string", "enum": [true, 1, "a", "a"]}),
            json!({"type": "string", "enum": ["true", "1", "a"]}),
        ),
        (
            "3.0.0",
            json!({"items": [{"type": "string"}, {}]}),
            json!({"prefixItems": [{"type": "string"}, {}]}),
        ),
        // What has the wrong form is left out.
        (
            "3.0.0",
            json!({"type": "any", "required": true, "maxLength": -1, "minLength": 2.0, "pattern": 1, "enum": [], "anyOf": [], "multipleOf": 0, "properties": [], "items": 3}),
            json!({"minLength": 2}),
        ),
        ("3.0.0", json!({"type": "STRING"}), json!({"type": "string"})),
        ("3.0.0", json!(true), json!(true)),
    ] {
        let parameters = json!([{"name": "p", "in": "query", "schema": schema}]);
        let api = built(from(
            &json!({"openapi": version, "paths": {"/x": {"get": {"parameters": parameters}}}}),
        ));
        let found = &api.tools()[0].definition().input_schema["properties"]["p"];
        assert_eq!(*found, expected, "{schema}");
    }
}

#[test]
fn references_become_definitions() {
    let tree = json!({"type": "object", "required": ["id", "secret"], "properties": {
        "id": {"type": "integer", "readOnly": true}, "secret": {"type": "string", "writeOnly": true},
        "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}});
    let media = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}});
    let api = built(from(&json!({
        "openapi": "3.0.0", "components": {"schemas": {"Tree": tree, "a/b": {"type": "string"}}},
        "paths": {"/x": {"post": {
            "parameters": [{"name": "p", "in": "query", "schema": {"$ref": "#/components/schemas/a~1b"}}],
            "requestBody": {"required": true, "content": media}, "responses": {"200": {"content": media}},
        }}},
    })));
    let definition = api.tools()[0].definition();
    let children = |reference: &str| json!({"type": "array", "items": {"$ref": reference}});
    let input = json!({"type": "object", "required": ["secret"], "properties": {"secret": {"type": "string"}, "children": children("#/$defs/Tree")}});
    let output = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "children": children("#/$defs/Tree")}});
    let schema = &definition.input_schema;
    assert_eq!(schema["properties"]["p"], json!({"$ref": "#/$defs/a_1b"}));
    assert_eq!(schema["properties"]["children"], children("#/$defs/Tree"));
    assert_eq!(schema["$defs"], json!({"a_1b": {"type": "string"}, "Tree": input}));
    let found = definition.output_schema.as_deref().unwrap();
    assert_eq!((&found["properties"], &found["$defs"]["Tree"]), (&output["properties"], &output));
}

#[tokio::test]
async fn methods_say_what_a_call_does() {
    for (method, read_only, destructive, idempotent, asks) in [
        ("get", true, false, true, false),
        ("head", true, false, true, false),
        ("post", false, false, false, false),
        ("put", false, false, true, false),
        ("patch", false, false, false, false),
        ("delete", false, true, true, true),
    ] {
        let server = Server::silent().await;
        let api = of_one(method, "/x", &json!({})).base_url(&server.url).build().unwrap();
        let tool = api.tools()[0].clone();
        let hints = tool.definition().annotations;
        assert_eq!(
            (hints.is_read_only(), hints.is_destructive(), hints.is_idempotent()),
            (read_only, destructive, idempotent),
            "{method}"
        );
        assert!(
            tool.is_untrusted() && tool.definition().deferred && !tool.definition().is_untrusted()
        );
        let result = ToolBox::from(api).call(ToolCall::new("c", tool.name(), "{}")).await;
        assert_eq!(
            (result.is_error(), server.requests().len()),
            (asks, usize::from(!asks)),
            "{method}"
        );
    }
    let open = || of_one("post", "/x", &json!({"operationId": "pay"})).base_url(URL);
    let api = open().needs_approval(Select::operation("pay")).listed().trusted().build().unwrap();
    assert!(!api.tools()[0].definition().deferred && !api.tools()[0].is_untrusted());
    let result = ToolBox::from(api).call(ToolCall::new("c", "pay", "{}")).await;
    assert_eq!(result.text(), "tool `pay` needs approval, and nobody here can give it");
}

#[test]
fn operations_are_chosen() {
    let operation = |id: &str, tag: &str| json!({"operationId": id, "tags": [tag]});
    let open = || {
        from(&json!({"openapi": "3.0.0", "paths": {
            "/v1/pets": {"get": operation("listPets", "Pets"), "post": operation("addPet", "Pets")},
            "/v1/pets/{id}": {"delete": operation("deletePet", "Pets")},
            "/v2/shops": {"get": operation("listShops", "Shops")},
        }}))
    };
    for (include, exclude, expected) in [
        (vec![], vec![], vec!["listPets", "addPet", "deletePet", "listShops"]),
        (vec![Select::tag("pets")], vec![Select::method("delete")], vec!["listPets", "addPet"]),
        (vec![Select::path("/v1/*")], vec![], vec!["listPets", "addPet", "deletePet"]),
        (vec![Select::path("/v1/pets")], vec![], vec!["listPets", "addPet"]),
        (vec![Select::operation("list*s")], vec![Select::operation("*Shops")], vec!["listPets"]),
        (
            vec![Select::method("GET"), Select::operation("addPet")],
            vec![],
            vec!["listPets", "addPet", "listShops"],
        ),
        (vec![Select::tag("none")], vec![], vec![]),
    ] {
        let open = include.iter().cloned().fold(open(), OpenApi::include);
        let api = built(exclude.iter().cloned().fold(open, OpenApi::exclude));
        assert_eq!(names(&api), expected, "{include:?} {exclude:?}");
        assert_eq!(api.report().excluded, 4 - expected.len());
    }
}

#[test]
fn a_tool_is_described_by_its_operation() {
    for (operation, expected) in [
        (json!({"summary": "S", "description": "D"}), "S\n\nD"),
        (json!({"summary": "Lists", "description": "Lists all"}), "Lists all"),
        (json!({"description": " D\u{202e}\u{200b} "}), "D"),
        (json!({}), "GET /x"),
    ] {
        assert_eq!(built(of_one("get", "/x", &operation)).tools()[0].description(), expected);
    }
    let api = built(of_one(
        "get",
        "/x",
        &json!({"summary": "S", "deprecated": true, "tags": ["a", "b\n"]}),
    ));
    let definition = api.tools()[0].definition();
    assert!(definition.deprecated().is_some());
    assert_eq!(definition.tags, ["a", "b"]);
    let open = from(
        &json!({"openapi": "3.0.0", "info": {"title": "Pet shop"}, "paths": {"/x": {"get": {}}}}),
    );
    assert_eq!(built(open).tools()[0].source(), Some("Pet shop"));
}

#[tokio::test]
async fn requests_go_to_the_base_url_or_to_the_server_of_the_description() {
    let server = Server::silent().await;
    let (url, port) = (server.url.clone(), server.url.rsplit(':').next().unwrap().to_owned());
    let operation = |servers: Value| json!({"get": {"operationId": "x", "servers": servers}});
    // A private address is reached where the program says so, alone.
    for (description, base, expected) in [
        (json!({"servers": [{"url": "https://other.example"}]}), Some(format!("{url}/a")), "/a/x"),
        (json!({"servers": [{"url": url}]}), None, "refused"),
        (
            json!({"servers": [{"url": "http://{host}:{port}", "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": port}}}]}),
            None,
            "refused",
        ),
    ] {
        let mut all = description.clone();
        all["openapi"] = json!("3.0.0");
        all["paths"] = json!({"/x": operation(json!([{"url": "/own"}]))});
        let open = from(&all);
        let open = if let Some(base) = base { open.base_url(base) } else { open };
        let result = crate::call(open, &json!({})).await;
        let target = server.requests().pop().map_or_else(String::new, |request| request.target);
        let found = if result.is_error() { "refused" } else { target.as_str() };
        assert_eq!(found, expected, "{}", result.text());
        server.seen.lock().unwrap().clear();
    }
    let other = Server::silent().await;
    let own = operation(json!([{"url": format!("{}/own", other.url)}]));
    for (allows, expected) in [(true, "/own/x"), (false, "/x")] {
        let open = from(&json!({"openapi": "3.0.0", "paths": {"/x": own}})).base_url(&server.url);
        let open = if allows { open.allow_origin(&other.url) } else { open };
        crate::call(open, &json!({})).await;
        let asked = if allows { &other } else { &server };
        assert_eq!(asked.requests()[0].target, expected);
    }
}

#[tokio::test]
async fn a_description_is_fetched_with_its_own_server() {
    let description =
        json!({"openapi": "3.0.0", "servers": [{"url": "../v2"}], "paths": {"/x": {"get": {}}}});
    let server = Server::start(move |_| support::web::Reply::Json(200, description.clone())).await;
    let url = format!("{}/docs/openapi.json", server.url);
    let open = OpenApi::fetch(&url).await.unwrap();
    let api = open.build().unwrap();
    assert!(api.tools()[0].definition().is_untrusted());
    let result = ToolBox::from(api).call(ToolCall::new("c", "get_x", "{}")).await;
    assert!(!result.is_error(), "{}", result.text());
    assert_eq!(server.requests()[1].target, "/v2/x");
    let gone = Server::start(|_| crate::raw(404, "", "")).await;
    let error = OpenApi::fetch(&gone.url).await.unwrap_err();
    assert_eq!(error.to_string(), "the description cannot be fetched: the URL answers with 404");
}

#[test]
fn each_dialect_takes_the_tools() {
    let schema = json!({"type": "object", "required": ["kind"], "properties": {
        "kind": {"enum": ["a", "b"]}, "more": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"type": "string", "nullable": true}]}}});
    let api = built(from(&json!({
        "openapi": "3.0.0",
        "components": {"schemas": {"A": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}}}}},
        "paths": {"/x/{id}": {"post": {"requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}}}},
    })).listed());
    let toolbox = ToolBox::from(api);
    for dialect in Dialect::ALL {
        let sent: Value = serde_json::from_str(toolbox.definitions_for(dialect).json()).unwrap();
        let all = sent.to_string();
        assert!(all.contains("post_x_id") && all.contains("kind"), "{dialect:?} {all}");
    }
}
