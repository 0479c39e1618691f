//! Events in, entries out: the log, its projections, searching them, rebuilding them.
