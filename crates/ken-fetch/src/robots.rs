//! `robots.txt` (RFC 9309): which paths a host allows, and how often.

use serde::{Deserialize, Serialize};

use crate::media::refuses_ai_input;

/// Product token of the forager in `robots.txt`.
pub(crate) const ROBOTS_TOKEN: &str = "ken-forager";

/// Maximum number of bytes parsed (RFC 9309, section 2.5).
pub(crate) const ROBOTS_BYTES_MAX: usize = 500 << 10;
/// Maximum number of rules kept per host.
const RULES_MAX: usize = 2_000;
/// Maximum length of a rule in bytes.
const RULE_BYTES_MAX: usize = 512;

/// The rules of one host for the forager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RobotsRules {
    /// Path patterns, and whether each allows.
    rules: Vec<(String, bool)>,
    /// Seconds between requests that the host asks for.
    pub crawl_delay: Option<f64>,
    /// Whether the host refuses that models read its pages.
    pub refuses_ai_input: bool,
}

impl RobotsRules {
    /// Returns the rules of a host that must not be asked at all.
    #[must_use]
    pub fn disallow_all() -> Self {
        Self {
            rules: vec![("/".to_owned(), false)],
            ..Self::default()
        }
    }

    /// Parses a file. The group of our product token counts, or else the group of `*`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut own = Self::default();
        let mut common = Self::default();
        let mut has_own = false;
        let (mut in_own, mut in_common) = (false, false);
        let mut was_agent = false;
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if key == "user-agent" {
                // Consecutive lines name one group; the first after a rule begins another.
                if !was_agent {
                    (in_own, in_common) = (false, false);
                }
                in_own |= is_own_token(value);
                in_common |= value == "*";
                has_own |= in_own;
                was_agent = true;
                continue;
            }
            was_agent = false;
            if in_own {
                own.add(&key, value);
            }
            if in_common {
                common.add(&key, value);
            }
        }
        if has_own { own } else { common }
    }

    fn add(&mut self, key: &str, value: &str) {
        match key {
            "allow" | "disallow" => {
                let fits = self.rules.len() < RULES_MAX && value.len() <= RULE_BYTES_MAX;
                // An empty `Disallow` allows everything.
                if fits && !value.is_empty() {
                    self.rules.push((value.to_owned(), key == "allow"));
                }
            }
            "crawl-delay" => {
                // A negative or infinite number would panic where it becomes a `Duration`.
                let delay = value.parse::<f64>().ok();
                self.crawl_delay = delay.filter(|it| it.is_finite() && *it >= 0.0);
            }
            "content-signal" => self.refuses_ai_input |= refuses_ai_input(value),
            _ => {}
        }
    }

    /// Returns whether a path with its query may be requested: the longest matching rule decides,
    /// and `allow` wins a tie.
    #[must_use]
    pub fn allows(&self, path: &str) -> bool {
        let matching = self.rules.iter().filter(|(rule, _)| matches(rule, path));
        let best = matching.max_by_key(|(rule, allows)| (rule.len(), *allows));
        best.is_none_or(|(_, allows)| *allows)
    }
}

/// Returns whether a `User-agent` line names us; what follows the token does not count.
fn is_own_token(value: &str) -> bool {
    let end = value.find(|it: char| !(it.is_ascii_alphabetic() || it == '-' || it == '_'));
    value[..end.unwrap_or(value.len())].eq_ignore_ascii_case(ROBOTS_TOKEN)
}

/// Matches a path with a pattern of literal text, `*`, and `$` at the end.
///
/// Greedy over the parts between stars: linear in the path per part, never exponential.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, is_anchored) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        last = Some(part);
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    match (is_anchored, last) {
        (false, _) => true,
        (true, None) => rest.is_empty(),
        // The last part may occur again at the very end.
        (true, Some(part)) => rest.is_empty() || rest.ends_with(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_decides_and_allow_wins_a_tie() {
        let rules = RobotsRules::parse(
            "User-agent: *\nDisallow: /private\nAllow: /private/docs\nDisallow: /*.gif$\n\
             Disallow: /same\nAllow: /same # both\nDisallow: /*?print=",
        );
        let table = [
            ("/", true),
            ("/private", false),
            ("/private/x", false),
            ("/private/docs/a", true),
            ("/a/b.gif", false),
            ("/a/b.gif?x", true),
            ("/same", true),
            ("/a?print=1", false),
        ];
        for (path, expected) in table {
            assert_eq!(rules.allows(path), expected, "{path}");
        }
    }

    #[test]
    fn our_own_group_replaces_the_common_one() {
        let text = "User-agent: other\nUser-agent: Ken-Forager/2\nDisallow: /a\nCrawl-delay: 3\n\n\
                    User-agent: *\nDisallow: /\n";
        let rules = RobotsRules::parse(text);
        assert!(rules.allows("/b") && !rules.allows("/a/1"));
        assert_eq!(rules.crawl_delay, Some(3.0));
        assert!(!RobotsRules::parse("User-agent: *\nDisallow: /").allows("/b"));
        assert!(RobotsRules::parse("User-agent: ken\nDisallow: /").allows("/b"));
        assert!(RobotsRules::parse("User-agent: *\nDisallow:").allows("/b"));
        assert!(!RobotsRules::disallow_all().allows("/robots"));
    }

    #[test]
    fn a_content_signal_about_model_input_is_kept() {
        let refuses = |signal: &str| {
            RobotsRules::parse(&format!("User-agent: *\nContent-Signal: {signal}")).refuses_ai_input
        };
        assert!(refuses("search=yes, ai-input=no"));
        assert!(!refuses("search=no, ai-train=no"));
        assert!(!refuses("ai-input=yes"));
    }
}
