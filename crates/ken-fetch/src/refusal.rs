//! Reasons why a page is not read. The words are ours: a server's could repeat the request or
//! address the reader.

/// Reason why a page was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchRefusal {
    #[error("the text is not a valid URL")]
    Malformed,
    #[error("only `https` is allowed, and `http` for hosts that the policy names")]
    Scheme,
    #[error("port {0} is not allowed")]
    Port(u16),
    #[error("the URL contains a user name or password")]
    Credentials,
    #[error("the host is an IP address; write a host name")]
    AddressLiteral,
    #[error("`{0}` is a name of a local network")]
    LocalName(String),
    #[error("`{0}` is not an allowed host")]
    NotAllowed(String),
    #[error("`{0}` is a denied host")]
    Denied(String),
    #[error("`{0}` does not resolve")]
    Unresolved(String),
    #[error("`{0}` has an address that is not public")]
    NotPublic(String),
    #[error("too many redirects")]
    RedirectLimit,
    #[error("the redirects form a loop")]
    RedirectLoop,
    #[error("a redirect has no valid target")]
    RedirectTarget,
    #[error("a redirect leads from `https` to `http`")]
    Downgrade,
    #[error("robots.txt does not allow the page")]
    Robots,
    #[error("the page asks not to be used by AI tools or quoted")]
    OptedOut,
    #[error("`{host}` asks to wait; no request before {until}")]
    RetryLater { host: String, until: u64 },
    #[error("the limit of pages is reached")]
    PageBudget,
    #[error("the limit of bytes is reached")]
    ByteBudget,
    #[error("the limit of time is reached")]
    TimeBudget,
    #[error("the response is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the compressed response expands too much")]
    Bomb,
    #[error("the compressed response is damaged")]
    Damaged,
    #[error("the content encoding is not supported")]
    Encoding,
    #[error("the content type is not text, Markdown or HTML")]
    ContentType,
    #[error("the character set is not supported")]
    Charset,
    #[error("the host answered with status {0}")]
    Status(u16),
    #[error("no response: {0}")]
    Unreachable(&'static str),
    #[error("TLS cannot be configured on this machine")]
    Tls,
}

impl FetchRefusal {
    /// Returns a short name for logs and JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Scheme => "scheme",
            Self::Port(_) => "port",
            Self::Credentials => "credentials",
            Self::AddressLiteral => "address_literal",
            Self::LocalName(_) => "local_name",
            Self::NotAllowed(_) => "not_allowed",
            Self::Denied(_) => "denied",
            Self::Unresolved(_) => "unresolved",
            Self::NotPublic(_) => "not_public",
            Self::RedirectLimit => "redirect_limit",
            Self::RedirectLoop => "redirect_loop",
            Self::RedirectTarget => "redirect_target",
            Self::Downgrade => "downgrade",
            Self::Robots => "robots",
            Self::OptedOut => "opted_out",
            Self::RetryLater { .. } => "retry_later",
            Self::PageBudget => "page_budget",
            Self::ByteBudget => "byte_budget",
            Self::TimeBudget => "time_budget",
            Self::TooLarge(_) => "too_large",
            Self::Bomb => "bomb",
            Self::Damaged => "damaged",
            Self::Encoding => "encoding",
            Self::ContentType => "content_type",
            Self::Charset => "charset",
            Self::Status(_) => "status",
            Self::Unreachable(_) => "unreachable",
            Self::Tls => "tls",
        }
    }
}
