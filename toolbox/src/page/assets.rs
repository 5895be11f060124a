//! The files of the page, built from `toolbox/page`.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

/// One file, compressed by gzip.
pub(super) struct Asset {
    pub(super) path: &'static str,
    media_type: &'static str,
    packed: &'static [u8],
}

pub(super) const ASSETS: [Asset; 3] = [
    Asset {
        path: "/",
        media_type: "text/html; charset=utf-8",
        packed: include_bytes!("assets/index.html.gz"),
    },
    Asset {
        path: "/page.css",
        media_type: "text/css; charset=utf-8",
        packed: include_bytes!("assets/page.css.gz"),
    },
    Asset {
        path: "/page.js",
        media_type: "text/javascript; charset=utf-8",
        packed: include_bytes!("assets/page.js.gz"),
    },
];

/// The script of the frames of apps, which the listener of frames serves.
pub(super) const APP_SCRIPT: Asset = Asset {
    path: "/app.js",
    media_type: "text/javascript; charset=utf-8",
    packed: include_bytes!("assets/app.js.gz"),
};

impl Asset {
    /// Returns the file; browsers that do not take gzip get status 406.
    pub(super) fn response(&self, headers: &HeaderMap) -> Response {
        let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
        let takes_gzip = accepted
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|entry| entry.split(';').next().is_some_and(|name| name.trim() == "gzip"));
        let mut response = if takes_gzip {
            Response::new(Body::from(self.packed))
        } else {
            let mut response = Response::new(Body::from("a browser that takes gzip is needed\n"));
            *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return response;
        };
        let own = response.headers_mut();
        own.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        own.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        own.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        response
    }
}
