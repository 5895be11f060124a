//! The configuration file on the page: shown without secrets, and changed in place.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolbox::page::Page;

use super::{Answer, Halves, Opened, PATIENCE, Site};
use crate::bounded::tokio;
use crate::{Folder, toolbox_program};

/// `toolbox page` or `toolbox serve --page` over a file.
pub(super) struct Configured {
    pub(super) site: Site,
    pub(super) halves: Halves,
    child: Child,
    folder: Folder,
}

impl Drop for Configured {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Configured {
    /// Starts a page over a file with a text, or without a file.
    async fn new(text: Option<&str>) -> Self {
        Self::with(text, &["page"]).await
    }

    pub(super) async fn with(text: Option<&str>, words: &[&str]) -> Self {
        let folder = Folder::new();
        if let Some(text) = text {
            folder.write("toolbox.jsonc", text);
        }
        let mut child = Command::new(toolbox_program())
            .args(words)
            .env("OPENCODE_TOOLBOX_CONFIG", folder.path("toolbox.jsonc"))
            .env("HOME", folder.path("home"))
            .env("APPDATA", folder.path("home"))
            .env("SET", "value-of-set")
            .env("TOOLBOX_CHAT_KEY", super::chat::KEY)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME")
            .env_remove("NOT_SET")
            .env_remove("TOOLBOX_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = |stream: Box<dyn std::io::Read + Send>| BufReader::new(stream).lines();
        let mut out = lines(Box::new(child.stdout.take().unwrap()));
        let mut errors = lines(Box::new(child.stderr.take().unwrap()));
        let on_errors = words[0] == "serve";
        let (said, other) = if on_errors { (&mut errors, out) } else { (&mut out, errors) };
        let link = said.map_while(Result::ok).find_map(|line| {
            line.find("http://")
                .filter(|_| line.contains("#token="))
                .map(|at| line[at..].to_owned())
        });
        let link = link.unwrap();
        std::thread::spawn(move || other.map_while(Result::ok).for_each(drop));
        let (url, token) = link.split_once("/#token=").unwrap();
        let site = Site { port: url.rsplit(':').next().unwrap().parse().unwrap() };
        let halves = site.exchange(token).await.ok().unwrap();
        Self { site, halves, child, folder }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.path("toolbox.jsonc")).unwrap()
    }

    async fn shown(&self) -> Value {
        let answer = self.site.get("/api/config", &self.halves).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    async fn post(&self, body: &Value) -> Answer {
        self.site.post("/api/config/change", &self.halves, body).await
    }

    /// Makes a change of the file as it is.
    async fn change(&self, mut change: Value) -> Answer {
        change["digest"] = self.shown().await["digest"].take();
        self.post(&change).await
    }

    /// Waits until a server has a state, or is gone.
    async fn until(&self, server: &str, state: Option<&str>) -> Value {
        let wait = async {
            loop {
                let now = self.site.get("/api/state", &self.halves).await.json();
                let servers = now["servers"].as_array().unwrap();
                let found = servers.iter().find(|own| own["name"] == server).cloned();
                if found.as_ref().and_then(|own| own["state"].as_str()) == state {
                    return found.unwrap_or_default();
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, wait).await.unwrap()
    }
}

const FILE: &str = r#"{
  // The servers of the office.
  "mcp": {
    // It knows the time.
    "time": {
      "type": "local", // here
      "command": ["no-such-time", /* the zone */ "--zone", "UTC"],
      "environment": { "TOKEN": "SECRET-1", /* kept */ "TZ": "SECRET-2" },
      "retries": 0,
      "enabled": false // for now
    },
    "far": { "url": "https://me:SECRET-3@example.com/mcp?key=SECRET-4", "headers": { "X-Key": "SECRET-5" }, "disabled": true },
  },
  "mcpServers": {
    "desk": { "command": "no-such-desk", "args": ["-y", "pkg"], "env": { "A": "SECRET-6" }, "enabled": false }
  },
  "settings": {
    "blacklist": [
      // Not this one.
      "time_set",
    ],
  },
}
"#;

/// The change of `FILE`, and what stands where in the result.
#[tokio::test]
async fn a_change_leaves_the_comments_and_the_layout_of_the_rest() {
    let set = |list: &str, server: &str, entry: Value| json!({"change": "set", "list": list, "server": server, "entry": entry});
    let enable = |list: &str, server: &str, on: bool| json!({"change": "enable", "list": list, "server": server, "on": on});
    let cases = [
        (
            set("mcp", "time", json!({"command": ["no-such-time", "--zone", "CET"]})),
            vec![(r#""--zone", "UTC"]"#, r#""--zone", "CET"]"#)],
        ),
        (
            set("mcp", "time", json!({"command": ["no-such-time", "UTC"]})),
            vec![(
                r#"["no-such-time", /* the zone */ "--zone", "UTC"]"#,
                r#"["no-such-time", "UTC"]"#,
            )],
        ),
        (
            set("mcpServers", "desk", json!({"command": ["other-desk", "-y", "pkg", "more"]})),
            vec![("no-such-desk", "other-desk"), (r#""pkg"]"#, r#""pkg", "more"]"#)],
        ),
        (
            set("mcp", "time", json!({"environment": [["TZ", "SECRET-9"]]})),
            vec![("SECRET-2", "SECRET-9")],
        ),
        (
            set(
                "mcp",
                "far",
                json!({"url": "https://example.com/other", "headers": [["X-Key", "{env:SET}"]]}),
            ),
            vec![
                ("https://me:SECRET-3@example.com/mcp?key=SECRET-4", "https://example.com/other"),
                ("SECRET-5", "{env:SET}"),
            ],
        ),
        (enable("mcp", "far", true), vec![(r#""disabled": true"#, r#""disabled": false"#)]),
        (
            enable("mcpServers", "desk", true),
            vec![(r#""enabled": false }"#, r#""enabled": true }"#)],
        ),
        (
            enable("mcp", "time", true),
            vec![(r#""enabled": false // for now"#, r#""enabled": true // for now"#)],
        ),
        (
            json!({"change": "tool", "tool": "time_SET", "on": true}),
            vec![("\n      // Not this one.\n      \"time_set\",\n", "\n      // Not this one.\n")],
        ),
        (
            json!({"change": "tool", "tool": "time_get", "on": false}),
            vec![("      \"time_set\",\n", "      \"time_set\",\n      \"time_get\",\n")],
        ),
        (json!({"change": "tool", "tool": "time_set", "on": false}), vec![]),
    ];
    for (change, replaced) in cases {
        let page = Configured::new(Some(FILE)).await;
        let answer = page.change(change.clone()).await;
        assert_eq!(answer.status, 200, "{change}: {}", answer.body);
        let expected = replaced.iter().fold(FILE.to_owned(), |text, (before, after)| {
            assert!(text.contains(before), "{before}");
            text.replace(before, after)
        });
        assert_eq!(page.text(), expected, "{change}");
        let mut told = answer.json();
        let note = told.as_object_mut().unwrap().remove("note").unwrap();
        assert!(note.as_str().is_none_or(|note| note.contains("others could read")), "{note}");
        assert_eq!(told, page.shown().await);
        assert!(!answer.body.contains("SECRET"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_server_goes_with_the_comment_on_its_line_and_no_other() {
    let cases = [
        (
            "{\n  \"mcp\": {\n    // Above.\n    \"s\": {\"command\": [\"x\"]}, // beside\n    // Below.\n    \"t\": {\"command\": [\"y\"]}\n  }\n}\n",
            "{\n  \"mcp\": {\n    // Above.\n    // Below.\n    \"t\": {\"command\": [\"y\"]}\n  }\n}\n",
        ),
        (
            "{\"mcp\": {\"t\": {\"command\": [\"y\"]}, /* of s */ \"s\": {\"command\": [\"x\"]}}, \"settings\": {}}",
            "{\"mcp\": {\"t\": {\"command\": [\"y\"]}}, \"settings\": {}}",
        ),
        (
            "\u{feff}{\r\n  \"mcp\": {\r\n    \"t\": {\"command\": [\"y\"]}, // of t\r\n    \"s\": {\"command\": [\"x\"]}\r\n  }\r\n}\r\n",
            "\u{feff}{\r\n  \"mcp\": {\r\n    \"t\": {\"command\": [\"y\"]} // of t\r\n  }\r\n}\r\n",
        ),
    ];
    for (before, after) in cases {
        let page = Configured::new(Some(before)).await;
        let answer = page.change(json!({"change": "remove", "list": "mcp", "server": "s"})).await;
        assert_eq!(answer.status, 200, "{before}: {}", answer.body);
        assert_eq!(page.text(), after);
    }
}

#[tokio::test]
async fn a_server_gets_another_name_and_the_rules_on_it_follow() {
    let rename =
        |name: &str| json!({"change": "rename", "list": "mcp", "server": "time", "name": name});
    let page = Configured::new(Some(FILE)).await;
    let answer = page.change(rename("clock")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let expected = FILE.replace("\"time\": {", "\"clock\": {").replace("time_set", "clock_set");
    assert_eq!(page.text(), expected);
    let note = answer.json()["note"].as_str().unwrap_or_default().to_owned();
    assert!(note.contains("a lock file has them approved again"), "{note}");

    let refused = "would mean other tools then";
    let cases = [
        (r#""time_s*""#, Ok(r#""clock_s*""#)),
        (r#""TIME_set", "other""#, Ok(r#""clock_set", "other""#)),
        (r#""*_set""#, Ok(r#""*_set""#)),
        (r#""set""#, Ok(r#""set""#)),
        (r#""timer_*""#, Ok(r#""timer_*""#)),
        // It may be of the server `time_zone` too.
        (r#""time_*""#, Ok(r#""time_*", "clock_*""#)),
        (r#""time_z*""#, Ok(r#""time_z*", "clock_z*""#)),
        (r#""time_zone_get""#, Ok(r#""time_zone_get", "clock_zone_get""#)),
        (r#""ti*""#, Err(refused)),
        (r#""*me_set""#, Err(refused)),
        (r#""*im*""#, Err(refused)),
        (r#""c*""#, Err(refused)),
    ];
    for key in ["blacklist", "allow"] {
        for (rules, expected) in cases {
            let text = |server: &str, rules: &str| {
                format!(
                    r#"{{"mcp": {{"{server}": {{"command": ["x"], "enabled": false}}, "time_zone": {{"command": ["y"], "enabled": false}}}}, "settings": {{"{key}": [{rules}]}}}}"#
                )
            };
            let page = Configured::new(Some(&text("time", rules))).await;
            let answer = page.change(rename("clock")).await;
            match expected {
                Ok(rules) => assert_eq!(page.text(), text("clock", rules), "{}", answer.body),
                Err(why) => {
                    assert_eq!(answer.status, 422, "{rules}");
                    assert!(answer.body.contains(why), "{rules}: {}", answer.body);
                    assert_eq!(page.text(), text("time", rules));
                }
            }
        }
    }
    for (name, why) in [
        ("far", "there is a server `far` already"),
        ("DESK", "there is a server `desk` already"),
        ("a b", "holds something else than letters"),
        ("", "the file would have faults"),
    ] {
        let page = Configured::new(Some(FILE)).await;
        let answer = page.change(rename(name)).await;
        assert_eq!(answer.status, 422, "{name}: {}", answer.body);
        assert!(answer.body.contains(why), "{name}: {}", answer.body);
        assert_eq!(page.text(), FILE);
    }
    let page = Configured::new(Some(FILE)).await;
    assert_eq!(page.change(rename("TIME")).await.status, 200);
    assert!(page.text().contains("\"TIME\": {"));
}

#[tokio::test]
async fn no_value_of_a_variable_or_a_header_leaves_the_program() {
    let page = Configured::new(Some(FILE)).await;
    let body = page.site.get("/api/config", &page.halves).await.body;
    assert!(!body.contains("SECRET"), "{body}");
    let shown: Value = serde_json::from_str(&body).unwrap();
    let by_name = |name: &str| {
        let servers = shown["servers"].as_array().unwrap();
        servers.iter().find(|own| own["name"] == name).unwrap().clone()
    };
    let time = by_name("time");
    assert_eq!(time["command"], json!(["no-such-time", "--zone", "UTC"]));
    assert_eq!(time["environment"], json!(["TOKEN", "TZ"]));
    assert_eq!((&time["enabled"], &time["others"]), (&json!(false), &json!(["retries"])));
    let far = by_name("far");
    assert_eq!((&far["url"], &far["hides_url"]), (&json!("https://example.com/mcp"), &json!(true)));
    assert_eq!((&far["headers"], &far["enabled"]), (&json!(["X-Key"]), &json!(false)));
    let desk = by_name("desk");
    assert_eq!((&desk["list"], &desk["environment"]), (&json!("mcpServers"), &json!(["A"])));

    let urls = [
        ("HTTP://Example.com/MCP", "HTTP://Example.com/MCP", false),
        ("{env:SET}/mcp", "{env:SET}/mcp", false),
        ("{env:SET}/mcp?key=SECRET", "", true),
        ("{env:SET:-http://SECRET@h/}", "", true),
        ("http://h/mcp#SECRET", "http://h/mcp", true),
        ("htp SECRET", "", true),
    ];
    for (url, shown, hides) in urls {
        let text = json!({"mcp": {"a": {"url": url, "enabled": false}}}).to_string();
        let page = Configured::new(Some(&text)).await;
        let body = page.site.get("/api/config", &page.halves).await.body;
        assert!(!body.contains("SECRET"), "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        let own = &body["servers"][0];
        assert_eq!((&own["url"], &own["hides_url"]), (&json!(shown), &json!(hides)), "{url}");
    }

    // Faults show their line, whose other values may be secret.
    let faulty = [
        r#"{"mcp": {"a": {"comand": ["x"], "headers": {"A": "SECRET"}, "url": "https://u:SECRET@h/?SECRET"}}} // SECRET"#,
        r#"{"mcp": {"a": {"url": "http://h/", "header": {"Authorization": "Bearer SECRET"}}}}"#,
        r#"{"mcp": {"a": {"command": ["x"], "environment": {"B": "é€SECRET", "C": 7}, "timeout": "soon"}}}"#,
        r#"{"mcp": {"a": "SECRET", "b": {"oauth": {"clientSecret": "SECRET"}}}, "settings": 1 /* SECRET */}"#,
        r#"{"mcp": {"a": {"headers": {"A": "SECRET"}} "b": 1}}"#,
        "{\"mcp\": {\"a\": {\"headers\": {\"A\": \"SECRET\u{7f}",
    ];
    for text in faulty {
        let page = Configured::new(Some(text)).await;
        let body = page.site.get("/api/config", &page.halves).await.body;
        assert!(!body.contains("SECRET"), "{body}");
        let shown: Value = serde_json::from_str(&body).unwrap();
        let of_servers = shown["servers"].as_array().unwrap().iter().map(|own| &own["problems"]);
        let all: Vec<&Value> = of_servers.chain([&shown["problems"]]).collect();
        let told = |value: &&Value| {
            value[0].as_str().is_some_and(|text| text.contains("toolbox.jsonc:1:"))
        };
        assert!(all.iter().any(told), "{body}");
    }
    let page = Configured::new(Some(faulty[0])).await;
    let shown = page.shown().await;
    let problem = shown["servers"][0]["problems"][0].as_str().unwrap();
    assert!(
        problem.contains(r#"1 | {"mcp": {"a": {"comand": ["*"], "headers": {"A": "******"}"#),
        "{problem}"
    );
    assert!(problem.contains("  |                ^^^^^^^^\n"), "{problem}");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_its_place() {
    let add = |name: &str, entry: Value| json!({"change": "add", "server": name, "entry": entry});
    let ok = json!({"command": ["x"]});
    let cases = [
        (add("a b", ok.clone()), "toolbox.jsonc:", "holds something else than letters"),
        (add("q\"uote", ok.clone()), "toolbox.jsonc:", "holds something else than letters"),
        (add("", ok.clone()), "toolbox.jsonc:", "is empty"),
        (add("__proto__", ok.clone()), "toolbox.jsonc:", "holds `__`"),
        (add("TIME", ok.clone()), "", "there is a server `time` already"),
        (add("new", json!({})), "toolbox.jsonc:", "has no `command`"),
        (add("new", json!({"command": []})), "toolbox.jsonc:", "a list without a program"),
        (add("new", json!({"url": "ftp://x"})), "toolbox.jsonc:", "`url` must be an address"),
        (
            add("new", json!({"url": "http://h/", "headers": [["A", "{env:NOT_SET}SECRET"]]})),
            "toolbox.jsonc:",
            "`NOT_SET` that `headers` of server `new` needs is not set",
        ),
        (
            add("new", json!({"url": "http://h/", "headers": [["A b", "SECRET"]]})),
            "toolbox.jsonc:",
            "cannot be a header",
        ),
        (add("new", json!({"command": ["x"], "protocol": "1"})), "toolbox.jsonc:", "`protocol`"),
        (
            json!({"change": "set", "list": "mcp", "server": "time", "entry": {"timeout": "soon"}}),
            "toolbox.jsonc:",
            "`timeout` of server `time` must be a time",
        ),
        (
            json!({"change": "set", "list": "mcp", "server": "time", "entry": {"url": "http://h/"}}),
            "toolbox.jsonc:",
            "`url` is not for a server that is a program",
        ),
        (
            json!({"change": "remove", "list": "settings", "server": "blacklist"}),
            "",
            "there is no such list",
        ),
        (
            json!({"change": "remove", "list": "mcp", "server": "Time"}),
            "",
            "there is no server `Time`",
        ),
        (json!({"change": "tool", "tool": "a b", "on": false}), "toolbox.jsonc:", "names no tool"),
    ];
    let page = Configured::new(Some(FILE)).await;
    for (change, place, why) in cases {
        let answer = page.change(change.clone()).await;
        assert_eq!(answer.status, 422, "{change}: {}", answer.body);
        let told = answer.json();
        let told = format!(
            "{} {}",
            told["error"].as_str().unwrap(),
            told["problems"][0].as_str().unwrap_or_default()
        );
        assert!(told.contains(place) && told.contains(why), "{change}: {told}");
        assert!(!answer.body.contains("SECRET"), "{}", answer.body);
        assert_eq!(page.text(), FILE, "{change}");
    }
    let rules = r#"{"mcp": {"time": {"command": ["x"], "enabled": false}}, "settings": {"blacklist": ["ti*"], "allow": ["a*"]}}"#;
    let page = Configured::new(Some(rules)).await;
    let answer = page.change(json!({"change": "tool", "tool": "time_get", "on": true})).await;
    assert!(answer.body.contains("the rule `ti*` of `blacklist` forbids more"), "{}", answer.body);
    let answer = page.change(json!({"change": "tool", "tool": "other_get", "on": true})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(page.text().contains(r#""other_get""#), "{}", page.text());
}

#[tokio::test]
async fn a_key_that_is_given_twice_is_not_guessed_at() {
    let texts = [
        r#"{"mcp": {"s": {"command": ["a"]}, "s": {"command": ["b"]}}}"#,
        r#"{"mcp": {"s": {"command": ["a"], "command": ["b"]}}}"#,
        r#"{"mcp": {"s": {"command": ["a"]}}, "mcp": {}}"#,
        r#"{"mcp": {"s": {"command": ["a"]}, "\u0073": {"command": ["b"]}}}"#,
    ];
    for text in texts {
        let page = Configured::new(Some(text)).await;
        let shown = page.shown().await;
        assert!(
            shown.to_string().contains("twice") || shown.to_string().contains("two servers"),
            "{shown}"
        );
        let change =
            json!({"change": "set", "list": "mcp", "server": "s", "entry": {"command": ["c"]}});
        let answer = page.change(change).await;
        assert!(
            answer.status == 422 && answer.body.contains("is given twice"),
            "{text}: {}",
            answer.body
        );
        assert_eq!(page.text(), text);
    }
}

#[tokio::test]
async fn servers_are_added_changed_switched_and_removed_while_they_run() {
    let page = Configured::new(None).await;
    let shown = page.shown().await;
    assert_eq!((&shown["is_missing"], &shown["servers"]), (&json!(true), &json!([])));
    let server = crate::program("misbehaving");
    let entry = json!({"command": [server, "list", "few", "only", "env"], "environment": [["__proto__", "SECRET"]]});
    for name in ["own", "constructor"] {
        let answer = page.change(json!({"change": "add", "server": name, "entry": entry})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(!answer.body.contains("SECRET"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let path = page.folder.path("toolbox.jsonc");
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    page.until("own", Some("ready")).await;
    let of = |change: &str, on: bool| json!({"change": change, "list": "mcp", "server": "own", "on": on});
    let call = async || {
        let wanted = json!({"id": "1", "tool": "own_env", "arguments": "{}"});
        page.site.post("/api/calls", &page.halves, &wanted).await.body
    };
    assert!(call().await.contains("\"is_error\":false"));
    assert_eq!(page.change(of("enable", false)).await.status, 200);
    page.until("own", Some("disabled")).await;
    assert_eq!(page.change(of("enable", true)).await.status, 200);
    page.until("own", Some("ready")).await;
    let off = json!({"change": "tool", "tool": "own_env", "on": false});
    assert_eq!(page.change(off).await.status, 200);
    let forbidden = async {
        while !call().await.contains("\"is_error\":true") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, forbidden).await.unwrap();
    // A server that does not start is shown as such, and can be removed.
    let set = json!({"change": "set", "list": "mcp", "server": "own", "entry": {"command": ["no-such-program"]}});
    assert_eq!(page.change(set).await.status, 200);
    page.until("own", Some("failed")).await;
    assert_eq!(page.change(of("remove", true)).await.status, 200);
    page.until("own", None).await;
    assert!(!page.text().contains("no-such-program"), "{}", page.text());
    assert_eq!(page.shown().await["servers"][0]["name"], "constructor");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_shown_stays() {
    let page = Configured::new(Some(FILE)).await;
    let digest = page.shown().await["digest"].clone();
    let change = |name: &str| json!({"digest": digest, "change": "add", "server": name, "entry": {"command": ["x"]}});
    let (one, other) = (change("one"), change("other"));
    let (one, other) = tokio::join!(page.post(&one), page.post(&other));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.body, other.body);
    // An editor changes a comment alone.
    let digest = page.shown().await["digest"].clone();
    let stamp =
        async || page.site.get("/api/state", &page.halves).await.json()["config_file"].take();
    let before = stamp().await;
    let text = page.text().replace("office", "palace");
    page.folder.write("toolbox.jsonc", &text);
    assert_ne!(stamp().await, before);
    let mut late = change("late");
    late["digest"] = digest;
    let answer = page.post(&late).await;
    assert!(answer.status == 409 && answer.body.contains("has changed since it was shown"));
    for digest in ["", "missing"] {
        late["digest"] = digest.into();
        assert_eq!(page.post(&late).await.status, 409);
    }
    assert_eq!(page.text(), text);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_be_changed_or_read_is_said() {
    use std::os::unix::fs::PermissionsExt as _;

    let page = Configured::new(Some(FILE)).await;
    let path = page.folder.path("toolbox.jsonc");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let noted = page.change(json!({"change": "tool", "tool": "time_set", "on": false})).await;
    assert!(noted.body.contains("others could read"), "{}", noted.body);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    assert!(page.shown().await["read_only"].as_str().unwrap().contains("is read-only"));
    let remove = json!({"change": "remove", "list": "mcp", "server": "time"});
    let answer = page.change(remove.clone()).await;
    assert!(answer.status == 500 && answer.body.contains("is read-only"), "{}", answer.body);
    assert_eq!(page.text(), FILE);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"{\"mcp\": {}} \xff").unwrap();
    let shown = page.shown().await;
    assert_eq!(shown["fault"], "it is not UTF-8", "{shown}");
    let answer = page.change(remove).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
}

type Headers<'a> = &'a [(&'a str, &'a str)];

#[tokio::test]
async fn nobody_changes_the_file_without_a_session_or_from_another_origin() {
    let page = Configured::with(Some(FILE), &["serve", "--page", "127.0.0.1:0"]).await;
    let digest = page.shown().await["digest"].clone();
    let body = json!({"digest": digest, "change": "remove", "list": "mcp", "server": "time"});
    let (host, origin) = (format!("127.0.0.1:{}", page.site.port), page.site.origin());
    let (cookie, key) = (("cookie", &*page.halves.cookie), ("x-toolbox-page", &*page.halves.key));
    let (host, same) = (("host", &*host), ("origin", &*origin));
    let json = ("content-type", "application/json");
    let cases: &[(&str, Headers<'_>, u16)] = &[
        ("POST", &[host, same, json], 401),
        ("POST", &[host, same, json, cookie], 401),
        ("POST", &[host, same, json, key], 401),
        ("POST", &[host, json, cookie, key], 403),
        ("POST", &[host, ("origin", "http://127.0.0.1:1"), json, cookie, key], 403),
        ("POST", &[host, same, ("sec-fetch-site", "cross-site"), json, cookie, key], 403),
        ("POST", &[("host", "evil.example"), same, json, cookie, key], 403),
        ("POST", &[host, same, ("content-type", "text/plain"), cookie, key], 415),
        ("GET", &[host, same, json, cookie, key], 405),
    ];
    for path in ["/api/config/change", "/api/config/import"] {
        for (method, headers, status) in cases {
            let answer = page.site.send(method, path, headers, &body.to_string()).await;
            assert_eq!(answer.status, *status, "{path} {headers:?}: {}", answer.body);
        }
    }
    assert_eq!(page.site.send("GET", "/api/config", &[host, cookie], "").await.status, 401);
    assert_eq!(page.text(), FILE);
    assert_eq!(page.post(&body).await.status, 200);
    assert!(!page.text().contains("no-such-time"));

    // A page over a box of a program has no file.
    let own = Opened::new(Page::new(toolbox::ToolBox::new())).await;
    let halves = own.enter().await;
    assert_eq!(own.get("/api/state", &halves).await.json()["config_file"], Value::Null);
    assert_eq!(own.get("/api/config", &halves).await.status, 404);
    assert_eq!(own.post("/api/config/change", &halves, &body).await.status, 404);
    own.stop().await;
}

#[tokio::test]
async fn servers_of_other_programs_are_shown_and_then_taken_over() {
    let page = Configured::new(Some(FILE)).await;
    let cursor = page.folder.path("home/.cursor/mcp.json");
    std::fs::create_dir_all(cursor.parent().unwrap()).unwrap();
    let host = |command: &str| {
        json!({"mcpServers": {"cal": {"command": command, "args": ["--key", "SECRET-7"], "env": {"K": "SECRET-8"}}}})
            .to_string()
    };
    std::fs::write(&cursor, host("no-such-cal")).unwrap();
    let import =
        async |body: Value| page.site.post("/api/config/import", &page.halves, &body).await;
    let shown = import(json!({})).await;
    assert!(!shown.body.contains("SECRET"), "{}", shown.body);
    let plan = shown.json();
    assert_eq!(plan["new"], 1, "{plan}");
    assert_eq!(plan["files"][0]["host"], "cursor");
    assert_eq!(plan["files"][0]["servers"][0]["state"], "new");
    assert_eq!(page.text(), FILE);

    // What is written is what was shown: another command is another plan.
    std::fs::write(&cursor, host("no-such-evil")).unwrap();
    let refused = import(json!({"write": plan["digest"]})).await;
    assert!(
        refused.status == 409 && refused.body.contains("have changed since"),
        "{}",
        refused.body
    );
    assert_eq!(page.text(), FILE);
    std::fs::write(&cursor, host("no-such-cal")).unwrap();
    let written = import(json!({"write": plan["digest"]})).await;
    assert_eq!(written.status, 200, "{}", written.body);
    assert_eq!(written.json()["written"], true);
    let text = page.text();
    assert!(text.contains("no-such-cal") && text.contains("// It knows the time."), "{text}");
    assert_eq!(import(json!({})).await.json()["new"], 0);
}
