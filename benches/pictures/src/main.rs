//! Draws the tables of `docs/performance.md` and `docs/search.md` as SVG, light and dark.
//!
//! The benchmarks print those tables, so a picture shows what they measured and nothing else.
//!
//! ```sh
//! cargo run --manifest-path benches/pictures/Cargo.toml              # draws docs/pictures/*.svg
//! cargo run --manifest-path benches/pictures/Cargo.toml -- --check   # fails if one is not what its table says
//! ```

mod chart;
mod table;

use std::path::Path;
use std::process::ExitCode;

use chart::{Bar, Chart, Group, Theme};
use table::Table;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_check = std::env::args().any(|argument| argument == "--check");
    let mut stale = 0;
    for (name, chart) in charts(&root) {
        for theme in [Theme::Light, Theme::Dark] {
            let path = root.join(format!("docs/pictures/{name}-{theme}.svg"));
            let svg = chart.svg(theme);
            if !is_check {
                std::fs::write(&path, svg)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            } else if std::fs::read_to_string(&path).ok().as_deref() != Some(&svg) {
                eprintln!(
                    "docs/pictures/{name}-{theme}.svg is not what the table says: draw it again"
                );
                stale += 1;
            }
        }
    }
    if stale > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn charts(root: &Path) -> Vec<(&'static str, Chart)> {
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let (performance, search) = (read("docs/performance.md"), read("docs/search.md"));
    vec![
        ("calls", calls(&Table::under(&performance, "## Beside other frameworks"))),
        ("search", quality(&Table::with_column(&search, "tantivy"))),
        ("context", context(&Table::with_column(&search, "first request"))),
    ]
}

/// Instructions of a call, as multiples of the limit.
fn calls(table: &Table) -> Chart {
    let works = [
        ("add", "add: two integers"),
        ("order", "order: 1 KB of nested structs"),
        ("write", "write: 100 KB of escaped text"),
    ];
    let groups = works.map(|(column, title)| {
        let bars = table.rows().map(|row| {
            let name = row.cell("").to_owned();
            Bar {
                is_own: name == "toolbox",
                value: row.number(column),
                text: format!("{:.2} ×", row.number(column)),
                name,
            }
        });
        Group { title: title.to_owned(), bars: bars.collect() }
    });
    Chart {
        title: "One call by name, against bare serde_json and the plain function".to_owned(),
        note: "instructions, as a multiple of that limit; shorter is better".to_owned(),
        groups: groups.into(),
    }
}

/// The quality of tool search, over all English sets.
fn quality(table: &Table) -> Chart {
    let row = table.rows().find(|row| row.cell("set") == "macro average").expect("the average");
    let methods = ["toolbox", "crate `bm25`", "tantivy", "plain BM25"];
    let bars = methods.map(|name| {
        let value = row.number(name);
        let is_own = name == "toolbox";
        Bar { name: name.replace('`', ""), value, text: format!("{value:.3}"), is_own }
    });
    Chart {
        title: "Finding the right tool by an everyday sentence".to_owned(),
        note: "nDCG@10, mean of eight public sets; longer is better".to_owned(),
        groups: vec![Group { title: String::new(), bars: bars.into() }],
    }
}

/// The tokens of definitions: of a first request, and of all rounds of a task.
fn context(table: &Table) -> Chart {
    let mut tools = String::new();
    let mut groups: Vec<Group> = Vec::new();
    for column in ["first request", "all rounds"] {
        for row in table.rows() {
            if !row.cell("tools").is_empty() {
                row.cell("tools").clone_into(&mut tools);
            }
            let way = row.cell("");
            if !["58", "1 000"].contains(&&*tools)
                || !["all definitions", "the gateway"].contains(&way)
            {
                continue;
            }
            let title = format!("{tools} tools, {column}");
            if groups.last().is_none_or(|group| group.title != title) {
                groups.push(Group { title, bars: Vec::new() });
            }
            let (is_own, value) = (way == "the gateway", row.number(column));
            let bar =
                Bar { name: way.to_owned(), value, text: row.cell(column).to_owned(), is_own };
            groups.last_mut().expect("a group").bars.push(bar);
        }
    }
    Chart {
        title: "What a model reads of a box of tools".to_owned(),
        note: "tokens, at the mean of 40 tasks of one to eight calls; each group has a scale of its own".to_owned(),
        groups,
    }
}
