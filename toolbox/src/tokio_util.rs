//! The cancellation tokens of `tokio-util`, which programs hold already.

use ::tokio_util::sync::CancellationToken as TokioToken;

use crate::context::CancellationToken;
use crate::context::cancellation::CancellationSource;
use crate::future::BoxFuture;

impl CancellationSource for TokioToken {
    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.cancelled())
    }
}

/// Returns a child: it is cancelled with the token of `tokio-util`, and cancelling it leaves that
/// token alone.
///
/// ```
/// use tokio_util::sync::CancellationToken;
/// use toolbox::ToolContext;
///
/// let shutdown = CancellationToken::new();
/// let context = ToolContext::new().with_cancellation(shutdown.clone());
/// shutdown.cancel();
/// assert!(context.is_cancelled());
/// ```
impl From<TokioToken> for CancellationToken {
    fn from(token: TokioToken) -> Self {
        Self::below(token)
    }
}
