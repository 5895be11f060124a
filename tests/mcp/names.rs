//! Names of server tools.

use crate::bounded::tokio;
use std::collections::{HashMap, HashSet};

use serde_json::json;
use toolbox::call::FailureKind;
use toolbox::mcp::{Names, ServerConfig, Servers, check_server_name};
use toolbox::search::Gateway;
use toolbox::{Tool, ToolBox, ToolCall};

use crate::client::support::{eventually, misbehaving};

fn names(servers: &[&str], server: &str, tools: &[&str]) -> Vec<String> {
    let names = Names::new(servers.iter().copied()).expect("valid servers");
    names.of_server(server, tools.iter().copied())
}

/// Numbers that look random and are the same each time (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap_or_default() % limit
    }
}

fn is_valid_for_all(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(inner)
}

/// Ten servers, one for each region, have the same thirty tools.
#[tokio::test]
async fn the_same_tools_of_ten_servers_are_told_apart() {
    let toolbox = ToolBox::new();
    let region = |at: usize| (format!("region_{at}"), misbehaving(&["modern"]));
    let all = || (0..10).map(region);
    let servers =
        all().fold(Servers::builder(), |builder, (name, config)| builder.server(name, config));
    let servers = servers.deferred(true).mount(&toolbox).await.expect("the names are valid");
    let names = || toolbox.names().into_iter().collect::<HashSet<String>>();
    let before = names();
    assert_eq!(before.len(), 300);
    toolbox.register(Gateway::over(&toolbox));
    let regions_with = |names: &[String], tool: &str| {
        let regions = names.iter().filter_map(|name| name.strip_suffix(tool));
        regions.map(str::to_owned).collect::<HashSet<String>>().len()
    };
    // A search shows the choice, and none of it twice; with other words, other tools too.
    for (text, limit, floods) in [("flood", 5, 5), ("flood", 20, 10), ("region_7 flood", 1, 1)] {
        let arguments = json!({"text": text, "limit": limit});
        let call = ToolCall::new("1", "toolbox_search_bm25", arguments);
        let found = toolbox.call(call).await.references().to_vec();
        assert_eq!(regions_with(&found, "_flood"), floods, "{text}: {found:?}");
        assert!(!text.contains('7') || found == ["region_7_flood"], "{found:?}");
    }
    // The name of none alone is no guess.
    let listed = async |name: &str| {
        let arguments = json!({"name": name, "arguments": "{}"});
        let result = toolbox.call(ToolCall::new("1", "toolbox_execute", arguments)).await;
        assert_eq!(result.failure_kind(), Some(FailureKind::NotFound), "{}", result.text());
        result.text().into_owned()
    };
    let expected = |left: &[usize]| {
        let names = left.iter().map(|at| format!("region_{at}_echo"));
        names.collect::<HashSet<String>>()
    };
    let of = |text: &str| {
        let (told, names) = text.rsplit_once(": ").expect("a list");
        assert!(told.ends_with("several servers have a tool of this name"), "{text}");
        names.split(", ").map(str::to_owned).collect::<HashSet<String>>()
    };
    let ten: Vec<usize> = (0..10).collect();
    assert_eq!(of(&listed("echo").await), expected(&ten));
    assert_eq!(of(&listed("functions.echo").await), expected(&ten));
    // Those that a rule forbids are not named.
    toolbox.blacklist("region_3_*");
    let nine: Vec<usize> = ten.iter().copied().filter(|at| *at != 3).collect();
    assert_eq!(of(&listed("echo").await), expected(&nine));
    toolbox.blacklist("region_*_env");
    assert!(!listed("env").await.contains("several servers"));
    // Without one, the names of the others stay.
    servers.apply(all().filter(|(name, _)| name != "region_4")).expect("the names are valid");
    let gone = |name: &String| !name.starts_with("region_4_") && !name.starts_with("toolbox_");
    let left: HashSet<String> = before.iter().filter(|name| gone(name)).cloned().collect();
    eventually(async || names().into_iter().filter(gone).collect::<HashSet<_>>() == left).await;
    let eight: Vec<usize> = nine.iter().copied().filter(|at| *at != 4).collect();
    assert_eq!(of(&listed("echo").await), expected(&eight));
    let only: Vec<(String, ServerConfig)> = all().filter(|(name, _)| name == "region_8").collect();
    servers.apply(only).expect("the names are valid");
    eventually(async || toolbox.len() == 30 + 3).await;
    let told = listed("echo").await;
    assert!(told.ends_with("its server's tool of this name is called region_8_echo"), "{told}");
    servers.close().await;
}

#[test]
fn a_tool_is_called_after_its_server_and_itself() {
    let cases: [(&[&str], &str, &str, &str); 8] = [
        (&["time"], "time", "get_current_time", "time_get_current_time"),
        (&["my_server"], "my_server", "do_it", "my_server_do_it"),
        (&["a", "a_b"], "a_b", "c", "a_b_c"),
        (&["a-b"], "a-b", "c-d", "a-b_c-d"),
        (&["s"], "s", "tool_execute", "s_tool_execute"),
        (&["n08"], "n08", "read_file", "n08_read_file"),
        (&["S"], "S", "Echo", "S_Echo"),
        (&["_x"], "_x", "_", "_x__"),
    ];
    for (servers, server, tool, expected) in cases {
        assert_eq!(names(servers, server, &[tool]), [expected]);
    }
}

#[test]
fn names_that_do_not_fit_end_in_a_digest_and_are_stable() {
    let long = "x".repeat(128);
    let cases: [(&str, &str, &str); 7] = [
        ("s", "get.weather", "s_get_weather_"),
        ("s", &long, &format!("s_{}_", "x".repeat(51))),
        ("7zip", "list", "_7zip_list_"),
        ("s", "ѕhell", "s__hell_"),
        ("s", "", "s__"),
        ("s", "looks_like_0123456789", "s_looks_like_0123456789_"),
        ("toolbox", "execute", "toolbox_execute_"),
    ];
    for (server, tool, start) in cases {
        let first = names(&[server], server, &[tool]);
        let again = names(&[server, "unrelated"], server, &["another", tool]);
        assert!(first[0].starts_with(start), "{}", first[0]);
        assert_eq!(first[0].len(), start.len() + 10, "{}", first[0]);
        assert_eq!(first[0], again[1]);
        assert!(is_valid_for_all(&first[0]));
    }
    // The digest is part of the promise: names stay the same from one version to the next.
    assert_eq!(names(&["s"], "s", &["get.weather"]), ["s_get_weather_ac66c027ea"]);
}

#[test]
fn tools_that_differ_only_by_case_are_both_told_apart() {
    let both = names(&["s"], "s", &["Read", "read", "write"]);
    assert!(both[0].starts_with("s_Read_") && both[1].starts_with("s_read_"), "{both:?}");
    assert_ne!(both[0].to_lowercase(), both[1].to_lowercase());
    assert_eq!(both[2], "s_write");
    let swapped = names(&["s"], "s", &["write", "read", "Read"]);
    assert_eq!([&swapped[2], &swapped[1]], [&both[0], &both[1]]);
}

#[test]
fn pairs_that_read_alike_have_two_names_whoever_comes_first() {
    let cases = [
        (("acme_", "status"), ("acme", "_status")),
        (("a_b", "c"), ("a", "b_c")),
        (("A_b", "c"), ("a", "B_c")),
    ];
    for ((long, tool), (short, other)) in cases {
        for servers in [[long, short], [short, long]] {
            let first = names(&servers, long, &[tool]).remove(0);
            let second = names(&servers, short, &[other]).remove(0);
            assert_eq!(first, format!("{long}_{tool}"));
            assert!(second.starts_with(&format!("{short}_{other}_")), "{second}");
            assert_ne!(first.to_lowercase(), second.to_lowercase());
        }
    }
}

#[test]
fn mapped_names_never_collapse() {
    let tools = ["a.b", "a_b", "a/b", "a b", "a-b"];
    let names = names(&["s"], "s", &tools);
    let different: HashSet<&String> = names.iter().collect();
    assert_eq!(different.len(), tools.len());
    assert_eq!((names[1].as_str(), names[4].as_str()), ("s_a_b", "s_a-b"));
}

#[test]
fn a_server_has_a_plain_name() {
    for good in ["time", "a_b", "a-b", "A1", "7zip", "_", "-x", &"x".repeat(64)] {
        assert_eq!(check_server_name(good), Ok(()), "{good}");
    }
    let bad = [
        ("a__b", "contains `__`"),
        ("", "has 0 bytes"),
        ("a b", "contains ' '"),
        ("a.b", "contains '.'"),
        ("ѕ", "contains 'ѕ'"),
        (&"x".repeat(65), "has 65 bytes"),
    ];
    for (name, expected) in bad {
        let error = check_server_name(name).expect_err(name).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = Names::new(["Time", "time"]).expect_err("the same but for case").to_string();
    assert!(error.contains("two servers are named"), "{error}");
}

#[tokio::test]
async fn such_a_server_is_refused_before_anything_is_started() {
    let builder = Servers::builder().server("a__b", ServerConfig::command("no-such-program"));
    let error = builder.mount(&ToolBox::new()).await.expect_err("the name is refused");
    assert!(error.to_string().contains("contains `__`"), "{error}");
}

#[test]
fn no_two_of_100_000_random_pairs_collide() {
    const ALPHABET: [&str; 12] = ["a", "b", "A", "B", "_", "-", ".", "/", " ", "é", "1", "longer"];
    let mut dice = Dice(0x5eed);
    let mut word = |most: usize, letters: usize| -> String {
        (0..=dice.below(most)).map(|_| ALPHABET[dice.below(letters)]).collect()
    };
    let mut servers: Vec<String> = Vec::new();
    while servers.len() < 60 {
        let server = word(5, 6);
        if check_server_name(&server).is_ok()
            && !servers.iter().any(|other| other.eq_ignore_ascii_case(&server))
        {
            servers.push(server);
        }
    }
    let names = Names::new(servers.iter().map(String::as_str)).expect("valid servers");
    let mut seen: HashMap<String, (String, String)> = HashMap::new();
    let mut pairs = 0;
    while pairs < 100_000 {
        for server in &servers {
            let tools: HashSet<String> =
                (0..400).map(|at| word(if at % 4 == 0 { 30 } else { 9 }, 12)).collect();
            let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
            // A server has one list at a time, so each is held against the others' last.
            seen.retain(|_, (of, _)| of != server);
            for (tool, name) in tools.iter().zip(names.of_server(server, tools.iter().copied())) {
                assert!(is_valid_for_all(&name), "{server:?} {tool:?}: {name:?}");
                let pair = (server.clone(), (*tool).to_owned());
                if let Some(other) = seen.insert(name.to_ascii_lowercase(), pair.clone()) {
                    panic!("{name}: {pair:?} and {other:?}");
                }
                pairs += 1;
            }
        }
    }
}

#[tokio::test]
async fn the_pair_is_kept_and_calls_reach_it() {
    let toolbox = ToolBox::new();
    let only = |tools: &'static str, called: &'static str| {
        misbehaving(&["list", "few", "only", tools, "called", called])
    };
    let servers = Servers::builder()
        .server("a", only("b_echo,search", "a"))
        .server("a_b", only("echo,search", "a_b"))
        .mount(&toolbox)
        .await
        .expect("valid names");
    let mut pairs = Vec::new();
    for tool in toolbox.tools() {
        let pair = (tool.source().expect("a server"), tool.name_at_source().expect("a name"));
        let result = crate::client::support::call(&toolbox, tool.name(), "{}").await;
        assert_eq!(result.text(), format!("{}: {{}}", pair.0));
        pairs.push(format!("{}/{}", pair.0, pair.1));
    }
    assert_eq!(pairs, ["a/b_echo", "a/search", "a_b/echo", "a_b/search"]);
    assert!(toolbox.has("a_search") && toolbox.has("a_b_search") && toolbox.has("a_b_echo"));
    servers.close().await;
}

#[tokio::test]
async fn a_tool_that_is_in_the_box_already_is_never_replaced() {
    let own = Tool::new("S_ECHO", "My own.").call(|_| "mine");
    let toolbox = ToolBox::from(own);
    let servers = Servers::builder()
        .server("s", misbehaving(&[]))
        .mount(&toolbox)
        .await
        .expect("valid names");
    let result = crate::client::support::call(&toolbox, "S_ECHO", "{}").await;
    assert_eq!(result.text(), "mine");
    let theirs = toolbox.tools().into_iter().find(|tool| tool.name_at_source() == Some("echo"));
    let theirs = theirs.expect("it has another name");
    assert!(theirs.name().starts_with("s_echo_"), "{}", theirs.name());
    assert!(servers.status()[0].notices.join("\n").contains("`s_echo` is another tool of the box"));
    servers.close().await;
    assert_eq!(toolbox.names(), ["S_ECHO"]);
}
