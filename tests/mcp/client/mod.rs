//! The tools of servers in a box.

mod calls;
mod faults;
mod support;
