use toolbox::toolset;

struct NoReport;
struct Weather;

#[toolset]
impl Weather {
    /// Forecasts.
    #[tool]
    async fn forecast(&self) -> Result<String, NoReport> {
        Err(NoReport)
    }
}

fn main() {}
