//! The requests of calls: styles, bodies, servers.

use serde_json::{Value, json};

use crate::bounded::tokio;
use crate::{Server, call, from, of_one};

/// Makes a call and returns the request: method and target, chosen headers, and the body.
async fn sent(open: toolbox_openapi::OpenApi, arguments: &Value) -> String {
    let server = Server::silent().await;
    let result = call(open.base_url(format!("{}/v1/", server.url)), arguments).await;
    let requests = server.requests();
    let Some(request) = requests.first() else { return format!("not sent: {}", result.text()) };
    let mut text = format!("{} {}", request.method, request.target);
    for name in ["x-own", "cookie", "content-type"] {
        if let Some(value) = request.headers.get(name) {
            text.push_str(&format!("\n{name}: {value}"));
        }
    }
    if !request.text.is_empty() {
        text.push_str(&format!("\n{}", request.text));
    }
    text
}

async fn check(path: &str, parameter: Value, value: Value, expected: &str) {
    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
    let operation = json!({"parameters": [parameter]});
    let argument = name.trim_matches('$').replace(['[', ']'], "");
    let text = sent(of_one("get", path, &operation), &json!({ argument: value })).await;
    assert_eq!(text, expected, "{operation} {path}");
}

#[tokio::test]
async fn parameters_are_written_by_style_and_explode() {
    let list = || json!(["blue", "black", "a,b"]);
    let map = || json!({"R": 100, "G": "x y"});
    let schema = json!({});
    let path = |style: &str, explode: bool| json!({"name": "color", "in": "path", "style": style, "explode": explode, "schema": schema});
    for (style, explode, value, expected) in [
        ("simple", false, json!("a/b?c#d%"), "a%2Fb%3Fc%23d%25"),
        ("simple", false, json!(7), "7"),
        ("simple", false, list(), "blue,black,a%2Cb"),
        ("simple", true, map(), "R=100,G=x%20y"),
        ("simple", false, map(), "R,100,G,x%20y"),
        ("label", false, json!("blue"), ".blue"),
        ("label", true, list(), ".blue.black.a%2Cb"),
        ("label", false, list(), ".blue,black,a%2Cb"),
        ("label", true, map(), ".R=100.G=x%20y"),
        ("matrix", false, json!("blue"), ";color=blue"),
        ("matrix", true, list(), ";color=blue;color=black;color=a%2Cb"),
        ("matrix", false, list(), ";color=blue,black,a%2Cb"),
        ("matrix", true, map(), ";R=100;G=x%20y"),
        ("matrix", false, map(), ";color=R,100,G,x%20y"),
    ] {
        check("/x/{color}/y", path(style, explode), value, &format!("GET /v1/x/{expected}/y"))
            .await;
    }
    let query = |more: Value| {
        let mut own = json!({"name": "color", "in": "query", "schema": schema});
        own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        own
    };
    for (more, value, expected) in [
        (json!({}), json!("a&b=c d+é"), "color=a%26b%3Dc%20d%2B%C3%A9"),
        (json!({}), list(), "color=blue&color=black&color=a%2Cb"),
        (json!({"explode": false}), list(), "color=blue,black,a%2Cb"),
        (json!({}), map(), "R=100&G=x%20y"),
        (json!({"explode": false}), map(), "color=R,100,G,x%20y"),
        (json!({"style": "spaceDelimited"}), list(), "color=blue%20black%20a%2Cb"),
        (json!({"style": "pipeDelimited"}), list(), "color=blue%7Cblack%7Ca%2Cb"),
        (
            json!({"style": "deepObject"}),
            json!({"a": 1, "b": {"c": [2, 3]}}),
            "color[a]=1&color[b][c][]=2&color[b][c][]=3",
        ),
        (json!({"allowReserved": true}), json!("a/b:c&d"), "color=a/b:c%26d"),
        (
            json!({"content": {"application/json": {}}}),
            json!({"a": [1]}),
            "color=%7B%22a%22%3A%5B1%5D%7D",
        ),
        (json!({}), json!(true), "color=true"),
    ] {
        check("/x", query(more), value, &format!("GET /v1/x?{expected}")).await;
    }
    check("/x?action=go", query(json!({})), json!("red"), "GET /v1/x?action=go&color=red").await;
    let own = |place: &str, explode: bool| json!({"name": "x-own", "in": place, "explode": explode, "schema": schema});
    for (explode, value, expected) in [
        (false, json!("plain, text"), "plain, text"),
        (false, list(), "blue,black,a,b"),
        (false, map(), "R,100,G,x y"),
        (true, map(), "R=100,G=x y"),
    ] {
        check("/x", own("header", explode), value, &format!("GET /v1/x\nx-own: {expected}")).await;
    }
    let mut reserved = own("cookie", true);
    reserved["allowReserved"] = json!(true);
    for own in [own("cookie", true), reserved] {
        check("/x", own, json!("a; b=c"), "GET /v1/x\ncookie: x-own=a%3B%20b%3Dc").await;
    }
    let bracketed = json!({"name": "filter[status]", "in": "query", "schema": {"type": "string"}});
    let text = sent(
        of_one("get", "/x", &json!({"parameters": [bracketed]})),
        &json!({"filter_status": "on"}),
    )
    .await;
    assert_eq!(text, "GET /v1/x?filter[status]=on");
}

#[tokio::test]
async fn swagger_2_writes_lists_by_their_collection_format() {
    for (format, expected) in [
        ("csv", "ids=1,2"),
        ("ssv", "ids=1%202"),
        ("tsv", "ids=1%092"),
        ("pipes", "ids=1%7C2"),
        ("multi", "ids=1&ids=2"),
    ] {
        let parameter = json!({"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}, "collectionFormat": format});
        let open =
            from(&json!({"swagger": "2.0", "paths": {"/x": {"get": {"parameters": [parameter]}}}}));
        assert_eq!(sent(open, &json!({"ids": [1, 2]})).await, format!("GET /v1/x?{expected}"));
    }
}

#[tokio::test]
async fn bodies_are_written_by_their_media_type() {
    let object = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object"}, "file": {"type": "string", "format": "binary"},
    }});
    let body = |kind: &str, schema: &Value| json!({"requestBody": {"required": true, "content": {kind: {"schema": schema}}}});
    let values = json!({"name": "a b", "tags": ["x", "y&z"], "more": {"k": 1}});
    let boundary = "toolbox-boundary-0";
    for (kind, schema, arguments, expected) in [
        ("application/json", object.clone(), values.clone(), "application/json\n{\"name\":\"a b\",\"tags\":[\"x\",\"y&z\"],\"more\":{\"k\":1}}".to_owned()),
        ("application/vnd.api+json", object.clone(), json!({"name": "n"}), "application/vnd.api+json\n{\"name\":\"n\"}".to_owned()),
        ("application/json", json!({"type": "array", "items": {"type": "integer"}}), json!({"body": [1, 2]}), "application/json\n[1,2]".to_owned()),
        ("application/x-www-form-urlencoded", object.clone(), values.clone(), "application/x-www-form-urlencoded\nname=a%20b&tags=x&tags=y%26z&more=%7B%22k%22%3A1%7D".to_owned()),
        ("text/plain", json!({"type": "string"}), json!({"body": "hello"}), "text/plain\nhello".to_owned()),
        ("application/xml", object.clone(), json!({"body": "<a/>"}), "application/xml\n<a/>".to_owned()),
        ("application/octet-stream", json!({"type": "string", "format": "binary"}), json!({"body": "aGVsbG8"}), "application/octet-stream\nhello".to_owned()),
        ("image/png", json!({}), json!({"body": "aGVs\nbG8="}), "image/png\nhello".to_owned()),
        ("application/octet-stream", object.clone(), json!({"name": "n"}), "application/octet-stream\n{\"name\":\"n\"}".to_owned()),
        ("*/*", object.clone(), json!({"name": "n"}), "application/json\n{\"name\":\"n\"}".to_owned()),
        ("multipart/form-data", object.clone(), json!({"name": "n", "more": {"k": 1}, "file": "aGVsbG8="}), format!(
            "multipart/form-data; boundary={boundary}\n--{boundary}\r\ncontent-disposition: form-data; name=\"name\"\r\n\r\nn\r\n\
             --{boundary}\r\ncontent-disposition: form-data; name=\"more\"\r\ncontent-type: application/json\r\n\r\n{{\"k\":1}}\r\n\
             --{boundary}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"file\"\r\ncontent-type: application/octet-stream\r\n\r\nhello\r\n\
             --{boundary}--\r\n"
        )),
    ] {
        let text = sent(of_one("post", "/x", &body(kind, &schema)), &arguments).await;
        assert_eq!(text, format!("POST /v1/x\ncontent-type: {expected}"), "{kind}");
    }
    // The boundary is one that no part holds.
    let text = sent(
        of_one("post", "/x", &body("multipart/form-data", &object)),
        &json!({"name": boundary}),
    )
    .await;
    assert!(text.contains("boundary=toolbox-boundary-1"), "{text}");
}

#[tokio::test]
async fn an_encoding_says_how_a_field_of_a_form_is_written() {
    let schema = json!({"type": "object", "properties": {"address": {"type": "object"}, "expand": {"type": "array"}}});
    let encoding = json!({"address": {"style": "deepObject", "explode": true}, "expand": {"style": "form", "explode": false}});
    let content =
        json!({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}});
    let open = of_one("post", "/x", &json!({"requestBody": {"content": content}}));
    let text = sent(open, &json!({"address": {"city": "Ulm"}, "expand": ["a", "b"]})).await;
    assert_eq!(
        text,
        "POST /v1/x\ncontent-type: application/x-www-form-urlencoded\naddress[city]=Ulm&expand=a,b"
    );
}

#[tokio::test]
async fn an_optional_body_is_sent_if_one_of_its_arguments_is_given() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let body = |required: bool| json!({"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}});
    for (required, arguments, expected) in [
        (false, json!({}), "POST /v1/x"),
        (false, json!({"a": 1}), "POST /v1/x\ncontent-type: application/json\n{\"a\":1}"),
        (true, json!({}), "POST /v1/x\ncontent-type: application/json\n{}"),
    ] {
        assert_eq!(sent(of_one("post", "/x", &body(required)), &arguments).await, expected);
    }
}

#[tokio::test]
async fn clashing_names_each_reach_their_own_place() {
    let parameters = json!([
        {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
        {"name": "id", "in": "query", "schema": {"type": "string"}},
    ]);
    let schema = json!({"type": "object", "properties": {"id": {"type": "boolean"}}});
    let body = json!({"content": {"application/json": {"schema": schema}}});
    let open = of_one("put", "/x/{id}", &json!({"parameters": parameters, "requestBody": body}));
    let text = sent(open, &json!({"id": 1, "query_id": "q", "body_id": true})).await;
    assert_eq!(text, "PUT /v1/x/1?id=q\ncontent-type: application/json\n{\"id\":true}");
}

#[tokio::test]
async fn the_method_of_the_operation_is_sent() {
    for method in ["get", "head", "post", "put", "patch", "delete", "options"] {
        let server = Server::silent().await;
        call(of_one(method, "/x", &json!({})).base_url(&server.url), &json!({})).await;
        assert_eq!(server.requests()[0].method, method.to_uppercase());
    }
}
