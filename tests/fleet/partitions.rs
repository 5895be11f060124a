//! Partitions: servers, workers and boxes that cannot reach each other for a while.
//!
//! Three servers that are one cluster, a worker and a box have a network namespace each, joined by a
//! bridge in a namespace of its own: nothing of the machine's own network is touched. A link that is
//! set down is a partition, from the clients or between servers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::crashes::Process;
use crate::ledger::{accepted, check, pick, size};
use support::fleet::program;

/// The longest time until all calls have their ends once the network is whole.
const SETTLED: Duration = Duration::from_secs(240);

const SERVERS: [&str; 3] = ["a", "b", "c"];
const HOSTS: [&str; 5] = ["a", "b", "c", "worker", "box"];

/// Hosts on one network.
struct Network {
    /// The beginning of the names of the namespaces.
    prefix: String,
    folder: PathBuf,
}

fn ip(arguments: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Network {
    fn new() -> Self {
        let prefix = format!("toolbox{}", std::process::id());
        let folder =
            std::env::temp_dir().join(format!("toolbox-partitions-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let network = Self { prefix, folder };
        let hub = network.name("hub");
        let mut made = ip(&format!("netns add {hub}"))
            && ip(&format!("-n {hub} link add bridge type bridge"))
            && ip(&format!("-n {hub} link set dev bridge up"));
        for host in HOSTS {
            let own = network.name(host);
            made = made
                && ip(&format!("netns add {own}"))
                && ip(&format!("-n {own} link add eth type veth peer name {host} netns {hub}"))
                && ip(&format!("-n {hub} link set dev {host} master bridge up"))
                && ip(&format!("-n {own} addr add {}/24 dev eth", address(host)))
                && ip(&format!("-n {own} link set dev eth up"))
                && ip(&format!("-n {own} link set dev lo up"));
        }
        assert!(made, "the namespaces cannot be made");
        network
    }

    fn name(&self, host: &str) -> String {
        format!("{}{host}", self.prefix)
    }

    /// A command on a host.
    fn on(&self, host: &str, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(host)]).arg(program.as_ref());
        command
    }

    /// Cuts a host off, or joins it again.
    fn set(&self, host: &str, state: &str) {
        assert!(
            ip(&format!("-n {} link set dev {host} {state}", self.name("hub"))),
            "{host} {state}"
        );
    }

    fn serve(&self, host: &str, server: &Path) -> Process {
        let own = address(host);
        let routes: Vec<_> =
            SERVERS.iter().map(|host| format!("nats://{}:6222", address(host))).collect();
        let configuration = format!(
            "server_name: {host}\nlisten: \"{own}:4222\"\njetstream {{ store_dir: \"{}\" }}\n\
             cluster {{ name: test, listen: \"{own}:6222\", routes: [{}] }}\n",
            self.folder.join(host).display(),
            routes.join(", ")
        );
        let file = self.folder.join(format!("{host}.conf"));
        std::fs::write(&file, configuration).unwrap();
        let mut command = self.on(host, server);
        Process::spawn(command.arg("-c").arg(file).stderr(Stdio::null()))
    }

    fn start(&self, host: &str, role: &str, rest: &[usize]) -> Process {
        let file = if role == "work" { "effects" } else { "calls.db" };
        let servers: Vec<_> =
            SERVERS.iter().map(|host| format!("nats://{}:4222", address(host))).collect();
        let mut command = self.on(host, crate::program("remote-ledger"));
        command
            .args([role, &servers.join(",")])
            .arg(self.folder.join(file))
            .args(rest.iter().map(usize::to_string))
            .env("LEASE", "2")
            // Calls are under way for as long as links are cut.
            .env("CALL_MICROS", size(200_000, 1_500_000).to_string());
        Process::spawn(&mut command)
    }
}

fn address(host: &str) -> String {
    let at = HOSTS.iter().position(|own| *own == host).unwrap();
    format!("10.77.0.{}", at + 1)
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in HOSTS.into_iter().chain(["hub"]) {
            let _ = ip(&format!("netns del {}", self.name(host)));
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
#[cfg_attr(
    not(all(has_nats_server, has_namespaces)),
    ignore = "needs nats-server and network namespaces"
)]
fn partitions_lose_no_call_and_repeat_none() {
    let server = program();
    let network = Network::new();
    let (calls, cuts) = (size(1_500, 10_000), size(3, 120));
    let mut seed = 11;
    let _servers: Vec<_> = SERVERS.iter().map(|host| network.serve(host, &server)).collect();
    let _worker = network.start("worker", "work", &[]);
    let submitter = network.start("box", "submit", &[0, calls]);
    let since = Instant::now();
    while submitter.count() == 0 {
        assert!(since.elapsed() < SETTLED, "the cluster accepts nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..cuts {
        let host = HOSTS[usize::try_from(pick(&mut seed, 5)).unwrap()];
        network.set(host, "down");
        std::thread::sleep(Duration::from_millis(200 + pick(&mut seed, 2_500)));
        network.set(host, "up");
        std::thread::sleep(Duration::from_millis(200 + pick(&mut seed, 800)));
    }
    while submitter.count() < calls {
        assert!(since.elapsed() < 10 * SETTLED, "{} of {calls} accepted", submitter.count());
        std::thread::sleep(Duration::from_millis(20));
    }
    let ids: Vec<_> = accepted(submitter.kill()).collect();
    let since = Instant::now();
    let mut drain = network.start("box", "drain", &[]);
    while drain.child.try_wait().unwrap().is_none() {
        assert!(since.elapsed() < SETTLED, "calls are left open");
        std::thread::sleep(Duration::from_millis(20));
    }
    let delivered = drain.ended();
    let (journal, effects) = (network.folder.join("calls.db"), network.folder.join("effects"));
    let states = check(&journal, &effects, &ids, &delivered);
    println!(
        "{} calls, {cuts} partitions, settled after {:?}: {states:?}",
        ids.len(),
        since.elapsed()
    );
    assert_eq!(ids.len(), calls);
}
