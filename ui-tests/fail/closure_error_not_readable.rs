use toolbox::Tool;

struct NoWeather;

fn main() {
    let _ = Tool::new("weather", "Forecasts").call(|_| Err::<String, _>(NoWeather));
}
