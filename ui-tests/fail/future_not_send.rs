use toolbox::tool;

/// Forecasts.
#[tool]
async fn weather(city: &str) -> usize {
    let shared = std::rc::Rc::new(city.len());
    std::future::ready(()).await;
    *shared
}

fn main() {}
