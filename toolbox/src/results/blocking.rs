//! Work on large results, away from the threads of the runtime.

use tokio::runtime::Handle;

/// The bytes from which on a result is read on a thread that may block.
const LARGE: usize = 1 << 18;

/// The reason if work did not run.
pub(super) const SHUT_DOWN: &str = "the runtime was shut down";

/// Does the work on a result of so many bytes: of a large one on a thread that may block. Returns
/// `None` if the runtime is shut down.
pub(super) async fn on_thread<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let runtime = Handle::try_current().ok().filter(|_| bytes > LARGE);
    let Some(runtime) = runtime else { return Some(work()) };
    match runtime.spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => None,
        },
    }
}
