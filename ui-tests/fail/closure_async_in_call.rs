use toolbox::Tool;

fn main() {
    let _ = Tool::new("slow", "Takes its time.").call(async |_| "done");
}
