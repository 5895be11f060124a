//! The catalog: finding tools by words, by pattern and by meaning.

#![expect(clippy::cast_precision_loss, reason = "counts of a few tools and words")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolbox::call::SharedError;
use toolbox::search::{Catalog, EmbedError, Embedder, Embeddings, Hit, PatternError, Ranking};
use toolbox::{BoxFuture, ToolDefinition};

use support::{Dice, now};

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::new(name, description, json!({"type": "object"}))
}

fn with_arguments(name: &str, description: &str, properties: Value) -> ToolDefinition {
    ToolDefinition::new(name, description, json!({"type": "object", "properties": properties}))
}

fn catalog(tools: &[(&str, &str)]) -> Catalog {
    tools.iter().map(|(name, description)| tool(name, description)).collect()
}

fn names(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.definition.name.as_str()).collect()
}

/// Returns the name of the first hit, or nothing.
fn first(catalog: &Catalog, query: &str) -> String {
    names(&catalog.search(query).hits()).first().map_or(String::new(), |name| (*name).to_owned())
}

fn by_pattern(catalog: &Catalog, pattern: &str) -> Vec<String> {
    let hits = catalog.search_pattern(pattern).expect("a pattern").limit(50).hits();
    names(&hits).into_iter().map(str::to_owned).collect()
}

/// The tools of the sample that the examples use.
fn sample() -> (Catalog, Vec<(String, Vec<String>)>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/retrieval");
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("the sample");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let tools = lines("tools.jsonl").into_iter().map(|tool| {
        ToolDefinition::new(
            text(&tool["name"]),
            text(&tool["description"]),
            tool["input_schema"].clone(),
        )
    });
    let relevant =
        |query: &Value| query["relevant"].as_array().expect("labels").iter().map(text).collect();
    let queries = lines("queries.jsonl");
    (
        tools.collect(),
        queries.iter().map(|query| (text(&query["query"]), relevant(query))).collect(),
    )
}

#[test]
fn time_timezone_finds_the_clock_among_others() {
    let (catalog, _) = sample();
    catalog.add(tool("time_get_current_time", "Get current time in a specific timezone"));
    catalog.add(tool("time_convert_time", "Convert time between zones"));
    assert!(catalog.len() > 52);
    assert_eq!(first(&catalog, "time timezone"), "time_get_current_time");
}

#[test]
fn words_and_patterns_search_the_same_tools() {
    let catalog = catalog(&[("web_search", "Searches the web"), ("time", "Tells the time")]);
    assert_eq!(first(&catalog, "search the web"), "web_search");
    assert_eq!(by_pattern(&catalog, "^web_"), ["web_search"]);
    catalog.add(tool("web_fetch", "Fetches a page"));
    assert_eq!(first(&catalog, "fetch a page"), "web_fetch");
    assert_eq!(by_pattern(&catalog, "^web_"), ["web_search", "web_fetch"]);
    catalog.remove("web_search");
    assert_eq!(by_pattern(&catalog, "^web_"), ["web_fetch"]);
    assert_ne!(first(&catalog, "search the web"), "web_search");
}

#[test]
fn everyday_sentences_find_the_labelled_tools() {
    let (catalog, queries) = sample();
    let mut recall = 0.0;
    for (query, relevant) in &queries {
        let hits = catalog.search(query).limit(5).hits();
        let found = names(&hits);
        let hits = relevant.iter().filter(|name| found.contains(&name.as_str())).count();
        recall += hits as f64 / relevant.len() as f64;
    }
    let recall = recall / queries.len() as f64;
    assert!(recall >= 0.90, "recall@5 on the frozen sample is {recall:.3}");
}

#[test]
fn plain_mode_equals_the_formula() {
    // Terms after stop words and stems: 4, 3 and 5 of them. Worked out by hand from the formula.
    let catalog = catalog(&[
        ("read_file", "Read a file"),
        ("delete_file", "Erase"),
        ("weather", "Forecast rain rain rain"),
    ]);
    let idf = |holding: f64| (1.0 + (3.0 - holding + 0.5) / (holding + 0.5)).ln();
    let part = |count: f64, length: f64, k1: f64, b: f64| {
        count * (k1 + 1.0) / (count + k1 * (1.0 - b + b * length / 4.0))
    };
    for (k1, b) in [(1.2, 0.75), (2.0, 0.3)] {
        let ranking = Ranking::Plain { k1, b };
        assert_eq!(ranking == Ranking::plain(), k1 < 2.0);
        let hits = catalog.search("read the file").ranking(ranking).hits();
        assert_eq!(names(&hits), ["read_file", "delete_file"]);
        let expected = idf(1.0) * part(2.0, 4.0, k1, b) + idf(2.0) * part(2.0, 4.0, k1, b);
        assert!((hits[0].score - expected).abs() < 1e-6, "{} {expected}", hits[0].score);
        let expected = idf(2.0) * part(1.0, 3.0, k1, b);
        assert!((hits[1].score - expected).abs() < 1e-6, "{} {expected}", hits[1].score);
        let hits = catalog.search("rain, rain").ranking(ranking).hits();
        let expected = 2.0 * idf(1.0) * part(3.0, 5.0, k1, b);
        assert!((hits[0].score - expected).abs() < 1e-6, "{} {expected}", hits[0].score);
    }
}

#[test]
fn a_term_in_any_field_finds_its_tool() {
    let catalog = catalog(&[("none", "Nothing of that")]);
    catalog.add(tool("zebra_find", "Looks around"));
    catalog.add(tool("in_description", "Counts giraffes"));
    catalog.add(with_arguments("in_argument", "Does it", json!({"hippo": {"type": "string"}})));
    let schema =
        json!({"x": {"type": "object", "properties": {"y": {"description": "A lion or two"}}}});
    catalog.add(with_arguments("in_argument_description", "Does it", schema));
    catalog.add(with_arguments("in_values", "Does it", json!({"x": {"enum": ["tiger", "cat"]}})));
    let mut titled = tool("in_title", "Does it");
    titled.title = Some("Panther".to_owned());
    titled.tags = vec!["leopard".to_owned()];
    catalog.add(titled);
    catalog.add_from("wombat", tool("of_server", "Does it"));
    for ranking in [Ranking::default(), Ranking::plain()] {
        for (word, name) in [
            ("zebra", "zebra_find"),
            ("giraffe", "in_description"),
            ("hippo", "in_argument"),
            ("lions", "in_argument_description"),
            ("tiger", "in_values"),
            ("panther", "in_title"),
            ("leopard", "in_title"),
            ("wombat", "of_server"),
        ] {
            let hits = catalog.search(word).ranking(ranking).hits();
            assert_eq!(names(&hits), [name], "{word}");
        }
    }
}

#[test]
fn patterns_are_unanchored_and_may_ignore_case() {
    let catalog =
        catalog(&[("brave_web_search", "Web"), ("exa_search", "Neural"), ("hexa_code", "Colors")]);
    assert_eq!(by_pattern(&catalog, "brave_"), ["brave_web_search"]);
    assert_eq!(by_pattern(&catalog, "exa_.*"), ["exa_search", "hexa_code"]);
    assert_eq!(by_pattern(&catalog, "(?i)EXA_"), ["exa_search", "hexa_code"]);
    assert!(by_pattern(&catalog, "EXA_").is_empty());
}

#[test]
fn a_pattern_has_200_characters_at_most() {
    let catalog = catalog(&[("a", "A")]);
    for character in ["a", "é", "漢"] {
        assert!(catalog.search_pattern(&character.repeat(200)).is_ok());
        let error = catalog.search_pattern(&character.repeat(201)).unwrap_err();
        assert_eq!(
            (error.code(), &error),
            ("pattern_too_long", &PatternError::TooLong { chars: 201 })
        );
    }
}

#[test]
fn a_limit_is_kept() {
    let tools: Vec<_> = (0..30).map(|n| tool(&format!("search_{n}"), "Searches things")).collect();
    let catalog = Catalog::from_iter(tools);
    assert_eq!(catalog.search("search").hits().len(), 5);
    for limit in [0, 1, 7, 30, 1_000, usize::MAX] {
        let expected = limit.min(30);
        for ranking in [Ranking::default(), Ranking::plain()] {
            let hits = catalog.search("search things").limit(limit).ranking(ranking).hits();
            assert_eq!(hits.len(), expected);
            assert!(hits.iter().zip(1..).all(|(hit, rank)| hit.rank == rank));
        }
        let hits = catalog.search_pattern("search").unwrap().limit(limit).hits();
        assert_eq!(hits.len(), expected);
        assert_eq!(catalog.search("search_3").limit(limit).hits().len(), expected);
    }
}

#[test]
fn hostile_patterns_are_refused_or_matched_in_linear_time() {
    let long = "a".repeat(20_000);
    let tools: Vec<_> = (0..50).map(|n| tool(&format!("t{n}"), &long)).collect();
    let catalog = Catalog::from_iter(tools);
    for pattern in ["(a+)+$b", "(a|aa)+c", "(a|a?)+d", "(.*a){20}b", "^(a+)*e", "(?s).*b"] {
        assert!(by_pattern(&catalog, pattern).is_empty(), "{pattern}");
    }
    let cases = [
        (r"(\w{100}){100}", "pattern_too_large"),
        (r"((a{1000}){1000}){1000}", "pattern_too_large"),
        ("(", "invalid_pattern"),
        (r"(?<=a)b", "invalid_pattern"),
        (r"(a)\1", "invalid_pattern"),
    ];
    for (pattern, code) in cases {
        let error = catalog.search_pattern(pattern).unwrap_err();
        assert_eq!(error.code(), code, "{pattern}");
        assert!(!error.to_string().contains(pattern) || pattern == "(");
    }
    let Err(PatternError::Invalid { position, reason }) = catalog.search_pattern("über[a") else {
        panic!("an open class is no pattern");
    };
    assert_eq!((position, reason.as_str()), (4, "unclosed character class"));
}

#[test]
fn anchors_hold_in_each_field() {
    let schema = json!({"city": {"type": "string", "description": "Name of the city"}});
    let catalog = Catalog::new();
    catalog.add(with_arguments("get_weather", "Weather now", schema));
    catalog.add_from("weather", tool("forecast", "What comes\nafter now"));
    let cases: [(&str, &[&str]); 12] = [
        ("^get_weather$", &["get_weather"]),
        ("^weather", &["forecast"]),
        ("weather$", &["get_weather", "forecast"]),
        ("^Weather now$", &["get_weather"]),
        ("^city$", &["get_weather"]),
        ("^Name of.*city$", &["get_weather"]),
        ("^now", &[]),
        ("after now$", &["forecast"]),
        (r"\Aforecast\z", &["forecast"]),
        (r"get_weather\sWeather", &[]),
        (r"now\scity", &[]),
        (r"comes\s+after", &["forecast"]),
    ];
    for (pattern, expected) in cases {
        assert_eq!(by_pattern(&catalog, pattern), expected, "{pattern}");
    }
}

#[test]
fn names_are_found_by_their_words() {
    let catalog = catalog(&[
        ("createPullRequest", "Opens it for review"),
        ("convert_time", "Between two zones"),
        ("HTTPServerStart", "Begins to listen"),
        ("kebab-case-tool", "Rewrites identifiers"),
        ("sha256sum", "Makes a digest"),
        ("查询天气", "查询指定城市的天气预报"),
        ("hava_durumu", "İstanbul için hava durumu"),
        ("cafe_finder", "Finds a café nearby"),
        ("getUserIDs", "Lists them"),
        ("time_zone_list", "All of them"),
    ]);
    catalog.add_from("github", tool("list_issues", "Open ones first"));
    catalog.add(tool("slack__post_message", "Says something"));
    for (query, name) in [
        ("pull request", "createPullRequest"),
        ("converting times", "convert_time"),
        ("http server", "HTTPServerStart"),
        ("kebab", "kebab-case-tool"),
        ("sha256", "sha256sum"),
        ("北京今天的天气怎么样", "查询天气"),
        ("istanbul", "hava_durumu"),
        ("İSTANBUL", "hava_durumu"),
        ("cafés", "cafe_finder"),
        ("user ids", "getUserIDs"),
        ("timezone", "time_zone_list"),
        ("github", "list_issues"),
        ("slack", "slack__post_message"),
        ("creatPulRequest", "createPullRequest"),
    ] {
        assert_eq!(first(&catalog, query), name, "{query}");
    }
}

#[test]
fn an_exact_name_comes_first_in_any_spelling() {
    let stuffed = "create pull request ".repeat(200);
    let catalog = catalog(&[
        ("create_pull_request_review", &stuffed),
        ("create-pull-request-draft", &stuffed),
        ("createPullRequest", "Opens it"),
        ("create", "Makes"),
        ("CREATE", "Shouts"),
    ]);
    for query in
        ["createPullRequest", "create_pull_request", "Create Pull Request", "CREATE-PULL.REQUEST"]
    {
        assert_eq!(first(&catalog, query), "createPullRequest", "{query}");
    }
    assert_eq!(names(&catalog.search("create").hits())[..2], ["create", "CREATE"]);
    assert_eq!(names(&catalog.search("CREATE").hits())[..2], ["CREATE", "create"]);
    let scores: Vec<f64> = catalog.search("create").hits().iter().map(|hit| hit.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    catalog.add_from("git", tool("push", "Sends commits"));
    for query in ["git push", "git/push", "Git.Push"] {
        assert_eq!(first(&catalog, query), "push", "{query}");
    }
}

#[test]
fn changes_are_seen_by_the_next_search() {
    let catalog = Catalog::new();
    let other = catalog.clone();
    let mut dice = Dice(7);
    let words = ["mail", "file", "time", "song", "route", "price", "photo", "score"];
    let mut expected: Vec<(String, &str)> = Vec::new();
    for step in 0..600 {
        let name = format!("tool_{}", dice.below(40));
        let at = expected.iter().position(|(other, _)| *other == name);
        if dice.below(3) == 0 {
            let removed = catalog.remove(&name);
            assert_eq!(removed.is_some(), at.is_some(), "{step}");
            at.map(|at| expected.remove(at));
        } else {
            let word = words[dice.below(words.len())];
            catalog.add(tool(&name, word));
            match at {
                Some(at) => expected[at].1 = word,
                None => expected.push((name, word)),
            }
        }
        let word = words[dice.below(words.len())];
        let hits = other.search(word).limit(50).hits();
        // All weigh the same, so the order is that of registration, and a replacement keeps its
        // place.
        let same =
            expected.iter().filter(|(_, other)| *other == word).map(|(name, _)| name.as_str());
        assert_eq!(names(&hits), same.collect::<Vec<_>>(), "{step}");
        assert_eq!(other.len(), expected.len());
    }
}

#[test]
fn searches_and_changes_run_beside_each_other() {
    let catalog = Catalog::new();
    std::thread::scope(|scope| {
        for part in 0..3 {
            let writer = catalog.clone();
            scope.spawn(move || {
                for n in 0..100 {
                    writer.add(tool(&format!("tool_{part}_{n}"), "Does a thing"));
                    if n % 3 == 0 {
                        writer.remove(&format!("tool_{part}_{n}"));
                    }
                }
            });
            let reader = &catalog;
            scope.spawn(move || {
                for _ in 0..100 {
                    assert!(reader.search("do a thing").limit(3).hits().len() <= 3);
                }
            });
        }
    });
    assert_eq!(catalog.len(), 3 * 66);
}

#[test]
fn tools_of_a_server_go_together() {
    let catalog = Catalog::new();
    catalog.extend_from("github", [tool("issues", "Lists issues"), tool("pulls", "Lists pulls")]);
    catalog.extend([tool("time", "Tells the time")]);
    assert_eq!(catalog.search("github").hits()[0].server.as_deref(), Some("github"));
    assert_eq!(catalog.get("pulls").unwrap().description, "Lists pulls");
    assert_eq!(catalog.remove_from("github"), 2);
    assert_eq!((catalog.len(), catalog.remove_from("github"), catalog.is_empty()), (1, 0, false));
    assert!(catalog.search("github issues").hits().is_empty());
}

#[test]
fn patterns_a_megabyte_long_are_refused() {
    let error = Catalog::new().search_pattern(&"(a*)*".repeat(200_000)).unwrap_err();
    assert_eq!(error.code(), "pattern_too_long");
    assert!(error.to_string().len() < 200);
}

#[test]
fn hostile_queries_are_bounded() {
    let (catalog, _) = sample();
    let long = "weather ".repeat(131_072);
    let many: Vec<String> = (0..10_000).map(|n| format!("term{n}")).collect();
    let many = many.join(" ");
    let odd = "\u{202e}\u{0}\u{feff}🦀 ＡＢＣ ﬃ \u{301}\u{301} İ ß ﷺ".repeat(500);
    let unbroken = "漢".repeat(300_000);
    let camel = "aB".repeat(100_000);
    for query in ["", " ", "\n\t", "the of and", "AND OR NOT", "\"", "+-*/(){}[]^~?:\\", "a", "🦀"]
    {
        assert!(catalog.search(query).hits().len() <= 5, "{query}");
    }
    for query in [&long, &many, &odd, &unbroken, &camel] {
        for ranking in [Ranking::default(), Ranking::plain()] {
            assert!(catalog.search(query).ranking(ranking).hits().len() <= 5);
        }
        let shown = format!("{:?}", catalog.search(query));
        assert!(shown.len() < 200, "a search says nothing of its query");
    }
    assert!(catalog.search("").hits().is_empty());
    assert!(!catalog.search(&long).hits().is_empty());
}

#[test]
fn a_description_stuffed_with_words_does_not_win() {
    let (catalog, queries) = sample();
    let all: String = queries.iter().map(|(query, _)| query.as_str()).collect::<Vec<_>>().join(" ");
    catalog.add(tool("best_tool_ever", &all.repeat(20)));
    catalog.add(tool("best_tool_of_all", &all));
    let stuffed =
        |hits: &[Hit]| names(hits).iter().filter(|name| name.starts_with("best_tool")).count();
    let lost =
        queries.iter().filter(|(query, _)| stuffed(&catalog.search(query).limit(1).hits()) > 0);
    let lost = lost.count();
    assert!(lost * 20 <= queries.len(), "{lost} of {} first places", queries.len());
}

#[test]
fn what_is_filtered_out_takes_nobodys_place() {
    let tools: Vec<_> = (0..200).map(|n| tool(&format!("search_{n}"), "Searches things")).collect();
    let catalog = Catalog::from_iter(tools);
    let allowed = |definition: &ToolDefinition| definition.name.ends_with('9');
    let ends = |hits: &[Hit]| hits.iter().all(|hit| hit.definition.name.ends_with('9'));
    for query in ["search things", "search_3", "use search_3 for things", "search_9"] {
        for ranking in [Ranking::default(), Ranking::plain()] {
            let hits = catalog.search(query).limit(20).ranking(ranking).filter(allowed).hits();
            assert!(hits.len() == 20 && ends(&hits), "{query}: {:?}", names(&hits));
        }
    }
    let hits = catalog.search_pattern("search").unwrap().limit(20).filter(allowed).hits();
    assert!(hits.len() == 20 && ends(&hits));
    let both =
        catalog.search("search").filter(allowed).filter(|definition| definition.name.len() == 8);
    assert_eq!(names(&both.hits()), ["search_9"]);
}

/// Knows which words mean nearly the same, and counts the texts it was given.
struct Toy(AtomicUsize);

impl Embedder for Toy {
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, SharedError>> {
        const TOPICS: [&[&str]; 3] =
            [&["feline", "kitty", "cat"], &["canine", "puppy", "dog"], &["ship", "vessel"]];
        self.0.fetch_add(texts.len(), Ordering::Relaxed);
        let vector = |text: &String| {
            let text = text.to_lowercase();
            TOPICS
                .map(|topic| topic.iter().map(|word| text.matches(word).count() as f32).sum())
                .to_vec()
        };
        Box::pin(async move { Ok(texts.iter().map(vector).collect()) })
    }
}

#[test]
fn meaning_and_words_are_ranked_together() {
    let catalog = catalog(&[
        ("feed_feline", "Gives food to a kitty"),
        ("walk_canine", "Takes a puppy outside"),
        ("sail", "Moves a vessel"),
        ("food", "Orders a meal"),
    ]);
    let embeddings = Embeddings::new(Toy(AtomicUsize::new(0)));
    let search = |query: &str| {
        let hits = now(catalog.search(query).limit(2).hits_with(&embeddings)).expect("vectors");
        names(&hits).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(search("my cat is hungry")[0], "feed_feline");
    assert_eq!(search("dog")[0], "walk_canine");
    assert_eq!(search("food")[0], "food", "a name comes first");
    assert_eq!(search("food for the cat")[0], "feed_feline");
    catalog.add(tool("pet_cat", "Strokes"));
    catalog.remove("sail");
    assert_eq!(search("kitty cat").len(), 2);
    let filtered = catalog.search("dog").filter(|definition| definition.name != "walk_canine");
    let hits = now(filtered.hits_with(&embeddings)).expect("vectors");
    assert!(!names(&hits).contains(&"walk_canine"));
}

#[test]
fn a_failing_embedder_is_an_error() {
    struct Broken(bool);
    impl Embedder for Broken {
        fn embed<'a>(
            &'a self,
            _: &'a [String],
        ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, SharedError>> {
            let outcome =
                if self.0 { Ok(Vec::new()) } else { Err(Arc::from("no network".to_owned())) };
            let outcome = outcome.map_err(|text: Arc<str>| {
                SharedError::from(Box::<dyn std::error::Error + Send + Sync>::from(&*text))
            });
            Box::pin(async move { outcome })
        }
    }
    let catalog = catalog(&[("a", "A"), ("b", "B")]);
    let ask =
        |broken| now(catalog.search("c").hits_with(&Embeddings::new(Broken(broken)))).unwrap_err();
    assert!(matches!(ask(true), EmbedError::Count { texts: 2, vectors: 0 }));
    assert_eq!(ask(false).to_string(), "the embedder failed");
}
