//! TCP listener with a connection limit and an idle timeout.
//!
//! A client that sends its request very slowly, or not at all, never gets a response, because a
//! response needs a whole request (Slowloris attack). So a connection is closed when the hub wrote
//! nothing to it for the idle timeout. Event streams write keep-alive messages more often.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

/// Maximum number of open connections. Further clients wait in the accept queue.
const CONNECTIONS_MAX: usize = 4_096;

/// A listener with a connection limit, whose connections have an idle timeout.
#[derive(Debug)]
pub(super) struct LimitedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    idle_timeout: Duration,
}

/// A connection that fails reads once nothing was written to it for too long.
#[derive(Debug)]
pub(super) struct TimedConnection {
    stream: TcpStream,
    idle_timeout: Duration,
    deadline: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl LimitedListener {
    /// Creates a listener whose connections close after `silence` without a write.
    pub(super) fn new(listener: TcpListener, idle_timeout: Duration) -> Self {
        Self {
            listener,
            permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            idle_timeout,
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
        // axum's implementation retries after an error, such as too many open files.
        let (stream, from) = Listener::accept(&mut self.listener).await;
        // Responses are short and written at once, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let connection = TimedConnection {
            stream,
            idle_timeout: self.idle_timeout,
            deadline: Box::pin(sleep_until(Instant::now() + self.idle_timeout)),
            _permit: place,
        };
        (connection, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for TimedConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // Polling also registers the timer: an idle connection is woken although no byte arrives.
        if this.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut this.stream).poll_read(context, buffer)
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
            this.deadline
                .as_mut()
                .reset(Instant::now() + this.idle_timeout);
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
