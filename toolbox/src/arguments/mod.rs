//! Raw argument text to typed values: fast when it is right, complete when it is wrong.
