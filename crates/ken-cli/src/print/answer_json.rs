//! What a search found as one object for programs.

use ken_core::object::{AnswerObject, Answered};

use crate::asking::Found;

/// Returns what was found as programs read it.
pub(crate) fn answer_object(found: &Found) -> AnswerObject<'_> {
    let global = found.global.overlay.as_ref();
    AnswerObject::new(Answered {
        query: &found.search.query,
        served_by: found.answer.served_by.name(),
        hits: &found.answer.hits,
        withheld: &found.answer.withheld,
        page: &found.page,
        global: global.map(|it| (it.answer.hits.as_slice(), &it.page)),
    })
}
