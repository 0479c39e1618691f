//! Standard input/output transport for agents that start `ken mcp`: one message per line.
//!
//! The transport of `rmcp` limits line length, skips lines that are not JSON and answers invalid
//! messages with an error. Before the handshake, however, any message that is not a request ends
//! the server. This wrapper skips such messages instead.

use std::future::Future;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    ServerJsonRpcMessage,
};
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// Maximum bytes per line; longer lines are skipped.
pub const LINE_BYTES_MAX: usize = 4 << 20;

/// An abnormal end of a session.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the MCP handshake failed")]
    Handshake(#[source] Box<ServerInitializeError>),
    #[error("the MCP session ended abnormally")]
    Serving(#[source] tokio::task::JoinError),
}

/// Serves on this process's standard input and output.
pub async fn serve_stdio<H: ServerHandler>(
    handler: H,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    serve(handler, reader, writer, stop).await
}

/// Serves until the client closes the connection or `stop` is cancelled.
pub async fn serve<H, R, W>(
    handler: H,
    reader: R,
    writer: W,
    stop: CancellationToken,
) -> Result<(), StdioError>
where
    H: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let lines = AsyncRwTransport::new_server(reader, writer);
    let transport = HandshakeFilter {
        inner: lines.with_max_line_length(LINE_BYTES_MAX),
        has_begun: false,
    };
    let running = match handler.serve_with_ct(transport, stop).await {
        Ok(running) => running,
        // A client that disconnects during the handshake is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(other) => return Err(StdioError::Handshake(Box::new(other))),
    };
    if let QuitReason::JoinError(error) = running.waiting().await.map_err(StdioError::Serving)? {
        return Err(StdioError::Serving(error));
    }
    Ok(())
}

/// A transport that skips messages until the first request of the handshake.
struct HandshakeFilter<T> {
    inner: T,
    has_begun: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for HandshakeFilter<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            if self.has_begun {
                return Some(message);
            }
            if let JsonRpcMessage::Request(request) = &message {
                self.has_begun = completes_handshake(&request.request);
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Returns true if `rmcp` leaves the handshake after `request`. It then accepts any message.
fn completes_handshake(request: &ClientRequest) -> bool {
    // A ping or discovery may precede `initialize` and does not end the handshake.
    if let ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) = request {
        return false;
    }
    let meta = request.get_meta();
    // Revision 2026-07-28 replaces the handshake with metadata in every request.
    let is_inline = meta
        .missing_required_keys(&ProtocolVersion::V_2026_07_28)
        .is_empty();
    let version = meta.protocol_version();
    let is_known = version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it));
    matches!(request, ClientRequest::InitializeRequest(_)) || (is_inline && is_known)
}
