//! Layers around the calls of a tool.

use std::fmt;
use std::sync::Arc;

use crate::call::{Arguments, ToolResult};
use crate::context::ToolContext;
use crate::future::BoxFuture;

/// The rest of a call, which a layer may run once, change, or skip.
pub struct Next {
    context: ToolContext,
    arguments: Arguments,
    layers: Layers,
    /// The number of layers that are still to run.
    left: usize,
    innermost: Innermost,
}

/// The innermost step, which runs the tool's own handler.
pub(crate) type Innermost =
    Box<dyn FnOnce(ToolContext, Arguments) -> BoxFuture<'static, ToolResult> + Send>;

impl Next {
    pub(crate) fn new(
        context: ToolContext,
        arguments: Arguments,
        layers: Layers,
        innermost: Innermost,
    ) -> Self {
        let left = layers.len();
        Self { context, arguments, layers, left, innermost }
    }

    /// Returns the context of the call.
    #[must_use]
    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// Returns the text of the arguments, as the model wrote it: not checked yet.
    #[must_use]
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Returns the rest of the call with other arguments; they are checked like the model's.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<Arguments>) -> Self {
        self.arguments = arguments.into();
        self
    }

    /// Runs the rest of the call: the layers within, then the tool.
    pub async fn run(mut self) -> ToolResult {
        if self.left == 0 {
            return (self.innermost)(self.context, self.arguments).await;
        }
        self.left -= 1;
        let layer = Arc::clone(&self.layers[self.left]);
        layer.call(self).await
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("tool", &self.context.tool_name()).finish_non_exhaustive()
    }
}

/// Layers around a call, the innermost first.
#[derive(Clone, Default)]
pub(crate) struct Layers(Arc<[Arc<dyn Layer>]>);

impl Layers {
    /// Adds a layer around those there are.
    pub(crate) fn push<F, Fut>(&mut self, layer: F)
    where
        F: Fn(Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolResult> + Send + 'static,
    {
        let layer = move |next| -> BoxFuture<'static, ToolResult> { Box::pin(layer(next)) };
        let layer: Arc<dyn Layer> = Arc::new(layer);
        *self = self.iter().cloned().chain([layer]).collect();
    }
}

impl std::ops::Deref for Layers {
    type Target = [Arc<dyn Layer>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FromIterator<Arc<dyn Layer>> for Layers {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Layer>>>(layers: I) -> Self {
        Self(layers.into_iter().collect())
    }
}

/// A layer as a trait object.
pub(crate) trait Layer: Send + Sync {
    fn call(&self, next: Next) -> BoxFuture<'static, ToolResult>;
}

impl<F: Fn(Next) -> BoxFuture<'static, ToolResult> + Send + Sync> Layer for F {
    fn call(&self, next: Next) -> BoxFuture<'static, ToolResult> {
        self(next)
    }
}
