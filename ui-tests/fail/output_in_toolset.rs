use toolbox::toolset;

struct Report;
struct Weather;

#[toolset]
impl Weather {
    /// Forecasts.
    #[tool]
    fn forecast(&self) -> Report {
        Report
    }
}

fn main() {}
