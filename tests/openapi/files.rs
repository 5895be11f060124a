//! Descriptions in several files.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use support::Scratch;
use support::web::Reply;
use toolbox_openapi::{Api, OpenApi};

use crate::bounded::tokio;
use crate::{Server, raw};

/// Files by their path in a folder.
fn written(files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new();
    for (path, text) in files {
        let path = scratch.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    scratch
}

fn built(open: OpenApi) -> Api {
    open.base_url("https://api.example.com").build().unwrap()
}

/// A description as it is kept in many repositories: a file a path, a file a schema.
const PETS: [(&str, &str); 7] = [
    (
        "openapi.yaml",
        "openapi: 3.1.0
info: {title: Pets, version: '1'}
paths:
  /pets: {$ref: paths/pets.yaml}
  /owners/{id}:
    get:
      operationId: getOwner
      parameters: [{$ref: 'common.json#/parameters/Id'}]
      responses: {'200': {$ref: 'common.json#/responses/Owner'}}
components:
  schemas: {$ref: schemas/all.yaml}
  securitySchemes: {$ref: common.json#/schemes}
",
    ),
    (
        "paths/pets.yaml",
        "post:
  operationId: addPet
  parameters: [{$ref: '../common.json#/parameters/Dry%20run'}]
  requestBody: {required: true, content: {application/json: {schema: {$ref: ../schemas/Pet.yaml}}}}
get: {operationId: findPet, parameters: [{name: like, in: query, schema: {$ref: '../openapi.yaml#/components/schemas/Pet'}}]}
",
    ),
    ("schemas/all.yaml", "Pet: {$ref: Pet.yaml}\nKind: {type: string, enum: [cat, dog]}"),
    (
        "schemas/Pet.yaml",
        "type: object
required: [name]
properties:
  name: {type: string}
  kind: {$ref: 'all.yaml#/Kind'}
  owner: {$ref: 'Owner.json'}
  young: {type: array, items: {$ref: '#'}}
",
    ),
    (
        "schemas/Owner.json",
        r##"{"type": "object", "properties": {"city": {"$ref": "#/definitions/City"}, "$ref": {"type": "string"}}, "definitions": {"City": {"type": "string", "maxLength": 40}}}"##,
    ),
    (
        "common.json",
        r#"{"parameters": {"Id": {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
            "Dry run": {"name": "dry", "in": "query", "schema": {"type": "boolean"}}},
          "responses": {"Owner": {"description": "", "content": {"application/json": {"schema": {"$ref": "schemas/Owner.json"}}}}},
          "schemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}"#,
    ),
    ("never-named.yaml", "{"),
];

/// Looks at the tools of [`PETS`], however they were read.
fn check_pets(api: &Api) {
    assert_eq!(api.report().to_string(), "3 of 3 operations are tools");
    let names: Vec<&str> = api.tools().iter().map(toolbox::Tool::name).collect();
    assert_eq!(names, ["findPet", "addPet", "getOwner"]);
    let schemas: BTreeMap<&str, Value> = api
        .tools()
        .iter()
        .map(|tool| (tool.name(), tool.definition().input_schema.clone().into()))
        .collect();
    let add = &schemas["addPet"];
    assert_eq!(add["properties"]["name"], json!({"type": "string"}));
    assert_eq!(add["properties"]["dry"], json!({"type": "boolean"}));
    assert_eq!(add["$defs"]["Owner"]["properties"]["$ref"], json!({"type": "string"}));
    assert_eq!(add["properties"]["kind"]["$ref"], "#/$defs/Kind");
    assert_eq!(add["properties"]["young"]["items"]["$ref"], "#/$defs/Pet");
    assert_eq!(add["$defs"]["Kind"]["enum"], json!(["cat", "dog"]));
    assert_eq!(add["$defs"]["Owner"]["properties"]["city"]["$ref"], "#/$defs/City");
    assert_eq!(add["$defs"]["City"], json!({"type": "string", "maxLength": 40}));
    assert_eq!(add["$defs"]["Pet"]["required"], json!(["name"]));
    assert_eq!(add["$defs"].as_object().unwrap().len(), 4, "each once: {add:#}");
    assert_eq!(schemas["getOwner"]["properties"]["id"], json!({"type": "integer"}));
    let output = api.tools()[2].definition().output_schema.clone().expect("it has one");
    assert_eq!(Value::from(output)["properties"]["city"]["$ref"], "#/$defs/City");
}

#[test]
fn the_files_of_the_folder_are_part_of_the_description() {
    let folder = written(&PETS);
    let open = OpenApi::read(folder.path().join("openapi.yaml")).unwrap();
    let key = toolbox_openapi::Credential::key("k");
    check_pets(&built(open.credential("key", key)));
}

#[test]
fn a_link_leads_to_a_description_with_its_files() {
    let folder = written(&PETS);
    let elsewhere = Scratch::new();
    let link = elsewhere.path().join("pets.yaml");
    std::os::unix::fs::symlink(folder.path().join("openapi.yaml"), &link).unwrap();
    check_pets(&built(OpenApi::read(link).unwrap()));
}

#[tokio::test]
async fn the_files_of_the_origin_are_part_of_a_fetched_description() {
    let server = Server::start(|request| {
        let path = request.target.trim_start_matches("/v1/");
        match PETS.iter().find(|(own, _)| *own == path) {
            Some((_, text)) => raw(200, "", text),
            None => raw(404, "", ""),
        }
    })
    .await;
    let open = OpenApi::fetch(&format!("{}/v1/openapi.yaml", server.url)).await.unwrap();
    check_pets(&built(open));
    let mut asked: Vec<String> = server.requests().into_iter().map(|own| own.target).collect();
    asked.sort();
    let mut expected: Vec<String> = PETS.iter().map(|(path, _)| format!("/v1/{path}")).collect();
    expected.retain(|path| !path.ends_with("never-named.yaml"));
    expected.sort();
    assert_eq!(asked, expected, "each file once");
}

/// A description whose only argument is what the reference leads to.
fn of_reference(reference: &str) -> String {
    let parameter = json!({"name": "own", "in": "query", "schema": {"$ref": reference}});
    json!({"openapi": "3.1.0", "paths": {"/x": {"get": {"parameters": [parameter]}}}}).to_string()
}

fn schema(api: &Api) -> Value {
    api.tools()[0].definition().input_schema.clone().into()
}

#[test]
fn what_is_not_followed_accepts_any_value_and_is_reported() {
    let folder = written(&[
        ("secret.yaml", "{type: string, const: SECRET}"),
        ("api/deep/good.yaml", "{type: string}"),
        ("api/broken.yaml", "type: ["),
        ("api/deep/self.yaml", "{$ref: self.yaml}"),
        ("api/folder.yaml/x", ""),
        ("api/bomb.yaml", &bomb()),
    ]);
    let api = folder.path().join("api");
    std::os::unix::fs::symlink("../secret.yaml", api.join("link.yaml")).unwrap();
    let outside = "it is outside of the folder of the description";
    let absolute = format!("file://{}", folder.path().join("secret.yaml").display());
    for (reference, why) in [
        ("../secret.yaml", outside),
        ("deep/../../secret.yaml", outside),
        ("%2e%2e/secret.yaml", outside),
        ("link.yaml", outside),
        ("/etc/hostname", outside),
        (absolute.as_str(), outside),
        ("none.yaml", "No such file or directory"),
        ("folder.yaml", "it is no file"),
        ("/dev/zero", outside),
        ("http://127.0.0.1:9/x.yaml", "it is no file"),
        ("file://other.example/x.yaml", "it is no file"),
        ("data:application/json,{}", "it is no file"),
        ("broken.yaml", "not followed: line 1"),
        ("bomb.yaml", "alias replay limit exceeded"),
    ] {
        std::fs::write(api.join("api.json"), of_reference(reference)).unwrap();
        let built = built(OpenApi::read(api.join("api.json")).unwrap());
        let report = built.report().to_string();
        assert!(report.contains("is not followed: ") && report.contains(why), "{report}");
        assert!(!schema(&built).to_string().contains("SECRET"), "{reference}");
    }
    // In a circle, or at no place of its file: nothing is known of the value.
    for reference in ["deep/self.yaml", "deep/good.yaml#/none", "api.json#/none"] {
        std::fs::write(api.join("api.json"), of_reference(reference)).unwrap();
        let built = built(OpenApi::read(api.join("api.json")).unwrap());
        assert_eq!(built.len(), 1, "{reference}");
    }
    // A folder that the caller names.
    std::fs::write(api.join("api.json"), of_reference("../secret.yaml")).unwrap();
    let wider = built(OpenApi::read_within(api.join("api.json"), folder.path()).unwrap());
    assert_eq!(schema(&wider)["$defs"]["secret"]["const"], "SECRET");
    // A parameter cannot be left open: its operation is left out, with the reason.
    let whole = json!({"openapi": "3.1.0", "paths": {"/x": {"get": {"parameters": [{"$ref": "none.yaml"}]}}}});
    std::fs::write(api.join("api.json"), whole.to_string()).unwrap();
    let report = built(OpenApi::read(api.join("api.json")).unwrap()).report().to_string();
    let expected = "GET /x is left out: the reference `none.yaml` leads nowhere: No such file";
    assert!(report.contains(expected), "{report}");
}

/// YAML whose aliases stand for 10 to the power of 9 values.
fn bomb() -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..9 {
        let items = vec![format!("*a{}", at - 1); 10].join(", ");
        text += &format!("a{at}: &a{at} [{items}]\n");
    }
    text
}

#[test]
fn a_description_has_a_thousand_files_at_most() {
    let folder = written(&[]);
    for at in 0..1_100 {
        let text =
            json!({"$defs": {"next": {"$ref": format!("{}.json", at + 1)}}, "type": "string"});
        std::fs::write(folder.path().join(format!("{at}.json")), text.to_string()).unwrap();
    }
    std::fs::write(folder.path().join("api.json"), of_reference("0.json")).unwrap();
    let built = built(OpenApi::read(folder.path().join("api.json")).unwrap());
    let report = built.report().to_string();
    assert!(report.contains("`1000.json` is not followed: more than 1000 files"), "{report}");
}

#[tokio::test]
async fn another_origin_is_not_asked() {
    let other = Server::silent().await;
    let reference = format!("{}/x.json", other.url);
    let server = Server::start(move |request| match request.target.as_str() {
        "/api.json" => raw(200, "", &of_reference(&reference)),
        _ => Reply::Json(200, json!({})),
    })
    .await;
    let built = built(OpenApi::fetch(&format!("{}/api.json", server.url)).await.unwrap());
    let report = built.report().to_string();
    assert!(report.contains("it is of another origin than the description"), "{report}");
    assert!(other.requests().is_empty());
    // One that answers with an error.
    let missing = Server::start(|request| match request.target.as_str() {
        "/api.json" => raw(200, "", &of_reference("x.json")),
        _ => raw(404, "", ""),
    })
    .await;
    let built = self::built(OpenApi::fetch(&format!("{}/api.json", missing.url)).await.unwrap());
    let report = built.report().to_string();
    assert!(report.contains("is not followed: the URL answers with 404"), "{report}");
}

#[test]
fn a_folder_is_read_from_any_working_directory() {
    let folder = written(&PETS);
    let relative = Path::new("openapi.yaml");
    assert!(OpenApi::read(relative).is_err(), "the test has another working directory");
    let within = OpenApi::read_within(folder.path().join(relative), folder.path().join("none"));
    assert!(within.is_err());
}
