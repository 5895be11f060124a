//! Waiting for what another task or process does.

use std::time::Duration;

use crate::bounded::tokio;

/// Waits until something is so, for as long as a slow machine may take.
#[track_caller]
pub fn eventually(so: impl AsyncFn() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        for _ in 0..500 {
            if so().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it never came to be, at {caller}");
    }
}
