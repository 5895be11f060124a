//! Kinds of requests that words alone get wrong: values that drown the request, names taken apart,
//! misspelt words, names without separators, other languages, and nonsense.

use serde_json::{Value, json};
use toolbox::ToolDefinition;
use toolbox::search::Catalog;

/// Name, description and arguments of a tool.
type Described = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The tools that are searched.
const TOOLS: &[Described] = &[
    (
        "file_write",
        "Writes text to a file, creating it if needed",
        &[("path", ""), ("content", "")],
    ),
    ("file_read", "Reads the content of a file", &[("path", "")]),
    ("file_search", "Finds files by name or content", &[("pattern", "")]),
    ("stock_quote", "Gets the latest price of a stock on the market", &[("symbol", "Ticker")]),
    ("market_report", "Builds an analysis report about a stock market", &[("market", "")]),
    ("codegen_session", "Creates a new code generation session", &[("language", "")]),
    ("web_search", "Searches the web for anything and returns pages", &[("query", "")]),
    ("count_cats", "Counts the cats in a picture", &[("image", "")]),
    ("count_words", "Counts the words of a text", &[("text", "")]),
    ("weather_forecast", "Weather forecast for a city", &[("city", ""), ("days", "")]),
    ("send_email", "Sends an email", &[("to", ""), ("subject", ""), ("body", "")]),
    ("read_inbox", "Lists the latest emails of the inbox", &[("limit", "")]),
    ("calendar_create_event", "Adds an event to the calendar", &[("title", ""), ("start", "")]),
    ("calendar_list", "Lists the events of a day", &[("date", "")]),
    ("translate_text", "Translates text between languages", &[("text", ""), ("target", "")]),
    ("book_flight", "Books a flight between two airports", &[("from", ""), ("to", "")]),
    ("hotel_search", "Finds hotels in a city", &[("city", ""), ("nights", "")]),
    ("restaurant_finder", "Finds places to eat nearby", &[("cuisine", "")]),
    ("create_issue", "Opens an issue in a repository", &[("repo", ""), ("title", "")]),
    ("list_pull_requests", "Lists the open pull requests", &[("repo", "")]),
    ("run_query", "Runs SQL against the database", &[("sql", "")]),
    ("convert_currency", "Converts an amount between currencies", &[("amount", "")]),
    ("play_music", "Plays a song or an artist", &[("song", ""), ("artist", "")]),
    ("movie_details", "Details of a film: cast, rating and year", &[("title", "")]),
    ("set_alarm", "Sets an alarm on the clock", &[("time", "")]),
    ("note_create", "Creates a note", &[("title", ""), ("text", "")]),
    ("resize_image", "Changes the size of an image", &[("width", ""), ("height", "")]),
    ("guidgenerator", "Makes unique identifiers", &[("count", "")]),
    ("getrandomquote", "One out of many sayings", &[]),
    ("deletefolder", "Removes it with all that is inside", &[("path", "")]),
    ("apple_picking_guide", "Where to pick fruit in autumn", &[("region", "")]),
    ("paint_color_mixer", "Mixes red, blue and green paint", &[("colors", "")]),
    ("new_user", "Creates a new account for a user", &[("name", "")]),
    ("search_customers", "Finds customers in the shop", &[("name", "")]),
    ("refund_order", "Pays the money of an order back", &[("order_id", "")]),
    ("track_parcel", "Shows where a parcel is", &[("number", "")]),
    ("lock_door", "Locks a door of the house", &[("door", "")]),
    ("thermostat_set", "Sets the temperature of a room", &[("degrees", "")]),
    ("bmi_calculator", "Body mass index from weight and height", &[("weight", "")]),
    ("workout_plan", "Plans exercises for a week", &[("goal", "")]),
];

fn catalog() -> Catalog {
    TOOLS
        .iter()
        .map(|(name, description, arguments)| {
            let properties: serde_json::Map<String, Value> = arguments
                .iter()
                .map(|(name, about)| {
                    ((*name).to_owned(), json!({"type": "string", "description": about}))
                })
                .collect();
            let schema = json!({"type": "object", "properties": properties});
            ToolDefinition::new(*name, *description, schema)
        })
        .collect()
}

/// Checks that each request finds its tool among the first `within`.
fn check(within: usize, cases: &[(&str, &str)]) {
    let catalog = catalog();
    let mut faults = Vec::new();
    for (query, name) in cases {
        let hits = catalog.search(query).limit(20).hits();
        let names: Vec<_> = hits.iter().map(|hit| hit.definition.name.as_str()).collect();
        if !names.iter().take(within).any(|found| found == name) {
            let found: Vec<_> = hits.iter().map(|hit| (&hit.definition.name, hit.score)).collect();
            faults.push(format!("{query}: {name} is not in {found:.1?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn quoted_values_do_not_drown_the_request() {
    check(
        1,
        &[
            ("Save a file called 'Market Analysis Report'", "file_write"),
            ("write \"Stock market news and weather forecast\" to a file", "file_write"),
            ("Create a note titled “New York hotel and flight”", "note_create"),
            ("Send an email with the subject 'Pull requests of the repository'", "send_email"),
            ("Translate ‘Where is the hotel near the airport?’ to French", "translate_text"),
            ("play the song \"Paint It, Black\"", "play_music"),
            (
                "Add the event 'Read the stock report and count words' to my calendar",
                "calendar_create_event",
            ),
            ("email them `SELECT * FROM customers` as the body of an email", "send_email"),
            ("翻译一下 「weather」 this text please: translate 「stock price」", "translate_text"),
            ("It's time to write a file, isn't it? Call it 'alarm clock'", "file_write"),
        ],
    );
}

#[test]
fn a_name_of_several_words_is_not_taken_apart() {
    let catalog = catalog();
    for (query, not) in [
        ("what is it like in New York", "codegen_session"),
        ("hotels in New Delhi", "new_user"),
        ("play something by Red Hot Chili Peppers", "paint_color_mixer"),
        ("details of the film Apple Tree Yard", "apple_picking_guide"),
        ("find me a place to eat in Stock Exchange Square", "stock_quote"),
    ] {
        let hits = catalog.search(query).hits();
        assert_ne!(hits.first().map(|hit| hit.definition.name.as_str()), Some(not), "{query}");
    }
    check(
        1,
        &[
            ("hotels in New Delhi", "hotel_search"),
            ("play something by Red Hot Chili Peppers", "play_music"),
            ("weather in New York", "weather_forecast"),
            // A name that is the name of a tool is meant.
            ("open a Codegen Session for me", "codegen_session"),
            ("please use the Stock Quote tool", "stock_quote"),
        ],
    );
}

#[test]
fn words_within_a_name_count_less() {
    let catalog = catalog();
    for (query, name, tool) in [
        ("somewhere to sleep in", "New York", "new_user"),
        ("a table near", "Apple Tree Yard", "apple_picking_guide"),
        ("tell them about", "Paint Peppers", "paint_color_mixer"),
    ] {
        let score = |query: &str| {
            let hits = catalog.search(query).limit(40).hits();
            hits.iter().find(|hit| hit.definition.name == tool).map_or(0.0, |hit| hit.score)
        };
        let (within, plain) =
            (score(&format!("{query} {name}")), score(&format!("{query} {}", name.to_lowercase())));
        assert!(plain > 1.0 && within < 0.7 * plain, "{name}: {within} {plain}");
    }
}

#[test]
fn what_every_tool_says_is_no_hit_beside_a_word_of_none() {
    let tools = (0..50).map(|n| ToolDefinition::new(format!("t{n}x"), "Reads data", json!({})));
    let catalog: Catalog = tools.collect();
    assert_eq!(catalog.search("data").hits().len(), 5);
    for query in ["quarzel data", "data of zibbelwock", "reads jmxqt data"] {
        assert_eq!(catalog.search(query).hits(), [], "{query}");
    }
}

#[test]
fn a_general_question_finds_the_general_search() {
    check(
        1,
        &[
            ("When did the Berlin wall fall?", "web_search"),
            ("Why do leaves turn yellow?", "web_search"),
            ("which river flows through Cologne", "web_search"),
            ("what is the tallest mountain of Africa", "web_search"),
        ],
    );
    check(
        3,
        &[
            ("How many people live in Iceland?", "web_search"),
            // A word that a tool happens to say outweighs.
            ("Who wrote The Old Man and the Sea?", "web_search"),
            ("Which element has the atomic number 26?", "web_search"),
        ],
    );
    // A question with a tool of its own is for that.
    check(
        1,
        &[
            ("What is the weather in Oslo?", "weather_forecast"),
            ("How many cats are in this picture?", "count_cats"),
            ("How many words does this text have?", "count_words"),
            ("what is the price of the Tesla stock?", "stock_quote"),
        ],
    );
}

#[test]
fn misspelt_words_find_their_tool() {
    check(
        1,
        &[
            ("wether forcast", "weather_forecast"),
            ("what's the wheather in Paris", "weather_forecast"),
            ("tranlsate this", "translate_text"),
            ("book a fligth", "book_flight"),
            ("resturant", "restaurant_finder"),
            ("list my calender", "calendar_list"),
            ("curency conversion", "convert_currency"),
            ("musci", "play_music"),
            ("parcle", "track_parcel"),
            ("termostat", "thermostat_set"),
            ("send an emial", "send_email"),
            ("alrm", "set_alarm"),
        ],
    );
}

#[test]
fn a_word_or_two_are_enough() {
    check(
        1,
        &[
            ("weather", "weather_forecast"),
            ("rain tomorrow", "weather_forecast"),
            ("song", "play_music"),
            ("sql", "run_query"),
            ("bmi", "bmi_calculator"),
            ("dinner", "restaurant_finder"),
            ("parcel?", "track_parcel"),
            ("money back", "refund_order"),
            ("gym", "workout_plan"),
            ("door", "lock_door"),
        ],
    );
}

#[test]
fn names_without_separators_are_found_by_their_words() {
    check(
        1,
        &[
            ("a guid", "guidgenerator"),
            ("random quote", "getrandomquote"),
            ("delete this folder", "deletefolder"),
            ("generator", "guidgenerator"),
        ],
    );
}

#[test]
fn requests_in_chinese_find_english_tools() {
    check(
        1,
        &[
            ("明天北京的天气怎么样", "weather_forecast"),
            ("帮我翻译这句话", "translate_text"),
            ("附近有什么餐厅", "restaurant_finder"),
            ("预订去上海的航班", "book_flight"),
            ("播放一首歌曲", "play_music"),
            ("查一下苹果的股价", "stock_quote"),
            ("把美元兑换成欧元", "convert_currency"),
            ("发送一封邮件", "send_email"),
            ("上海的酒店", "hotel_search"),
            ("跟踪我的包裹", "track_parcel"),
        ],
    );
}

#[test]
fn english_requests_find_chinese_tools() {
    let tools = [
        ("gongju_1", "查询指定城市的天气预报"),
        ("gongju_2", "将文本翻译成其他语言"),
        ("gongju_3", "预订航班机票"),
        ("gongju_4", "播放歌曲和音乐"),
        ("gongju_5", "查询股票的最新价格"),
        ("gongju_6", "发送电子邮件"),
        ("gongju_7", "推荐附近的餐厅"),
        ("gongju_8", "生成健身锻炼计划"),
        ("gongju_9", "搜索电影的评分"),
        ("gongju_10", "管理日程和会议"),
        ("gongju_11", "计算贷款的利息"),
        ("gongju_12", "查询快递物流"),
    ];
    let catalog: Catalog = tools
        .iter()
        .map(|(name, about)| ToolDefinition::new(*name, *about, json!({"type": "object"})))
        .collect();
    for (query, name) in [
        ("will it rain tomorrow", "gongju_1"),
        ("translate this sentence", "gongju_2"),
        ("I need a flight to Tokyo", "gongju_3"),
        ("play some music", "gongju_4"),
        ("price of a stock", "gongju_5"),
        ("email my boss", "gongju_6"),
        ("a restaurant for tonight", "gongju_7"),
        ("exercises for the gym", "gongju_8"),
        ("is this movie any good", "gongju_9"),
        ("schedule a meeting", "gongju_10"),
        ("interest on a loan", "gongju_11"),
        ("where is my package", "gongju_12"),
    ] {
        let hits = catalog.search(query).hits();
        assert_eq!(hits.first().map(|hit| hit.definition.name.as_str()), Some(name), "{query}");
    }
}

#[test]
fn nonsense_finds_nothing() {
    let catalog = catalog();
    for query in [
        "asdf qwer zxcv",
        "blorp snurgle frimble",
        "lorem ipsum amet consectetur",
        "xyzzy plugh",
        "qqqqqqqq",
        "xkcdq 7781 zzz",
        "flibbertigibbet hullabaloo",
        "जक्स्ल क्वर्त",
        "ыфвапролд йцукен",
    ] {
        let hits = catalog.search(query).hits();
        let found: Vec<_> = hits.iter().map(|hit| (&hit.definition.name, hit.score)).collect();
        assert!(found.is_empty(), "{query}: {found:?}");
    }
    // A word of some tool among words of none is a word of that tool.
    assert!(!catalog.search("asdf parcel zxcv").hits().is_empty());
}

#[test]
fn the_rest_of_a_long_description_does_not_hide_its_beginning() {
    let notes =
        "Usage notes: pass valid values, see the limits, and handle errors of the service. ";
    let what = "Cancels a subscription of a customer. ";
    let notes = notes.repeat(40);
    let catalog = catalog();
    let score = |description: String| {
        catalog.add(ToolDefinition::new("sub_end", description, json!({"type": "object"})));
        let hits = catalog.search("cancel the subscription").limit(20).hits();
        hits.iter().find(|hit| hit.definition.name == "sub_end").map_or(0.0, |hit| hit.score)
    };
    let (back, front) = (score(format!("{notes}{what}")), score(format!("{what}{notes}")));
    assert!(front > 1.5 * back, "{front} {back}");
    // What is said often enough is found still.
    let hits = catalog.search("usage notes").hits();
    assert_eq!(hits.first().map(|hit| hit.definition.name.as_str()), Some("sub_end"));
    let hits = catalog.search_pattern("handle errors of the service. $").expect("a pattern").hits();
    assert_eq!(hits.len(), 1);
}

#[test]
fn a_few_tools_are_found_by_other_words_as_many_are() {
    for (tool, request) in [
        ("send_email", "write a mail"),
        ("weather_forecast", "will it rain"),
        ("play_music", "listen to a track"),
        ("file_read", "show me the document"),
        ("movie_details", "which year was that film"),
    ] {
        let described = TOOLS.iter().find(|(name, ..)| *name == tool).unwrap();
        for others in [0, 1, 2, 4] {
            let few = Catalog::new();
            let rest = TOOLS.iter().filter(|(name, ..)| *name != tool).take(others);
            for (name, description, _) in std::iter::once(described).chain(rest) {
                few.add(ToolDefinition::new(*name, *description, json!({"type": "object"})));
            }
            let hits = few.search(request).hits();
            let names: Vec<&str> = hits.iter().map(|hit| hit.definition.name.as_str()).collect();
            assert!(names.contains(&tool), "{request} among {} finds {names:?}", others + 1);
        }
    }
}
