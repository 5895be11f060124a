use toolbox::Tool;

struct Weather;

fn main() {
    let _ = Tool::new("weather", "Forecasts").call(|_| Weather);
}
