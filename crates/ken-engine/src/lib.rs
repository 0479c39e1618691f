//! Placeholder front page; replaced as the crate is built.
