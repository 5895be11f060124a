use toolbox::Tool;

struct City(String);

fn main() {
    let _ = Tool::from_fn("weather", "Forecasts", |city: City| async move { city.0 });
}
