use toolbox::tool;

static COUNT: std::sync::Mutex<u32> = std::sync::Mutex::new(0);

/// Forecasts.
#[tool]
async fn weather() -> u32 {
    let count = COUNT.lock().unwrap();
    std::future::ready(()).await;
    *count
}

fn main() {}
