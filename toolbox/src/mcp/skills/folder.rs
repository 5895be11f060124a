//! A folder of skills, kept up to date as resources of a box.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::json;

use super::scan::{Digests, Scan, read, scan, uri_of};
use crate::call::{Arguments, FailureKind, ResourceContents, ToolResult};
use crate::collection::Resources;
use crate::resource::{Resource, SKILL_FILE, SkillManifest, result_of};
use crate::sync::Mutex;
use crate::tool::Tool;

/// A folder of skills that a [`Service`](crate::mcp::Service::skills) serves by the extension
/// `io.modelcontextprotocol/skills`.
///
/// A skill is a folder at any depth below it with a file `SKILL.md`, which begins with a
/// frontmatter of YAML between lines of `---`: its `name`, which is that of the folder, and its
/// `description`. The skill `group/refunds` has the URI `skill://group/refunds/SKILL.md`.
///
/// All files below the folder of a skill belong to it, except those whose names begin with a dot.
/// Links are not followed, hard links are passed over, and no file outside of the folder is read. A
/// skill is left out, and not served in part, if it has more than 512 files or 16 MiB, or a file
/// beyond three quarters of
/// [`max_resource_bytes`](crate::ToolBoxBuilder::max_resource_bytes) (6 MiB by default); if an
/// entry cannot be read or has a name with control characters; or if its frontmatter is missing or
/// has anchors. The folder may have 20 000 entries, 16 levels deep.
///
/// Cloning is cheap, and clones share the folder.
///
/// ```no_run
/// use toolbox::ToolBox;
/// use toolbox::mcp::{Service, SkillFolder};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = SkillFolder::open("skills")?;
/// let service = Service::new(ToolBox::new()).skills(folder.clone());
/// for problem in folder.problems() {
///     eprintln!("{problem}");
/// }
/// service.serve_stdio().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SkillFolder {
    inner: Arc<FolderInner>,
}

struct FolderInner {
    path: PathBuf,
    dir: Dir,
    /// Held while the folder is read; the time at which the last reading began.
    reading: tokio::sync::Mutex<Option<Instant>>,
    state: Mutex<FolderState>,
}

#[derive(Default)]
struct FolderState {
    digests: Digests,
    /// The manifests that the box has, by the URIs of its resources; those of other files are none.
    registered: BTreeMap<String, Option<SkillManifest>>,
    problems: Vec<String>,
}

impl SkillFolder {
    /// Opens a folder. Its files are read once it is served.
    ///
    /// # Errors
    ///
    /// [`OpenSkillFolderError`] if there is no such folder, or it is a skill itself.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenSkillFolderError> {
        let path = path.as_ref().to_owned();
        let dir = match Dir::open_ambient_dir(&path, ambient_authority()) {
            Ok(dir) => dir,
            Err(error) => return Err(OpenSkillFolderError::Io { path, error }),
        };
        if dir.is_file(SKILL_FILE) {
            return Err(OpenSkillFolderError::IsSkill(path));
        }
        let inner = FolderInner {
            path,
            dir,
            reading: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the path with which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns the skills that are left out and the entries that are passed over, a sentence each,
    /// as of the last reading.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        self.inner.state.lock().problems.clone()
    }

    /// Reads the folder, and has its files be resources of a box.
    pub(in crate::mcp) fn refresh_now(&self, resources: &Resources) {
        // Contents of bytes are base64 when they are measured.
        let max_file = (resources.max_bytes() as u64 / 4).saturating_mul(3);
        let mut state = self.inner.state.lock();
        let Scan { skills, mut problems } = scan(&self.inner.dir, &mut state.digests, max_file);
        let (mut files, mut manifests) = (BTreeMap::new(), BTreeMap::new());
        for skill in skills {
            let is_free =
                |uri: &str| state.registered.contains_key(uri) || resources.get(uri).is_none();
            if let Some(taken) = skill.files.values().find(|file| !is_free(&file.uri)) {
                let (path, uri) = (&skill.path, &taken.uri);
                problems.push(format!(
                    "the skill `{path}` is left out: `{uri}` is another resource of the box"
                ));
                continue;
            }
            let main = uri_of(&format!("{}/{SKILL_FILE}", skill.path));
            let manifest = SkillManifest {
                frontmatter: skill.frontmatter,
                files: skill.files.values().cloned().collect(),
            };
            manifests.insert(main, manifest);
            files.extend(skill.files.into_iter().map(|(path, file)| (file.uri, path)));
        }
        let now: BTreeMap<String, Option<SkillManifest>> =
            files.keys().map(|uri| (uri.clone(), manifests.get(uri).cloned())).collect();
        if now != state.registered {
            let made = files.iter().map(|(uri, path)| {
                self.resource(uri, path, max_file, now.get(uri).cloned().flatten())
            });
            let gone: BTreeSet<&str> = state
                .registered
                .keys()
                .filter(|uri| !now.contains_key(*uri))
                .map(String::as_str)
                .collect();
            resources.exchange(|own| gone.contains(own.uri()), made.collect());
            state.registered = now;
        }
        if problems != state.problems {
            for problem in &problems {
                tracing::warn!(folder = %self.inner.path.display(), problem, "in a folder of skills");
            }
            state.problems = problems;
        }
    }

    /// Reads the folder again, unless another caller began to after this one came.
    pub(in crate::mcp) async fn refresh(&self, resources: &Resources) {
        let asked = Instant::now();
        let mut began = self.inner.reading.lock().await;
        if began.is_some_and(|began| began >= asked) {
            return;
        }
        *began = Some(Instant::now());
        let (folder, resources) = (self.clone(), resources.clone());
        let _ = tokio::task::spawn_blocking(move || folder.refresh_now(&resources)).await;
    }

    fn resource(
        &self,
        uri: &str,
        path: &str,
        max_file: u64,
        manifest: Option<SkillManifest>,
    ) -> Resource {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let (folder, path) = (self.clone(), Arc::<str>::from(path));
        let call = move |_: Arguments| {
            let (folder, path) = (folder.clone(), Arc::clone(&path));
            async move {
                let read = move || read(&folder.inner.dir, &path, max_file);
                match tokio::task::spawn_blocking(read).await {
                    Ok(Ok(bytes)) => contents_of(bytes),
                    Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => result_of(None),
                    _ => ToolResult::failure(FailureKind::Reported, "the file cannot be read"),
                }
            }
        };
        let tool = Tool::raw("skill_file", "", json!({"type": "object"}), call).deferred();
        let mut resource = Resource::foreign(uri, false, tool).with_name(name.as_str());
        if Path::new(&name).extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
            resource = resource.with_mime_type("text/markdown");
        }
        match manifest {
            Some(manifest) => resource.with_skill(manifest),
            None => resource,
        }
    }
}

/// Returns the bytes of a file as text if they are some.
fn contents_of(bytes: Vec<u8>) -> ToolResult {
    let contents = match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::of_text(text),
        Err(bytes) => ResourceContents::of_bytes(bytes.into_bytes()),
    };
    result_of(Some(vec![contents]))
}

impl fmt::Debug for SkillFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillFolder").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

/// An error that prevents the use of a folder of skills.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenSkillFolderError {
    /// The folder cannot be opened.
    Io {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The folder has a `SKILL.md`: the one above it is the folder of skills.
    IsSkill(PathBuf),
}

impl fmt::Display for OpenSkillFolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => {
                write!(f, "the folder of skills {} cannot be opened: {error}", path.display())
            }
            Self::IsSkill(path) => {
                write!(f, "{} is a skill itself: name the folder above it", path.display())
            }
        }
    }
}

impl std::error::Error for OpenSkillFolderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::IsSkill(_) => None,
        }
    }
}
