//! `pack`: a bundle that a host installs, and the entry of the registry.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Ended, Folder, own_program, toolbox};

fn pack(folder: &Folder, version: Option<&str>, words: &[&str]) -> Ended {
    let mut command = Command::new(own_program());
    command.args(["--json", "pack"]).args(words).current_dir(&folder.0).stdin(Stdio::null());
    match version {
        // The program of the tests knows what to be by its name.
        Some(version) => command.env("VERSION", version).env("NAME", "own-program"),
        None => command.env_remove("VERSION"),
    };
    let output = command.output().expect("the program starts");
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

const ABOUT: [&str; 4] = ["--author", "Ada", "--description", "Adds numbers."];

#[test]
fn a_bundle_has_the_program_and_starts_it_as_its_manifest_says() {
    let folder = Folder::new();
    let url = "https://example.com/releases/sums-1.2.0.mcpb";
    let more = ["--env", "TOKEN", "--id", "io.github.ada/sums", "--url", url, "--", "--gateway"];
    let ended = pack(&folder, Some("1.2.0"), &[&ABOUT[..], &more].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = ended.json();

    let file = File::open(folder.path("own-program-1.2.0.mcpb")).expect("a bundle");
    let mut bundle = zip::ZipArchive::new(file).expect("an archive");
    let mut text = String::new();
    bundle.by_name("manifest.json").expect("a manifest").read_to_string(&mut text).expect("text");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(manifest, said["manifest"]);
    assert_eq!(
        (&manifest["name"], &manifest["version"], &manifest["author"]),
        (&json!("own-program"), &json!("1.2.0"), &json!({"name": "Ada"}))
    );
    assert_eq!(manifest["tools"].as_array().map(Vec::len), Some(8), "{manifest}");
    assert_eq!(manifest["user_config"]["TOKEN"]["sensitive"], true, "{manifest}");

    // A host unpacks it, and puts its folder in place of the variable.
    let unpacked = folder.path("unpacked");
    bundle.extract(&unpacked).expect("files");
    let config = &manifest["server"]["mcp_config"];
    assert_eq!(config["env"], json!({"TOKEN": "${user_config.TOKEN}"}), "{manifest}");
    let command = config["command"].as_str().expect("text");
    let command = command.replace("${__dirname}", unpacked.to_str().expect("text"));
    let words: Vec<&Value> = config["args"].as_array().into_iter().flatten().collect();
    let command: Vec<Value> =
        std::iter::once(command.into()).chain(words.into_iter().cloned()).collect();
    let servers = json!({"mcp": {"sums": {"command": command}}});
    let host = folder.write("host.jsonc", &servers.to_string());
    let listed = toolbox(&host, &["list", "--json"]);
    assert_eq!(listed.json()["tools"].as_array().map(Vec::len), Some(3), "{listed:?}");

    let entry = std::fs::read_to_string(folder.path("server.json")).expect("an entry");
    let entry: Value = serde_json::from_str(&entry).expect("JSON");
    let digest = &said["bundle"]["sha256"];
    assert_eq!(
        (&entry["name"], &entry["packages"][0]["fileSha256"], &entry["packages"][0]["identifier"]),
        (&json!("io.github.ada/sums"), digest, &json!(url)),
    );

    // A second time it is in the way.
    let again = pack(&folder, Some("1.2.0"), &ABOUT);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.out.contains("--force replaces it"), "{again:?}");
}

#[test]
fn nothing_is_packed_that_could_not_be_started_or_listed() {
    let long = "x".repeat(101);
    let id = ["--id", "io.github.ada/sums", "--url", "https://example.com/a.mcpb"];
    // The version, the words, the exit code, and a part of the output.
    let cases: [(Option<&str>, Vec<&str>, i32, &str); 6] = [
        (None, ABOUT.to_vec(), 1, "the program has no version"),
        (Some("1"), [&ABOUT[..], &["--", "--gatway"]].concat(), 2, "`serve` does not take"),
        (
            Some("1"),
            [&ABOUT[..], &["--id", "sums", "--url", "u"]].concat(),
            2,
            "no name of the registry",
        ),
        (Some("1"), [&ABOUT[..], &["--id", "io.github.ada/sums"]].concat(), 2, "--url"),
        (
            Some("1"),
            [&["--author", "Ada", "--description", long.as_str()][..], &id].concat(),
            2,
            "has 101 characters",
        ),
        (Some("1"), [&ABOUT[..], &["--out", "nowhere"]].concat(), 1, "cannot be written"),
    ];
    for (version, words, code, part) in cases {
        let folder = Folder::new();
        let ended = pack(&folder, version, &words);
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
        assert!(format!("{}{}", ended.out, ended.err).contains(part), "{words:?}: {ended:?}");
        let left = std::fs::read_dir(&folder.0).expect("a folder").count();
        assert_eq!(left, 0, "{words:?}");
    }
}
