//! Blocking and CPU-bound work on Tokio's blocking thread pool.

/// A blocking task that did not complete: it panicked, or the runtime is shutting down.
#[derive(Debug, thiserror::Error)]
#[error("a task on the blocking thread pool failed")]
pub struct BlockingTaskError(#[from] tokio::task::JoinError);

/// Runs blocking work on Tokio's blocking thread pool.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BlockingTaskError> {
    Ok(tokio::task::spawn_blocking(work).await?)
}
