use toolbox::toolset;

struct Github;

#[toolset]
impl Github {
    fn issues(&self) -> u32 {
        3
    }
}

fn main() {}
