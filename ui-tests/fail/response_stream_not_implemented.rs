use toolbox::wire::ResponseStream;

struct Service;

fn read(mut stream: impl ResponseStream, event: &str) {
    let _ = stream.event(event, &mut |_| {});
}

fn main() {
    read(Service, "[DONE]");
}
