use toolbox::tool;

/// Serves for ever.
#[tool]
async fn serve(port: u16) -> ! {
    loop {}
}

fn main() {}
