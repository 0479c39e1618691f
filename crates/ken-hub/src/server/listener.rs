//! TCP listener with connection limits, a deadline for request heads and an idle timeout.
//!
//! A client that sends its request very slowly, or not at all, never gets a response, because a
//! response needs a whole request (Slowloris attack). So the head of a request has a deadline, and
//! a connection is closed when the hub wrote nothing to it for the idle timeout. Event streams
//! write keep-alive messages more often. One address has a share of the connections only.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::api::caller::PeerAddress;
use crate::limits::{HubLimits, client_network};

/// A listener with connection limits, whose connections have deadlines.
#[derive(Debug)]
pub(super) struct LimitedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    addresses: Arc<AddressCounter>,
    limits: HubLimits,
}

/// A connection that fails reads once a head takes too long or nothing was written for too long.
#[derive(Debug)]
pub(super) struct TimedConnection {
    stream: TcpStream,
    limits: HubLimits,
    deadline: Pin<Box<Sleep>>,
    /// Time of the last write, or of the connection.
    written_at: Instant,
    /// Time of the first byte of a head that is not complete.
    head_since: Option<Instant>,
    /// Number of requests that had begun when the head was last looked at.
    begun: u64,
    progress: Arc<RequestProgress>,
    _permit: OwnedSemaphorePermit,
    _address: AddressPermit,
}

/// Requests of a connection. Tells the bytes of a head from those of a body, which the connection
/// itself cannot know.
#[derive(Debug, Default)]
struct RequestProgress {
    /// Requests whose head is complete.
    begun: AtomicU64,
    /// Requests whose response has been started.
    ended: AtomicU64,
}

/// The connection of a request, as a request extension.
#[derive(Clone, Debug)]
pub(super) struct PeerConnection {
    progress: Arc<RequestProgress>,
    /// Address of the other end.
    pub(super) address: PeerAddress,
}

/// A request whose handler runs; ends on drop.
#[derive(Debug)]
pub(super) struct RunningRequest(Arc<RequestProgress>);

/// Number of open connections per client address.
#[derive(Debug, Default)]
struct AddressCounter(Mutex<HashMap<IpAddr, usize>>);

/// A counted connection, given back on drop.
#[derive(Debug)]
struct AddressPermit {
    counter: Arc<AddressCounter>,
    client: IpAddr,
}

impl LimitedListener {
    /// Creates a listener with the given limits.
    pub(super) fn new(listener: TcpListener, limits: HubLimits) -> Self {
        Self {
            listener,
            permits: Arc::new(Semaphore::new(limits.connections)),
            addresses: Arc::default(),
            limits,
        }
    }
}

impl Listener for LimitedListener {
    type Io = TimedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TimedConnection, SocketAddr) {
        // Before accepting: a client beyond the limit waits in the kernel and costs no file
        // descriptor here.
        let acquired = Arc::clone(&self.permits).acquire_owned().await;
        let place = acquired.expect("the semaphore is never closed");
        let (stream, from, address) = loop {
            // axum's implementation retries after an error, such as too many open files.
            let (stream, from) = Listener::accept(&mut self.listener).await;
            // A client beyond its share is closed at once: waiting, it would keep others out.
            let max = self.limits.connections_per_address;
            if let Some(address) = self.addresses.acquire(client_network(from.ip()), max) {
                break (stream, from, address);
            }
        };
        // Responses are short and written at once, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let now = Instant::now();
        let connection = TimedConnection {
            stream,
            limits: self.limits,
            deadline: Box::pin(sleep_until(now + self.limits.head_timeout)),
            written_at: now,
            head_since: Some(now),
            begun: 0,
            progress: Arc::default(),
            _permit: place,
            _address: address,
        };
        (connection, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, LimitedListener>> for PeerConnection {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        Self {
            progress: Arc::clone(&stream.io().progress),
            address: PeerAddress(stream.remote_addr().ip()),
        }
    }
}

impl PeerConnection {
    /// Marks the head of a request as complete, and the request as running until the result is
    /// dropped.
    pub(super) fn begin_request(&self) -> RunningRequest {
        self.progress.begun.fetch_add(1, Ordering::Relaxed);
        RunningRequest(Arc::clone(&self.progress))
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

impl TimedConnection {
    /// Returns whether the deadline has passed; registers the timer otherwise.
    fn is_overdue(&mut self, context: &mut Context<'_>) -> bool {
        let begun = self.progress.begun.load(Ordering::Relaxed);
        if begun > self.begun {
            (self.begun, self.head_since) = (begun, None);
        }
        let due = match self.head_since {
            Some(since) => since + self.limits.head_timeout,
            None => self.written_at + self.limits.idle_timeout,
        };
        // The idle timeout bounds the head as well, whichever is shorter.
        let due = due.min(self.written_at + self.limits.idle_timeout);
        if self.deadline.deadline() != due {
            self.deadline.as_mut().reset(due);
        }
        // Polling also registers the timer: a connection is woken although no byte arrives.
        self.deadline.as_mut().poll(context).is_ready()
    }

    /// Starts the deadline of a head with its first byte, unless the bytes belong to a body.
    fn note_received(&mut self) {
        let ended = self.progress.ended.load(Ordering::Relaxed);
        if self.head_since.is_none() && self.begun == ended {
            self.head_since = Some(Instant::now());
        }
    }
}

impl AsyncRead for TimedConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_overdue(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            this.note_received();
        }
        read
    }
}

impl AsyncWrite for TimedConnection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write(context, bytes);
        // Only writes extend the deadline. A read does not: a slow sender could extend it forever.
        if let Poll::Ready(Ok(1..)) = wrote {
            this.written_at = Instant::now();
        }
        wrote
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl AddressCounter {
    fn acquire(self: &Arc<Self>, client: IpAddr, max: usize) -> Option<AddressPermit> {
        let mut counts = self.lock();
        let open = counts.entry(client).or_default();
        if *open >= max {
            return None;
        }
        *open += 1;
        Some(AddressPermit {
            counter: Arc::clone(self),
            client,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // A count is changed in one step, so poison means nothing here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut counts = self.counter.lock();
        if let Some(open) = counts.get_mut(&self.client) {
            *open = open.saturating_sub(1);
            // Otherwise the map would grow by every client that ever connected.
            if *open == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_connection_makes_room_for_the_next() {
        let counter = Arc::new(AddressCounter::default());
        let client: IpAddr = "192.0.2.7".parse().expect("an address");
        let first = counter.acquire(client, 1).expect("free");
        assert!(counter.acquire(client, 1).is_none());
        drop(first);
        assert!(counter.lock().is_empty());
        assert!(counter.acquire(client, 1).is_some());
    }
}
