use toolbox::ToolBox;

struct Github;

fn main() {
    ToolBox::new().register(Github);
}
