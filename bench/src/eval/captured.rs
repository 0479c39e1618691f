//! How many decisions `ken capture` finds whole in conversations: `cargo ken-bench eval captured`.
//!
//! `bench/data/conversations` has conversations in three languages by an author who had not seen
//! the rules. The words of the rules were completed on those with an even number, so only the
//! figures of the others count.

use std::path::Path;

use ken_digest::transcript::{
    DecisionText, ExtractedClaim, TranscriptAgent, extract_transcript_claims, find_amended,
    parse_transcript,
};
use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::json;
use xtask::repository::{Finding, Repository};

/// Minimum share of decisions that one claim holds whole.
const RECALL_MIN: f64 = 0.6;
/// Maximum share of messages outside of any decision that give a claim.
const FALSE_MAX: f64 = 0.05;

const DATA: &str = "bench/data/conversations/conversations.jsonl";

#[derive(Deserialize)]
struct Conversation {
    id: String,
    turns: Vec<ConversationTurn>,
    decisions: Vec<LabeledDecision>,
}

#[derive(Deserialize)]
struct ConversationTurn {
    role: String,
    text: String,
}

#[derive(Deserialize)]
struct LabeledDecision {
    /// One pattern per essential part of the rule.
    parts: Vec<String>,
    /// Numbers of the turns that make the decision, counted from 0.
    turns: Vec<usize>,
    superseded: bool,
}

/// Counts over conversations.
#[derive(Default)]
struct CaptureCounts {
    decisions: usize,
    whole: usize,
    /// Superseded decisions, and those that a claim holds.
    superseded: usize,
    superseded_found: usize,
    claims: usize,
    /// Claims that touch no decision.
    wrong: usize,
    /// Messages outside of any decision, and those that gave a claim.
    others: usize,
    others_taken: usize,
    /// Conversations without a decision, and those that gave a claim.
    empty: usize,
    empty_taken: usize,
    /// Claims that are linked to the decision that they replace, and to any other.
    linked: usize,
    linked_wrongly: usize,
}

/// A captured claim of any conversation, with the decisions that it holds.
struct HeldClaim {
    conversation: String,
    text: String,
    amends: bool,
    holds_current: bool,
    holds_superseded: bool,
}

impl Conversation {
    fn is_even(&self) -> bool {
        self.id.ends_with(['0', '2', '4', '6', '8'])
    }

    /// Returns the conversation as Claude Code writes it; line n is turn n - 1.
    fn transcript(&self) -> String {
        let lines = self.turns.iter().map(|it| {
            let line = if it.role == "user" {
                json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": it.text}})
            } else {
                json!({"type": "assistant", "sessionId": "s", "message": {"content": [{"type": "text", "text": it.text}]}})
            };
            format!("{line}\n")
        });
        lines.collect()
    }

    /// Counts this conversation. `older` are the claims of all conversations before it.
    fn count(&self, counts: &mut CaptureCounts, older: &mut Vec<HeldClaim>) -> Result<(), String> {
        let bytes = self.transcript();
        let transcript = parse_transcript(TranscriptAgent::ClaudeCode, bytes.as_bytes());
        let claims = extract_transcript_claims(&transcript, None);
        let mut holders = vec![false; claims.len()];
        let mut held: Vec<HeldClaim> = claims
            .iter()
            .map(|claim| HeldClaim {
                conversation: self.id.clone(),
                text: claim_text(claim),
                amends: claim.amends && claim.kind.is_prescriptive(),
                holds_current: false,
                holds_superseded: false,
            })
            .collect();
        for decision in &self.decisions {
            let mut is_found = false;
            for ((claim, holds), held) in claims.iter().zip(&mut holders).zip(&mut held) {
                let is_whole = decision.is_in(&held.text)?;
                let is_about = is_whole || decision.turns.contains(&(claim.line - 1));
                *holds |= is_about;
                held.holds_superseded |= is_about && decision.superseded;
                held.holds_current |= is_about && !decision.superseded;
                is_found |= is_whole;
            }
            if decision.superseded {
                counts.superseded += 1;
                counts.superseded_found += usize::from(is_found);
            } else {
                counts.decisions += 1;
                counts.whole += usize::from(is_found);
            }
        }
        for claim in held {
            self.count_link(&claim, older, counts);
            older.push(claim);
        }
        counts.claims += claims.len();
        counts.wrong += holders.iter().filter(|it| !**it).count();
        for (place, turn) in self.turns.iter().enumerate().skip(1) {
            let decides = self.decisions.iter().any(|it| it.turns.contains(&place));
            if turn.role == "user" && !decides {
                counts.others += 1;
                let is_taken = claims.iter().any(|it| it.line == place + 1);
                counts.others_taken += usize::from(is_taken);
            }
        }
        if self.decisions.is_empty() {
            counts.empty += 1;
            counts.empty_taken += usize::from(!claims.is_empty());
        }
        Ok(())
    }

    fn count_link(&self, claim: &HeldClaim, older: &[HeldClaim], counts: &mut CaptureCounts) {
        if !claim.amends {
            return;
        }
        let decisions: Vec<DecisionText> = older.iter().map(HeldClaim::decision).collect();
        let amended = find_amended(&claim.decision(), &decisions);
        for old in amended.into_iter().map(|place| &older[place]) {
            let is_right =
                old.conversation == self.id && old.holds_superseded && claim.holds_current;
            counts.linked += usize::from(is_right);
            counts.linked_wrongly += usize::from(!is_right);
        }
    }
}

impl HeldClaim {
    fn decision(&self) -> DecisionText {
        DecisionText {
            text: self.text.clone(),
            conversation: Some(self.conversation.clone()),
        }
    }
}

fn claim_text(claim: &ExtractedClaim) -> String {
    let exchange = claim.exchange.as_deref().unwrap_or_default();
    format!("{}\n{exchange}", claim.text)
}

impl LabeledDecision {
    fn is_in(&self, text: &str) -> Result<bool, String> {
        for part in &self.parts {
            // One pattern ends with a negative lookahead, which this engine does not know.
            let part = part.split("(?!").next().unwrap_or(part);
            let pattern = RegexBuilder::new(part).case_insensitive(true).build();
            if !pattern.map_err(|error| error.to_string())?.is_match(text) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl CaptureCounts {
    fn recall(&self) -> f64 {
        share(self.whole, self.decisions)
    }

    fn false_share(&self) -> f64 {
        share(self.others_taken, self.others)
    }

    fn print(&self, title: &str) {
        let Self {
            decisions,
            whole,
            superseded,
            superseded_found,
            claims,
            wrong,
            others,
            others_taken,
            empty,
            empty_taken,
            linked,
            linked_wrongly,
        } = self;
        println!(
            "{title}: decisions whole {whole}/{decisions} = {:.2}, other messages taken {others_taken}/{others} = {:.3}, claims about no decision {wrong}/{claims}, conversations without a decision that gave a claim {empty_taken}/{empty}, superseded decisions kept {superseded_found}/{superseded}, amendments linked right {linked}, wrong {linked_wrongly}",
            self.recall(),
            self.false_share()
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "few conversations")]
fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

pub(super) fn report(repository: &Repository) -> Result<Vec<Finding>, String> {
    let conversations = load(&repository.root().join(DATA))?;
    let (mut seen, mut held_out) = (CaptureCounts::default(), CaptureCounts::default());
    // As in one repository: every claim could be linked to any before it.
    let mut older = Vec::new();
    for conversation in &conversations {
        let counts = if conversation.is_even() {
            &mut seen
        } else {
            &mut held_out
        };
        conversation.count(counts, &mut older)?;
    }
    seen.print("even numbers (seen while the rules were completed)");
    held_out.print("odd numbers (held out)");
    let (recall, wrong) = (held_out.recall(), held_out.false_share());
    let is_met = recall >= RECALL_MIN && wrong <= FALSE_MAX;
    let finding = (!is_met).then(|| Finding {
        path: DATA.to_owned(),
        line: 1,
        message: format!("recall {recall:.2}, false {wrong:.3}"),
    });
    Ok(finding.into_iter().collect())
}

fn load(path: &Path) -> Result<Vec<Conversation>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let lines = text.lines();
    let parsed = lines.map(|line| serde_json::from_str(line).map_err(|error| error.to_string()));
    parsed.collect()
}
