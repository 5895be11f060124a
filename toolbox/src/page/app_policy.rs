//! The policy of an app: what it may load and reach, from what its server declares.

use serde_json::{Map, Value, json};

/// The most origins of one list of a declaration.
const MAX_ORIGINS: usize = 32;

/// The lists of a declaration.
const LISTS: [&str; 4] = ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"];

/// The most characters of an origin.
const MAX_ORIGIN: usize = 300;

/// What an app may load and reach.
pub(super) struct AppPolicy {
    /// The origins that are granted, by the lists of the declaration.
    granted: [Vec<String>; 4],
    /// The origins that were declared and are not granted.
    refused: Vec<String>,
    /// The features of the browser that were asked for; none is granted.
    permissions: Vec<String>,
}

impl AppPolicy {
    /// Returns the policy for the `_meta.ui` of an app: nothing is reached that is not declared.
    pub(super) fn of(ui: &Value) -> Self {
        let mut refused = Vec::new();
        let granted = LISTS.map(|list| {
            let declared = ui["csp"][list].as_array().map_or(&[][..], Vec::as_slice);
            let mut granted = Vec::new();
            for origin in declared {
                match origin.as_str().filter(|own| is_public_origin(own)) {
                    Some(origin) if granted.len() < MAX_ORIGINS => granted.push(origin.to_owned()),
                    _ if refused.len() < MAX_ORIGINS => {
                        let text =
                            origin.as_str().map_or_else(|| origin.to_string(), str::to_owned);
                        refused.push(crate::text::cut(&text, MAX_ORIGIN).to_string());
                    }
                    _ => {}
                }
            }
            granted
        });
        let asked = ui["permissions"].as_object();
        let features = ["camera", "microphone", "geolocation", "clipboardWrite"];
        let is_asked = |feature: &&str| asked.is_some_and(|asked| asked.contains_key(*feature));
        let permissions = features.into_iter().filter(is_asked).map(str::to_owned).collect();
        Self { granted, refused, permissions }
    }

    /// Returns the value of `content-security-policy` for the proxy of an app in a page.
    pub(super) fn header(&self, page: &str) -> String {
        let [connect, resource, frame, base] = &self.granted;
        let after = |first: &str, origins: &[String]| {
            origins.iter().fold(first.to_owned(), |all, origin| all + " " + origin)
        };
        let or = |none: &str, origins: &[String]| {
            if origins.is_empty() { none.to_owned() } else { origins.join(" ") }
        };
        let (code, media) =
            (after("'self' 'unsafe-inline'", resource), after("'self' data:", resource));
        let (fonts, connect) = (after("'self'", resource), or("'none'", connect));
        let (frames, base) = (or("'none'", frame), or("'self'", base));
        format!(
            "default-src 'none'; script-src {code}; style-src {code}; img-src {media}; \
             font-src {fonts}; media-src {media}; connect-src {connect}; frame-src {frames}; \
             object-src 'none'; base-uri {base}; form-action 'none'; frame-ancestors {page}"
        )
    }

    /// Returns the origins that are granted, as the declaration has them.
    pub(super) fn granted(&self) -> Value {
        let lists = LISTS.iter().zip(&self.granted).filter(|(_, origins)| !origins.is_empty());
        lists
            .map(|(list, origins)| ((*list).to_owned(), json!(origins)))
            .collect::<Map<_, _>>()
            .into()
    }

    /// Returns the origins that were declared and are not granted.
    pub(super) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Returns the features of the browser that were asked for.
    pub(super) fn permissions(&self) -> &[String] {
        &self.permissions
    }
}

/// Returns `true` for an origin of the public web: `https` or `wss`, a host name whose first label
/// may be `*`, perhaps a port. A text that says more could end its directive and begin another;
/// addresses and names of this machine are not given to foreign scripts.
fn is_public_origin(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("wss://"));
    let Some(rest) = rest.filter(|_| text.len() <= MAX_ORIGIN) else { return false };
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().is_ok()),
        None => (rest, true),
    };
    let named = host.strip_prefix("*.").unwrap_or(host);
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'-')
    };
    let last = named.rsplit('.').next().unwrap_or_default();
    let is_local =
        ["localhost", "local", "internal"].iter().any(|own| last.eq_ignore_ascii_case(own));
    port && named.contains('.')
        && named.split('.').all(is_label)
        // The last label of an address in any spelling is a number.
        && last.starts_with(|first: char| first.is_ascii_alphabetic())
        && !is_local
}
