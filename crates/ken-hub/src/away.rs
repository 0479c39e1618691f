//! Work that would keep the threads that answer from answering.

/// Work of ours did not end in order: it panicked, or the process is ending.
#[derive(Debug, thiserror::Error)]
#[error("work inside the hub broke off")]
pub struct BrokenOff(#[from] tokio::task::JoinError);

/// Runs what takes longer than a moment where nobody waits for it.
pub(crate) async fn away<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BrokenOff> {
    Ok(tokio::task::spawn_blocking(work).await?)
}
