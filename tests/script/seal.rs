//! Paused scripts that come back as they left, or not at all.

use std::time::Duration;

use serde_json::{Value, json};
use toolbox::agent::{Agent, Paused};
use toolbox::context::Decision;
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox};
use toolbox_script::{OpenSealError, SealKey};

use crate::bounded::tokio;
use crate::scripted;

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

fn toolbox() -> ToolBox {
    let tools = [
        Tool::new("read", "Reads.").call(|_| "read"),
        Tool::new("pay", "Pays.").call(|_| "paid").needs_approval(),
    ];
    scripted(ToolBox::from_iter(tools))
}

/// A run that waits for its second call.
async fn paused() -> Paused {
    let script = "return await tools.read() + ' ' + await tools.pay()";
    let model = ScriptedModel::new().calls("run_script", json!({ "script": script }));
    let agent = Agent::builder(model).toolbox(toolbox()).build().unwrap();
    agent.run("go").await.unwrap().paused.unwrap()
}

#[tokio::test]
async fn a_sealed_script_goes_on() {
    let key = SealKey::new(KEY).unwrap();
    let sealed = key.seal(&paused().await);
    assert!(serde_json::from_str::<Value>(&sealed).unwrap()["paused"].is_object());
    let paused = SealKey::new(KEY).unwrap().open(&sealed).unwrap();
    let decisions: Vec<_> =
        paused.pending().into_iter().map(|call| (call.id, Decision::Approve)).collect();
    let model = ScriptedModel::answering("done");
    let agent = Agent::builder(model).toolbox(toolbox()).build().unwrap();
    let outcome = agent.resume(paused, decisions).await.unwrap();
    let step = outcome.history.steps().next().unwrap();
    assert_eq!(step.results()[0].text(), "read paid");
}

/// Each bit of each byte, each byte more or less, and each field with another value.
#[tokio::test]
async fn each_change_is_told() {
    let key = SealKey::new(KEY).unwrap();
    let sealed = key.seal(&paused().await);
    let refused = |changed: &str, what: &dyn std::fmt::Display| {
        assert_eq!(key.open(changed).unwrap_err(), OpenSealError::Changed, "{what}");
    };
    assert!(OpenSealError::Changed.to_string().contains("was changed since it was sealed"));
    let mut flipped = 0;
    for at in 0..sealed.len() {
        for bit in 0..7 {
            let mut bytes = sealed.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            if let Ok(changed) = String::from_utf8(bytes) {
                refused(&changed, &format!("bit {bit} of byte {at}"));
                flipped += 1;
            }
        }
        let (before, after) = sealed.split_at(at);
        refused(&format!("{before} {after}"), &format!("a blank at {at}"));
        refused(&format!("{before}{}", &after[1..]), &format!("without byte {at}"));
        refused(before, &format!("cut at {at}"));
    }
    refused(&format!("{sealed} "), &"a blank at the end");
    assert_eq!(flipped, sealed.len() * 7, "all of it is ASCII");

    let whole: Value = serde_json::from_str(&sealed).unwrap();
    let mut paths = Vec::new();
    fields(&whole["paused"], String::new(), &mut paths);
    assert!(paths.len() > 20, "{paths:?}");
    for path in &paths {
        let mut other = whole.clone();
        let field = other["paused"].pointer_mut(path).unwrap();
        *field = match field {
            Value::String(text) => format!("{text}x").into(),
            Value::Bool(is) => (!*is).into(),
            Value::Number(number) => (number.as_f64().unwrap() + 1.0).into(),
            _ => json!(1),
        };
        let written = format!(r#"{{"paused":{},"mac":{}}}"#, other["paused"], other["mac"]);
        refused(&written, path);
    }
}

/// Collects the pointers of all values within a value that hold no others.
fn fields(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                fields(value, format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, value) in items.iter().enumerate() {
                fields(value, format!("{path}/{at}"), found);
            }
        }
        _ => found.push(path),
    }
}

#[tokio::test]
async fn a_seal_is_of_one_key_and_one_run() {
    let paused = paused().await;
    let (key, other) = (SealKey::new(KEY).unwrap(), SealKey::new([7; 32]).unwrap());
    let sealed = key.seal(&paused);
    assert_eq!(other.open(&sealed).unwrap_err(), OpenSealError::Changed);
    let mut second = serde_json::to_value(&paused).unwrap();
    second["open"] = json!(null);
    let end = &sealed[sealed.rfind(r#","sealed_ms":"#).unwrap()..];
    let swapped = format!(r#"{{"paused":{second}{end}"#);
    assert_eq!(key.open(&swapped).unwrap_err(), OpenSealError::Changed);
    assert_eq!(
        SealKey::new([1; 31]).unwrap_err().to_string(),
        "the key has 31 bytes, and needs 32"
    );
}

#[tokio::test]
async fn a_seal_grows_old_where_the_key_says_so() {
    let key = SealKey::new(KEY).unwrap();
    let sealed = key.seal(&paused().await);
    tokio::time::sleep(Duration::from_millis(20)).await;
    for most in [None, Some(Duration::from_secs(3_600))] {
        let key = most.map_or(key.clone(), |most| key.clone().max_age(most));
        assert!(key.open(&sealed).is_ok(), "{most:?}");
    }
    let strict = key.max_age(Duration::from_millis(10));
    let OpenSealError::Expired { age } = strict.open(&sealed).unwrap_err() else {
        panic!("it is no older")
    };
    assert!(age >= Duration::from_millis(20), "{age:?}");
    let error = OpenSealError::Expired { age: Duration::from_secs(90) };
    assert_eq!(error.to_string(), "the paused run was sealed 90 s ago, which is too long");
    // Nobody makes it younger.
    let time = sealed.rfind(r#""sealed_ms":"#).unwrap();
    let younger = sealed[..time].to_owned() + &sealed[time..].replacen(":1", ":2", 1);
    assert_ne!(younger, sealed);
    assert_eq!(strict.open(&younger).unwrap_err(), OpenSealError::Changed);
}
