//! Decisions in a conversation: a person settles a question, or the agent sums up what was settled.
//!
//! A decision is seldom one sentence: the agent asks or proposes, the person constrains or rejects,
//! and the agent restates. So the whole exchange is kept. Three things find it:
//!
//! - the message teaches something, as [`super::corrections`] finds, or binds ([`binds`]);
//! - the message and its neighbors have enough [`evidence`] of a decision;
//! - a turn of the agent sums up ([`find_recap`]); it replaces the exchanges that it repeats.
//!
//! Most conversations decide nothing: people ask, agents explain. Hedges, plans of the person and
//! questions speak against a decision.

use ken_core::values::kind::EntryKind;
use ken_core::values::text::{Statement, truncate};

use super::amendments::{announces_amendment, content_words};
use super::corrections::{self, message_sentences};
use super::extraction::{EXTRACTED_CLAIMS_MAX, ExtractedClaim, ExtractionKind};
use super::lesson_score::LessonModel;
use super::{ActionKind, Transcript, TurnContent};
use crate::modality::normalize_words;
use crate::topic;
use crate::words::{count_phrases, starts_with_phrase};

/// Minimum evidence of a decision. On the development conversations 3 also took discussions, and 5
/// missed short answers.
const EVIDENCE_MIN: i32 = 4;

/// Minimum weight of rule words in a message that reads like a lesson, and in any other.
const LESSON_WEIGHT_MIN: usize = 2;
const MESSAGE_WEIGHT_MIN: usize = 3;

/// Minimum words of a message that binds; shorter ones need the evidence of their neighbors.
const BINDING_WORDS_MIN: usize = 6;

/// Number of words below which thanks say that a message is nothing else.
const THANKS_WORDS: usize = 12;

/// Maximum words of a turn in which an agent reports what it did.
const REPORT_WORDS_MAX: usize = 20;

/// Evidence of a reply that restates a short answer in words that bind.
const RESTATED_MIN: i32 = 2;

/// Maximum words of an answer such as "Seven. Eight trips it.", which says little without its
/// question.
const ANSWER_WORDS_MAX: usize = 12;

/// Minimum words of a recap.
const RECAP_WORDS_MIN: usize = 8;

/// Words of a turn among which a recap announces itself: "Amended rule in full: …".
const RECAP_HEAD_WORDS: usize = 5;

/// Number of turns before a plain summary among which one must have decided something.
const RECAP_REACH: usize = 5;

/// Number of turns before the first recap: a task, an answer, a decision.
const RECAP_PLACE_MIN: usize = 3;

/// Sentences of the agent in which a question to the person stands last.
const ASKING_SENTENCES: usize = 2;

/// Turns kept before the message of a person, the characters of each, and the sentences of the
/// reply that are kept.
const BEFORE_TURNS: usize = 3;
const BEFORE_CHARS: usize = 900;
const REPLY_SENTENCES: usize = 4;

/// Maximum bytes of a kept exchange; longer ones are pasted text.
const EXCHANGE_BYTES_MAX: usize = 8 << 10;

/// Openings that reject, in the three languages of the development data.
const REJECTING: &str = "\
    no, nope, nah, never, not, wrong, wait, hold on, stop, actually, rather, too, absolutely not, please don't, don't, do not, that's not, that is not, \
    nein, nö, nicht, nie, niemals, falsch, halt, stopp, moment, eher, lieber, quatsch, bloß nicht, \
    nunca, nada de, espera, mejor, al contrario, para nada, ni hablar, ojo";

/// Words that bind.
const BINDING: &str = "\
    must, never, always, only, exactly, must not, don't, do not, has to, have to, needs to, cannot, can't, may not, at most, at least, no more than, instead of, \
    rather than, stays, stay, remains, keep, leave, nothing else, ever, every, strictly, required, regardless, either way, period, full stop, counts as, \
    muss, müssen, darf, dürfen, nie, niemals, immer, nur, genau, kein, keine, keinen, bleibt, bleiben, mindestens, höchstens, statt, sondern, ausschließlich, grundsätzlich, \
    debe, deben, tiene que, tienen que, hay que, nunca, siempre, solo, sólo, solamente, exactamente, ningún, ninguna, se queda, como mínimo, como máximo, en vez de, \
    en lugar de, sino, obligatorio, jamás";

/// Words that make a rule of a sentence; each weighs as much as two others of [`RULE_WORDS`].
const STRONG_RULE_WORDS: &str = "\
    never, always, must, must not, only, exactly, ever, everywhere, nowhere, no longer, from now on, banned, mandatory, forbidden, as a rule, the only, nobody, \
    for everything, nie, niemals, immer, nur noch, nur, überall, nirgends, ausschließlich, grundsätzlich, ab jetzt, ab sofort, verboten, zwingend, muss, müssen, darf, dürfen, \
    nunca, siempre, jamás, solo, sólo, toda, todas, todos, nadie, ningún, ninguna, prohibido, a partir de ahora, desde ahora, debe, deben, hay que";

/// Words that often stand in a rule.
const RULE_WORDS: &str = "\
    don't, do not, has to, have to, needs to, cannot, can't, may not, at most, at least, no more than, instead of, rather than, stays, stay, remains, keep, leave, nothing else, \
    every, strictly, required, regardless, either way, period, full stop, counts as, anymore, over, has to go, have to go, should fail, allowed, off limits, all of, none of, \
    the rule, same for, also for, applies, goes through, for all, \
    genau, kein, keine, keinen, bleibt, bleiben, mindestens, höchstens, statt, sondern, nichts, nix, gilt, gelten, alle, alles, niemand, nicht mehr, kein mehr, verbindlich, raus, \
    tiene que, tienen que, solamente, exactamente, se queda, como mínimo, como máximo, en vez de, en lugar de, sino, obligatorio, todo, ni, que no, ya no, descarto, en ningún, \
    cada, nada, solo se, fuera";

/// Words that give a reason.
const REASONING: &str = "\
    because, since, otherwise, so that, due to, that's why, or else, weil, da, sonst, denn, damit, wegen, deshalb, porque, ya que, si no, para que, por eso, debido";

/// Words of somebody who thinks aloud, quotes others or declines.
const HEDGING: &str = "\
    he says, she says, they say, i'd say, overkill, er sagt, sie sagt, ich würde sagen, übertrieben, dice que, yo diría, exagerado, maybe, perhaps, probably, might, could, i guess, i think, i wonder, wondering, seems, feels like, i suppose, i assume, essentially, interesting, curious, \
    makes sense, good to know, clarifies, vielleicht, wahrscheinlich, könnte, vermutlich, ich glaube, ich denke, quizá, quizás, tal vez, podría, supongo, creo que, \
    probablemente";

/// Words of a person who tells about themselves or what they will do.
const OWN_PLANS: &str = "\
    ill do, i do it, mach ich, mache ich, lo hago yo, i'm, i was, i am, i've, i agree, i see, i noticed, i'd, i had, i hadn't, i can, i saw, i found, i tried, i'll, i will, i can draft, will do, i'd like to, let me, \
    i'm going to, i am going to, ich werde, ich schau, ich mach, voy a, lo miro";

const THANKING: &str = "thanks, thank you, danke, gracias";

/// Openings of somebody who follows an explanation.
const DISCUSSING: &str = "\
    agreed, true, sounds, perfect, that makes, makes sense, exactly, right, yeah, definitely, good point, great, nice, cool, interesting, awesome";

/// Words of an agent that asks or proposes.
const PROPOSING: &str = "\
    should i, shall i, want me to, do you want, would you like, i'd, i would, i'll, i will, i can, my plan, plan, proposal, propose, i suggest, i'm going to, \
    i am going to, i plan, let me, which one, or should, soll ich, möchtest du, willst du, ich würde, ich werde, ich kann, mein plan, mein vorschlag, vorschlag, debería, \
    quieres que, haría, voy a, puedo, propongo, mi plan, prefieres";

/// Words of an agent that tells what it did or will do.
const FIRST_PERSON: &str =
    "i, i've, i'll, i'd, i'm, my, ich, mein, meine, meinen, he, voy, mi, hice, puse";

/// Openings with which an agent takes an answer.
const ACKNOWLEDGING: &str = "\
    agreed, got it, understood, noted, ok, okay, done, right, perfect, excellent, clear, makes sense, will do, great, thanks, sure, so, \
    verstanden, alles klar, klar, gut, notiert, also, passt, entendido, de acuerdo, vale, perfecto, anotado, claro, hecho, listo, bien";

/// Announcements of something settled.
const SETTLING: &str = "\
    settled, decided, decision, amended, amending, amendment, final policy, final rule, the rule, so the rule, locked in, here's what we decided, agreed rule, \
    beschlossen, entschieden, entscheidung, festgehalten, vereinbart, also gilt, es gilt, ab jetzt gilt, regel, \
    decidido, decisión, acordado, queda así, quedamos en, quedamos, regla, la regla";

/// Announcements of a summary, which may be one of the work done.
const SUMMARIZING: &str = "\
    recap, summary, final, to summarize, to sum up, in summary, in short, so to confirm, to confirm, just to confirm, conclusion, \
    zusammenfassung, zusammengefasst, zusammenfassend, fazit, ergebnis, kurz gesagt, \
    resumen, en resumen, resumiendo, recapitulando, conclusión, para confirmar";

/// What one side said without interruption.
struct Speech {
    is_person: bool,
    text: String,
    /// True if the agent used a tool meanwhile.
    acted: bool,
    /// Programs of the agent's last command.
    programs: Vec<String>,
    first_line: usize,
    line: usize,
}

/// A message of a person with the conversation around it.
#[derive(Clone, Copy)]
struct Exchange<'a> {
    speeches: &'a [Speech],
    place: usize,
}

/// A turn of the agent that sums up.
struct Recap {
    text: String,
    place: usize,
    line: usize,
}

impl<'a> Exchange<'a> {
    fn message(&self) -> &'a Speech {
        &self.speeches[self.place]
    }

    /// Returns what the agent said before.
    fn before(&self) -> Option<&'a Speech> {
        self.place.checked_sub(1).map(|at| &self.speeches[at])
    }

    /// Returns what the agent said after it.
    fn reply(&self) -> &'a str {
        let reply = self.speeches.get(self.place + 1);
        reply.map_or("", |it| it.text.as_str())
    }

    /// Returns whether the agent worked before, or told about its own work.
    fn follows_work(&self) -> bool {
        self.before()
            .is_some_and(|it| it.acted || is_first_person(&it.text) || is_report(&it.text))
    }

    /// Returns whether the agent asked or proposed something.
    fn follows_question(&self) -> bool {
        self.before().is_some_and(|it| proposes(&it.text))
    }
}

/// Returns the decisions and corrections of a transcript.
pub(super) fn find_decisions(transcript: &Transcript) -> Vec<ExtractedClaim> {
    let speeches = collect_speeches(transcript);
    // The first message is the task.
    let places = (1..speeches.len()).filter(|at| speeches[*at].is_person);
    let exchanges: Vec<Exchange<'_>> = places
        .map(|place| Exchange {
            speeches: &speeches,
            place,
        })
        .collect();
    let recaps = find_recaps(&speeches, &exchanges);
    let mut found: Vec<ExtractedClaim> = recaps
        .iter()
        .map(|recap| recap_claim(recap, &exchanges))
        .collect();
    for exchange in exchanges {
        // A recap repeats the decision in better words; one of another subject does not.
        let message = &exchange.message().text;
        let is_repeated = |it: &Recap| it.place > exchange.place && repeats(&it.text, message);
        if recaps.iter().any(is_repeated) {
            continue;
        }
        for claim in exchange_claims(exchange) {
            if found.len() < EXTRACTED_CLAIMS_MAX && !found.iter().any(|it| it.text == claim.text) {
                found.push(claim);
            }
        }
    }
    found
}

/// Returns whether a message in the middle of a session corrects the agent or decides something.
///
/// The turns of the agent are unknown here, so the message alone must show it.
#[must_use]
pub fn message_decides(message: &str) -> bool {
    let speech = |is_person: bool, text: &str| Speech {
        is_person,
        text: text.to_owned(),
        acted: !is_person,
        programs: Vec::new(),
        first_line: 0,
        line: 0,
    };
    let speeches = [speech(false, ""), speech(true, message)];
    let exchange = Exchange {
        speeches: &speeches,
        place: 1,
    };
    !exchange_claims(exchange).is_empty()
}

/// Returns whether a message of the agent sums up what was settled. A plain summary counts only if
/// something was `decided` before.
#[must_use]
pub fn sums_up(message: &str, decided: bool) -> bool {
    find_recap(message, decided).is_some()
}

/// Joins the turns of each side.
fn collect_speeches(transcript: &Transcript) -> Vec<Speech> {
    let mut speeches: Vec<Speech> = Vec::new();
    for turn in &transcript.turns {
        let (is_person, text) = match &turn.what {
            TurnContent::Asked(text) => (true, text.as_str()),
            TurnContent::Told(text) => (false, text.as_str()),
            TurnContent::Did(_) => (false, ""),
        };
        if speeches.last().is_none_or(|it| it.is_person != is_person) {
            speeches.push(Speech {
                is_person,
                text: String::new(),
                acted: false,
                programs: Vec::new(),
                first_line: turn.line,
                line: turn.line,
            });
        }
        let Some(speech) = speeches.last_mut() else {
            continue;
        };
        if !speech.text.is_empty() && !text.is_empty() {
            speech.text.push_str("\n\n");
        }
        speech.text.push_str(text);
        speech.line = turn.line;
        if let TurnContent::Did(action) = &turn.what {
            speech.acted = true;
            if let ActionKind::Command(line) = &action.deed {
                speech.programs = corrections::programs_of(line, transcript.folder.as_deref());
            }
        }
    }
    speeches
}

/// Returns the claims of one exchange.
fn exchange_claims(exchange: Exchange<'_>) -> Vec<ExtractedClaim> {
    let speech = exchange.message();
    let message = strip_quotes(&speech.text);
    let programs = exchange.before().map_or(&[][..], |it| &it.programs);
    let taught = corrections::claims_from_message(&message, programs, speech.line);
    let mut claims: Vec<ExtractedClaim> = taught
        .into_iter()
        .filter(|it| it.is_rule || exchange.follows_work() && is_plain(&message))
        .map(|it| it.claim)
        .collect();
    let is_decided = || binds(&message) || settles(exchange, &message);
    if claims.is_empty() && is_decided() {
        let stated = stated_decision(exchange, &message);
        claims.push(decision_claim(&stated, speech.line));
    }
    for claim in &mut claims {
        claim.exchange = Some(whole_exchange(exchange, &message));
        claim.amends = announces_amendment(&message) || announces_amendment(&claim.text);
        claim.first_line = exchange
            .before()
            .map_or(speech.first_line, |it| it.first_line);
        claim.line = speech.line;
    }
    claims
}

/// Returns whether a message neither asks, hedges, discusses, nor tells about its author's plans.
fn is_plain(message: &str) -> bool {
    let words = normalize_words(message).replace(" i'd rather ", " ");
    let has = |phrases| count_phrases(&words, phrases) > 0;
    let is_short = words.split_whitespace().count() < THANKS_WORDS;
    let is_talk = is_question(&message_sentences(message))
        || has(THANKING) && is_short
        || has(HEDGING)
        || has(OWN_PLANS)
        || starts_with_phrase(&words, DISCUSSING);
    !is_talk
}

/// Returns whether a message states a rule in words that bind.
fn binds(message: &str) -> bool {
    let words = normalize_words(message);
    let is_long = words.split_whitespace().count() >= BINDING_WORDS_MIN;
    if !is_long || !is_plain(message) {
        return false;
    }
    let weight = 2 * count_phrases(&words, STRONG_RULE_WORDS) + count_phrases(&words, RULE_WORDS);
    let model = LessonModel::built_in();
    let score = model.score_message(message);
    score >= model.threshold && weight >= LESSON_WEIGHT_MIN
        || score >= 0.0 && weight >= MESSAGE_WEIGHT_MIN
}

/// Returns whether a message and the turns around it have enough evidence of a decision.
fn settles(exchange: Exchange<'_>, message: &str) -> bool {
    let restated = reply_evidence(exchange.reply());
    // "No, revert that" is short, too: only the agent's restatement tells a rule from it.
    let is_short = message.split_whitespace().count() <= ANSWER_WORDS_MAX;
    (!is_short || restated >= RESTATED_MIN) && evidence(exchange) + restated >= EVIDENCE_MIN
}

/// Returns the evidence that a message decides something.
fn evidence(exchange: Exchange<'_>) -> i32 {
    let message = strip_quotes(&exchange.message().text);
    let words = normalize_words(&message);
    let sentences = message_sentences(&message);
    let count = |phrases| count_phrases(&words, phrases);
    let asked = exchange.follows_question();
    let model = LessonModel::built_in();
    let score = model.score_message(&message);
    let asks_back = sentences.iter().any(|it| it.ends_with('?'));
    let asks_last = sentences.last().is_some_and(|it| it.ends_with('?'));
    let is_short = asked && words.split_whitespace().count() <= ANSWER_WORDS_MAX && !asks_back;
    let is_specific =
        message.contains(|c: char| c.is_ascii_digit() || matches!(c, '`' | '=' | '"'));
    [
        (is_question(&sentences) || asks_last, -3),
        (starts_with_phrase(&words, REJECTING), 2),
        (asked, 1),
        (is_short, 1),
        (count(BINDING) > 0, 1),
        (count(BINDING) > 2, 1),
        (count(REASONING) > 0, 1),
        (is_specific, 1),
        (score >= model.threshold, 1),
        (score < 0.0 && !is_short, -1),
        (count(HEDGING) > 0, -2),
        (count(HEDGING) > 1, -1),
        (count(OWN_PLANS) > 0, -2),
        (count(THANKING) > 0, -1),
        (!asked && !exchange.follows_work(), -2),
    ]
    .iter()
    .filter(|(holds, _)| *holds)
    .map(|(_, points)| points)
    .sum()
}

/// Returns the evidence of the agent's reply: it acknowledges, restates or sums up.
fn reply_evidence(reply: &str) -> i32 {
    if find_recap(reply, true).is_some() {
        return 3;
    }
    if !acknowledges(reply) {
        return 0;
    }
    1 + i32::from(count_phrases(&normalize_words(&leading_sentences(reply)), BINDING) > 0)
}

/// Returns whether at least half of a message asks.
fn is_question(sentences: &[&str]) -> bool {
    let asks = sentences.iter().filter(|it| it.ends_with('?')).count();
    asks * 2 >= sentences.len()
}

/// Returns whether a turn is as short as a report; explanations are longer.
fn is_report(text: &str) -> bool {
    text.split_whitespace().count() <= REPORT_WORDS_MAX
}

fn is_first_person(text: &str) -> bool {
    let words = normalize_words(text);
    // Spanish has the person in the verb: "configuré".
    let is_verb = |word: &str| word.ends_with('é') && word.chars().count() > 3;
    count_phrases(&words, FIRST_PERSON) > 0 || words.split_whitespace().any(is_verb)
}

/// Returns whether the agent asks or proposes something.
fn proposes(text: &str) -> bool {
    let sentences = message_sentences(text);
    let asks = |it: &&str| it.trim_end_matches(['*', '_', ' ']).ends_with('?');
    sentences.iter().rev().take(ASKING_SENTENCES).any(asks)
        || count_phrases(&normalize_words(text), PROPOSING) > 0
}

fn acknowledges(reply: &str) -> bool {
    let text = strip_quotes(reply);
    let first = message_sentences(&text).into_iter().next();
    first.is_some_and(|it| starts_with_phrase(&normalize_words(it), ACKNOWLEDGING))
}

/// Returns the turns of the agent that sum up.
fn find_recaps(speeches: &[Speech], exchanges: &[Exchange<'_>]) -> Vec<Recap> {
    let decisive = exchanges.iter().filter(|it| evidence(**it) > 0);
    let decisive: Vec<usize> = decisive.map(|it| it.place).collect();
    let mut recaps = Vec::new();
    for (place, speech) in speeches.iter().enumerate().skip(RECAP_PLACE_MIN) {
        let is_near = |it: &usize| *it < place && *it + RECAP_REACH >= place;
        let decided = decisive.iter().any(is_near);
        let recap = (!speech.is_person).then(|| find_recap(&speech.text, decided));
        if let Some(text) = recap.flatten() {
            let line = speech.line;
            recaps.push(Recap { text, place, line });
        }
    }
    recaps
}

/// Returns the part of a turn that sums up. A plain summary counts only if something was `decided`
/// before: agents also sum up their work.
fn find_recap(turn: &str, decided: bool) -> Option<String> {
    let text = strip_quotes(turn);
    let lines: Vec<&str> = text.lines().filter(|it| !it.trim().is_empty()).collect();
    lines.iter().enumerate().find_map(|(at, line)| {
        let words = normalize_words(message_sentences(line).first()?);
        let head: Vec<&str> = words.split_whitespace().take(RECAP_HEAD_WORDS).collect();
        let head = format!(" {} ", head.join(" "));
        let opens = |phrases| {
            starts_with_phrase(&words, phrases) || at == 0 && count_phrases(&head, phrases) > 0
        };
        let settles = opens(SETTLING);
        let sums_up = settles || decided && opens(SUMMARIZING);
        if !sums_up {
            return None;
        }
        let recap = lines[at..].join("\n");
        let words = normalize_words(&recap);
        let is_rule = settles || count_phrases(&words, BINDING) > 0 || recap.contains(';');
        let is_long = words.split_whitespace().count() >= RECAP_WORDS_MIN;
        (is_rule && is_long && !recap.trim_end().ends_with('?')).then_some(recap)
    })
}

/// Returns whether a recap has at least half of the content words of a message.
fn repeats(recap: &str, message: &str) -> bool {
    let said = content_words(message);
    let again = content_words(recap);
    !said.is_empty() && said.intersection(&again).count() * 2 >= said.len()
}

/// Returns the claim of a recap. It amends if it says so, or a message that it sums up does.
fn recap_claim(recap: &Recap, exchanges: &[Exchange<'_>]) -> ExtractedClaim {
    let is_near =
        |it: &&Exchange<'_>| it.place < recap.place && it.place + RECAP_REACH >= recap.place;
    let mut near = exchanges.iter().filter(is_near);
    let mut claim = decision_claim(&recap.text, recap.line);
    claim.amends =
        announces_amendment(&recap.text) || near.any(|it| announces_amendment(&it.message().text));
    claim
}

fn decision_claim(text: &str, line: usize) -> ExtractedClaim {
    let text = &text[..text.floor_char_boundary(Statement::BYTES_MAX.min(text.len()))];
    ExtractedClaim {
        found: ExtractionKind::Decision,
        kind: EntryKind::Decision,
        tags: topic::assign_tags(text, &[]),
        paths: Vec::new(),
        verify: Vec::new(),
        exchange: None,
        amends: false,
        first_line: line,
        line,
        text: text.to_owned(),
    }
}

/// Returns the decision in the best words: the agent's restatement, which names its subject, or the
/// message itself.
fn stated_decision(exchange: Exchange<'_>, message: &str) -> String {
    let restated = leading_sentences(exchange.reply());
    let binds = count_phrases(&normalize_words(&restated), BINDING) > 0;
    if acknowledges(exchange.reply()) && binds && !restated.ends_with('?') {
        restated
    } else {
        message.to_owned()
    }
}

/// Returns question, decision and restatement in a fixed form.
fn whole_exchange(exchange: Exchange<'_>, message: &str) -> String {
    let first = exchange.place.saturating_sub(BEFORE_TURNS);
    let before = exchange.speeches[first..exchange.place].iter().map(|it| {
        let label = if it.is_person { "Asked" } else { "Proposed" };
        (label, truncate(&strip_quotes(&it.text), BEFORE_CHARS))
    });
    let restated = leading_sentences(exchange.reply());
    let after = [("Decided", message.to_owned()), ("Restated", restated)];
    let parts = before.chain(after).filter(|(_, text)| !text.is_empty());
    let lines = parts.map(|(label, text)| format!("{label}: {text}"));
    let mut whole = lines.collect::<Vec<_>>().join("\n");
    whole.truncate(whole.floor_char_boundary(EXCHANGE_BYTES_MAX.min(whole.len())));
    whole
}

/// Returns the first sentences of a reply without quoted material.
fn leading_sentences(text: &str) -> String {
    let text = strip_quotes(text);
    let sentences = message_sentences(&text);
    sentences[..REPLY_SENTENCES.min(sentences.len())].join(" ")
}

/// Returns a text without code blocks, quotes, tables and differences.
fn strip_quotes(text: &str) -> String {
    let mut in_block = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") {
            in_block = !in_block;
            continue;
        }
        let is_quoted = [">", "|", "+++", "---", "@@"]
            .iter()
            .any(|it| start.starts_with(it));
        if !in_block && !is_quoted {
            kept.push(line);
        }
    }
    kept.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{TranscriptAgent, TranscriptTurn};
    use super::*;

    /// Returns the claims of a conversation that the person begins; the sides alternate.
    fn claims(turns: &[&str]) -> Vec<ExtractedClaim> {
        let turns = turns.iter().enumerate().map(|(place, text)| {
            let text = (*text).to_owned();
            let what = if place % 2 == 0 {
                TurnContent::Asked(text)
            } else {
                TurnContent::Told(text)
            };
            TranscriptTurn {
                line: place + 1,
                at: None,
                what,
            }
        });
        find_decisions(&Transcript {
            agent: TranscriptAgent::ClaudeCode,
            session: None,
            folder: None,
            turns: turns.collect(),
            lines: 0,
            skipped: 0,
        })
    }

    #[test]
    fn a_short_answer_is_kept_with_its_question() {
        let found = claims(&[
            "the upstream blocks us",
            "The window fits several attempts. How many should I allow?",
            "Seven. Eight trips it.",
            "Got it: at most 7 attempts, never 8.",
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].kind, EntryKind::Decision);
        assert_eq!(found[0].text, "Got it: at most 7 attempts, never 8.");
        assert_eq!((found[0].first_line, found[0].line), (2, 3));
        assert_eq!(
            found[0].exchange.as_deref(),
            Some(
                "Asked: the upstream blocks us\n\
                 Proposed: The window fits several attempts. How many should I allow?\n\
                 Decided: Seven. Eight trips it.\n\
                 Restated: Got it: at most 7 attempts, never 8."
            )
        );
    }

    #[test]
    fn a_recap_replaces_the_exchanges_that_it_repeats() {
        let recap = "Recap: discounts in percent are always applied before fixed amounts.";
        let found = claims(&[
            "discounts depend on their order",
            "Should I apply fixed amounts first?",
            "No, percent discounts always before fixed amounts.",
            recap,
        ]);
        let texts: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, [recap]);
    }

    #[test]
    fn a_summary_of_work_is_no_decision() {
        for summary in [
            "Summary: I renamed the helper; all 12 tests pass.",
            "Done. I added the column, and only the migration is left.",
        ] {
            let found = claims(&["rename the helper", "Looking at it.", "go on", summary]);
            assert_eq!(found, [], "{summary}");
        }
    }

    #[test]
    fn talk_that_settles_nothing_gives_no_claim() {
        for message in [
            "how does the cache decide what to evict?",
            "makes sense, maybe we should never cache that at all",
            "I'll try it on the weekend, it must always work by then",
            "he says functions must never exceed 20 lines",
            "nice, kill it",
        ] {
            let explained = "The cache keeps the newest entries in a list of 100.";
            let found = claims(&["what is this", explained, message, "Right."]);
            assert_eq!(found, [], "{message}");
            assert!(!message_decides(message), "{message}");
        }
    }

    #[test]
    fn rules_are_found_in_three_languages() {
        for message in [
            "sha everywhere, never a moving tag. a manifest with latest must fail CI",
            "Texte vom Server werden dem Kunden nie angezeigt, nur unsere eigenen aus fehler.de.json",
            "los precios salen siempre de la tabla `tarifas`, nunca del CSV, que está desactualizado",
        ] {
            assert!(message_decides(message), "{message}");
        }
    }

    #[test]
    fn an_exchange_is_bounded() {
        let long = "never log the key. ".repeat(4000);
        let found = claims(&["task", "Should I log it?", &long, "Got it."]);
        let sizes = found.iter().filter_map(|it| it.exchange.as_ref());
        assert!(sizes.clone().count() > 0);
        assert!(sizes.map(String::len).all(|it| it <= EXCHANGE_BYTES_MAX));
    }
}
