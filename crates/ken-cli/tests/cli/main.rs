//! The `ken` program from outside: exit code, stdout and stderr of every command.

mod add;
mod browse;
mod changes;
mod elsewhere;
mod errors;
mod export;
mod hand_edits;
mod help;
mod init;
mod judge;
mod knowledge;
mod many;
mod model;
mod reading;
mod runs;
mod search;
mod source_tests;
mod strangers;
mod support;
mod surfacing;
mod upkeep;
mod validity;
mod validity_doc;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod versions;
mod who;
