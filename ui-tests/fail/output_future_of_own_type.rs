use toolbox::tool;

use std::pin::Pin;
use std::task::{Context, Poll};

struct Forecast(String);

impl Future for Forecast {
    type Output = String;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<String> {
        Poll::Ready(self.0.clone())
    }
}

/// Forecasts.
#[tool]
fn weather(city: String) -> Forecast {
    Forecast(city)
}

fn main() {}
