//! The settings that all models behind a service share.

use crate::model::{ModelError, ModelErrorKind};

/// Writes the settings that all models of this module share. Each has a field `http`.
macro_rules! settings {
    ($model:ident) => {
        impl $model {
            /// Returns the model at another address, such as that of a proxy or of a compatible
            /// server.
            ///
            /// A query in the address stays in every request. An invalid address fails the first
            /// request.
            #[must_use]
            pub fn base_url(mut self, url: impl Into<String>) -> Self {
                self.http.set(|settings| settings.base_url = url.into());
                self
            }

            /// Returns the model with another time limit for one request, retries and waits
            /// included. Default: 10 minutes.
            #[must_use]
            pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
                self.http.set(|settings| settings.timeout = timeout);
                self
            }

            /// Returns the model with another idle limit: for a stream before it begins, and for
            /// any reply between two pieces of its body. Default: 2 minutes.
            #[must_use]
            pub fn idle_timeout(mut self, timeout: std::time::Duration) -> Self {
                self.http.set(|settings| settings.idle_timeout = timeout);
                self
            }

            /// Returns the model with another number of retries after the first attempt; zero means
            /// none. Default: 3.
            #[must_use]
            pub fn retries(mut self, retries: usize) -> Self {
                self.http.set(|settings| settings.retries = retries);
                self
            }

            /// Returns the model with another wait before the first retry, and another longest
            /// wait.
            ///
            /// The wait doubles with every retry and varies by chance, so that many programs do not
            /// retry at once. When the service asks for a wait that is longer than the longest, the
            /// request fails at once, and the error says [how
            /// long](crate::model::ModelError::retry_after). Default: half a second, and one
            /// minute.
            #[must_use]
            pub fn backoff(
                mut self,
                first: std::time::Duration,
                longest: std::time::Duration,
            ) -> Self {
                self.http.set(|settings| settings.backoff = (first, longest));
                self
            }

            /// Returns the model with a header in every request, in place of one of the same name.
            /// Its value is kept secret.
            #[must_use]
            pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.http.set(|settings| settings.headers.push((name.into(), value.into())));
                self
            }

            /// Returns the model with another limit for the size of a reply, in bytes as received.
            /// Default: 64 MiB.
            #[must_use]
            pub fn max_reply_bytes(mut self, bytes: usize) -> Self {
                self.http.set(|settings| settings.max_reply_bytes = bytes);
                self
            }
        }

        impl std::fmt::Debug for $model {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.http.fmt_as(stringify!($model), f)
            }
        }
    };
}
pub(super) use settings;

/// Reads a variable of the environment; one that is empty is not set.
pub(super) fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    (!value.trim().is_empty()).then_some(value)
}

/// Returns the error of a variable that is needed and not set.
pub(super) fn missing(name: &str) -> ModelError {
    let message = format!("the environment variable `{name}` is not set");
    ModelError::new(ModelErrorKind::Unauthorized, message)
}
