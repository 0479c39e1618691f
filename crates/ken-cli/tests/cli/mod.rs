//! The `ken` program as a child process: exit code, stdout and stderr of every command.

mod add;
mod browse;
mod changes;
mod citations;
mod default_branch;
mod deleted_files;
mod drift;
mod duplicates;
mod elsewhere;
mod entry_files;
mod errors;
mod export;
mod findings;
mod global;
mod hand_edits;
mod health;
mod help;
mod inbox;
mod init;
mod knowledge;
mod llm;
mod maintain;
mod many;
mod model;
mod overlays;
mod promotion;
mod reading;
mod robustness;
mod runs;
mod search;
#[cfg(all(unix, feature = "remote"))]
mod self_update;
mod signatures;
mod source_tests;
mod strangers;
mod support;
mod surfacing;
mod undo;
mod upkeep;
mod validity;
mod validity_doc;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod versions;
mod who;
