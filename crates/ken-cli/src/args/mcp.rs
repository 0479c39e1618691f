//! `ken mcp`: a server for coding agents.

use std::net::SocketAddr;

use clap::Args;

/// Where an HTTP server listens if nobody says where.
const ADDRESS: &str = "127.0.0.1:7433";

pub(super) const MCP_EXAMPLES: &str = "\
Examples:
  ken mcp                                  what an agent's configuration starts
  ken mcp -C /path/to/repository           for an agent that starts it elsewhere
  KEN_MCP_TOKEN=… ken mcp --http           http://127.0.0.1:7433/mcp, for clients that show the token";

/// `ken mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Listen on ADDR instead; clients show the token of KEN_MCP_TOKEN, or the one that is printed
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = ADDRESS)]
    pub(crate) http: Option<SocketAddr>,
    /// A name others call this machine by; without one, only this machine is listened to
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// A web page that may call, such as `https://app.example.org`
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
}
