//! The skills of a mounted server, served again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::ToolBox;
use toolbox::mcp::{ServerConfig, Servers, Service, WithheldReason};

use super::peer::{Era, Peer};
use super::skills::{Served, file, list, read, skill, uris};

/// Mounts a server under the name `s`, and returns its handle and a client of the gateway.
async fn gateway(config: ServerConfig) -> (Servers, Peer) {
    let toolbox = ToolBox::new();
    let servers = Servers::builder().server("s", config).mount(&toolbox).await.unwrap();
    let peer = Peer::connect(Service::new(toolbox), Era::Modern).await;
    (servers, peer)
}

/// Returns a server with a folder of skills.
fn skilled(folder: &Path) -> ServerConfig {
    ServerConfig::command(crate::program("served")).arg(folder.to_str().unwrap())
}

#[tokio::test]
async fn a_gateway_hands_skills_on() {
    let main = skill("refunds");
    let served = Served::new(&[
        ("shop/refunds/SKILL.md", &main),
        ("shop/refunds/notes.txt", b"first"),
        ("shop/refunds/picture.png", b"\x89PNG\xff"),
    ]);
    let (servers, mut peer) = gateway(skilled(&served.path())).await;
    let base = "skill://s/shop/refunds";
    let entry = json!({
        "uri": format!("{base}/SKILL.md"),
        "frontmatter": {"name": "refunds", "description": "The skill refunds."},
        "resources": [
            file(&format!("{base}/SKILL.md"), &main),
            file(&format!("{base}/notes.txt"), b"first"),
            file(&format!("{base}/picture.png"), b"\x89PNG\xff"),
        ],
    });
    assert_eq!(list(&mut peer).await, std::slice::from_ref(&entry), "{:?}", servers.status());
    let got = peer.request("skills/get", json!({"uri": entry["uri"]})).await;
    assert_eq!(got["result"]["skill"], entry);
    let notes = format!("{base}/notes.txt");
    let contents = read(&mut peer, &notes).await;
    assert_eq!(contents["result"]["contents"], json!([{"uri": notes, "text": "first"}]));
    let picture = read(&mut peer, &format!("{base}/picture.png")).await;
    assert_eq!(picture["result"]["contents"][0]["blob"], "iVBOR/8=");
    for uri in [
        "skill://shop/refunds/notes.txt",
        "skill://s/shop/refunds/none",
        "skill://s/shop/refunds/../refunds/notes.txt",
    ] {
        assert_eq!(read(&mut peer, uri).await["error"]["code"], -32602, "{uri}");
        let answer = peer.request("skills/get", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32602, "{uri}");
    }
    // A file that changes is refused, until the list has its digest.
    fs::write(served.path().join("shop/refunds/notes.txt"), "other").unwrap();
    let answer = read(&mut peer, &notes).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("size and digest"), "{answer}");
    let mut last = Value::Null;
    for _ in 0..400 {
        last = list(&mut peer).await[0]["resources"][1].clone();
        if last == file(&notes, b"other") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(last, file(&notes, b"other"));
    assert_eq!(read(&mut peer, &notes).await["result"]["contents"][0]["text"], "other");
    servers.close().await;
    assert_eq!(uris(&mut peer).await, Vec::<String>::new());
    assert_eq!(read(&mut peer, &notes).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_gateway_hands_on_what_is_valid_alone() {
    let config = ServerConfig::command(crate::program("offering")).args(["modern", "skills"]);
    let (servers, mut peer) = gateway(config).await;
    let skills = list(&mut peer).await;
    let found: Vec<&str> = skills.iter().map(|own| own["uri"].as_str().unwrap()).collect();
    let status = servers.status().remove(0);
    assert_eq!(
        found,
        ["skill://s/host/mirror/SKILL.md", "skill://s/team/good/SKILL.md"],
        "{status:?}"
    );
    assert_eq!(skills[0]["frontmatter"]["n"], 1);
    let withheld: Vec<(&str, &str)> =
        status.withheld.iter().map(|own| (own.name.as_str(), own.detail.as_str())).collect();
    let expected = [
        ("skill skill://team/good/SKILL.md", "listed twice"),
        ("skill skill://upper/SKILL.md", "digest"),
        ("skill skill://plain/SKILL.md", "digest"),
        ("skill skill://short/SKILL.md", "digest"),
        ("skill skill://negative/SKILL.md", "cannot be read"),
        ("skill skill://nameless/SKILL.md", "no `name`"),
        ("skill skill://undescribed/SKILL.md", "no `description`"),
        ("skill skill://number/SKILL.md", "no `name`"),
        ("skill skill://renamed/SKILL.md", "not that of its folder"),
        ("skill skill://hiding/SKILL.md", "not shown"),
        ("skill skill://dynamic/SKILL.md", "not listed"),
        ("skill skill://empty/SKILL.md", "not among its files"),
        ("skill skill://readme/README.md", "does not name a `SKILL.md`"),
        ("skill skill://../up/SKILL.md", "does not name a `SKILL.md`"),
        ("skill skill://bell/SKILL.md", "does not name a `SKILL.md`"),
        ("skill skill://many/SKILL.md", "more than 512 files"),
        ("skill skill://large/SKILL.md", "more than 16 MiB"),
        ("skill skill://twice/SKILL.md", "listed twice"),
        ("skill skill://team/SKILL.md", "another digest"),
        ("skill ", "cannot be read"),
    ];
    let outside = [("skill skill://out/SKILL.md", "outside of its folder"); 9];
    let expected: Vec<(&str, &str)> = expected.into_iter().chain(outside).collect();
    assert_eq!(withheld.len(), expected.len(), "{withheld:?}");
    for ((name, detail), (expected, reason)) in withheld.iter().zip(expected) {
        assert!(name == &expected && detail.contains(reason), "{name}: {detail}: {reason}");
    }
    assert!(status.notices.iter().any(|notice| notice.contains("suspicious")), "{status:?}");
    let base = "skill://s/team/good";
    let main = read(&mut peer, &format!("{base}/SKILL.md")).await;
    let text = "---\nname: good\ndescription: d\n---\n";
    assert_eq!(
        main["result"]["contents"],
        json!([{"uri": format!("{base}/SKILL.md"), "mimeType": "text/markdown", "text": text, "_meta": {"k": 1}}])
    );
    let answer = read(&mut peer, &format!("{base}/lines.txt")).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "a\r\nb");
    assert_eq!(
        read(&mut peer, &format!("{base}/bytes.bin")).await["result"]["contents"][0]["blob"],
        "aGk="
    );
    let refused = [
        ("lie.txt", "size and digest"),
        ("short.txt", "size and digest"),
        ("hidden.txt", "not shown to people"),
        ("two.txt", "one file"),
        ("other.txt", "another URI"),
        ("none.txt", "one file"),
    ];
    for (name, reason) in refused {
        let answer = read(&mut peer, &format!("{base}/{name}")).await;
        assert_eq!(answer["error"]["code"], -32603, "{name}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(reason), "{name}: {answer}");
    }
    // The mirror's file is what the other skill has.
    let answer = read(&mut peer, "skill://s/host/mirror/SKILL.md").await;
    assert_eq!(
        answer["error"]["code"], -32602,
        "the server has nothing under its scheme: {answer}"
    );
    servers.close().await;
}

#[tokio::test]
async fn a_lock_file_holds_skills_too() {
    let served = Served::new(&[("a/SKILL.md", &skill("a")), ("a/notes.txt", b"first")]);
    let lock = served.home.path().join("lock.json");
    let mount = async || {
        let toolbox = ToolBox::new();
        let config = skilled(&served.path());
        let builder = Servers::builder().server("s", config).lock_file(&lock);
        let servers = builder.mount(&toolbox).await.unwrap();
        (servers, Peer::connect(Service::new(toolbox), Era::Modern).await)
    };
    let (servers, mut peer) = mount().await;
    assert_eq!(uris(&mut peer).await, ["skill://s/a/SKILL.md"]);
    servers.close().await;
    fs::write(served.path().join("a/notes.txt"), "other").unwrap();
    let (servers, mut peer) = mount().await;
    assert_eq!(uris(&mut peer).await, Vec::<String>::new());
    let status = servers.status().remove(0);
    assert_eq!(status.withheld[0].name, "skill skill://a/SKILL.md");
    assert_eq!(status.withheld[0].reason, WithheldReason::Changed);
    servers.approve_all(&servers.status()).unwrap();
    assert_eq!(uris(&mut peer).await, ["skill://s/a/SKILL.md"]);
    servers.close().await;
}
