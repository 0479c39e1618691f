//! Errors of the database, with hints how to fix them.

use std::error::Error;

use super::ROLE;

/// Error of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("the database URL is not valid: it must start with postgres://")]
    Address(#[source] sqlx::Error),
    #[error("cannot connect to the database")]
    Connect(#[source] sqlx::Error),
    #[error("the database returned an error")]
    Query(#[from] sqlx::Error),
    #[error(
        "row-level security does not restrict role `{role}` ({why}): connect as a role that may `SET ROLE {ROLE}`"
    )]
    Role { role: String, why: &'static str },
    #[error(
        "cannot set role `{ROLE}`: run `ken hub migrate` first, then `GRANT {ROLE} TO` the role the hub connects as"
    )]
    NoRole(#[source] sqlx::Error),
    #[error(
        "the database has schema version {found}, this hub needs {wanted}: run `ken hub migrate`"
    )]
    Behind { found: i32, wanted: i32 },
    #[error(
        "the database has schema version {found}, this hub supports up to {known}: upgrade the hub"
    )]
    Ahead { found: i32, known: i32 },
    #[error(
        "this hub is too old for the database: it supports schema version {known}, and the database has version {found}, which needs a hub with migration `{oldest}`: upgrade the hub"
    )]
    TooOld {
        found: i32,
        known: i32,
        oldest: String,
    },
    #[error(
        "migration `{name}` was applied with a different text than this build contains: the build is modified, or a migration file was edited"
    )]
    Edited { name: &'static str },
    #[error("migration `{name}` failed and was rolled back")]
    Migration {
        name: &'static str,
        source: sqlx::Error,
    },
    #[error(
        "the database connection was lost during the commit, so the outcome is unknown: repeat the request"
    )]
    Uncertain(#[source] sqlx::Error),
    #[error("a workspace name must not have the form of an id; choose another name")]
    NameIsId,
    #[error("the organization has no such workspace")]
    NoWorkspace,
    #[error("a legal hold keeps this: it cannot be erased before the hold is released")]
    OnHold,
    #[error("the evicted workspace is being rebuilt: retry shortly")]
    Warming,
    #[error("cannot rebuild the entries of an evicted workspace")]
    Rebuild(#[source] Box<dyn Error + Send + Sync>),
    #[error("stored data is invalid: {0}")]
    Damaged(String),
}

impl DatabaseError {
    /// Returns a hint how to fix the problem, if more is known than the message says.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connect(error) => Some(connect_hint(error)),
            Self::Query(error) | Self::Migration { source: error, .. } => match code(error)? {
                "42501" if error.to_string().contains("extension") => {
                    Some("run `CREATE EXTENSION vector` in this database as a superuser first")
                }
                "42501" => Some(
                    "connect as the role that owns the database and schema `ken`; if another database of the same server created `ken_app`, \
                     run `GRANT ken_app TO` that role as a superuser first",
                ),
                "3F000" | "42P01" => Some("run `ken hub migrate` to prepare the database"),
                _ => None,
            },
            Self::Address(_)
            | Self::Role { .. }
            | Self::NoRole(_)
            | Self::Behind { .. }
            | Self::Ahead { .. }
            | Self::TooOld { .. }
            | Self::Edited { .. }
            | Self::Uncertain(_)
            | Self::NameIsId
            | Self::NoWorkspace
            | Self::OnHold
            | Self::Warming
            | Self::Rebuild(_)
            | Self::Damaged(_) => None,
        }
    }
}

fn code(error: &sqlx::Error) -> Option<&str> {
    let database_error = error.as_database_error()?;
    database_error
        .try_downcast_ref::<sqlx::postgres::PgDatabaseError>()
        .map(sqlx::postgres::PgDatabaseError::code)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enum; whatever is not named is a server that answers otherwise"
)]
fn connect_hint(error: &sqlx::Error) -> &'static str {
    match error {
        sqlx::Error::Io(_) => {
            "check that the address is correct and that PostgreSQL is running there"
        }
        sqlx::Error::Database(_) => match code(error) {
            Some("3D000") => {
                "PostgreSQL is running, but the database does not exist: create it with `CREATE DATABASE` (docs/guides/operate-a-hub.md)"
            }
            Some("28000" | "28P01") => {
                "PostgreSQL is running, but refused the login: check the user name and password"
            }
            Some("53300") => {
                "PostgreSQL has no free connections: raise its max_connections, or lower --connections"
            }
            _ => "PostgreSQL is running, but refused the connection",
        },
        _ => {
            "the server is not PostgreSQL, or expects other TLS settings: set `?sslmode=` in the URL"
        }
    }
}

/// Returns the causes of an error, each once, without details that only concern the driver.
#[must_use]
pub fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let sql = cause.downcast_ref::<sqlx::Error>();
        let text = sql.map_or_else(|| cause.to_string(), driver_message);
        // Many errors repeat their cause at the end of their own message.
        if messages
            .last()
            .is_none_or(|before| !before.ends_with(&text))
        {
            messages.push(text);
        }
        // A driver error already contains the message of its own source.
        next = match sql {
            Some(_) => None,
            None => cause.source(),
        };
    }
    messages.split_off(1)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enum; whatever is not named says what it is"
)]
fn driver_message(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Configuration(error) => error.to_string(),
        other => {
            let text = other.to_string();
            // The suffix names the location in the driver's source code.
            text.split(" (sqlx").next().unwrap_or_default().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once_and_says_nothing_of_the_driver() {
        let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = DatabaseError::Connect(sqlx::Error::Io(error));
        assert_eq!(causes(&error), ["connection refused"]);
        assert!(error.hint().is_some_and(|it| it.contains("running there")));
        let text = "unexpected response: 0x48 (sqlx_postgres::connection::tls:95)";
        let error = DatabaseError::Connect(sqlx::Error::Protocol(text.to_owned()));
        let [said] = &causes(&error)[..] else {
            panic!("one cause")
        };
        assert!(said.ends_with("unexpected response: 0x48"), "{said}");
    }
}
