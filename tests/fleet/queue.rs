//! Durable calls over the queue of a server.
