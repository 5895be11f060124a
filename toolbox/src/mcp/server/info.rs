//! The name and version of a server.

/// The name and version that a server reports to its clients.
///
/// [`server_info!`](crate::server_info) takes both from the manifest of the crate that calls it.
/// The default is the file name of the running program, and the version `unknown`.
///
/// ```
/// use toolbox::mcp::ServerInfo;
///
/// let info = toolbox::server_info!();
/// assert_eq!(info, ServerInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// A name for programs, such as `calculator`.
    pub name: String,
    /// The version, such as `1.2.0`.
    pub version: String,
}

impl ServerInfo {
    /// Returns a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into() }
    }
}

impl Default for ServerInfo {
    fn default() -> Self {
        let program = std::env::current_exe().ok();
        let stem =
            program.as_ref().and_then(|path| path.file_stem()).and_then(|stem| stem.to_str());
        Self::new(stem.unwrap_or("unknown"), "unknown")
    }
}

impl<N: Into<String>, V: Into<String>> From<(N, V)> for ServerInfo {
    fn from((name, version): (N, V)) -> Self {
        Self::new(name, version)
    }
}
