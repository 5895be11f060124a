//! A configuration file that is read again when it changes.

#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use super::{Config, ConfigProblem, bytes_of, text_of};

/// The time between two looks at the file. A content is taken when two of them see it.
const INTERVAL: Duration = Duration::from_millis(25);

/// The age from which the time of a change tells it from any later one, on all file systems.
const COARSEST_TIME: Duration = Duration::from_secs(2);

/// A configuration file that is read again when it changes: see [`Config::watch`].
///
/// ```no_run
/// use toolbox::ToolBox;
/// use toolbox::mcp::{Config, Servers};
///
/// # async fn follow() -> Result<(), Box<dyn std::error::Error>> {
/// let toolbox = ToolBox::new();
/// let mut watch = Config::watch("toolbox.jsonc");
/// let servers = watch.config().servers().iter().cloned();
/// let servers = Servers::builder().servers(servers).mount(&toolbox).await?;
/// loop {
///     if watch.changed().await {
///         println!("{}", servers.apply(watch.config().servers().iter().cloned())?);
///     }
///     for problem in watch.problems() {
///         eprintln!("{problem}");
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct ConfigWatch {
    path: PathBuf,
    config: Config,
    problems: Vec<ConfigProblem>,
    contents: watch::Receiver<Contents>,
}

/// The bytes of a file, or the problem reading it.
type Contents = Result<Vec<u8>, Box<ConfigProblem>>;

impl Config {
    /// Reads a file as [`Config::read`] does, and again whenever it changes: see
    /// [`ConfigWatch::changed`].
    ///
    /// A thread looks at the file 40 times a second until the watch is dropped, so changes are seen
    /// on every file system, through links, and however the file is replaced.
    #[must_use = "the file is watched as long as this exists"]
    pub fn watch(path: impl Into<PathBuf>) -> ConfigWatch {
        let path = path.into();
        let (stamp, contents) = (Stamp::of(&path), bytes_of(&path));
        let (config, problems) = parsed(&contents, &path);
        let (sender, receiver) = watch::channel(contents.clone());
        let looking = Looking { path: path.clone(), stamp, contents, candidate: None };
        let thread = thread::Builder::new().name("toolbox-config".to_owned());
        if let Err(error) = thread.spawn(move || looking.run(&sender)) {
            tracing::warn!(%error, "changes of the configuration are not seen");
        }
        ConfigWatch { path, config, problems, contents: receiver }
    }
}

impl ConfigWatch {
    /// Returns the configuration that was taken last.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the problems of the content that was read last, whether or not it was taken.
    #[must_use]
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    /// Waits for other contents of the file, and returns `true` if [`config`](Self::config) is that
    /// of them. What was written meanwhile counts as one change.
    ///
    /// Contents with a fault outside of the servers are not taken: a file that is missing, half
    /// written or not understood changes nothing. A server with a fault stays what it was, if it
    /// was there before, and is left out otherwise. [`problems`](Self::problems) has all faults,
    /// once for each content.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no change.
    pub async fn changed(&mut self) -> bool {
        if self.contents.changed().await.is_err() {
            // There is no thread that looks at the file.
            std::future::pending::<()>().await;
        }
        let (mut config, problems) = parsed(&self.contents.borrow_and_update(), &self.path);
        self.problems = problems;
        let is_taken = self.problems.iter().all(|problem| problem.server().is_some());
        if is_taken {
            config.keep_faulty(&self.config, &self.problems);
            self.config = config;
        }
        is_taken
    }
}

impl Config {
    /// Takes servers with problems from the configuration before.
    fn keep_faulty(&mut self, before: &Self, problems: &[ConfigProblem]) {
        let is_faulty = |name: &str| problems.iter().any(|problem| problem.server() == Some(name));
        let kept = before.servers.iter().filter(|(name, _)| is_faulty(name));
        for server in kept {
            let is_there = |(name, _): &(String, _)| name.eq_ignore_ascii_case(&server.0);
            if !self.servers.iter().any(is_there) {
                self.servers.push(server.clone());
            }
        }
    }
}

fn parsed(contents: &Contents, path: &Path) -> (Config, Vec<ConfigProblem>) {
    match text_of(contents.clone(), path) {
        Ok(text) => Config::parse(&text, path, |name| std::env::var(name).ok()),
        Err(problem) => (Config::default(), vec![*problem]),
    }
}

/// The state of the thread that looks at the file.
struct Looking {
    path: PathBuf,
    stamp: Option<Stamp>,
    /// The contents that were reported last.
    contents: Contents,
    /// Other contents, seen once.
    candidate: Option<Contents>,
}

impl Looking {
    fn run(mut self, sender: &watch::Sender<Contents>) {
        while !sender.is_closed() {
            thread::sleep(INTERVAL);
            if let Some(contents) = self.look() {
                let _ = sender.send(contents);
            }
        }
    }

    /// Returns contents that differ from those reported, once they have been seen twice: a file
    /// that is being written is not read in the middle.
    fn look(&mut self) -> Option<Contents> {
        let stamp = Stamp::of(&self.path);
        let is_same = stamp == self.stamp && self.candidate.is_none();
        if is_same && stamp.as_ref().is_none_or(Stamp::is_settled) {
            return None;
        }
        self.stamp = stamp;
        let seen = bytes_of(&self.path);
        if seen == self.contents {
            self.candidate = None;
            return None;
        }
        if self.candidate.as_ref() != Some(&seen) {
            self.candidate = Some(seen);
            return None;
        }
        self.candidate = None;
        self.contents.clone_from(&seen);
        Some(seen)
    }
}

/// The state of a file by which a change is seen without reading it.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// The device, the number of the file, and the time at which the system last changed either.
    #[cfg(unix)]
    identity: (u64, u64, i64, i64),
}

impl Stamp {
    /// Returns `None` if there is no such file.
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity: (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Returns `true` if a change from now on changes the stamp. Two changes at the same tick of
    /// the clock have the same time.
    fn is_settled(&self) -> bool {
        let age = |time: SystemTime| time.elapsed().is_ok_and(|age| age > COARSEST_TIME);
        #[cfg(unix)]
        {
            let seconds = u64::try_from(self.identity.2).unwrap_or_default();
            age(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds + 1))
        }
        #[cfg(not(unix))]
        self.modified.is_some_and(age)
    }
}
