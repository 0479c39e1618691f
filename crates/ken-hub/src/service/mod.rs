//! The use cases, one function a verb.
