//! Changes of the configuration file while the program serves.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::gateway::{self, GatewayBackend};
use super::outcome::complain;
use super::program::{set_rules, unmet_rules};
use crate::collection::ToolBox;
use crate::mcp::{Config, ConfigProblem, ConfigWatch, ServerConfig, Servers, Settings};
use crate::text::clean;

const NOT_APPLIED: &str = "the configuration is not applied before this is corrected: the servers and settings from before stay";

/// The parts of a running program that its configuration determines.
pub(super) struct LiveConfig {
    pub(super) toolbox: ToolBox,
    /// `None` if they could not be mounted.
    pub(super) servers: Option<Servers>,
    /// `None` without a gateway.
    pub(super) backend: Option<Arc<GatewayBackend>>,
    /// The reason why there are no servers.
    pub(super) fault: Option<String>,
    /// The settings that the program was started with.
    pub(super) initial: Settings,
    /// The settings that were applied last.
    pub(super) settings: Settings,
    /// `false` if servers are connected when their tools are first called.
    pub(super) connects: bool,
}

impl LiveConfig {
    /// Applies every change of a file.
    pub(super) async fn follow(mut self, mut watch: ConfigWatch) {
        let mut rules = JoinSet::new();
        self.check_rules(watch.config().clone(), &mut rules);
        loop {
            let is_taken = watch.changed().await;
            let done = if is_taken {
                let config = watch.config();
                self.apply_settings(config);
                self.apply_servers(config.servers())
            } else {
                NOT_APPLIED.to_owned()
            };
            self.report(watch.problems(), is_taken);
            if is_taken {
                for warning in watch.config().warnings() {
                    complain(&clean(&warning.to_string()));
                }
            }
            complain(&done);
            if is_taken {
                self.check_rules(watch.config().clone(), &mut rules);
            }
        }
    }

    /// Reports the rules that no tool meets, once all servers have been tried.
    fn check_rules(&self, config: Config, running: &mut JoinSet<()>) {
        *running = JoinSet::new();
        let Some(servers) = self.servers.clone().filter(|_| self.connects) else { return };
        let toolbox = self.toolbox.clone();
        running.spawn(async move {
            servers.ready().await;
            for rule in unmet_rules(&toolbox, &servers, &config) {
                complain(&rule);
            }
        });
    }

    fn apply_settings(&mut self, config: &Config) {
        let settings = config.settings();
        let before = std::mem::replace(&mut self.settings, settings.clone());
        // They name the tools of servers, which may have changed too.
        set_rules(&self.toolbox, config);
        let of_gateway = |settings: &Settings| {
            (settings.default_limit, settings.max_reply_bytes, settings.plain_ranking)
        };
        if let Some(backend) = &self.backend
            && of_gateway(&before) != of_gateway(settings)
        {
            gateway::register(&self.toolbox, settings, backend);
        }
    }

    /// Applies servers, and returns the line to report.
    fn apply_servers(&self, servers: &[(String, ServerConfig)]) -> String {
        let Some(mounted) = &self.servers else {
            return "the servers of the configuration are used from the next start on".to_owned();
        };
        let mut done = match mounted.apply(servers.iter().cloned()) {
            Ok(changes) => format!("the configuration is applied: {changes}"),
            Err(error) => return format!("error: {error}"),
        };
        let later = self.later();
        if !later.is_empty() {
            done.push_str("; from the next start on: ");
            done.push_str(&later.join(", "));
        }
        done
    }

    /// Returns the keys of settings that a running program does not change.
    fn later(&self) -> Vec<&'static str> {
        let (initial, now) = (&self.initial, &self.settings);
        let changed = [
            ("deferred", initial.deferred != now.deferred),
            ("connect", initial.lazy != now.lazy),
            ("maxResultBytes", initial.max_result_bytes != now.max_result_bytes),
            ("lockFile", initial.lock_file != now.lock_file),
            ("scripts", initial.scripts != now.scripts),
            ("credentialFile", initial.credential_file != now.credential_file),
        ];
        changed.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
    }

    /// Reports the problems of the file to the user, and to models behind the gateway.
    fn report(&self, problems: &[ConfigProblem], is_taken: bool) {
        for problem in problems {
            complain(&clean(&problem.to_string()));
        }
        let Some(backend) = &self.backend else { return };
        let problems = problems.iter().map(ConfigProblem::summary);
        let not_applied = (!is_taken).then(|| NOT_APPLIED.to_owned());
        backend.set_faults(problems.chain(not_applied).chain(self.fault.clone()).collect());
    }
}
