//! The audit log as a page, and its export.

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use ken_ui::action::FormFields;
use ken_ui::hub::{AuditFilterText, AuditLine, AuditView, audit_page};

use super::session::PageSession;
use super::start::query_fields;
use crate::api::AppState;
use crate::api::audit::{AuditLineResponse, AuditQuery, load_audit};
use crate::api::caller::{AtLeastAdmin, RequireRole, resolve_workspace};
use crate::api::page::ListPage;
use crate::api::problem::{Kind, Problem};
use crate::database::audit::{AuditAction, AuditRecord};

/// Records per page.
const RECORDS_PER_PAGE: u32 = 100;

/// Records per query of an export.
const EXPORT_PAGE: u32 = 1_000;

/// Maximum characters of the query that the record of an export names.
const EXPORT_QUERY_CHARS_MAX: usize = 256;

/// Columns of the export.
// Fixed, so that a spreadsheet made from an older export still fits.
const COLUMNS: [&str; 13] = [
    "id",
    "at",
    "by",
    "role",
    "act",
    "subject",
    "outcome",
    "token",
    "address",
    "event_count",
    "authors",
    "entries",
    "events",
];

fn read_filter(fields: &FormFields) -> AuditFilterText {
    let text = |name| fields.text(name).unwrap_or_default().to_owned();
    AuditFilterText {
        workspace: text("workspace"),
        by: text("by"),
        act: text("act"),
        outcome: text("outcome"),
        since: text("since"),
        until: text("until"),
        token: text("token"),
        entry: text("entry"),
    }
}

async fn load(
    app: &AppState,
    access: &RequireRole<AtLeastAdmin>,
    filter: &AuditFilterText,
    (after, limit): (Option<String>, u32),
) -> Result<ListPage<AuditRecord>, Problem> {
    // An empty field of the form means no filter, not a filter for empty text.
    let set = |text: &String| Some(text.clone()).filter(|it| !it.is_empty());
    let query = AuditQuery {
        after,
        limit,
        by: set(&filter.by),
        act: set(&filter.act),
        outcome: set(&filter.outcome),
        since: set(&filter.since),
        until: set(&filter.until),
        token: set(&filter.token),
        event: None,
        entry: set(&filter.entry),
    };
    let workspace = match set(&filter.workspace) {
        // Resolved with the caller's rights: the name of a workspace that they cannot see is not
        // found.
        Some(named) => Some(resolve_workspace(app, &access.caller, &named).await?),
        None => None,
    };
    load_audit(app, &access.caller, workspace, &query).await
}

/// Shows a page of the audit log.
pub(super) async fn show(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let fields = query_fields(query);
    let filter = read_filter(&fields);
    let after = fields.text("after").map(str::to_owned);
    let page = load(&app, &access, &filter, (after, RECORDS_PER_PAGE)).await?;
    let view = AuditView {
        filter,
        next: page.next,
        lines: page.items.into_iter().map(line).collect(),
    };
    Ok(audit_page(&view).respond(&session.frame(), &headers, StatusCode::OK))
}

fn line(record: AuditRecord) -> AuditLine {
    AuditLine {
        at: record.at,
        by: record.by,
        role: record.role,
        act: record.act,
        subject: record.subject,
        outcome: record.outcome,
        address: record.address,
        token: record.token.map(|it| it.to_string()),
        events: record.event_count,
        authors: record.authors,
        entries: record.entries,
    }
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuditExportFormat {
    Csv,
    JsonLines,
}

/// An export under way. Records are loaded and sent page by page, so an export has no limit and
/// takes little memory.
struct AuditExport {
    app: AppState,
    access: RequireRole<AtLeastAdmin>,
    filter: AuditFilterText,
    format: AuditExportFormat,
    /// The next page; `None` if there is none.
    page: Option<ListPage<AuditRecord>>,
}

impl AuditExport {
    /// Returns the text of the next page; `None` at the end.
    async fn next(&mut self) -> Result<Option<String>, Problem> {
        let Some(page) = self.page.take() else {
            return Ok(None);
        };
        let lines = page.items.into_iter().map(|record| {
            let json = serde_json::to_value(AuditLineResponse::from_record(record));
            let json = json.expect("a record serializes to JSON");
            match self.format {
                AuditExportFormat::Csv => csv_line(&json),
                AuditExportFormat::JsonLines => format!("{json}\n"),
            }
        });
        let text = lines.collect();
        if page.next.is_some() {
            let start = (page.next, EXPORT_PAGE);
            self.page = Some(load(&self.app, &self.access, &self.filter, start).await?);
        }
        Ok(Some(text))
    }
}

/// Exports the records that match as CSV or as JSON lines.
///
/// If the database fails on the way, the transfer is aborted: a file that ends is complete.
pub(super) async fn export(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let fields = query_fields(query.clone());
    let format = match fields.text("format") {
        Some("csv") | None => AuditExportFormat::Csv,
        Some("jsonl") => AuditExportFormat::JsonLines,
        Some(_) => {
            let detail = "`format` must be csv or jsonl";
            return Err(Problem::new(Kind::Malformed, detail));
        }
    };
    let filter = read_filter(&fields);
    let first = load(&app, &access, &filter, (None, EXPORT_PAGE)).await?;
    let caller = &access.caller;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let what: String = query.unwrap_or_default();
    let what: String = what.chars().take(EXPORT_QUERY_CHARS_MAX).collect();
    tx.audit(caller, AuditAction::AuditExported, what).await?;
    tx.commit().await?;
    let (head, media_type, name) = match format {
        AuditExportFormat::Csv => (
            COLUMNS.join(",") + "\r\n",
            "text/csv; charset=utf-8",
            "attachment; filename=\"audit.csv\"",
        ),
        AuditExportFormat::JsonLines => (
            String::new(),
            "application/jsonl",
            "attachment; filename=\"audit.jsonl\"",
        ),
    };
    let export = AuditExport {
        app,
        access,
        filter,
        format,
        page: Some(first),
    };
    let pages = stream::try_unfold(export, |mut export| async move {
        let text = export.next().await.map_err(|problem| {
            tracing::warn!(
                detail = problem.detail(),
                "an export of the audit log failed"
            );
            std::io::Error::other("the export failed")
        })?;
        Ok::<_, std::io::Error>(text.map(|text| (text, export)))
    });
    let head = stream::once(std::future::ready(Ok::<_, std::io::Error>(head)));
    let mut response = Response::new(Body::from_stream(head.chain(pages)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(name));
    Ok(response)
}

fn csv_line(record: &serde_json::Value) -> String {
    let cells = COLUMNS.map(|column| match &record[column] {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => csv_cell(text),
        serde_json::Value::Array(all) => {
            let texts: Vec<&str> = all.iter().filter_map(serde_json::Value::as_str).collect();
            csv_cell(&texts.join(" "))
        }
        other @ (serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Object(_)) => other.to_string(),
    });
    cells.join(",") + "\r\n"
}

/// Returns a quoted cell. A text that a spreadsheet would run as a formula gets an apostrophe.
fn csv_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if is_formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_run_no_formula() {
        for (text, cell) in [
            ("plain", "\"plain\""),
            ("a \"b\", c", "\"a \"\"b\"\", c\""),
            ("=HYPERLINK(1)", "\"'=HYPERLINK(1)\""),
            ("@x", "\"'@x\""),
        ] {
            assert_eq!(csv_cell(text), cell);
        }
    }
}
