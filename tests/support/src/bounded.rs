//! A runtime under which no test waits for ever: what does not come is a failure, and the tests
//! behind it run.
//!
//! `use crate::bounded::tokio;` puts it under each `#[tokio::test]` of a file; everything else is
//! as in the crate `tokio`. Where time is paused, waiting for nothing fails at once, and else
//! within [`LIMIT`](tokio::runtime::LIMIT).

pub mod tokio {
    pub use ::tokio::*;

    pub mod runtime {
        use std::io::{self, Write as _};
        use std::sync::mpsc::{RecvTimeoutError, channel};
        use std::time::Duration;

        pub use ::tokio::runtime::Handle;

        /// The time limit of one test, on a slow machine beside other work; those at their full
        /// size take longer.
        pub const LIMIT: Duration = Duration::from_secs(90);
        const FULL_LIMIT: Duration = Duration::from_secs(1200);
        /// The time for a timed-out test to stop. One that does not stop ends the whole process.
        const GRACE: Duration = Duration::from_secs(30);
        /// Later than anything that a test with a paused clock waits for.
        const NEVER: Duration = Duration::from_secs(300 * 24 * 3600);

        /// The builder methods that `#[tokio::test]` calls.
        pub struct Builder(::tokio::runtime::Builder);

        impl Builder {
            pub fn new_current_thread() -> Self {
                Self(::tokio::runtime::Builder::new_current_thread())
            }

            pub fn new_multi_thread() -> Self {
                Self(::tokio::runtime::Builder::new_multi_thread())
            }

            pub fn worker_threads(mut self, count: usize) -> Self {
                self.0.worker_threads(count);
                self
            }

            pub fn start_paused(mut self, paused: bool) -> Self {
                self.0.start_paused(paused);
                self
            }

            pub fn enable_all(mut self) -> Self {
                self.0.enable_all();
                self
            }

            pub fn build(mut self) -> io::Result<Runtime> {
                self.0.build().map(Runtime)
            }
        }

        pub struct Runtime(::tokio::runtime::Runtime);

        impl Runtime {
            pub fn block_on<F: Future>(self, work: F) -> F::Output {
                crate::traced::ask_every_subscriber();
                let full = std::env::var_os("TOOLBOX_FULL_TESTS").is_some();
                let limit = if full { FULL_LIMIT } else { LIMIT };
                let (working, ended) = channel::<()>();
                let (late, is_late) = ::tokio::sync::oneshot::channel();
                let test = std::thread::current().name().unwrap_or("a test").to_owned();
                std::thread::spawn(move || {
                    if ended.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                    let _ = late.send(());
                    if ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                        // What a test prints is captured, and lost with the process.
                        let _ =
                            writeln!(io::stderr(), "{test} holds its thread and cannot be ended");
                        std::process::exit(101);
                    }
                });
                let output = self.0.block_on(async {
                    ::tokio::select! {
                        biased;
                        output = work => Some(output),
                        () = ::tokio::time::sleep(NEVER) => None,
                        Ok(()) = is_late => None,
                    }
                });
                drop(working);
                match output {
                    Some(output) => {
                        self.0.shutdown_timeout(limit);
                        output
                    }
                    None => {
                        self.0.shutdown_background();
                        panic!("the test waits for what does not come");
                    }
                }
            }
        }
    }
}
