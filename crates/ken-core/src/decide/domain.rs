//! Decisions about hosts that the forager reads: what a person says, and what was learned.

use crate::ledger::event::{DomainAction, DomainOverridden, DomainStrategyChanged, EventBody};
use crate::ledger::workspace::{FetchStrategy, WorkspaceState, domain_key, strategy_key};
use crate::values::actor::Actor;

use super::{Draft, Refusal, ensure_human};

/// Maximum length of a host name (RFC 1035).
const DOMAIN_BYTES_MAX: usize = 253;

/// Sets or resets the trust in a domain and every host below it; only a person may.
///
/// Trust never allows a host that the user's configuration does not: egress is the user's, and the
/// ledger is shared.
pub fn override_domain(
    workspace: &WorkspaceState,
    domain: &str,
    action: DomainAction,
    by: &Actor,
) -> Result<Draft, Refusal> {
    ensure_human("trust in a domain", by)?;
    let domain = normalize_domain(domain)?;
    let now = workspace.settings.get(&domain_key(&domain));
    let action_now = now.map(|it| it.value.clone());
    let wanted = serde_json::to_value(action).expect("a word");
    // Nothing to reset is no change, either.
    let is_same = match action_now {
        Some(value) => value == wanted,
        None => action == DomainAction::Reset,
    };
    if is_same {
        return Err(Refusal::NothingChanges);
    }
    let replaces = now.map(|it| it.heads.clone()).unwrap_or_default();
    let body = EventBody::DomainOverridden(DomainOverridden {
        domain,
        action,
        replaces,
    });
    let about = Vec::new();
    Ok(Draft { about, body })
}

/// Records what was learned about fetching from a host.
///
/// A renewed `nothing` is a change: it starts another pause.
pub fn learn_strategy(
    workspace: &WorkspaceState,
    domain: &str,
    strategy: FetchStrategy,
) -> Result<Draft, Refusal> {
    let domain = normalize_domain(domain)?;
    let now = workspace.settings.get(&strategy_key(&domain));
    let known = workspace.fetch_strategy(&domain).map(|it| it.strategy);
    if known == Some(strategy) && strategy != FetchStrategy::Nothing {
        return Err(Refusal::NothingChanges);
    }
    let replaces = now.map(|it| it.heads.clone()).unwrap_or_default();
    let body = EventBody::DomainStrategyChanged(DomainStrategyChanged {
        domain,
        strategy: strategy.name().parse().expect("a short word is a tag"),
        replaces,
    });
    let about = Vec::new();
    Ok(Draft { about, body })
}

/// Returns a host name as it is stored and compared.
fn normalize_domain(text: &str) -> Result<String, Refusal> {
    let domain = text.trim().trim_end_matches('.').to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_plain)
    };
    // A name without a dot would cover every host of a top-level domain.
    let is_valid = domain.len() <= DOMAIN_BYTES_MAX
        && domain.contains('.')
        && domain.split('.').all(is_label)
        && !domain.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    is_valid
        .then_some(domain)
        .ok_or_else(|| Refusal::NotADomain(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_a_plain_host_name_with_a_dot() {
        assert_eq!(
            normalize_domain(" Docs.Example.ORG. ").unwrap(),
            "docs.example.org"
        );
        for text in [
            "",
            "org",
            "https://a.org",
            "a.org/x",
            "a..org",
            "10.0.0.1",
            "a b.org",
            "münchen.de",
        ] {
            assert!(normalize_domain(text).is_err(), "{text}");
        }
    }
}
