//! A server with one tool, on a port of its own.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use ken_mcp::http::{Door, Rate, Token, serve};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// What a client shows.
pub(crate) const TOKEN: &str = "a-token-of-the-tests-0123456789";

/// A server that ends with its value.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    end: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(Door::new(Token::new(TOKEN).unwrap()))
    }

    /// Starts one that lets nobody come more often than this.
    pub(crate) fn at_rate(per_second: f64, burst: f64) -> Self {
        let door = Door::new(Token::new(TOKEN).unwrap());
        Self::with(Door {
            rate: Rate { per_second, burst },
            ..door
        })
    }

    fn with(door: Door) -> Self {
        let (end, (tell, told)) = (CancellationToken::new(), std::sync::mpsc::channel());
        let ended = end.clone();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                serve(listener, || Echo, door, ended).await.unwrap();
            });
        });
        Self {
            address: told.recv().unwrap(),
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
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

/// Says what it is told.
#[derive(Clone, Copy, Debug)]
struct Echo;

impl ServerHandler for Echo {
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
