//! The servers that can be taken over: read, shown, and then written.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::hosts::{self, HostFile, UserFolders};
use super::ours::{Ours, Standing};
use super::{ImportState, ImportedFile, LeftFiles, file_value, files, read};
use crate::cli::text::line;
use crate::page::ChangeRefusal;
use crate::text::hex;

/// The servers of other programs, taken into a configuration that is not yet written.
pub(in crate::cli) struct ImportPlan {
    pub(super) imported: Vec<ImportedFile>,
    pub(super) left: LeftFiles,
    path: PathBuf,
    ours: Ours,
    /// The files that a run may have changed before.
    known: Vec<PathBuf>,
}

impl ImportPlan {
    /// Reads the files of these programs, of all if none is named; those of the project too, or
    /// not.
    pub(in crate::cli) fn read(
        path: PathBuf,
        from: &[&'static str],
        project: bool,
    ) -> Result<Self, String> {
        let folders = UserFolders::of_environment();
        let is_meant = |file: &HostFile| project || file.project.is_none();
        let (files, of_project): (Vec<_>, Vec<_>) =
            hosts::files(&folders, from).into_iter().partition(is_meant);
        let known = hosts::files(&folders, &[]).into_iter().filter(is_meant);
        let known = known.map(|file| file.path).chain([path.clone()]).collect();
        let mut ours = Ours::read(path.clone())
            .map_err(|fault| format!("nothing can be added to {}: {fault}", path.display()))?;
        let imported = files.into_iter().map(|file| read(file, &folders, &mut ours)).collect();
        let unread = if from.is_empty() { hosts::unread(&folders) } else { Vec::new() };
        let left = LeftFiles { of_project, unread };
        Ok(Self { imported, left, path, ours, known })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of servers that the configuration does not have yet.
    pub(super) fn new_servers(&self) -> usize {
        let servers = self.imported.iter().flat_map(|file| &file.servers);
        servers.filter(|server| server.state == ImportState::Standing(Standing::New)).count()
    }

    /// Returns the number of a run that writes, which the backups of all its files have.
    pub(super) fn next_number(&self) -> u32 {
        let last = self.known.iter().filter_map(|path| files::last_backup(path)).max();
        last.map_or(1, |last| last + 1)
    }

    /// Writes the configuration if something is new, and returns the backup of the one before.
    pub(super) fn write_new(&self, number: u32) -> Result<Option<PathBuf>, String> {
        self.ours.is_changed.then(|| self.ours.write(number)).transpose()
    }

    pub(super) fn report(&self, backup: Option<&Path>) -> Value {
        let shown = |path: &Path| line(&path.display().to_string());
        let left = &self.left;
        json!({
            "config": shown(&self.path),
            "written": backup.is_some(),
            "backup": backup.map(shown),
            "files": self.imported.iter().map(file_value).collect::<Vec<_>>(),
            "not_read": left.of_project.iter().map(|file| shown(&file.path)).collect::<Vec<_>>(),
            "unknown": left.unread.iter().map(|(program, path)| json!({"host": program, "file": shown(path)})).collect::<Vec<_>>(),
        })
    }

    /// Returns the plan for a page, with its digest.
    pub(in crate::cli) fn shown(&self) -> Value {
        let mut value = self.report(None);
        value["new"] = self.new_servers().into();
        value["digest"] = self.digest().into();
        value
    }

    /// Carries out the plan that was shown with a digest, and no other.
    pub(in crate::cli) fn carry_out(&self, digest: &str) -> Result<Value, ChangeRefusal> {
        if self.digest() != digest {
            let why = "the files have changed since they were shown; look at them, and try again";
            return Err(ChangeRefusal::Stale(why.to_owned()));
        }
        let backup = self.write_new(self.next_number()).map_err(ChangeRefusal::Failed)?;
        Ok(self.report(backup.as_deref()))
    }

    /// Returns the digest of the configuration as it is, and as it is to be.
    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for text in [self.ours.before(), &self.ours.text()] {
            digest.update(text.len().to_le_bytes());
            digest.update(text.as_bytes());
        }
        hex(&digest.finalize())
    }
}
