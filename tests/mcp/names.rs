//! What the tools of servers are called.
