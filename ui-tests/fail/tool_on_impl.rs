use toolbox::tool;

struct Github;

#[tool]
impl Github {
    fn issues(&self) -> String {
        String::new()
    }
}

fn main() {}
