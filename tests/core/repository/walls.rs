//! The module ladder of `ARCHITECTURE.md`, held against every import of the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a module or an item within the crate.
type ItemPath = Vec<String>;

/// A source file: its module, and its text without comments and tests.
pub(super) struct Source {
    pub(super) file: String,
    module: ItemPath,
    text: String,
}

/// One path that a file names, and the line.
struct Import {
    path: ItemPath,
    line: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the lines of the code block that follows a marker in ARCHITECTURE.md.
fn block(marker: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, after) =
        page.split_once(marker).unwrap_or_else(|| panic!("ARCHITECTURE.md lacks {marker}"));
    let (_, block) = after.split_once("```text\n").unwrap();
    block.split_once("```").unwrap().0.lines().map(str::to_owned).collect()
}

/// Returns the rank of each module; modules of one line are of one rank.
fn ranks() -> BTreeMap<String, usize> {
    let mut ranks = BTreeMap::new();
    for (rank, line) in block("<!-- ladder -->").iter().enumerate() {
        let names = line.split("  ").next().unwrap_or_default();
        ranks.extend(names.split(", ").map(|name| (name.to_owned(), rank)));
    }
    ranks
}

/// Returns the source files of the crate without those of tests, by their names below `toolbox/src`.
pub(super) fn files() -> Vec<(String, PathBuf)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    let folder = root().join("toolbox/src");
    let mut files = Vec::new();
    walk(&folder, &mut files);
    files.sort();
    let name =
        |path: &Path| path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
    let is_code = |file: &String| {
        !(file.ends_with("tests.rs") || file.contains("/tests/") || file.starts_with("bin/"))
    };
    files.into_iter().map(|path| (name(&path), path)).filter(|(file, _)| is_code(file)).collect()
}

pub(super) fn sources() -> Vec<Source> {
    files()
        .into_iter()
        .map(|(file, path)| Source::read(file, &fs::read_to_string(path).unwrap()))
        .collect()
}

/// Returns an item without `pub` and the place in brackets behind it.
fn after_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    let rest =
        rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
    rest.trim_start()
}

/// Writes the leaves of a `use` tree, such as `a::{b, c::d}`.
fn leaves(tree: &str, prefix: &[String], found: &mut Vec<ItemPath>) {
    let (head, body) = match tree.split_once('{') {
        Some((head, body)) => (head, body.rsplit_once('}').map(|(body, _)| body)),
        None => (tree, None),
    };
    let own = head
        .split(" as ")
        .next()
        .unwrap_or_default()
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let path: ItemPath = prefix.iter().cloned().chain(own.map(str::to_owned)).collect();
    let Some(body) = body else {
        found.push(path);
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                leaves(&body[start..at], &path, found);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !body[start..].trim().is_empty() {
        leaves(&body[start..], &path, found);
    }
}

impl Source {
    fn read(file: String, text: &str) -> Self {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
        let text = lines.collect::<Vec<_>>().join("\n");
        let parts = file.trim_end_matches(".rs").split('/');
        let module =
            parts.filter(|part| !matches!(*part, "mod" | "lib")).map(str::to_owned).collect();
        Self { file, module, text }
    }

    /// Returns the statements `use …;` of the file, as the offset and the tree.
    fn uses(&self) -> Vec<(usize, &str)> {
        let mut found = Vec::new();
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            if let Some(tree) = after_visibility(line.trim_start()).strip_prefix("use ") {
                let from = start + line.len() - tree.len();
                let end = self.text[from..].find(';').unwrap_or_default();
                found.push((from, &self.text[from..from + end]));
            }
            start += line.len();
        }
        found
    }

    /// Returns whether the file has items of its own, beside modules and names of other files.
    fn has_items(&self) -> bool {
        let kinds =
            ["async ", "const ", "enum ", "fn ", "impl", "static ", "struct ", "trait ", "type "];
        let is_item = |line| kinds.iter().any(|kind| after_visibility(line).starts_with(kind));
        self.text.lines().any(is_item)
    }

    /// Returns whether an offset is within a module that is written in the file.
    fn is_in_inline_module(&self, at: usize) -> bool {
        let opens = |line: &&str| after_visibility(line).starts_with("mod ") && line.ends_with('{');
        let mut last = self.text[..at].lines().rev();
        last.find(|line| *line == "}" || opens(line)).is_some_and(|line| opens(&line))
    }

    /// Returns the path from the crate's root, of one written in this file.
    fn absolute(&self, path: &[String], modules: &BTreeSet<&ItemPath>) -> Option<ItemPath> {
        let up = path.iter().take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([&self.module[..], &path[1..]].concat()),
            "super" => {
                Some([&self.module[..self.module.len().checked_sub(up)?], &path[up..]].concat())
            }
            child => {
                let own = [&self.module[..], &[child.to_owned()]].concat();
                modules.contains(&own).then(|| [&self.module[..], path].concat())
            }
        }
    }

    /// Returns the paths of the file as they are written, in imports and in code, with the offset.
    pub(super) fn written(&self) -> Vec<(usize, ItemPath)> {
        let mut written = Vec::new();
        let mut rest = self.text.clone();
        for (at, tree) in self.uses() {
            let mut found = Vec::new();
            leaves(&tree.split_whitespace().collect::<Vec<_>>().join(" "), &[], &mut found);
            written.extend(found.into_iter().map(|path| (at, path)));
            rest.replace_range(at..at + tree.len(), &" ".repeat(tree.len()));
        }
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
        let mut at = 0;
        while let Some(found) = rest[at..].find("::") {
            let middle = at + found;
            let start = rest[..middle].rfind(|c| !is_path(c)).map_or(0, |before| before + 1);
            let end =
                rest[middle..].find(|c| !is_path(c)).map_or(rest.len(), |after| middle + after);
            at = end;
            let is_visibility = rest[..start].ends_with("pub(in ");
            let is_foreign = rest[start..end].starts_with("::");
            if !is_visibility && !is_foreign {
                let path =
                    rest[start..end].trim_end_matches(':').split("::").map(str::to_owned).collect();
                written.push((start, path));
            }
        }
        written
    }

    /// Returns everything of the crate that the file names.
    fn imports(&self, modules: &BTreeSet<&ItemPath>) -> Vec<Import> {
        self.written()
            .into_iter()
            .filter_map(|(at, path)| {
                let line = self.text[..at].matches('\n').count() + 1;
                // There, `super` is this file.
                let outer = usize::from(path[0] == "super" && self.is_in_inline_module(at));
                let path = if outer == 1 && path.len() > 1 && path[1] != "super" {
                    [&["self".to_owned()], &path[1..]].concat()
                } else {
                    path[outer..].to_vec()
                };
                self.absolute(&path, modules).map(|path| Import { path, line })
            })
            .collect()
    }
}

#[test]
fn each_form_of_a_path_is_seen() {
    let names = ["a/mod.rs", "a/b.rs", "a/c/mod.rs", "a/c/d.rs", "e.rs"];
    let modules: Vec<ItemPath> = names.map(|file| Source::read(file.to_owned(), "").module).into();
    let cases: [(&str, &str, &[&str]); 20] = [
        ("a/b.rs", "use crate::e::X;", &["e::X"]),
        ("a/b.rs", "pub(crate) use crate::{e::X, a as other};", &["e::X", "a"]),
        ("a/b.rs", "pub use super::c::{self, d::Y as _};", &["a::c::self", "a::c::d::Y"]),
        ("a/c/d.rs", "use super::super::super::e;", &["e"]),
        ("a/c/d.rs", "pub(in crate::a) use super::super::b::X;", &["a::b::X"]),
        ("a/b.rs", "fn f() {\n    use super::c::X;\n}", &["a::c::X"]),
        ("a/b.rs", "let x = super::super::e::x();", &["e::x"]),
        ("a/b.rs", "#[arg(value_parser = super::c::x)]", &["a::c::x"]),
        ("a/b.rs", "println!(\"{}\", crate::e::x());", &["e::x"]),
        ("a/b.rs", "macro_rules! x { () => { $crate::e::x() } }", &["e::x"]),
        ("a/b.rs", "fn x(y: &crate::e::Y<super::c::Z>) {}", &["e::Y", "a::c::Z"]),
        ("a/b.rs", "<crate::e::X as super::c::Y>::z()", &["e::X", "a::c::Y"]),
        ("a/mod.rs", "pub use c::X;\nfn f() { b::x() }", &["a::c::X", "a::b::x"]),
        ("a/mod.rs", "use self::b::X;", &["a::b::X"]),
        (
            "a/b.rs",
            "mod inner {\n    use super::x;\n    use super::super::c;\n}",
            &["a::b::x", "a::c"],
        ),
        ("a/b.rs", "pub(super) mod inner {\n    fn f() { super::super::c::x() }\n}", &["a::c::x"]),
        ("a/b.rs", "mod inner {\n}\nuse super::c;", &["a::c"]),
        ("a/b.rs", "pub(in crate::a) fn x() -> ::e::Y { std::e() }", &[]),
        ("a/b.rs", "// crate::e::X\nlet e = x::crate_e;", &[]),
        ("a/b.rs", "#[cfg(test)]\nmod tests {\n    use crate::e::X;\n}", &[]),
    ];
    for (file, text, expected) in cases {
        let found = Source::read(file.to_owned(), text).imports(&modules.iter().collect());
        let found: Vec<_> = found.iter().map(|import| import.path.join("::")).collect();
        assert_eq!(found, expected, "{file}: {text}");
    }
}

/// What reads a search text knows words and names alone, so that the road of a search goes through
/// the postings once.
#[test]
fn a_search_text_is_read_without_the_postings() {
    let sources = sources();
    let modules = sources.iter().map(|source| &source.module).collect();
    let readers = ["query", "payload", "words", "lists", "vocabulary", "spelling"];
    let mut read = 0;
    for source in &sources {
        let [first, own] = source.module.as_slice() else { continue };
        if first != "search" || !readers.contains(&own.as_str()) {
            continue;
        }
        read += 1;
        for import in source.imports(&modules) {
            let [first, other, ..] = import.path.as_slice() else { continue };
            assert!(
                first != "search"
                    || !["catalog", "index", "score", "hit"].contains(&other.as_str()),
                "toolbox/src/{}:{}: `search::{other}` comes later on the road",
                source.file,
                import.line
            );
        }
    }
    assert_eq!(read, readers.len());
}

#[test]
fn no_module_uses_one_below_it() {
    let (ranks, sources) = (ranks(), sources());
    let modules = sources.iter().map(|source| &source.module).collect();
    let exceptions = block("<!-- exceptions -->");
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for source in &sources {
        let Some(own) = source.module.first().filter(|own| *own != "__private") else { continue };
        let rank =
            ranks.get(own).unwrap_or_else(|| panic!("{own} has no place in ARCHITECTURE.md"));
        for import in source.imports(&modules) {
            let Some(other) = import.path.first().filter(|other| *other != own) else { continue };
            if ranks.get(other).is_none_or(|other| other < rank) {
                continue;
            }
            let pair = format!("{own} -> {other}");
            match exceptions.iter().position(|line| line.starts_with(&pair)) {
                Some(at) => drop(used.insert(at)),
                None => faults.push(format!(
                    "toolbox/src/{}:{}: `{}` is below or beside `{own}` in the ladder of ARCHITECTURE.md",
                    source.file,
                    import.line,
                    import.path.join("::")
                )),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(
        used.len(),
        exceptions.len(),
        "an exception in ARCHITECTURE.md is needed no more: {exceptions:?}"
    );
}

#[test]
fn the_core_names_no_feature_of_the_modules_on_it() {
    let last = ranks()["dispatch"];
    for source in sources() {
        let Some(rank) = source.module.first().and_then(|own| ranks().get(own).copied()) else {
            continue;
        };
        for (number, line) in (1..).zip(source.text.lines()).filter(|_| rank <= last) {
            let named =
                line.split("feature = \"").skip(1).filter(|rest| !rest.starts_with("pattern\""));
            assert_eq!(named.count(), 0, "toolbox/src/{}:{number}: {line}", source.file);
        }
    }
}

/// Finds the files that a path passes: each that re-exports what it names, and the one it ends in.
fn resolve<'s>(
    path: &[String],
    files: &'s BTreeMap<&ItemPath, (&Source, BTreeMap<String, ItemPath>)>,
    passed: &mut Vec<&'s Source>,
) {
    let Some(end) = (0..=path.len()).rev().find(|end| files.contains_key(&path[..*end].to_vec()))
    else {
        return;
    };
    let (source, names) = &files[&path[..end].to_vec()];
    if passed.iter().any(|own| own.file == source.file) {
        return;
    }
    passed.push(source);
    if let Some(target) = path.get(end).and_then(|name| names.get(name)) {
        resolve(&[target, &path[end + 1..]].concat(), files, passed);
    }
}

#[test]
fn no_more_than_two_files_import_each_other_in_a_circle() {
    let sources = sources();
    let modules = sources.iter().map(|source| &source.module).collect();
    let files: BTreeMap<_, _> = sources
        .iter()
        .map(|source| {
            let mut names = BTreeMap::new();
            for (at, tree) in source.uses() {
                if source.is_in_inline_module(at) {
                    continue;
                }
                let mut found = Vec::new();
                leaves(&tree.split_whitespace().collect::<Vec<_>>().join(" "), &[], &mut found);
                for path in found {
                    let Some(mut path) = source.absolute(&path, &modules) else { continue };
                    path.pop_if(|last| last == "self");
                    names.extend(path.last().cloned().map(|name| (name, path)));
                }
            }
            (&source.module, (source, names))
        })
        .collect();
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in
        sources.iter().filter(|source| !source.module.is_empty() && source.module[0] != "__private")
    {
        let imports = source.imports(&modules);
        let mut targets = Vec::new();
        for import in &imports {
            let mut passed = Vec::new();
            resolve(&import.path, &files, &mut passed);
            // What a module re-exports, a file within it has from the file that defines it.
            let last = passed.pop();
            passed
                .retain(|facade| facade.has_items() && !source.module.starts_with(&facade.module));
            targets.extend(passed.into_iter().chain(last));
        }
        targets.retain(|other| !other.module.is_empty() && other.file != source.file);
        edges
            .entry(&source.file)
            .or_default()
            .extend(targets.iter().map(|other| other.file.as_str()));
    }
    // Who is reached from a file and reaches it again stands in a circle with it.
    let reached = |from: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(file) = open.pop() {
            for next in edges.get(file.as_str()).into_iter().flatten() {
                if seen.insert((*next).to_owned()) {
                    open.push((*next).to_owned());
                }
            }
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<String>> =
        edges.keys().map(|file| (*file, reached(file))).collect();
    let circle = |file: &str| -> BTreeSet<String> {
        let others = all[file]
            .iter()
            .filter(|other| all.get(other.as_str()).is_some_and(|seen| seen.contains(file)));
        others.cloned().collect()
    };
    let circles: BTreeSet<BTreeSet<String>> = edges.keys().map(|file| circle(file)).collect();
    let large: Vec<_> = circles.iter().filter(|files| files.len() > 2).collect();
    assert!(large.is_empty(), "circles of files: {large:#?}");
}
