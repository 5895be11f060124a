use toolbox::toolset;

struct Weather;

#[toolset]
impl Weather {
    /// Forecasts.
    #[tool]
    async fn forecast(&self) -> usize {
        let shared = std::rc::Rc::new(3);
        std::future::ready(()).await;
        *shared
    }
}

fn main() {}
