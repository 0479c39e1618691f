//! Runs the `git` program.
