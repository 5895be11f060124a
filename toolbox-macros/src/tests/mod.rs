//! What expansions look like, kept in git.
