//! Input of a new entry, with the field names of Ken or of other knowledge stores.
//!
//! Every field is defined once here, for flags, `--content` and JSON lines. An unknown field is an
//! error and not ignored.

use std::collections::BTreeSet;
use std::path::Path;

use ken_core::decide::{Proposal, SCHEMA_VERSION};
use ken_core::ledger::event::Origin;
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::anchor::CodeLocation;
use ken_core::values::citation::{Citation, CitationRef, CitationSource, CitationType};
use ken_core::values::condition::Glob;
use ken_core::values::content::{Content, DecayClass, EntryScope, KindDetail, Polarity};
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::text::{Alias, Body, ClaimText, Condition, Step, Tag};
use ken_core::values::time::Timestamp;
use ken_engine::Engine;
use ken_engine::import::InboxClaim;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::filter::NormType;
use crate::args::values;
use crate::commands::add::AddArgs;
use crate::commands::query_input::resolve_anchors;
use crate::failure::CommandFailure;

/// All input fields of an entry.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EntryInput {
    kind: Option<String>,
    /// A kind, under the name that other knowledge stores use.
    r#type: Option<String>,
    #[serde(skip)]
    memory: Option<Memory>,
    #[serde(skip)]
    norm_type: Option<NormType>,
    statement: Option<String>,
    description: Option<String>,
    body: Option<Body>,
    rule: Option<String>,
    anchors: Vec<CodeLocation>,
    verify: Vec<Step>,
    #[serde(alias = "cites")]
    cite: Vec<String>,
    provenance: Vec<ProvenanceInput>,
    tags: BTreeSet<Tag>,
    depends_on: Vec<Condition>,
    applies_to: Vec<Glob>,
    lens: Option<Tag>,
    polarity: Option<Polarity>,
    decay: Option<DecayClass>,
    scope: Option<EntryScope>,
    thread: Option<Tag>,
    r#override: Option<String>,
    #[serde(alias = "alias")]
    id: Option<Alias>,
    schema_version: Option<String>,
    detail: Option<Map<String, Value>>,
    // Fields of specific kinds.
    name: Option<Value>,
    question: Option<Value>,
    answer: Option<Value>,
    confidence: Option<Value>,
    constraints: Option<Value>,
    check: Option<Value>,
    from: Option<Value>,
    rel: Option<Value>,
    to: Option<Value>,
}

/// One citation in the content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvenanceInput {
    evidence_type: CitationType,
    evidence_ref: CitationRef,
    cited_by: Option<String>,
    /// Unix time in seconds.
    cited_at: Option<u64>,
}

impl EntryInput {
    /// Parses one JSON object.
    pub(crate) fn parse(json: &str) -> Result<Self, CommandFailure> {
        serde_json::from_str(json).map_err(|error| {
            CommandFailure::json(&error).with_hint("`ken add --help` shows the names of all fields")
        })
    }

    /// Applies the flags: single values override the JSON, lists are appended to it.
    pub(super) fn apply(&mut self, args: &AddArgs) -> Result<(), CommandFailure> {
        let fields = &args.fields;
        self.memory = args.memory;
        self.norm_type = args.norm_type;
        if let Some(kind) = args.kind {
            self.kind = Some(kind.name().to_owned());
        }
        replace(&mut self.statement, fields.statement.as_ref());
        replace(&mut self.body, fields.body.as_ref());
        replace(&mut self.lens, fields.lens.as_ref());
        replace(&mut self.polarity, fields.polarity.as_ref());
        replace(&mut self.decay, fields.decay.as_ref());
        replace(&mut self.scope, args.scope.as_ref());
        replace(&mut self.thread, args.thread.as_ref());
        replace(&mut self.r#override, args.overrides.as_ref());
        replace(&mut self.id, args.alias.as_ref());
        self.anchors.extend(fields.anchor.iter().cloned());
        for step in &fields.verify {
            self.verify
                .push(step.parse().map_err(CommandFailure::usage)?);
        }
        self.tags.extend(fields.tag.iter().cloned());
        self.depends_on.extend(fields.depends_on.iter().cloned());
        self.applies_to.extend(fields.applies_to.iter().cloned());
        let cited = args.cite.iter();
        self.cite
            .extend(cited.map(|it| format!("{}:{}", it.evidence_type.name(), it.evidence_ref)));
        self.cite.extend(args.evidence.iter().cloned());
        if let Some(detail) = &fields.detail {
            let detail = serde_json::from_str(detail);
            self.detail = Some(detail.map_err(|e| CommandFailure::json(&e).at("--detail"))?);
        }
        Ok(())
    }

    /// Resolves the last `count` anchors, which were typed in the folder `start`.
    pub(crate) fn resolve_anchors(&mut self, engine: &Engine, start: &Path, count: usize) {
        let first = self.anchors.len().saturating_sub(count);
        resolve_anchors(engine, start, &mut self.anchors[first..]);
    }

    /// Sets the claim.
    pub(super) fn set_statement(&mut self, text: String) {
        self.statement = Some(text);
    }

    /// Adds the citations of inbox claims.
    pub(crate) fn cite_claims(&mut self, claims: &[InboxClaim]) {
        self.cite.extend(claims.iter().map(|it| it.cite.clone()));
    }

    /// Adds a citation.
    pub(super) fn cite_also(&mut self, cite: String) {
        self.cite.push(cite);
    }

    /// Completes an entry given as plain text: a learning that cites the current commit. A norm
    /// has no default citation: the current commit is not where it was decided.
    pub(super) fn apply_defaults(&mut self, engine: &Engine) {
        let has_kind = self.kind.is_some() || self.memory.is_some() || self.norm_type.is_some();
        if !has_kind {
            self.kind = Some(EntryKind::Learning.name().to_owned());
        }
        let kind = self.kind_wanted().ok();
        let is_norm = kind.is_some_and(|kind| kind.memory() == Memory::Procedural);
        if self.cite.is_empty() && !is_norm {
            let head = engine.head_commit();
            self.cite.extend(head.map(|hash| format!("commit:{hash}")));
        }
    }

    /// Returns the proposal of a new entry by `by`.
    pub(crate) fn proposal(self, engine: &Engine, by: &Actor) -> Result<Proposal, CommandFailure> {
        let kind = self.kind_wanted()?;
        check_schema_version(self.schema_version.as_deref())?;
        if let Some(name) = &self.id {
            check_alias(engine, name)?;
        }
        let overrides = match &self.r#override {
            Some(id) => Some(engine.find(id)?.id),
            None => None,
        };
        let scope = scope_of(self.scope)?;
        let mut content = Content::from_claim(self.text_of(kind)?);
        content.body = join_bodies(content.body, self.body.clone())?;
        content.detail = self.detail_of(kind, engine)?;
        let citations = citations(self.provenance, &self.cite, by, engine.now())?;
        content.anchors = self.anchors.into_iter().map(Into::into).collect();
        content.verify = self.verify;
        content.tags = self.tags;
        content.depends_on = self.depends_on;
        content.applies_to = self.applies_to;
        content.lens = self.lens;
        content.polarity = self.polarity;
        content.decay = self.decay.unwrap_or_default();
        Ok(Proposal {
            kind,
            content,
            citations,
            origin: Origin::from_actor(by),
            scope,
            alias: self.id,
            thread: self.thread,
            run: None,
            overrides,
            promoted_from: Vec::new(),
            copied_from: None,
            foraged: None,
        })
    }

    /// Determines the kind from the fields that can name it.
    fn kind_wanted(&self) -> Result<EntryKind, CommandFailure> {
        let named = [self.kind.as_deref(), self.r#type.as_deref()]
            .into_iter()
            .flatten();
        let mut kinds: Vec<EntryKind> = Vec::new();
        for name in named {
            kinds.push(name.parse().map_err(CommandFailure::usage)?);
        }
        kinds.extend(self.norm_type.map(NormType::kind));
        let kind = match (kinds.first(), self.memory) {
            (Some(kind), _) => *kind,
            (None, Some(Memory::Semantic)) if self.name.is_some() => EntryKind::Entity,
            (None, Some(Memory::Semantic)) => EntryKind::Learning,
            (None, Some(Memory::Procedural)) => {
                return Err(CommandFailure::usage("the kind of norm is missing")
                    .with_hint("add --norm-type commit, pr, expectation or risk"));
            }
            (None, Some(Memory::Episodic)) => {
                return Err(
                    CommandFailure::usage("`ken add` does not write episodic memory")
                        .with_hint("`ken health friction record` records friction"),
                );
            }
            (None, None) => {
                return Err(CommandFailure::usage("the kind is missing")
                    .with_hint("add --kind learning, decision, convention, …"));
            }
        };
        if let Some(other) = kinds.iter().find(|other| **other != kind) {
            return Err(CommandFailure::usage(format!(
                "conflicting kinds: {kind} and {other}"
            )));
        }
        if let Some(memory) = self.memory.filter(|memory| *memory != kind.memory()) {
            let right = kind.memory();
            return Err(CommandFailure::usage(format!(
                "a {kind} belongs to {right} memory, not {memory}"
            )));
        }
        Ok(kind)
    }

    fn text_of(&self, kind: EntryKind) -> Result<ClaimText, CommandFailure> {
        let given = [&self.statement, &self.rule, &self.description];
        let mut given = given.into_iter().flatten();
        let text = match (given.next(), &self.name) {
            (Some(text), _) => text.clone(),
            (None, Some(Value::String(name))) if kind == EntryKind::Entity => name.clone(),
            (None, _) if kind == EntryKind::Relationship => self.relation_in_words()?,
            (None, _) => {
                return Err(CommandFailure::usage("the statement is missing").with_hint(
                    "add --statement TEXT, or statement, rule or description in the JSON",
                ));
            }
        };
        if given.any(|other| *other != text) {
            return Err(
                CommandFailure::usage("statement, rule and description differ")
                    .with_hint("they name the same field; give only one of them"),
            );
        }
        text.parse().map_err(|error| {
            let is_empty = text.trim().is_empty();
            CommandFailure::usage(error).with_hint(if is_empty {
                "write what you learned in a sentence: ken add \"TEXT\""
            } else {
                "a statement is a few sentences of plain text; put details into --body"
            })
        })
    }

    fn relation_in_words(&self) -> Result<String, CommandFailure> {
        let word =
            |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        match (word(&self.from), word(&self.rel), word(&self.to)) {
            (Some(from), Some(rel), Some(to)) => Ok(format!("{from} {rel} {to}")),
            _ => Err(
                CommandFailure::usage("a relationship needs from, rel and to")
                    .with_hint(detail_hint(EntryKind::Relationship)),
            ),
        }
    }

    /// Returns the fields specific to `kind`, from `detail` and from top-level fields.
    fn detail_of(
        &self,
        kind: EntryKind,
        engine: &Engine,
    ) -> Result<Option<KindDetail>, CommandFailure> {
        let members = [
            ("name", &self.name),
            ("question", &self.question),
            ("answer", &self.answer),
            ("confidence", &self.confidence),
            ("constraints", &self.constraints),
            ("check", &self.check),
            ("from", &self.from),
            ("rel", &self.rel),
            ("to", &self.to),
        ];
        let mut detail = self.detail.clone().unwrap_or_default();
        for (key, value) in members {
            if let Some(value) = value {
                detail.insert(key.to_owned(), value.clone());
            }
        }
        if detail.is_empty() {
            return Ok(None);
        }
        if kind == EntryKind::Relationship {
            resolve_ends(&mut detail, engine)?;
        }
        let of = match kind.memory() {
            Memory::Procedural => "norm",
            Memory::Semantic | Memory::Episodic => kind.name(),
        };
        detail.entry("of").or_insert_with(|| of.into());
        let given = detail.keys().cloned().collect::<Vec<_>>().join(", ");
        let read: KindDetail = serde_json::from_value(Value::Object(detail)).map_err(|error| {
            let message = format!("invalid details for a {kind} ({given}): {error}");
            CommandFailure::usage(message).with_hint(detail_hint(kind))
        })?;
        Ok(Some(read))
    }
}

/// Joins the part of the text that is no statement with a body that was given on its own.
fn join_bodies(split: Option<Body>, given: Option<Body>) -> Result<Option<Body>, CommandFailure> {
    match (split, given) {
        (Some(split), Some(given)) => {
            let both = format!("{split}\n\n{given}").parse();
            Ok(Some(both.map_err(CommandFailure::usage)?))
        }
        (split, given) => Ok(split.or(given)),
    }
}

/// Returns the accepted details of a kind, with an example.
pub(crate) fn detail_hint(kind: EntryKind) -> String {
    match values::detail_example(kind) {
        Some(example) => format!("a {kind} takes {example}"),
        None => format!("a {kind} takes no details"),
    }
}

fn replace<T: Clone>(field: &mut Option<T>, given: Option<&T>) {
    if let Some(given) = given {
        *field = Some(given.clone());
    }
}

/// Resolves the ends of a relationship, which may be id prefixes or aliases.
fn resolve_ends(detail: &mut Map<String, Value>, engine: &Engine) -> Result<(), CommandFailure> {
    for key in ["from", "to"] {
        if let Some(Value::String(wanted)) = detail.get(key) {
            let id = engine.find(wanted)?.id;
            detail.insert(key.to_owned(), id.to_string().into());
        }
    }
    Ok(())
}

/// Returns an error for a schema version that this build does not write.
fn check_schema_version(version: Option<&str>) -> Result<(), CommandFailure> {
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    match version {
        Some(version) if major(version) != major(SCHEMA_VERSION) => Err(CommandFailure::usage(
            format!("schema_version {version} is not supported; this ken writes {SCHEMA_VERSION}"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// Returns the scope of a new entry. Global scope is refused: it requires a promotion.
fn scope_of(wanted: Option<EntryScope>) -> Result<EntryScope, CommandFailure> {
    match wanted.unwrap_or_default() {
        EntryScope::Global => Err(
            CommandFailure::usage("a new entry cannot have global scope")
                .with_hint("add it here, then run `ken entry promote ID --to global`"),
        ),
        near @ (EntryScope::Thread | EntryScope::Workspace) => Ok(near),
    }
}

/// Returns an error if another entry has the alias, which would make it ambiguous.
fn check_alias(engine: &Engine, name: &Alias) -> Result<(), CommandFailure> {
    let Ok(entry) = engine.find(name.as_str()) else {
        return Ok(());
    };
    let taken = entry
        .created
        .as_ref()
        .and_then(|created| created.alias.as_ref())
        == Some(name);
    if !taken {
        return Ok(());
    }
    let id = entry.id;
    Err(
        CommandFailure::refused("alias_taken", format!("`{name}` already names {id}")).with_hint(
            format!("`ken edit {id}` edits it, `ken entry cite {id} TYPE:REF` adds a citation"),
        ),
    )
}

fn citations(
    provenance: Vec<ProvenanceInput>,
    cite: &[String],
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<Citation>, CommandFailure> {
    let mut citations = Vec::new();
    for it in provenance {
        let source = CitationSource::new(it.evidence_type, it.evidence_ref);
        let source = source.map_err(CommandFailure::usage)?;
        citations.push(Citation {
            evidence_type: source.evidence_type,
            evidence_ref: source.evidence_ref,
            cited_by: it
                .cited_by
                .map_or(Ok(by.clone()), |name| actor(&name, by))?,
            cited_at: it.cited_at.unwrap_or_else(|| now.seconds()),
        });
    }
    for text in cite {
        let typed = if text.contains(':') {
            text.clone()
        } else {
            format!("commit:{text}")
        };
        let evidence: CitationSource = typed.parse().map_err(CommandFailure::usage)?;
        citations.push(evidence.cite(by, now));
    }
    Ok(citations)
}

/// Parses the author of a citation; a bare name is an agent, as in other knowledge stores. Only a
/// person can cite in the name of a person.
fn actor(name: &str, by: &Actor) -> Result<Actor, CommandFailure> {
    if !name.contains(':') {
        return Ok(Actor::from_claim(ActorRole::Agent, name));
    }
    let actor: Actor = name
        .parse()
        .map_err(|error| CommandFailure::usage(error).at("cited_by"))?;
    if actor.is_human() && !by.is_human() {
        let why = format!("{by} cannot cite in the name of {actor}");
        return Err(CommandFailure::usage(why).at("cited_by"));
    }
    Ok(actor)
}
