//! The hub: a server that stores the knowledge of many repositories on PostgreSQL.
//!
//! The hub accepts the same events as a repository's ledger, folds them with the same core and
//! answers the same queries. Processes are stateless: any number of them can share one database,
//! and every acknowledged write is committed there.
//!
//! The modules form layers. A module imports only from its own folder and from modules above it in
//! this list (`cargo xtask purity` checks it):
//!
//! 1. [`blocking`], [`clock`], [`ids`]: blocking work, time and random ids, tenant ids and roles.
//! 2. [`limits`], [`metrics`], [`operator_log`]: load limits, metrics and log of a process.
//! 3. [`config`]: settings of a hub process, quotas.
//! 4. [`database`]: connection pool, roles, migrations, tenant-scoped transactions, audit log.
//! 5. [`store`]: the event log, its projections, search and rebuild.
//! 6. [`identity`]: authentication of callers.
//! 7. [`service`]: the use cases, one function per operation.
//! 8. [`exports`]: delivery of the audit log to files, syslog and webhooks.
//! 9. [`api`]: the REST API under `/v1`, its OpenAPI document and its error responses.
//! 10. `mcp`: the Model Context Protocol endpoint, with the authentication and errors of [`api`].
//! 11. [`ui`]: web pages for people, with the sign-in of [`identity`] and the rules of [`api`].
//! 12. [`server`]: the server process: listeners, middleware, graceful shutdown.
//! 13. [`administration`], [`backup`]: operator commands that run directly on the database.

pub mod administration;
pub mod api;
pub mod backup;
pub mod blocking;
pub mod clock;
pub mod config;
pub mod database;
pub mod exports;
pub mod identity;
pub mod ids;
pub mod limits;
pub(crate) mod mcp;
pub mod metrics;
pub mod operator_log;
pub mod server;
pub mod service;
pub mod store;
pub mod ui;
