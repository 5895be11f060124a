//! The figures of the README and of the pictures are those of the tables that the benchmarks fill.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the cells of the first row after `heading` that begins with `name`, without their marks.
fn row(text: &str, heading: &str, name: &str) -> Vec<String> {
    let (_, below) = text.split_once(heading).unwrap_or_else(|| panic!("there is no {heading:?}"));
    let plain = |cell: &str| cell.trim().replace(['*', '`'], "");
    below
        .lines()
        .filter_map(|line| line.strip_prefix('|'))
        .map(|line| line.trim_end_matches('|').split('|').map(plain).collect::<Vec<_>>())
        .find(|cells| cells[0].starts_with(name))
        .unwrap_or_else(|| panic!("no row of {heading:?} begins with {name:?}"))
}

#[test]
fn the_readme_has_the_figures_of_the_tables() {
    let (readme, performance, search) =
        (read("README.md"), read("docs/performance.md"), read("docs/search.md"));
    // The ratio of `add`, and its allocations behind it: `1.26 (1)`.
    let add = |name: &str| {
        let cell = row(&performance, "## Beside other frameworks", name)[1].clone();
        let (ratio, allocations) = cell.split_once(" (").unwrap();
        (
            format!("{:.1} ×", ratio.parse::<f64>().unwrap()),
            allocations.trim_end_matches(')').to_owned(),
        )
    };
    let (ratios, allocations): (Vec<_>, Vec<_>) =
        ["toolbox", "rmcp", "rig"].map(add).into_iter().unzip();
    assert_eq!(row(&readme, "## Beside others", "one call by name")[1..], ratios);
    assert_eq!(row(&readme, "## Beside others", "its heap allocations")[1..], allocations);

    let average = row(&search, "| set |", "macro average");
    let head = row(&search, "", "set");
    let of = |engine: &str| {
        let at = head.iter().position(|cell| cell == engine).unwrap();
        format!("{:.2}", average[at].parse::<f64>().unwrap())
    };
    let quality = row(&readme, "## Beside others", "nDCG@10");
    assert_eq!(quality[1], of("toolbox"));
    assert!(quality[0].contains(&format!("tantivy: {}", of("tantivy"))), "{}", quality[0]);
    let prose = format!("nDCG@10 of {}, where tantivy reaches\n{}.", of("toolbox"), of("tantivy"));
    assert!(search.contains(&prose), "docs/search.md should say {prose:?}");
}

#[test]
fn the_text_of_each_picture_has_the_figures_of_a_table() {
    let pages = ["README.md", "docs/performance.md", "docs/search.md"].map(read);
    let rows = |line: &&str| line.starts_with('|');
    let tables: Vec<&str> = pages[1..].iter().flat_map(|page| page.lines().filter(rows)).collect();
    let (mut count, mut others) = (0, Vec::new());
    for text in pages.iter().flat_map(|page| page.split("alt=\"").skip(1)) {
        let text = text.split('"').next().unwrap();
        let is_figure = |word: &&str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
        // Words of digits that follow each other are one figure: `610 354`.
        let words: Vec<_> = text.split([' ', ',', ':']).collect();
        for figure in words.split(|word| !is_figure(word) || word.is_empty()) {
            let figure = figure.join(" ");
            if figure.is_empty() {
                continue;
            }
            count += 1;
            if !tables.iter().any(|row| row.contains(&figure)) {
                others.push(format!("{figure}, in {text:?}"));
            }
        }
    }
    assert!(count > 10, "{count} figures were found");
    assert!(others.is_empty(), "no table has {others:#?}");
}
