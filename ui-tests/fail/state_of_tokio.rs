use std::sync::Arc;

use tokio::sync::Mutex;
use toolbox::tool;

/// Counts.
#[tool]
async fn count(total: Arc<Mutex<u32>>) -> u32 {
    *total.lock().await
}

fn main() {}
