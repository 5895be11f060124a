use toolbox::ToolBox;

struct City(&'static str);

fn main() {
    let _ = ToolBox::new().execute("weather", City("Paris"));
}
