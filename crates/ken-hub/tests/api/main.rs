//! The hub over HTTP on a real PostgreSQL: problems, who may do what, hostile input, canaries, limits.

mod authority;
mod canaries;
mod events;
mod hostile;
mod hub;
mod matrix;
mod others;
mod process;
mod reading;
mod tokens;
