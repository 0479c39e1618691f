//! The process: limits, health, metrics, an orderly end.
