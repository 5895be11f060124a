//! The name by which a package knows the crate `toolbox`: `kit`, if its manifest says
//! `kit = { package = "llm-toolbox", .. }`.
//!
//! Only the lines that decide it are read: a whole reader of TOML would be as large as this crate.

use std::path::Path;
use std::sync::Mutex;

/// The name of the package.
const PACKAGE: &str = "llm-toolbox";

/// The name of its library: that of the crate, unless a manifest renames it.
pub(crate) const LIBRARY: &str = "toolbox";

/// Returns the name of the dependency for the package that is being compiled; `toolbox` where its
/// manifest is not to be read.
pub(crate) fn dependency() -> String {
    // One package after another in an editor; one alone otherwise.
    static LAST: Mutex<Option<(String, String)>> = Mutex::new(None);
    let Ok(folder) = std::env::var("CARGO_MANIFEST_DIR") else { return LIBRARY.to_owned() };
    let Ok(mut last) = LAST.lock() else { return LIBRARY.to_owned() };
    match &*last {
        Some((of, name)) if *of == folder => name.clone(),
        _ => {
            let name = name_in(Path::new(&folder)).unwrap_or_else(|| LIBRARY.to_owned());
            *last = Some((folder, name.clone()));
            name
        }
    }
}

fn name_in(folder: &Path) -> Option<String> {
    let own = entries(&std::fs::read_to_string(folder.join("Cargo.toml")).ok()?, "dependencies");
    let renamed = |found: &[Dependency]| {
        found.iter().find(|entry| entry.package.as_deref() == Some(PACKAGE)).map(Dependency::name)
    };
    if own.iter().any(|entry| entry.key == PACKAGE && entry.package.is_none()) {
        return None;
    }
    renamed(&own).or_else(|| {
        let mut above = folder.ancestors();
        let workspace = above.find_map(|folder| {
            let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
            text.contains("[workspace").then(|| entries(&text, "workspace.dependencies"))
        })?;
        let inherited =
            |entry: &Dependency| own.iter().any(|own| own.key == entry.key && own.inherits);
        let inherited: Vec<Dependency> = workspace.into_iter().filter(inherited).collect();
        renamed(&inherited)
    })
}

/// One dependency.
#[derive(Default)]
struct Dependency {
    key: String,
    package: Option<String>,
    /// `true` if the workspace says what it is.
    inherits: bool,
}

impl Dependency {
    fn name(&self) -> String {
        self.key.replace('-', "_")
    }
}

/// Returns the entries of the tables whose name ends with the given one.
fn entries(manifest: &str, table: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    // The table of the line, and the entry whose own table it is.
    let (mut is_inside, mut of) = (false, None);
    for line in manifest.lines() {
        let line = without_comment(line).trim();
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let header = header.trim();
            is_inside = header.ends_with(table);
            of = header
                .rsplit_once('.')
                .filter(|(before, _)| before.ends_with(table))
                .map(|(_, key)| unquoted(key));
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim();
        let (key, value) = match (&of, key.rsplit_once('.')) {
            (Some(of), _) => (of.clone(), format!("{key} = {value}")),
            (None, Some((of, key))) if is_inside => (unquoted(of), format!("{key} = {value}")),
            (None, None) if is_inside => (unquoted(key), value.to_owned()),
            _ => continue,
        };
        let at = found.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            found.push(Dependency { key, ..Dependency::default() });
            found.len() - 1
        });
        let entry = &mut found[at];
        entry.package = entry.package.take().or_else(|| member(&value, "package").map(unquoted));
        entry.inherits |= member(&value, "workspace").is_some_and(|value| value == "true");
    }
    found
}

/// Returns the value of a member of an inline table, as it is written.
fn member<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    let members = table.trim().trim_start_matches('{').split(',');
    members.filter_map(|member| member.split_once('=')).find_map(|(key, value)| {
        let value = value.trim().trim_end_matches('}').trim();
        (unquoted(key) == name).then_some(value)
    })
}

/// Cuts a line at the `#` that stands outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut open = None;
    for (at, c) in line.char_indices() {
        match open {
            Some(quote) if c == quote => open = None,
            None if matches!(c, '"' | '\'') => open = Some(c),
            None if c == '#' => return &line[..at],
            _ => {}
        }
    }
    line
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_says_how_the_crate_is_called() {
        let cases = [
            ("[dependencies]\ntoolbox = \"0.1\"", None),
            ("[dependencies]\ntoolbox.workspace = true", None),
            ("[dependencies]\nkit = { package = \"llm-toolbox\", version = \"0.1\" }", Some("kit")),
            (
                "[dependencies]\nmy-kit = { version = \"0.1\", package = 'llm-toolbox' } # ours",
                Some("my_kit"),
            ),
            (
                "[dev-dependencies]\nkit.package = \"llm-toolbox\"\nkit.version = \"0.1\"",
                Some("kit"),
            ),
            (
                "[dependencies.kit]\nversion = \"0.1\"\npackage = \"llm-toolbox\" # ours",
                Some("kit"),
            ),
            ("[target.'cfg(unix)'.dependencies]\n\"kit\" = {package=\"llm-toolbox\"}", Some("kit")),
            ("[package]\nname = \"toolbox\"\n[dependencies]\nserde = \"1\"", None),
            ("[dependencies]\nkit = { package = \"toolbox-macros\" }", None),
            ("[package.metadata.x]\nkit = { package = \"llm-toolbox\" }", None),
            ("[dependencies]\n# kit = { package = \"llm-toolbox\" }\nserde = \"1\"", None),
            ("[dependencies]\nserde = \"1\" # kit = { package = \"llm-toolbox\" }", None),
            ("[dependencies]\n# [dependencies.kit]\n#package = \"llm-toolbox\"", None),
            // Under both names, the own one is the one of the documentation.
            ("[dependencies]\nkit = { package = \"llm-toolbox\" }\nllm-toolbox = \"0.1\"", None),
        ];
        for (text, name) in cases {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("Cargo.toml"), text).unwrap();
            assert_eq!(name_in(folder.path()).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn a_workspace_says_it_for_its_members() {
        let folder = tempfile::tempdir().unwrap();
        let root = "[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\nkit = { package = \"llm-toolbox\" }\nother = \"1\"";
        std::fs::write(folder.path().join("Cargo.toml"), root).unwrap();
        for (name, own, wanted) in [
            ("a", "[dependencies]\nkit.workspace = true", Some("kit")),
            ("b", "[dependencies]\nkit = { workspace = true, features = [\"x\"] }", Some("kit")),
            ("c", "[dependencies]\nother.workspace = true", None),
        ] {
            let member = folder.path().join(name);
            std::fs::create_dir(&member).unwrap();
            std::fs::write(member.join("Cargo.toml"), own).unwrap();
            assert_eq!(name_in(&member).as_deref(), wanted, "{own}");
        }
    }
}
