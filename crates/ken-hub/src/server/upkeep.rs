//! Background tasks of a hub process: signs of life, the deletion of expired answers, and the
//! erasure of what was removed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::api::AppState;
use crate::config::{AuditSigningKey, FederationSettings};
use crate::database::audit::AuditActor;
use crate::database::{DatabaseError, InstanceCheck, InstanceState};
use crate::exports::{self, AuditExporter};
use crate::service::federation::{PullOptions, pull_peer};
use crate::store::StoreError;

/// Interval of signs of life.
const ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// Interval at which expired answers are deleted.
const CLEAR_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Interval at which waiting lists are counted for the metrics.
const COUNT_INTERVAL: Duration = Duration::from_secs(60);

/// Interval at which checkpoints of the audit log are signed.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Interval at which workspaces and organizations are erased whose grace period has ended.
const ERASE_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Erases what was removed, until the process shuts down. A task of its own: erasing a large
/// workspace takes longer than signs of life may be apart.
pub(super) async fn run_erasures(app: AppState) {
    let mut ticks = interval(ERASE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = app.shutting_down.cancelled() => break,
            _ = ticks.tick() => {}
            () = app.erasure_due.notified() => {}
        }
        let erasing = app.database.erase_due(AuditActor::Hub);
        let erased = tokio::select! {
            () = app.shutting_down.cancelled() => break,
            erased = erasing => erased,
        };
        match erased {
            Ok(erased) => {
                for tenant in erased {
                    app.log_process(format_args!("erased {tenant}"));
                }
            }
            Err(error) => tracing::warn!(%error, "what was removed is erased later"),
        }
    }
}

/// Starts the exports of the audit log and the signing of its checkpoints. They end with the
/// process; a delivery that is interrupted is repeated by the next one.
pub(super) fn spawn_audit_tasks(app: &AppState) {
    for settings in &app.settings.exports {
        let exporter = AuditExporter::new(app.database.clone(), settings.clone());
        let (metrics, ending) = (Arc::clone(&app.metrics), app.shutting_down.clone());
        tokio::spawn(exporter.run(metrics, ending));
    }
    if let Some(key) = &app.settings.audit_key {
        tokio::spawn(sign_checkpoints(app.clone(), Arc::clone(key)));
    }
}

async fn sign_checkpoints(app: AppState, key: Arc<AuditSigningKey>) {
    let mut ticks = interval(CHECKPOINT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = app.shutting_down.cancelled() => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = exports::sign_checkpoints(&app.database, &key).await {
            tracing::warn!(%error, "the audit log is signed later");
        }
    }
}

/// Starts the automatic pulls from peers, if they are configured.
pub(super) fn spawn_federation(app: &AppState) {
    if let Some(settings) = app.settings.federation {
        tokio::spawn(pull_peers(app.clone(), settings));
    }
}

/// Pulls every peer of every organization, one after the other, until the process shuts down. A
/// peer that another process pulled meanwhile is left out.
async fn pull_peers(app: AppState, settings: FederationSettings) {
    let mut ticks = interval(settings.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = app.shutting_down.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let pulling = pull_due_peers(&app, settings);
        let pulled = tokio::select! {
            () = app.shutting_down.cancelled() => return,
            pulled = pulling => pulled,
        };
        if let Err(error) = pulled {
            tracing::warn!(%error, "peers are pulled later");
        }
    }
}

async fn pull_due_peers(app: &AppState, settings: FederationSettings) -> Result<(), StoreError> {
    for organization in app.database.audited_organizations().await? {
        let mut tx = app.database.begin_organization(organization).await?;
        let peers = tx.peers().await?;
        let now = tx.now();
        tx.rollback().await?;
        // Half of the interval: ticks of several processes do not fall on the same moment.
        let half = u64::try_from(settings.interval.as_millis() / 2).unwrap_or(u64::MAX);
        let due = now.minus_millis(half);
        for peer in peers
            .iter()
            .filter(|it| it.pulled_at.is_none_or(|at| at <= due))
        {
            let options = PullOptions::new(settings.token);
            let place = (organization, peer.name.as_str());
            // One peer that cannot be reached must not keep the others waiting.
            if let Err(error) = pull_peer(&app.database, &app.guard, place, options).await {
                let (peer, error) = (&peer.name, error.to_string());
                tracing::warn!(peer, error, "the peer is pulled later");
            }
        }
    }
    Ok(())
}

/// Notes the start of a process, and tells the operator if the database was restored.
pub(super) async fn note_start(app: &AppState) -> Result<InstanceState, DatabaseError> {
    let state = app.database.note_alive(InstanceCheck::Start).await?;
    log_restored(app, &state);
    Ok(state)
}

/// Runs until the process shuts down. Failures are left to the next time: the database being away
/// is reported by the requests that need it.
pub(super) async fn run(app: AppState, mut state: InstanceState) {
    let mut ticks = interval(ALIVE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut cleared_at: Option<Instant> = None;
    let mut counted_at: Option<Instant> = None;
    loop {
        tokio::select! {
            () = app.shutting_down.cancelled() => break,
            _ = ticks.tick() => {}
        }
        let noted = app
            .database
            .note_alive(InstanceCheck::Running(state.alive_at));
        if let Ok(noted) = noted.await {
            if noted.restored_at != state.restored_at {
                log_restored(&app, &noted);
            }
            state = noted;
        }
        if cleared_at.is_none_or(|at| at.elapsed() >= CLEAR_INTERVAL)
            && app.database.clear_expired_answers().await.is_ok()
        {
            cleared_at = Some(Instant::now());
        }
        // Nobody scrapes a hub without a metrics address.
        if app.settings.metrics.is_some()
            && counted_at.is_none_or(|at| at.elapsed() >= COUNT_INTERVAL)
            && let Ok((events, runs)) = app.database.count_waiting().await
        {
            app.metrics.set_waiting(events, runs);
            counted_at = Some(Instant::now());
        }
    }
    if let Err(error) = app.database.note_stopped().await {
        tracing::warn!(%error, "the end of this process was not noted");
    }
}

fn log_restored(app: &AppState, state: &InstanceState) {
    if let Some(at) = state.restored_at {
        app.log_process(format_args!(
            "the database was restored from a backup, or no hub ended in order: tokens issued before {at} are refused; run `ken hub accept-restore`"
        ));
    }
}
