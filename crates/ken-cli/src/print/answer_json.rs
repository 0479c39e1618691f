//! Search results as JSON.

use ken_core::json::{SearchJson, SearchResult};

use crate::asking::QueryResults;

/// Returns search results as JSON.
pub(crate) fn answer_json(results: &QueryResults) -> SearchJson<'_> {
    let global = results.global.overlay.as_ref();
    let view = SearchJson::new(SearchResult {
        query: &results.search.query,
        served_by: results.answer.served_by.name(),
        hits: &results.answer.hits,
        withheld: &results.answer.withheld,
        page: &results.page,
        global: global.map(|it| (it.answer.hits.as_slice(), &it.page)),
    })
    .with_unrecorded(&results.unrecorded);
    match global {
        Some(it) => view.with_peers(it.sources.values(), &it.competing),
        None => view,
    }
}
