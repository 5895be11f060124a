//! Servers that misbehave: each ends in a clear result within its time, and no other server notices.
