//! Unit tests of the search.
