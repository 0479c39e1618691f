//! The door connections come through: so many at once, and none that does not get on.
//!
//! Whoever sends a head or a body drop by drop, or nothing at all, hears nothing from us, since an answer needs a whole
//! request. So a connection on which nothing was written for [`SILENCE_MAX`] is cut off; streams are written to more often.

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

/// Connections that are open at once; who comes beyond waits to be let in.
const CONNECTIONS_MAX: usize = 4_096;

/// How long nothing may be written on a connection.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(90);

/// A listener that lets in so many, each for as long as it gets on.
#[derive(Debug)]
pub(super) struct Door {
    listener: TcpListener,
    places: Arc<Semaphore>,
    silence: Duration,
}

/// A connection that ends where nothing is written on it for too long.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    silence: Duration,
    ends: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Door {
    /// Takes connections from `listener` that may be silent for as long as `silence`.
    pub(super) fn new(listener: TcpListener, silence: Duration) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            silence,
        }
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.expect("nobody closes the places");
        // Axum's own listener says what to do where accepting fails.
        let (stream, from) = Listener::accept(&mut self.listener).await;
        // Answers are short and written whole.
        let _ = stream.set_nodelay(true);
        let connection = Connection {
            stream,
            silence: self.silence,
            ends: Box::pin(sleep_until(Instant::now() + self.silence)),
            _place: place,
        };
        (connection, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.ends.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut this.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(1..)) = wrote {
            this.ends.as_mut().reset(Instant::now() + this.silence);
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
