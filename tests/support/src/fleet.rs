//! A `nats-server` for each test, and a worker and a box that meet there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use toolbox::call::FailureKind;
use toolbox::fleet::{Fleet, FleetOptions, Mounted, Worker};
use toolbox::{ToolBox, ToolCall, ToolResult};

use crate::bounded::tokio;

/// The longest wait for something that happens at once on an idle machine.
pub const SOON: Duration = Duration::from_secs(20);

/// The configuration of a server that has no `JetStream`.
pub const WITHOUT_JETSTREAM: &str = "# no JetStream";

/// A server on a free port of this machine, with a folder of its own. Ended when it is dropped, or
/// when the thread of the test ends.
pub struct Server {
    child: Option<Child>,
    folder: PathBuf,
    configuration: String,
    port: u16,
    monitoring: u16,
}

/// Returns the path of the `nats-server` of this machine.
pub fn program() -> PathBuf {
    crate::needs::program("nats-server").expect("a nats-server")
}

impl Server {
    /// Starts a server with `JetStream`.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Starts a server with lines of configuration; `$FOLDER` in them is its own.
    pub fn start_with(configuration: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);

        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("toolbox-fleet-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut server = Self {
            child: None,
            folder,
            configuration: configuration.to_owned(),
            port: 0,
            monitoring: 0,
        };
        server.run();
        server
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the program, on the same port as before.
    pub fn run(&mut self) {
        if self.port != 0 {
            assert!(self.starts(), "the server did not start: {}", self.log());
            return;
        }
        let since = Instant::now();
        loop {
            self.port = port();
            if self.starts() {
                return;
            }
            assert!(since.elapsed() < SOON, "the server did not start: {}", self.log());
        }
    }

    /// Starts the program; returns `false` if it ended at once, as it does if its port is taken.
    fn starts(&mut self) -> bool {
        for entry in fs::read_dir(&self.folder).unwrap().flatten() {
            if entry.path().extension().is_some_and(|end| end == "ports") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        let folder = self.folder.to_str().unwrap();
        let port = self.port;
        let jetstream = match &*self.configuration {
            WITHOUT_JETSTREAM => String::new(),
            own => format!("jetstream {{ store_dir: \"{folder}/store\" }}\n{own}"),
        };
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\nhttp: \"127.0.0.1:-1\"\nports_file_dir: \"{folder}\"\n{}\n",
            jetstream.replace("$FOLDER", folder)
        );
        let file = self.folder.join("server.conf");
        fs::write(&file, text).unwrap();
        let log = fs::File::create(self.folder.join("log")).unwrap();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(program())
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let Some(ports) = self.wait_for_ports() else { return false };
        let monitoring = ports["monitoring"][0].as_str().unwrap().rsplit(':').next().unwrap();
        self.monitoring = monitoring.parse().unwrap();
        true
    }

    /// Reads a page about the server.
    pub async fn page(&self, path: &str) -> serde_json::Value {
        use crate::bounded::tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let read = async {
            let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", self.monitoring)).await?;
            stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
            let mut page = String::new();
            stream.read_to_string(&mut page).await?;
            std::io::Result::Ok(page)
        };
        let page = within(read).await.unwrap();
        serde_json::from_str(page.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Waits until the server gives the calls of a tool to so many workers: it learns of the end of
    /// one by the end of its connection.
    #[track_caller]
    pub fn until_served<'a>(
        &'a self,
        tool: &'a str,
        workers: usize,
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let calls = format!("toolbox.tools.call.{tool}.");
            let since = Instant::now();
            loop {
                let page = self.page("/subsz?subs=1&limit=100000").await;
                let all = page["subscriptions_list"].as_array().unwrap().iter();
                let subjects = all.filter_map(|one| one["subject"].as_str());
                let now = subjects.filter(|subject| subject.starts_with(&calls)).count();
                if now == workers {
                    return;
                }
                assert!(since.elapsed() < SOON, "{now} workers serve `{tool}` at {caller}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    /// Waits for the file that names the ports; `None` if the program ended.
    fn wait_for_ports(&mut self) -> Option<serde_json::Value> {
        let since = Instant::now();
        while since.elapsed() < SOON {
            let entries = fs::read_dir(&self.folder).unwrap().flatten();
            let ports = entries
                .map(|entry| entry.path())
                .find(|path| path.extension().is_some_and(|end| end == "ports"))
                .and_then(|path| fs::read_to_string(path).ok());
            let ports =
                ports.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
            if let Some(ports) = ports.filter(|ports| ports["nats"][0].is_string()) {
                return Some(ports);
            }
            if self.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server did not start: {}", self.log().replace("[INF]", ""));
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Kills the program.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Deletes everything that the program kept; it must not run.
    pub fn wipe(&mut self) {
        assert!(self.child.is_none(), "the server runs");
        let _ = fs::remove_dir_all(self.folder.join("store"));
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub async fn worker(&self) -> Worker {
        Worker::connect(&self.url(), options()).await.unwrap()
    }

    pub async fn fleet(&self) -> Fleet {
        Fleet::connect(&self.url(), options()).await.unwrap()
    }

    /// A client of the server itself, for peers that misbehave.
    pub async fn client(&self) -> async_nats::Client {
        async_nats::connect(self.url()).await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns a free port that the system gives to nobody by itself: while a server is down, a
/// connection of another program would take its port otherwise.
fn port() -> u16 {
    use std::sync::atomic::{AtomicU32, Ordering};
    const FIRST: u32 = 10_000;
    const END: u32 = 32_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);

    // Another binary of tests begins elsewhere.
    let start = std::process::id().wrapping_mul(7_919);
    loop {
        let at = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (END - FIRST);
        let port = u16::try_from(FIRST + at).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Options with a lifetime of offers that no test waits for: a worker that gets no processor for a
/// while keeps its offers.
pub fn options() -> FleetOptions {
    FleetOptions::new().lifetime(Duration::from_secs(60))
}

/// Options with a short lifetime of offers, for what happens once they expire.
pub fn short_lived() -> FleetOptions {
    options().lifetime(Duration::from_secs(2))
}

/// A worker that serves a box, until it is dropped.
pub struct Serving {
    pub worker: Worker,
    task: Option<tokio::task::JoinHandle<()>>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

impl Serving {
    /// Serves a box, and waits until its tools are offered: those that are there for all.
    pub async fn of(worker: Worker, toolbox: &ToolBox) -> Self {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (own, served) = (worker.clone(), toolbox.clone());
        let task = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            own.serve_until(served, stopped).await.unwrap();
        });
        let is_there = |name: &String| {
            let refused = toolbox.check(&ToolCall::new("", name, "{}")).err();
            refused.and_then(|result| result.failure_kind()) != Some(FailureKind::NotFound)
        };
        let expected = toolbox.names().iter().filter(|name| is_there(name)).count();
        soon("the tools are offered", || worker.status().tools.len() == expected).await;
        Self { worker, task: Some(task), stop: Some(stop) }
    }

    /// Stops the worker, and waits for its end.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        within(self.task.take().unwrap()).await.unwrap();
    }

    /// Ends the worker as a crash would.
    pub async fn crash(mut self) {
        let task = self.task.take().unwrap();
        task.abort();
        let _ = task.await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// A box in which a fleet is mounted, and one worker of it.
pub struct Pair {
    pub toolbox: ToolBox,
    pub mounted: Mounted,
    pub fleet: Fleet,
    pub serving: Serving,
    pub server: Server,
}

impl Pair {
    /// Offers the tools of a box, and mounts them in another.
    pub async fn of(offered: &ToolBox) -> Self {
        Self::with(options(), offered).await
    }

    pub async fn with(options: FleetOptions, offered: &ToolBox) -> Self {
        let server = Server::start();
        let worker = Worker::connect(&server.url(), options.clone()).await.unwrap();
        let serving = Serving::of(worker, offered).await;
        let toolbox = ToolBox::new();
        let fleet = Fleet::connect(&server.url(), options).await.unwrap();
        let mounted = fleet.mount(&toolbox).await.unwrap();
        Self { toolbox, mounted, fleet, serving, server }
    }

    pub async fn call(&self, tool: &str, arguments: &str) -> ToolResult {
        within(self.toolbox.call(ToolCall::new("c1", tool, arguments))).await
    }
}

/// Waits for a future that is ready soon.
#[track_caller]
pub fn within<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        tokio::time::timeout(SOON, work)
            .await
            .unwrap_or_else(|_| panic!("nothing came within {SOON:?} at {caller}"))
    }
}

/// Waits until something holds.
#[track_caller]
pub fn soon<'a>(
    what: &'a str,
    mut holds: impl FnMut() -> bool + 'a,
) -> impl Future<Output = ()> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        let since = Instant::now();
        while !holds() {
            assert!(since.elapsed() < SOON, "{what}: not within {SOON:?} at {caller}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
