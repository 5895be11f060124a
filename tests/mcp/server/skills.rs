//! The extension for skills: a folder, served over streams and HTTP.

use std::fs;
use std::path::Path;

use crate::bounded::tokio;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use toolbox::ToolBox;
use toolbox::mcp::{OpenSkillFolderError, Service, SkillFolder};

use super::peer::{ERAS, Era, Peer};
use super::web::{self, Request};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Writes files below a folder, which are made of their paths and contents.
pub(super) fn write(folder: &Path, files: &[(&str, &[u8])]) {
    for (path, contents) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }
}

/// Returns the text of a `SKILL.md` with a name and nothing special.
pub(super) fn skill(name: &str) -> Vec<u8> {
    format!("---\nname: {name}\ndescription: The skill {name}.\n---\nDo it.\n").into_bytes()
}

fn digest(bytes: &[u8]) -> String {
    let hex = |digest: String, byte: &u8| digest + &format!("{byte:02x}");
    let digest = Sha256::digest(bytes).iter().fold(String::new(), hex);
    format!("sha256:{digest}")
}

pub(super) fn file(uri: &str, bytes: &[u8]) -> Value {
    json!({"uri": uri, "digest": digest(bytes), "size": bytes.len()})
}

pub(super) struct Served {
    pub(super) home: TempDir,
    folder: SkillFolder,
    toolbox: ToolBox,
    service: Service,
}

impl Served {
    /// Serves a folder with these files.
    pub(super) fn new(files: &[(&str, &[u8])]) -> Self {
        Self::in_box(ToolBox::new(), files)
    }

    fn in_box(toolbox: ToolBox, files: &[(&str, &[u8])]) -> Self {
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("skills")).unwrap();
        write(&home.path().join("skills"), files);
        Self::of(toolbox, home)
    }

    fn of(toolbox: ToolBox, home: TempDir) -> Self {
        let folder = SkillFolder::open(home.path().join("skills")).unwrap();
        let service = Service::new(toolbox.clone()).skills(folder.clone());
        Self { home, folder, toolbox, service }
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        self.home.path().join("skills")
    }

    async fn peer(&self) -> Peer {
        Peer::connect(self.service.clone(), Era::Modern).await
    }
}

pub(super) async fn list(peer: &mut Peer) -> Vec<Value> {
    let mut skills = Vec::new();
    let mut params = json!({});
    loop {
        let answer = peer.request("skills/list", params).await;
        let result = &answer["result"];
        assert_eq!(result["resultType"], "complete", "{answer}");
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(60000), &json!("public")));
        skills.extend(result["skills"].as_array().unwrap().iter().cloned());
        match result.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return skills,
        }
    }
}

pub(super) async fn uris(peer: &mut Peer) -> Vec<String> {
    let skills = list(peer).await;
    skills.iter().map(|skill| skill["uri"].as_str().unwrap().to_owned()).collect()
}

pub(super) async fn read(peer: &mut Peer, uri: &str) -> Value {
    peer.request("resources/read", json!({"uri": uri})).await
}

#[tokio::test]
async fn a_folder_is_listed_and_read() {
    let head = b"---\nname: refunds\ndescription: >-\n  Refunds\n  an order.\nlicense: MIT\nmetadata:\n  level: 3\n  tags: [a, \"b\"]\n  draft: false\n---\n# Refunds\n";
    let (script, picture) = (b"echo 1\r\n", b"\x89PNG\xff");
    let nested = skill("partial");
    let served = Served::new(&[
        ("shop/refunds/SKILL.md", head),
        ("shop/refunds/run me.sh", script),
        ("shop/refunds/picture.png", picture),
        ("shop/refunds/partial/SKILL.md", &nested),
        ("shop/refunds/.git/config", b"secret"),
        ("shop/refunds/.env", b"secret"),
        ("shop/README.md", b"no skill"),
    ]);
    let base = "skill://shop/refunds";
    let entry = json!({
        "uri": format!("{base}/SKILL.md"),
        "frontmatter": {"name": "refunds", "description": "Refunds an order.", "license": "MIT",
            "metadata": {"level": 3, "tags": ["a", "b"], "draft": false}},
        "resources": [
            file(&format!("{base}/SKILL.md"), head),
            file(&format!("{base}/partial/SKILL.md"), &nested),
            file(&format!("{base}/picture.png"), picture),
            file(&format!("{base}/run%20me.sh"), script),
        ],
    });
    let inner = json!({
        "uri": format!("{base}/partial/SKILL.md"),
        "frontmatter": {"name": "partial", "description": "The skill partial."},
        "resources": [file(&format!("{base}/partial/SKILL.md"), &nested)],
    });
    let mut peer = served.peer().await;
    assert_eq!(list(&mut peer).await, [entry.clone(), inner]);
    let answer = peer.request("skills/get", json!({"uri": entry["uri"]})).await;
    let expected =
        json!({"resultType": "complete", "skill": entry, "ttlMs": 60000, "cacheScope": "public"});
    assert_eq!(answer["result"], expected);
    let contents = [
        ("SKILL.md", json!({"mimeType": "text/markdown", "text": String::from_utf8_lossy(head)})),
        ("run%20me.sh", json!({"text": "echo 1\r\n"})),
        ("picture.png", json!({"blob": "iVBOR/8="})),
    ];
    for (name, mut expected) in contents {
        let uri = format!("{base}/{name}");
        expected["uri"] = json!(uri);
        assert_eq!(read(&mut peer, &uri).await["result"]["contents"], json!([expected]));
    }
    // The files are in no list of resources.
    let listed = peer.request("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"], json!([]));
    assert_eq!(served.folder.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn the_extension_is_of_the_newer_protocol_alone() {
    let served = Served::new(&[("a/SKILL.md", &skill("a"))]);
    let none = Service::new(ToolBox::new());
    for (service, expected) in [(served.service.clone(), json!({})), (none.clone(), Value::Null)] {
        let mut peer = Peer::connect(service, Era::Modern).await;
        let found = peer.request("server/discover", json!({})).await;
        let capabilities = &found["result"]["capabilities"];
        assert_eq!(capabilities["extensions"][EXTENSION], expected);
        assert_eq!(capabilities["resources"].is_object(), expected.is_object());
    }
    for era in ERAS {
        for (service, is_there) in [(&served.service, era == Era::Modern), (&none, false)] {
            let mut peer = Peer::connect(service.clone(), era).await;
            for (method, params) in [
                ("skills/list", json!({})),
                ("skills/get", json!({"uri": "skill://a/SKILL.md"})),
                ("resources/directory/read", json!({"uri": "skill://a"})),
            ] {
                let answer = peer.request(method, params).await;
                if is_there && method != "resources/directory/read" {
                    assert!(answer["result"].is_object(), "{answer}");
                } else {
                    assert_eq!(answer["error"]["code"], -32601, "{era:?} {method} {answer}");
                }
            }
        }
    }
    let mut peer = Peer::silent(served.service.clone());
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    peer.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})).await;
    assert!(peer.next().await["result"]["capabilities"].get("extensions").is_none());
}

#[tokio::test]
async fn what_is_not_there_is_an_error() {
    let served = Served::new(&[
        ("a/SKILL.md", &skill("a")),
        ("a/notes.txt", b"notes"),
        ("README.md", b"outside of the skills"),
    ]);
    fs::write(served.home.path().join("secret.txt"), "secret").unwrap();
    let mut peer = served.peer().await;
    let missing = [
        "skill://a/notes.txt",
        "skill://b/SKILL.md",
        "skill://a/./SKILL.md",
        "skill://A/SKILL.md",
        "",
    ];
    for uri in missing {
        let answer = peer.request("skills/get", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
        assert_eq!(answer["error"]["data"], json!({"uri": uri}));
    }
    let outside = [
        "skill://README.md",
        "skill://../secret.txt",
        "skill://a/../../secret.txt",
        "skill://a/%2e%2e/%2e%2e/secret.txt",
        "skill://a/..%2f..%2fsecret.txt",
        "skill://a/..\\..\\secret.txt",
        "skill://a//SKILL.md",
        "skill:///a/SKILL.md",
        "skill://a/SKILL.md/",
        "skill://a/SKILL.md%00",
        "skill://a/SKILL.md?x",
        "skill://a",
        "file:///etc/passwd",
    ];
    for uri in outside {
        let answer = read(&mut peer, uri).await;
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    for params in [json!({}), json!({"uri": 7})] {
        assert_eq!(peer.request("skills/get", params).await["error"]["code"], -32602);
    }
    let answer = peer.request("skills/list", json!({"cursor": "no"})).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert!(read(&mut peer, "skill://a/notes.txt").await["result"].is_object());
}

#[tokio::test]
async fn a_skill_that_breaks_a_rule_is_left_out_alone() {
    let head = |text: &str| format!("---\n{text}\n---\n").into_bytes();
    let bomb = head(
        "name: x\ndescription: d\na: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]",
    );
    let deep =
        head(&format!("name: x\ndescription: d\na: {}{}", "[".repeat(5000), "]".repeat(5000)));
    let cases: [(&str, Vec<u8>, &str); 15] = [
        ("x", b"# No frontmatter".to_vec(), "does not begin with a frontmatter"),
        (
            "x",
            b"---\nname: x\ndescription: never closed\n".to_vec(),
            "does not begin with a frontmatter",
        ),
        ("x", head("name: y\ndescription: d"), "has the `name` `y`, not that of its folder"),
        ("x", head("description: d"), "has no `name`"),
        ("x", head("name: 7\ndescription: d"), "has no `name`"),
        ("x", head("name: x"), "has no `description`"),
        ("x", head("name: x\ndescription: \" \""), "has no `description`"),
        ("x", head("- name: x"), "is no mapping"),
        ("x", head("name: x\nname: x\ndescription: d"), "cannot be read"),
        ("x", head("name: [x\ndescription: d"), "cannot be read"),
        ("x", bomb, "cannot be read"),
        ("x", deep, "cannot be read"),
        (
            "x",
            head(&format!("name: x\ndescription: {}", "d".repeat(70_000))),
            "has more than 65536 bytes",
        ),
        ("x", b"---\nname: x\ndescription: \xff\n---\n".to_vec(), "is not UTF-8"),
        ("with blank", head("name: with blank\ndescription: d"), "letters, digits"),
    ];
    for (name, main, reason) in cases {
        let path = format!("{name}/SKILL.md");
        let served = Served::new(&[("good/SKILL.md", &skill("good")), (&path, &main)]);
        let mut peer = served.peer().await;
        assert_eq!(uris(&mut peer).await, ["skill://good/SKILL.md"], "{reason}");
        let problems = served.folder.problems();
        assert!(problems.len() == 1 && problems[0].contains(reason), "{reason}: {problems:?}");
        assert!(problems[0].len() < 1000, "{problems:?}");
        let answer = read(&mut peer, &format!("skill://{}", path.replace(' ', "%20"))).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn a_skill_beyond_a_limit_is_left_out_whole() {
    let large = vec![b'a'; 5 << 20];
    let huge = vec![b'a'; 7 << 20];
    let mut files: Vec<(String, &[u8])> = Vec::new();
    for count in [511, 512] {
        files.extend((0..count).map(|at| (format!("files-{count}/{at}.txt"), &b"x"[..])));
    }
    files.extend((0..3).map(|at| (format!("three/{at}.bin"), &large[..])));
    files.extend((0..4).map(|at| (format!("four/{at}.bin"), &large[..])));
    files.push(("huge/a.bin".to_owned(), &huge));
    let names = ["files-511", "files-512", "three", "four", "huge"];
    let mains: Vec<(String, Vec<u8>)> =
        names.iter().map(|name| (format!("{name}/SKILL.md"), skill(name))).collect();
    let mut all: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (&**path, *bytes)).collect();
    all.extend(mains.iter().map(|(path, bytes)| (&**path, &**bytes)));
    let served = Served::new(&all);
    let mut peer = served.peer().await;
    let skills = list(&mut peer).await;
    let found: Vec<(&str, usize)> = skills
        .iter()
        .map(|own| (own["uri"].as_str().unwrap(), own["resources"].as_array().unwrap().len()))
        .collect();
    assert_eq!(found, [("skill://files-511/SKILL.md", 512), ("skill://three/SKILL.md", 4)]);
    let problems = served.folder.problems();
    for reason in [
        "`files-512` is left out: it has 513 files",
        "`four` is left out: it has 20971",
        "has more than 6291456 bytes",
    ] {
        assert!(problems.iter().any(|problem| problem.contains(reason)), "{reason} {problems:?}");
    }
    assert_eq!(problems.len(), 3, "{problems:?}");
    // A file that is listed can be read.
    let contents = read(&mut peer, "skill://three/1.bin").await;
    assert_eq!(contents["result"]["contents"][0]["text"].as_str().unwrap().len(), large.len());
    assert_eq!(read(&mut peer, "skill://four/1.bin").await["error"]["code"], -32602);
    assert_eq!(read(&mut peer, "skill://files-512/1.txt").await["error"]["code"], -32602);
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;

    let served = Served::new(&[("a/SKILL.md", &skill("a")), ("a/own.txt", b"own")]);
    let (home, folder) = (served.home.path(), served.path());
    write(home, &[("outside/SKILL.md", &skill("outside")), ("outside/secret.txt", b"secret")]);
    symlink(home.join("outside/secret.txt"), folder.join("a/secret.txt")).unwrap();
    symlink(home.join("outside"), folder.join("a/more")).unwrap();
    symlink(home.join("outside"), folder.join("outside")).unwrap();
    symlink("a", folder.join("b")).unwrap();
    fs::hard_link(home.join("outside/secret.txt"), folder.join("a/hard.txt")).unwrap();
    fs::create_dir(folder.join("hard")).unwrap();
    fs::hard_link(home.join("outside/SKILL.md"), folder.join("hard/SKILL.md")).unwrap();
    let pipe = folder.join("a/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let mut peer = served.peer().await;
    let skills = list(&mut peer).await;
    assert_eq!(skills.len(), 1, "{skills:?}");
    let files = skills[0]["resources"].as_array().unwrap();
    let files: Vec<&str> = files.iter().map(|file| file["uri"].as_str().unwrap()).collect();
    assert_eq!(files, ["skill://a/SKILL.md", "skill://a/own.txt"]);
    let problems = served.folder.problems();
    assert_eq!(problems.iter().filter(|problem| problem.contains("is a link")).count(), 4);
    assert_eq!(problems.iter().filter(|problem| problem.contains("is a hard link")).count(), 2);
    assert_eq!(problems.len(), 7, "{problems:?}");
    for uri in [
        "a/secret.txt",
        "a/more/secret.txt",
        "outside/SKILL.md",
        "b/SKILL.md",
        "a/pipe",
        "a/hard.txt",
        "hard/SKILL.md",
    ] {
        let answer = read(&mut peer, &format!("skill://{uri}")).await;
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    // A link that takes the place of a file, or of its folder, after it was listed.
    for (place, target) in [("a/own.txt", "outside/secret.txt"), ("a", "outside")] {
        let place = folder.join(place);
        fs::rename(&place, home.join("aside")).unwrap();
        symlink(home.join(target), &place).unwrap();
        for uri in ["skill://a/own.txt", "skill://a/SKILL.md", "skill://a/secret.txt"] {
            let answer = read(&mut peer, uri).await.to_string();
            assert!(!answer.contains("secret\"") && !answer.contains("outside."), "{answer}");
        }
        fs::remove_file(&place).unwrap();
        fs::rename(home.join("aside"), &place).unwrap();
    }
    fs::remove_file(folder.join("a/own.txt")).unwrap();
    fs::hard_link(home.join("outside/secret.txt"), folder.join("a/own.txt")).unwrap();
    let answer = read(&mut peer, "skill://a/own.txt").await.to_string();
    assert!(!answer.contains("secret\""), "{answer}");
    // A name of a file that people would misread.
    fs::write(folder.join("a/two\nlines"), "x").unwrap();
    assert_eq!(uris(&mut peer).await, Vec::<String>::new());
    assert!(
        served
            .folder
            .problems()
            .iter()
            .any(|problem| problem.contains("whose name is no plain text"))
    );
}

#[tokio::test]
async fn changes_are_in_the_next_list() {
    let served = Served::new(&[("a/SKILL.md", &skill("a")), ("a/notes.txt", b"first")]);
    let mut peer = served.peer().await;
    let notes = async |peer: &mut Peer| list(peer).await[0]["resources"][1].clone();
    assert_eq!(notes(&mut peer).await, file("skill://a/notes.txt", b"first"));
    // Of the same length, at once.
    for text in ["other", "third", "again"] {
        fs::write(served.path().join("a/notes.txt"), text).unwrap();
        let contents = read(&mut peer, "skill://a/notes.txt").await;
        assert_eq!(contents["result"]["contents"][0]["text"], text);
        assert_eq!(notes(&mut peer).await, file("skill://a/notes.txt", text.as_bytes()));
    }
    // What comes is read and got before a list, what goes is gone.
    write(&served.path(), &[("b/SKILL.md", &skill("b")), ("b/more.txt", b"more")]);
    assert!(read(&mut peer, "skill://b/more.txt").await["result"].is_object());
    let answer = peer.request("skills/get", json!({"uri": "skill://b/SKILL.md"})).await;
    assert_eq!(answer["result"]["skill"]["frontmatter"]["name"], "b");
    fs::remove_dir_all(served.path().join("a")).unwrap();
    assert_eq!(uris(&mut peer).await, ["skill://b/SKILL.md"]);
    assert_eq!(read(&mut peer, "skill://a/SKILL.md").await["error"]["code"], -32602);
    fs::remove_file(served.path().join("b/SKILL.md")).unwrap();
    assert_eq!(uris(&mut peer).await, Vec::<String>::new());
    assert_eq!(read(&mut peer, "skill://b/more.txt").await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_list_has_pages_that_are_small() {
    let names: Vec<String> = (0..40).map(|at| format!("s{at:02}")).collect();
    let mains: Vec<(String, Vec<u8>)> =
        names.iter().map(|name| (format!("{name}/SKILL.md"), skill(name))).collect();
    let files: Vec<(&str, &[u8])> = mains.iter().map(|(path, main)| (&**path, &**main)).collect();
    let served = Served::new(&files);
    let mut peer = served.peer().await;
    let first = peer.request("skills/list", json!({})).await;
    assert_eq!(first["result"]["skills"].as_array().unwrap().len(), 32);
    let all: Vec<String> = names.iter().map(|name| format!("skill://{name}/SKILL.md")).collect();
    assert_eq!(uris(&mut peer).await, all);
    let mut peer = Peer::connect(served.service.clone().page_size(1), Era::Modern).await;
    assert_eq!(uris(&mut peer).await, all);
}

#[tokio::test]
async fn the_box_has_the_last_word() {
    let served = Served::new(&[
        ("a/SKILL.md", &skill("a")),
        ("a/notes.txt", b"notes"),
        ("b/SKILL.md", &skill("b")),
    ]);
    served.toolbox.resources().blacklist("skill://a/notes.txt");
    let mut peer = served.peer().await;
    assert_eq!(
        uris(&mut peer).await,
        ["skill://b/SKILL.md"],
        "no list has a file that is forbidden"
    );
    assert_eq!(read(&mut peer, "skill://a/notes.txt").await["error"]["code"], -32602);
    let answer = peer.request("skills/get", json!({"uri": "skill://a/SKILL.md"})).await;
    assert_eq!(answer["error"]["code"], -32602);
    // All of it has a pace.
    let mut peer = Peer::connect(served.service.clone().max_calls_per_second(1), Era::Modern).await;
    for method in ["skills/list", "skills/get"] {
        let mut refused = 0;
        for _ in 0..10 {
            let answer = peer.request(method, json!({"uri": "skill://b/SKILL.md"})).await;
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            refused += usize::from(message.contains("too many calls came at once"));
        }
        assert!(refused >= 7, "{method} {refused}");
    }
    // A resource of the program is not replaced.
    let taken = toolbox::Tool::new("own", "Own").call(|_| "own");
    let taken = toolbox::resource::Resource::from_tool("skill://a/notes.txt", taken).unwrap();
    let toolbox = ToolBox::builder().resources(taken).build().unwrap();
    let files: [(&str, &[u8]); 2] = [("a/SKILL.md", &skill("a")), ("a/notes.txt", b"notes")];
    let served = Served::in_box(toolbox, &files);
    let mut peer = served.peer().await;
    assert_eq!(uris(&mut peer).await, Vec::<String>::new());
    let contents = read(&mut peer, "skill://a/notes.txt").await;
    assert_eq!(contents["result"]["contents"][0]["text"], "own");
    assert!(served.folder.problems()[0].contains("is another resource of the box"));
}

#[test]
fn a_folder_that_is_none_is_an_error() {
    let home = TempDir::new().unwrap();
    let error = SkillFolder::open(home.path().join("missing")).unwrap_err();
    assert!(
        matches!(error, OpenSkillFolderError::Io { .. }) && error.to_string().contains("missing")
    );
    fs::write(home.path().join("SKILL.md"), skill("a")).unwrap();
    let error = SkillFolder::open(home.path()).unwrap_err();
    assert!(matches!(error, OpenSkillFolderError::IsSkill(_)), "{error}");
}

#[tokio::test]
async fn skills_are_served_over_http() {
    let skills = Served::new(&[("a/SKILL.md", &skill("a")), ("a/notes.txt", b"notes")]);
    let served = web::Served::start(skills.service.clone()).await;
    let send = async |method: &str, params: Value| {
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        let request = Request::modern(method, params).header("mcp-name", &uri);
        served.send(&request).await.message()
    };
    let listed = send("skills/list", json!({})).await;
    assert_eq!(
        listed["result"]["skills"][0]["resources"][1],
        file("skill://a/notes.txt", b"notes")
    );
    let got = send("skills/get", json!({"uri": "skill://a/SKILL.md"})).await;
    assert_eq!(got["result"]["skill"], listed["result"]["skills"][0]);
    let contents = send("resources/read", json!({"uri": "skill://a/notes.txt"})).await;
    assert_eq!(contents["result"]["contents"][0]["text"], "notes");
    served.stop().await;
}
