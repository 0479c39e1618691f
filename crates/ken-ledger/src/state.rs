//! Which segments are open.
