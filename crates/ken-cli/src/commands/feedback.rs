//! `ken feedback`: whether an entry helped.

use ken_core::event::Feedback;

use super::Session;
use crate::args::FeedbackArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: &FeedbackArgs) -> Result<Exit, Failure> {
    let verdict = match args.helpful {
        true => Feedback::Helpful,
        false => Feedback::Unhelpful,
    };
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.feedback(id, verdict, by)?)
    })?;
    session.written(
        &entry,
        "noted; it counts for how far the entry helps, not for its truth",
    )
}
