//! The transport of an agent that starts `ken mcp` as a program: a message a line, in and out.
//!
//! `rmcp`'s own lines are bounded, pass over what is no JSON and answer what is no message. One thing they do not
//! survive: before the handshake, whatever is no request ends the program. Here it is passed over.

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

/// Bytes a line may have; longer ones are passed over.
pub const LINE_BYTES_MAX: usize = 4 << 20;

/// Why a conversation ended otherwise than by its end.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the client's first words could not be answered")]
    Handshake(#[source] Box<ServerInitializeError>),
    #[error("serving ended")]
    Serving(#[source] tokio::task::JoinError),
}

/// Serves on this program's standard input and output.
pub async fn serve_here<H: ServerHandler>(
    handler: H,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    serve(handler, reader, writer, stop).await
}

/// Serves until the client closes its end or `stop` is called.
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
    let transport = Patient {
        inner: lines.with_max_line_length(LINE_BYTES_MAX),
        has_begun: false,
    };
    let running = match handler.serve_with_ct(transport, stop).await {
        Ok(running) => running,
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

/// Waits for a request that begins the conversation.
struct Patient<T> {
    inner: T,
    has_begun: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Patient<T> {
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
                self.has_begun = begins(&request.request);
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Returns whether `rmcp` leaves the handshake after `request`: from then on it bears any message.
fn begins(request: &ClientRequest) -> bool {
    if let ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) = request {
        return false;
    }
    let meta = request.get_meta();
    let is_inline = meta
        .missing_required_keys(&ProtocolVersion::V_2026_07_28)
        .is_empty();
    let version = meta.protocol_version();
    let is_known = version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it));
    matches!(request, ClientRequest::InitializeRequest(_)) || (is_inline && is_known)
}
