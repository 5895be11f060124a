//! The official JSON Schema test suite, required parts of five drafts.
//!
//! The suite is not part of this repository; `JSON_SCHEMA_SUITE` names its folder. `.ci/run`
//! installs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{ValidationLimits, conforms};

const DRAFTS: [&str; 5] = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"];

#[test]
#[ignore = "needs the official suite, in the folder that JSON_SCHEMA_SUITE names"]
fn no_value_is_refused_that_its_schema_allows() {
    let suite = std::env::var("JSON_SCHEMA_SUITE").expect("JSON_SCHEMA_SUITE");
    let (mut all, mut refused) = (0, Vec::new());
    let mut accepted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for draft in DRAFTS {
        for file in fs::read_dir(Path::new(&suite).join("tests").join(draft)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let groups: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            for group in groups.as_array().unwrap() {
                let mut schema = group["schema"].clone();
                // A schema that names no draft is of the draft of its folder.
                if let Some(map) = schema.as_object_mut() {
                    let uri = match draft {
                        "draft2019-09" | "draft2020-12" => {
                            format!(
                                "https://json-schema.org/{}/schema",
                                draft.replace("draft", "draft/")
                            )
                        }
                        old => format!("http://json-schema.org/draft-0{}/schema#", &old[5..]),
                    };
                    map.entry("$schema").or_insert(uri.into());
                }
                let schema = &schema;
                for test in group["tests"].as_array().unwrap() {
                    all += 1;
                    let text = test["data"].to_string();
                    let is_valid =
                        conforms(&text, schema, schema, "", &ValidationLimits::default())
                            .is_empty();
                    let (of, about) = (&group["description"], &test["description"]);
                    let title = || format!("{draft}/{name}: {of}: {about}");
                    match (is_valid, test["valid"].as_bool().unwrap()) {
                        (false, true) => refused.push(title()),
                        (true, false) => accepted.entry(name.clone()).or_default().push(title()),
                        _ => {}
                    }
                }
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    // References to other documents, those of the drafts themselves among them, and vocabularies
    // are not read.
    let counts = accepted.iter().map(|(name, cases)| (name.as_str(), cases.len()));
    let wrongly: usize = accepted.values().map(Vec::len).sum();
    assert_eq!(
        (all, wrongly, counts.collect::<Vec<_>>()),
        (
            4836,
            82,
            vec![
                ("definitions", 3),
                ("defs", 2),
                ("dynamicRef", 8),
                ("ref", 5),
                ("refRemote", 60),
                ("vocabulary", 4)
            ]
        ),
        "{accepted:#?}"
    );
}
