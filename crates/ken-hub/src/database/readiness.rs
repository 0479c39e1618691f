//! Readiness probe: a connection of its own that asks whether the database responds.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::Mutex;

use super::HubDatabase;

/// Time an answer is reused. Probes need no token, so their number must not reach the database.
const REUSED: Duration = Duration::from_millis(100);

/// Asks whether the database responds, without a connection of the pool: a tenant's queries may
/// use all of those.
#[derive(Debug)]
pub struct ReadinessProbe {
    options: PgConnectOptions,
    state: Mutex<ProbeState>,
}

#[derive(Debug, Default)]
struct ProbeState {
    connection: Option<PgConnection>,
    answered_at: Option<Instant>,
}

impl HubDatabase {
    /// Returns a probe of this database. It belongs to the runtime that first uses it.
    #[must_use]
    pub fn readiness_probe(&self) -> ReadinessProbe {
        ReadinessProbe {
            options: self.pool().options().clone(),
            state: Mutex::default(),
        }
    }
}

impl ReadinessProbe {
    /// Asks the database for a sign of life.
    pub async fn check(&self) -> Result<(), sqlx::Error> {
        let mut state = self.state.lock().await;
        if state.answered_at.is_some_and(|at| at.elapsed() < REUSED) {
            return Ok(());
        }
        // Taken out: a probe that is canceled by its timeout drops the connection with it, instead
        // of leaving one in the middle of a message.
        let mut connection = match state.connection.take() {
            Some(connection) => connection,
            None => PgConnection::connect_with(&self.options).await?,
        };
        connection.ping().await?;
        state.connection = Some(connection);
        state.answered_at = Some(Instant::now());
        Ok(())
    }
}
