use toolbox::toolset;

struct Location;
struct Weather;

#[toolset]
impl Weather {
    /// Forecasts.
    #[tool]
    async fn forecast(&self, place: Location) -> bool {
        let _ = place;
        true
    }
}

fn main() {}
