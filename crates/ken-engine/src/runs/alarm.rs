//! Alarm: mutes an entry that demonstrably hurts.
//!
//! Only what hooks, git and CI observed counts, and only in runs in which chance decided whether
//! the agent was shown the entry: no report or feedback of an agent takes part. The mute is an
//! overlay of this clone, so `ken entry mute ID --off` takes it back, and then Ken never sets it
//! again.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Overlay, Switch};
use ken_core::trust::outcome::effect::{ObservedEffect, entry_effect};
use ken_core::trust::run::Run;
use ken_core::values::actor::Actor;
use ken_core::values::text::Note;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{impact, overlays};

/// Actor that mutes entries.
const ALARM_ACTOR: &str = "agent:ken/impact";

/// An entry that Ken muted because of measured harm.
#[derive(Clone, Debug)]
pub struct HarmAlarm {
    pub entry: Entry,
    pub effect: ObservedEffect,
}

/// Mutes the entries of a closed run that demonstrably hurt.
pub(super) fn mute_harmful(engine: &mut Engine, run: &Run) -> Result<(), EngineError> {
    let drawn = run.drawn_entries();
    // Without facts or draws this run changed no evidence.
    if run.facts.is_none() || drawn.is_empty() {
        return Ok(());
    }
    // Only entries of this run can have new evidence.
    let runs = super::observed_runs(engine)?;
    for draw in drawn {
        let effect = entry_effect(&runs, draw.entry);
        let Ok(entry) = engine.entry(draw.entry) else {
            continue;
        };
        // Whoever set or removed a mute decided; chance must not overrule a person.
        let is_decided = entry.overlays.contains_key(&Overlay::Mute);
        if !effect.is_alarming() || is_decided || !entry.is_live() {
            continue;
        }
        // The note says why, because whoever finds the entry muted asks that first.
        let note = alarm_text(&effect).parse::<Note>().ok();
        // Neither the agent nor the user decided this, so it bears the name of neither.
        let by: Actor = ALARM_ACTOR.parse().expect("an agent's name");
        overlays::set(engine, entry.id, Overlay::Mute, (Switch::On, note), &by)?;
    }
    Ok(())
}

/// Returns the muted entries that demonstrably hurt.
pub(crate) fn harm_alarms(engine: &Engine) -> Result<Vec<HarmAlarm>, EngineError> {
    let mut found = Vec::new();
    for (id, effect) in impact::effect_report(engine)?.entries {
        if !effect.is_alarming() {
            continue;
        }
        let Ok(entry) = engine.entry(id) else {
            continue;
        };
        // An entry that was retracted since needs no decision any more.
        if entry.is_live() && entry.has_annotation(Overlay::Mute) {
            found.push(HarmAlarm { entry, effect });
        }
    }
    Ok(found)
}

fn alarm_text(effect: &ObservedEffect) -> String {
    let parts = effect.measures.iter().map(|it| {
        let (label, difference) = (it.measure.label(), it.difference);
        format!("{difference:+.2} {label} per session that was shown it")
    });
    let parts: Vec<String> = parts.collect();
    let (shown, withheld) = (effect.shown, effect.withheld);
    // Evidence can be strong before each arm has enough runs for an interval.
    let found = if parts.is_empty() {
        "sessions that were shown it went worse".to_owned()
    } else {
        parts.join(", ")
    };
    format!("muted by ken: {found} ({shown} with it, {withheld} without)")
}
