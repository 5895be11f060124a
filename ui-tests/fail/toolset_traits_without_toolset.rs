use toolbox::toolset;

trait Storage {
    fn read(&self) -> String;
}

struct Disk;

impl Storage for Disk {
    fn read(&self) -> String {
        String::new()
    }
}

#[toolset(traits(Storage))]
impl Disk {}

fn main() {}
