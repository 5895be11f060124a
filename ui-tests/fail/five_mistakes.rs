use toolbox::tool;

#[tool(name = "get weather", timeout = "soon")]
fn get_weather(city: &mut String, #[arg(range = 9..=1)] days: u32) -> String {
    format!("{city} {days}")
}

fn main() {}
