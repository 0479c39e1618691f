//! Knowledge spoken over the Model Context Protocol: five tools, three resources, three prompts.

pub mod http;
