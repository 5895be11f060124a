use std::net::IpAddr;

use toolbox::builtin::http::Http;

fn main() {
    let _ = Http::new().resolver(|_host: String| Vec::<IpAddr>::new());
}
