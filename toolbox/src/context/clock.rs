//! The time of day, as tools see it.

use std::time::SystemTime;

use super::context::ToolContext;
use super::from_context::FromContext;
use crate::call::ToolError;

/// The clock of a call: that of the system, unless the program passes another with the call or
/// gives one to the box.
///
/// A tool that takes it can be tested at any time of day.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// use toolbox::context::Clock;
/// use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};
///
/// /// Tells the year.
/// #[tool]
/// fn year(clock: Clock) -> u64 {
///     let since = clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
///     1970 + since.as_secs() / 31_556_952
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let toolbox = ToolBox::from(tools![year]);
/// let context = ToolContext::new().with(Clock::fixed(UNIX_EPOCH + Duration::from_secs(5)));
/// let result = toolbox.call_in(&context, ToolCall::new("1", "year", "{}")).await;
/// assert_eq!(result.text(), "1970");
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock(Option<SystemTime>);

impl Clock {
    /// Returns the clock of the system.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// Returns a clock that stands still.
    #[must_use]
    pub fn fixed(time: SystemTime) -> Self {
        Self(Some(time))
    }

    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.0.unwrap_or_else(SystemTime::now)
    }
}

#[diagnostic::do_not_recommend]
impl FromContext for Clock {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(context.state::<Self>().map_or_else(Self::system, |own| *own))
    }
}
