//! Errors of the database, with hints how to fix them.

use std::error::Error;

use super::ROLE;

/// Error of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("the database's address cannot be read: begin it with postgres://")]
    Address(#[source] sqlx::Error),
    #[error("cannot connect to the database")]
    Connect(#[source] sqlx::Error),
    #[error("the database answered with an error")]
    Query(#[from] sqlx::Error),
    #[error(
        "role `{role}` is not held back by row-level security ({why}): connect as a role that may `SET ROLE {ROLE}`"
    )]
    Role { role: String, why: &'static str },
    #[error(
        "cannot become role `{ROLE}`: run `ken hub migrate` first, then `GRANT {ROLE} TO` the role the hub connects as"
    )]
    NoRole(#[source] sqlx::Error),
    #[error("the database is at version {found}, this hub needs {wanted}: run `ken hub migrate`")]
    Behind { found: i32, wanted: i32 },
    #[error("the database is at version {found}, this hub knows up to {known}: upgrade the hub")]
    Ahead { found: i32, known: i32 },
    #[error(
        "migration `{name}` was run with another text than this build has: the build is not the one it claims to be, or a file was edited"
    )]
    Edited { name: &'static str },
    #[error("migration `{name}` failed; nothing of it was kept")]
    Migration {
        name: &'static str,
        source: sqlx::Error,
    },
    #[error(
        "the connection was lost while the change was being kept: whether it was is not known, so send it again"
    )]
    Uncertain(#[source] sqlx::Error),
    #[error("a name that reads as an id would stand for two workspaces; choose another")]
    NameIsId,
    #[error("the organization has no such workspace")]
    NoWorkspace,
    #[error("the workspace was put away and is being brought back: ask again shortly")]
    Warming,
    #[error("cannot bring back the entries of a workspace that was evicted")]
    Rebuild(#[source] Box<dyn Error + Send + Sync>),
    #[error("what is stored cannot be read: {0}")]
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
                    Some("a superuser says `CREATE EXTENSION vector` in this database first")
                }
                "42501" => Some(
                    "connect as the role that owns the database and schema `ken`; where `ken_app` was made by another database of the \
                     same server, a superuser says `GRANT ken_app TO` that role first",
                ),
                "3F000" | "42P01" => Some("`ken hub migrate` prepares the database"),
                _ => None,
            },
            Self::Address(_)
            | Self::Role { .. }
            | Self::NoRole(_)
            | Self::Behind { .. }
            | Self::Ahead { .. }
            | Self::Edited { .. }
            | Self::Uncertain(_)
            | Self::NameIsId
            | Self::NoWorkspace
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
        sqlx::Error::Io(_) => "is PostgreSQL running there, and is the address right?",
        sqlx::Error::Database(_) => match code(error) {
            Some("3D000") => {
                "PostgreSQL runs there and has no such database: `CREATE DATABASE` makes it (docs/guides/operate-a-hub.md)"
            }
            Some("28000" | "28P01") => {
                "PostgreSQL runs there and does not let this user in: are the user's name and the password right?"
            }
            Some("53300") => {
                "PostgreSQL has no connection left: raise its max_connections, or lower --connections"
            }
            _ => "PostgreSQL runs there and refused",
        },
        _ => {
            "what answers there is no PostgreSQL, or wants TLS otherwise: `?sslmode=` in the address says how"
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
