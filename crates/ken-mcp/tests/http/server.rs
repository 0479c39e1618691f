//! Test server with one tool, on its own port.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use ken_mcp::http::{BearerToken, HttpAccess, RateLimit, serve};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// Token of the test client.
pub(crate) const TOKEN: &str = "a-token-of-the-tests-0123456789";

/// A server that stops when dropped.
#[derive(Debug)]
pub(crate) struct McpTestServer {
    pub(crate) address: SocketAddr,
    end: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl McpTestServer {
    pub(crate) fn start() -> Self {
        Self::with(HttpAccess::new(BearerToken::new(TOKEN).unwrap()))
    }

    /// Starts a server with a rate limit.
    pub(crate) fn with_rate_limit(per_second: f64, burst: f64) -> Self {
        let door = HttpAccess::new(BearerToken::new(TOKEN).unwrap());
        Self::with(HttpAccess {
            rate: RateLimit { per_second, burst },
            ..door
        })
    }

    fn with(door: HttpAccess) -> Self {
        let (end, (tell, told)) = (CancellationToken::new(), std::sync::mpsc::channel());
        let ended = end.clone();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                serve(listener, || EchoHandler, door, ended).await.unwrap();
            });
        });
        Self {
            address: told.recv().unwrap(),
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for McpTestServer {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server ends in order"
            );
        }
    }
}

/// Handler whose tool returns its arguments.
#[derive(Clone, Copy, Debug)]
struct EchoHandler;

impl ServerHandler for EchoHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let echo = Tool::new("echo", "Says what it is told.", serde_json::Map::new());
        Ok(ListToolsResult::with_all_items(vec![echo]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let said = format!("{:?}", request.arguments);
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }
}
