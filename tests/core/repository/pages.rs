//! The pages of `docs` as one site: contents, links, lines, and the manifest of each page with code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the paths of the pages of the site, and that of the README.
fn pages() -> Vec<String> {
    let files = fs::read_dir(root().join("docs")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<_> = names
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"))
        .filter(|name| name != "SUMMARY.md")
        .map(|name| format!("docs/{name}"))
        .collect();
    pages.push("README.md".to_owned());
    pages
}

/// The lines of a page with their numbers, without its code blocks.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let (mut is_code, mut lines) = (false, Vec::new());
    for (at, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// Returns the code blocks of a page whose first line begins with `language`.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let (mut block, mut blocks) = (None::<(bool, String)>, Vec::new());
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), &mut block) {
            (Some(info), None) => {
                block = Some((info.split(',').next() == Some(language), String::new()));
            }
            (Some(_), Some(_)) => blocks.extend(block.take()),
            (None, Some((_, code))) => code.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks.into_iter().filter_map(|(is_meant, code)| is_meant.then_some(code)).collect()
}

/// Returns the targets of the links of a line, `[text](target)` and `[name]: target`, outside of
/// code.
fn links(line: &str) -> Vec<&str> {
    if let Some((_, target)) = line.strip_prefix('[').and_then(|line| line.split_once("]: ")) {
        return vec![target.trim()];
    }
    let mut targets = Vec::new();
    let mut at = 0;
    while let Some(found) = line[at..].find("](") {
        let start = at + found + 2;
        // Within a code span it is an example.
        let is_code = line[..start].matches('`').count() % 2 == 1;
        let end = line[start..].find(')').map_or(line.len(), |end| start + end);
        if !is_code {
            targets.push(&line[start..end]);
        }
        at = end;
    }
    targets
}

/// Returns the anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    let headings = prose(text).into_iter().filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let plain = title.chars().filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            });
            let anchor: String = plain.collect();
            let count = counts.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

/// Returns a path without `.` and `..`; `None` for one that leads out of the repository.
fn resolved(from: &str, target: &str) -> Option<PathBuf> {
    let mut path = Path::new(from).parent().unwrap().to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => path = path.parent()?.to_owned(),
            _ => {}
        }
    }
    Some(path)
}

#[test]
fn the_summary_names_each_page_once() {
    let summary = read("docs/SUMMARY.md");
    let targets = summary.lines().flat_map(links);
    let mut named: Vec<_> = targets.map(|target| format!("docs/{target}")).collect();
    named.sort();
    let mut all = pages();
    all.retain(|page| page != "README.md");
    all.sort();
    assert!(all.len() > 30, "{} pages were found", all.len());
    assert_eq!(named, all);
}

#[test]
fn each_link_of_a_page_leads_to_a_file_and_to_a_heading() {
    let (mut count, mut broken) = (0, Vec::new());
    for page in pages().into_iter().chain(["CHANGELOG.md".to_owned(), "SECURITY.md".to_owned()]) {
        let text = read(&page);
        for (number, target) in prose(&text)
            .into_iter()
            .flat_map(|(number, line)| links(line).into_iter().map(move |link| (number, link)))
        {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file =
                if path.is_empty() { Some(page.clone().into()) } else { resolved(&page, path) };
            let is_there = file.is_some_and(|file| {
                let file = root().join(file);
                file.exists()
                    && (anchor.is_empty()
                        || file.extension().is_none_or(|end| end != "md")
                        || anchors(&fs::read_to_string(&file).unwrap()).contains(anchor))
            });
            if !is_there {
                broken.push(format!("{page}:{number}: {target}"));
            }
        }
    }
    assert!(count > 100, "{count} links were found");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn no_line_of_prose_is_longer_than_200_characters() {
    let mut long = Vec::new();
    for page in pages().into_iter().chain(["CHANGELOG.md".to_owned()]) {
        for (number, line) in prose(&read(&page)) {
            if !line.starts_with('|') && line.chars().count() > 200 {
                long.push(format!("{page}:{number}: {}", line.chars().count()));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// What goes on in a second line is two changes, or too long a text.
#[test]
fn each_change_of_a_version_is_one_line() {
    let text = read("CHANGELOG.md");
    let (_, below) = text.split_once("\n## [Unreleased]\n").expect("changes to come have a place");
    let is_one = |line: &&str| {
        line.is_empty()
            || line.starts_with("- ")
            || line.starts_with('#')
            || !line.starts_with(char::is_whitespace)
    };
    let others: Vec<_> = below.lines().filter(|line| !is_one(line)).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert!(below.lines().filter(|line| line.starts_with("- ")).count() > 50);
}

/// Returns each page whose code is compiled, with the features that its code needs.
fn compiled() -> Vec<(String, BTreeSet<String>)> {
    let source = read("toolbox/src/lib.rs");
    let (_, list) = source.split_once("\npages! {").expect("lib.rs lists the pages");
    let (list, _) = list.split_once("\n}").unwrap();
    // A crate of its own compiles each of these.
    let others = [
        ("toolbox-script", "docs/scripts.md", "agent"),
        ("toolbox-openapi", "docs/openapi.md", "search"),
        ("toolbox-eval", "docs/evals.md", "openai"),
        ("toolbox-web", "docs/web.md", "agent"),
    ];
    let others = others.map(|(name, page, feature)| {
        let source = read(&format!("crates/{name}/src/lib.rs"));
        assert!(source.contains(&format!("../../../{page}")));
        (page.to_owned(), BTreeSet::from([feature.to_owned()]))
    });
    list.lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once("\"../../")?;
            let (page, condition) = rest.split_once("\" if ")?;
            let quoted = condition.split("feature = \"").skip(1);
            let features = quoted.filter_map(|rest| rest.split('"').next());
            let needed = features.filter(|feature| *feature != "macros");
            Some((page.to_owned(), needed.map(str::to_owned).collect()))
        })
        .chain(others)
        .collect()
}

/// Returns the keys of the table of dependencies of a manifest, each with its line.
fn dependencies(manifest: &str) -> BTreeMap<&str, &str> {
    let (_, table) = manifest.split_once("[dependencies]\n").expect("a table of dependencies");
    let lines = table.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once(" = ")).collect()
}

/// Returns the first segments of the paths in a code block.
fn crates(code: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for statement in code.split(';') {
        let is_use = statement.lines().last().is_some_and(|line| line.contains("use "))
            || statement.trim_start().trim_start_matches("# ").starts_with("use ");
        for (at, _) in statement.match_indices("::") {
            let before = &statement[..at];
            let start = before.rfind(|c| !is_name(c)).map_or(0, |start| start + 1);
            let is_first = !before[..start].ends_with([':', '.', '>']);
            // Within the braces of a `use` are the parts of what stands before them.
            let is_nested = is_use && before[..start].contains('{') && before.contains("use ");
            if is_first && !is_nested {
                found.insert(&before[start..]);
            }
        }
    }
    found
}

#[test]
fn the_manifest_of_each_page_has_the_features_and_crates_of_its_code() {
    let package = read("toolbox/Cargo.toml");
    let package =
        package.split("name = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let workspace = read("Cargo.toml");
    let (_, table) = workspace.split_once("[workspace.dependencies]\n").unwrap();
    let known: BTreeSet<String> = table
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| Some(line.split_once(" = ")?.0.replace('-', "_")))
        .collect();
    let compiled: BTreeMap<_, _> = compiled().into_iter().collect();
    assert!(compiled.len() > 20, "{} pages are compiled", compiled.len());

    let mut faults = Vec::new();
    for page in pages().into_iter().filter(|page| page != "README.md") {
        let text = read(&page);
        let rust = blocks(&text, "rust").concat();
        let Some(features) = compiled.get(&page) else {
            if !rust.is_empty() {
                faults.push(format!(
                    "{page}: its code is not among the `pages!` of toolbox/src/lib.rs"
                ));
            }
            continue;
        };
        let mut manifests = blocks(&text, "toml");
        manifests.retain(|block| block.starts_with("[package]"));
        let [manifest] = manifests.as_slice() else {
            faults.push(format!("{page}: {} manifests, where one is needed", manifests.len()));
            continue;
        };
        let listed = dependencies(manifest);
        let Some(own) = listed.get(package) else {
            faults.push(format!("{page}: its manifest does not name {package}"));
            continue;
        };
        let written = own.split_once("features = [").map_or("", |(_, list)| list);
        let written: BTreeSet<_> =
            written.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        if written != *features {
            faults.push(format!(
                "{page}: the manifest has the features {written:?}, not {features:?}"
            ));
        }
        let named = crates(&rust);
        let needed = named.iter().filter(|name| known.contains(**name) && **name != "toolbox");
        let needed: BTreeSet<_> = needed.map(|name| (*name).to_owned()).collect();
        let others = listed.keys().filter(|name| **name != package);
        let others: BTreeSet<_> = others.map(|name| name.replace('-', "_")).collect();
        // The modules of tokio that are behind a feature of their name.
        for module in ["fs", "net", "process", "signal", "sync", "time"] {
            let is_used = rust.contains(&format!("tokio::{module}::"));
            let is_on =
                listed.get("tokio").is_some_and(|line| line.contains(&format!("\"{module}\"")));
            if is_used && !is_on {
                faults.push(format!("{page}: its code needs the feature {module} of tokio"));
            }
        }
        if needed != others {
            faults.push(format!(
                "{page}: the manifest has the crates {others:?}, its code {needed:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
