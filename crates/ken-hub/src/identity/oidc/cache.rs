//! Cache of a document of the issuer: fetched on demand, by one request at a time.
//!
//! After a failed fetch the next one waits for a time that doubles, and requests in between send
//! nothing. A cached document is used for up to [`KEPT_MAX`] while the issuer is unreachable.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::keys::IssuerKeysError;

/// Maximum age of a cached document while the issuer is unreachable.
const KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);

/// First and maximum wait after a failed fetch.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// A cached document and the state of its fetches.
#[derive(Debug)]
pub(super) struct IssuerCache<T> {
    state: Mutex<CacheState<T>>,
    /// Held during a fetch.
    fetch_lock: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct CacheState<T> {
    /// The document and the time of its fetch.
    fetched: Option<(Arc<T>, Instant)>,
    /// Time of the last failed fetch, and the wait after it.
    failed: Option<(Instant, Duration)>,
}

impl<T> Default for IssuerCache<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(CacheState {
                fetched: None,
                failed: None,
            }),
            fetch_lock: tokio::sync::Mutex::default(),
        }
    }
}

impl<T> IssuerCache<T> {
    /// Returns the document; fetches it first unless `is_fresh` accepts the cached one and its age.
    ///
    /// Concurrent requests use the cached document, and wait only if there is none.
    pub(super) async fn get(
        &self,
        is_fresh: impl Fn(&T, Duration) -> bool,
        fetch: impl Future<Output = Result<T, IssuerKeysError>>,
    ) -> Result<Arc<T>, IssuerKeysError> {
        if !self.lock().needs_fetch(&is_fresh) {
            return self.lock().document();
        }
        let guard = match self.fetch_lock.try_lock() {
            Ok(guard) => guard,
            // Waiting would let a slow issuer block requests that the cache can answer.
            Err(_) if self.lock().document().is_ok() => return self.lock().document(),
            Err(_) => self.fetch_lock.lock().await,
        };
        // Checked again under the mutex: another request may have fetched the document meanwhile.
        let needs_fetch = self.lock().needs_fetch(&is_fresh);
        if needs_fetch {
            let fetched = fetch.await;
            self.lock().store(fetched);
        }
        drop(guard);
        self.lock().document()
    }

    fn lock(&self) -> MutexGuard<'_, CacheState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> CacheState<T> {
    fn needs_fetch(&self, is_fresh: impl Fn(&T, Duration) -> bool) -> bool {
        if self.failed.is_some_and(|(at, wait)| at.elapsed() < wait) {
            return false;
        }
        let cached = self.fetched.as_ref();
        cached.is_none_or(|(document, at)| !is_fresh(document, at.elapsed()))
    }

    fn store(&mut self, fetched: Result<T, IssuerKeysError>) {
        match fetched {
            Ok(document) => {
                self.fetched = Some((Arc::new(document), Instant::now()));
                self.failed = None;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot fetch a document of the issuer");
                // The cached document stays: an unreachable issuer must not lock everyone out.
                let doubled = self.failed.map(|(_, wait)| wait * 2);
                let wait = doubled.unwrap_or(BACK_OFF.0).min(BACK_OFF.1);
                self.failed = Some((Instant::now(), wait));
            }
        }
    }

    fn document(&self) -> Result<Arc<T>, IssuerKeysError> {
        match &self.fetched {
            Some((document, at)) if at.elapsed() < KEPT_MAX => Ok(Arc::clone(document)),
            Some(_) | None => Err(IssuerKeysError::Unreachable(
                "its documents are not loaded yet".to_owned(),
            )),
        }
    }
}
