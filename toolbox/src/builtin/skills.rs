//! Skills: instructions in files, which a model loads when it needs them.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::call::{Arguments, ToolResult};
use crate::definition::ToolAnnotations;
use crate::text::{QUOTED, quote, split_head};
use crate::tool::{Tool, Toolset};

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// A folder of skills as a tool: `load_skill` lists them in its description, and returns the text
/// of one by its name.
///
/// A skill is a file `<name>.md`, or a folder with a file `SKILL.md` in it. It may begin with a
/// head, between lines of `---`, with its `name:` and its `description:`; else the name is that of
/// the file or folder, and the description its first line. The files are read once, when the folder
/// is; a model can only ask for what was found then. A file may hold up to 256 KiB. No file outside
/// of the folder is read: a link may lead to another place in it, and a hard link is refused.
///
/// ```no_run
/// use toolbox::ToolBox;
/// use toolbox::builtin::skills::Skills;
///
/// let toolbox = ToolBox::new();
/// toolbox.register(Skills::from_folder("skills")?);
/// # Ok::<(), toolbox::builtin::skills::SkillsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skills {
    skills: Vec<Skill>,
}

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// The name by which the model loads it.
    pub name: String,
    /// The description, which says when to load it.
    pub description: String,
    /// The instructions.
    pub text: String,
    /// The names of the files beside `SKILL.md`, when it is a folder.
    pub files: Vec<String>,
}

impl Skills {
    /// Reads the skills of a folder, in the order of their names.
    ///
    /// # Errors
    ///
    /// [`SkillsError`] if the folder or a file cannot be read, a file is too large, is no text, or
    /// is or may be outside of the folder, two skills have one name, or there is none.
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self, SkillsError> {
        let folder = folder.as_ref();
        let real = real(folder)?;
        let mut skills = Vec::new();
        for path in entries(folder)? {
            if path.is_dir() {
                let main = path.join("SKILL.md");
                if main.is_file() {
                    let files = entries(&path)?.into_iter().filter(|file| *file != main);
                    let files = files.filter_map(|file| name_of(&file, false)).collect();
                    skills.push(Skill::read(&main, &real, name_of(&path, false), files)?);
                }
            } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
            {
                skills.push(Skill::read(&path, &real, name_of(&path, true), Vec::new())?);
            }
        }
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(twins) = skills.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(SkillsError::NameTaken(twins[0].name.clone()));
        }
        if skills.is_empty() {
            return Err(SkillsError::None(folder.to_owned()));
        }
        Ok(Self { skills })
    }

    /// Returns the skills, in the order of their names.
    #[must_use]
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    fn load(&self, name: &str) -> ToolResult {
        match self.skills.iter().find(|skill| skill.name == name) {
            Some(skill) if skill.files.is_empty() => ToolResult::new(skill.text.clone()),
            Some(skill) => {
                let files = skill.files.join(", ");
                ToolResult::new(format!(
                    "{}\n\nFiles that come with this skill: {files}",
                    skill.text
                ))
            }
            None => ToolResult::error(format!("skill not found: {}", quote(name, QUOTED))),
        }
    }
}

impl Skill {
    fn read(
        path: &Path,
        folder: &Path,
        name: Option<String>,
        files: Vec<String>,
    ) -> Result<Self, SkillsError> {
        let failed = |error| SkillsError::Io { path: path.to_owned(), error };
        let metadata = fs::metadata(path).map_err(failed)?;
        // Opening a pipe would wait for its writer.
        if !metadata.is_file() {
            return Err(failed(io::Error::other("it is no file")));
        }
        #[cfg(unix)]
        let has_other_name = std::os::unix::fs::MetadataExt::nlink(&metadata) > 1;
        #[cfg(not(unix))]
        let has_other_name = false;
        if has_other_name || !real(path)?.starts_with(folder) {
            return Err(SkillsError::Outside(path.to_owned()));
        }
        let length = metadata.len();
        if length > MAX_BYTES {
            return Err(SkillsError::TooLarge { path: path.to_owned(), bytes: length });
        }
        let source = fs::read_to_string(path).map_err(failed)?;
        let (head, text) = split_head(source.trim_start_matches('\u{feff}'));
        let field = |key: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            let value = line.trim().trim_matches(['"', '\'']);
            (!value.is_empty()).then(|| value.to_owned())
        };
        let first = text.lines().map(|line| line.trim_start_matches('#').trim());
        let first = first.filter(|line| !line.is_empty()).map(str::to_owned).next();
        Ok(Self {
            name: field("name").or(name).unwrap_or_default(),
            description: field("description").or(first).unwrap_or_default(),
            text: text.trim().to_owned(),
            files,
        })
    }
}

fn real(path: &Path) -> Result<PathBuf, SkillsError> {
    path.canonicalize().map_err(|error| SkillsError::Io { path: path.to_owned(), error })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, SkillsError> {
    let failed = |error| SkillsError::Io { path: folder.to_owned(), error };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path, stem: bool) -> Option<String> {
    let name = if stem { path.file_stem() } else { path.file_name() };
    name.map(|name| name.to_string_lossy().into_owned())
}

#[diagnostic::do_not_recommend]
impl Toolset for Skills {
    fn tools(self: std::sync::Arc<Self>) -> Vec<Tool> {
        let list: Vec<String> = self
            .skills
            .iter()
            .map(|skill| format!("- {}: {}", skill.name, skill.description))
            .collect();
        let description = format!(
            "Loads the instructions of a skill. Load one before you do what it is for. The skills are:\n{}",
            list.join("\n")
        );
        let names: Vec<&str> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string", "enum": names}},
            "required": ["name"],
            "additionalProperties": false,
        });
        let tool = Tool::raw("load_skill", description, schema, move |arguments: Arguments| {
            #[derive(serde::Deserialize)]
            struct LoadArguments {
                name: String,
            }
            match arguments.parse::<LoadArguments>() {
                Ok(wanted) => self.load(&wanted.name),
                Err(error) => ToolResult::error(error.to_string()),
            }
        });
        let annotations = ToolAnnotations {
            read_only: Some(true),
            open_world: Some(false),
            ..ToolAnnotations::default()
        };
        vec![tool.with_annotations(annotations)]
    }
}

/// An error in a folder of skills.
#[derive(Debug)]
#[non_exhaustive]
pub enum SkillsError {
    /// The folder or a file in it cannot be read, or is no UTF-8 text.
    Io {
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file is larger than 256 KiB.
    TooLarge {
        /// The path of the file.
        path: PathBuf,
        /// Its size, in bytes.
        bytes: u64,
    },
    /// This file is a link to a place outside of the folder, or a hard link, which may be one.
    Outside(PathBuf),
    /// Two skills have this name.
    NameTaken(String),
    /// There is no skill in this folder.
    None(PathBuf),
}

impl fmt::Display for SkillsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            Self::TooLarge { path, bytes } => {
                write!(f, "{} has {bytes} bytes; a skill may have {MAX_BYTES}", path.display())
            }
            Self::Outside(path) => write!(
                f,
                "{} is a link to a place outside of the folder, or a hard link, which may be one: copy the file into the folder",
                path.display()
            ),
            Self::NameTaken(name) => write!(f, "two skills are named `{name}`"),
            Self::None(path) => write!(
                f,
                "no skill is in {}: a skill is a file `<name>.md`, or a folder with a `SKILL.md`",
                path.display()
            ),
        }
    }
}

impl std::error::Error for SkillsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
