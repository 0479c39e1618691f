//! An entry as somebody hands it in, in Ken's words or those of knowledge stores.
//!
//! Every field is named once here, for flags, `--content` and JSON lines alike. A field nobody
//! knows is refused rather than dropped.

use std::collections::BTreeSet;

use ken_core::actor::{Actor, Role};
use ken_core::anchor::Target;
use ken_core::citation::{Citation, Evidence, EvidenceRef, EvidenceType};
use ken_core::content::{Content, DecayClass, Detail, Polarity, Scope};
use ken_core::decide::{Proposal, SCHEMA_VERSION};
use ken_core::event::Origin;
use ken_core::kind::{Kind, Memory};
use ken_core::text::{Alias, Condition, Statement, Step, Tag};
use ken_core::time::Timestamp;
use ken_engine::Engine;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::{AddArgs, NormType};
use crate::failure::Failure;

/// Everything an entry may be handed in with.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EntryInput {
    kind: Option<String>,
    /// A kind, as knowledge stores call it.
    r#type: Option<String>,
    #[serde(skip)]
    memory: Option<Memory>,
    #[serde(skip)]
    norm_type: Option<NormType>,
    statement: Option<String>,
    description: Option<String>,
    rule: Option<String>,
    anchors: Vec<Target>,
    verify: Vec<Step>,
    cite: Vec<String>,
    provenance: Vec<ProvenanceInput>,
    tags: BTreeSet<Tag>,
    depends_on: Vec<Condition>,
    lens: Option<Tag>,
    polarity: Option<Polarity>,
    decay: Option<DecayClass>,
    scope: Option<Scope>,
    thread: Option<Tag>,
    r#override: Option<String>,
    #[serde(alias = "alias")]
    id: Option<Alias>,
    schema_version: Option<String>,
    detail: Option<Map<String, Value>>,
    // What only some kinds have.
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

/// One citation inside the content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvenanceInput {
    evidence_type: EvidenceType,
    evidence_ref: EvidenceRef,
    cited_by: Option<String>,
    /// Seconds since 1970.
    cited_at: Option<u64>,
}

impl EntryInput {
    /// Reads one JSON object.
    pub(crate) fn parse(json: &str) -> Result<Self, Failure> {
        serde_json::from_str(json).map_err(|error| {
            Failure::json(&error).with_hint("`ken add --help` shows the names of all fields")
        })
    }

    /// Adds what was given as flags: single values win over the JSON, lists are added to it.
    pub(super) fn apply(&mut self, args: &AddArgs) -> Result<(), Failure> {
        let wording = &args.wording;
        self.memory = args.memory;
        self.norm_type = args.norm_type;
        if let Some(kind) = args.kind {
            self.kind = Some(kind.name().to_owned());
        }
        replace(&mut self.statement, wording.statement.as_ref());
        replace(&mut self.lens, wording.lens.as_ref());
        replace(&mut self.polarity, wording.polarity.as_ref());
        replace(&mut self.decay, wording.decay.as_ref());
        replace(&mut self.scope, args.scope.as_ref());
        replace(&mut self.thread, args.thread.as_ref());
        replace(&mut self.r#override, args.overrides.as_ref());
        replace(&mut self.id, args.alias.as_ref());
        self.anchors.extend(wording.anchor.iter().cloned());
        for step in &wording.verify {
            self.verify.push(step.parse().map_err(Failure::usage)?);
        }
        self.tags.extend(wording.tag.iter().cloned());
        self.depends_on.extend(wording.depends_on.iter().cloned());
        let cited = args.cite.iter();
        self.cite
            .extend(cited.map(|it| format!("{}:{}", it.evidence_type.name(), it.evidence_ref)));
        self.cite.extend(args.evidence.iter().cloned());
        if let Some(detail) = &wording.detail {
            let detail = serde_json::from_str(detail);
            self.detail = Some(detail.map_err(|e| Failure::json(&e).at("--detail"))?);
        }
        Ok(())
    }

    /// Makes a proposal by `by`.
    pub(crate) fn proposal(self, engine: &Engine, by: &Actor) -> Result<Proposal, Failure> {
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
        let mut content = Content::new(self.statement_of(kind)?);
        content.detail = self.detail_of(kind, engine)?;
        let citations = citations(self.provenance, &self.cite, by, engine.now())?;
        content.evidence = self.anchors.into_iter().map(Into::into).collect();
        content.verify = self.verify;
        content.tags = self.tags;
        content.depends_on = self.depends_on;
        content.lens = self.lens;
        content.polarity = self.polarity;
        content.decay = self.decay.unwrap_or_default();
        Ok(Proposal {
            kind,
            content,
            citations,
            origin: Origin::of(by),
            scope,
            alias: self.id,
            thread: self.thread,
            run: None,
            overrides,
            promoted_from: Vec::new(),
            copied_from: None,
        })
    }

    /// Settles the kind from everything that may name it.
    fn kind_wanted(&self) -> Result<Kind, Failure> {
        let named = [self.kind.as_deref(), self.r#type.as_deref()]
            .into_iter()
            .flatten();
        let mut kinds: Vec<Kind> = Vec::new();
        for name in named {
            kinds.push(name.parse().map_err(Failure::usage)?);
        }
        kinds.extend(self.norm_type.map(NormType::kind));
        let kind = match (kinds.first(), self.memory) {
            (Some(kind), _) => *kind,
            (None, Some(Memory::Semantic)) if self.name.is_some() => Kind::Entity,
            (None, Some(Memory::Semantic)) => Kind::Learning,
            (None, Some(Memory::Procedural)) => {
                return Err(Failure::usage("which norm is it?")
                    .with_hint("add --norm-type commit, pr, expectation or risk"));
            }
            (None, Some(Memory::Episodic)) => {
                return Err(Failure::usage("episodic memory is not written by `add`")
                    .with_hint("`ken friction record` writes it"));
            }
            (None, None) => {
                return Err(Failure::usage("the kind is missing")
                    .with_hint("add --kind learning, decision, convention, …"));
            }
        };
        if let Some(other) = kinds.iter().find(|other| **other != kind) {
            return Err(Failure::usage(format!(
                "it is called both {kind} and {other}"
            )));
        }
        if let Some(memory) = self.memory.filter(|memory| *memory != kind.memory()) {
            let right = kind.memory();
            return Err(Failure::usage(format!(
                "a {kind} belongs to {right} memory, not {memory}"
            )));
        }
        Ok(kind)
    }

    fn statement_of(&self, kind: Kind) -> Result<Statement, Failure> {
        let given = [&self.statement, &self.rule, &self.description];
        let mut given = given.into_iter().flatten();
        let text = match (given.next(), &self.name) {
            (Some(text), _) => text.clone(),
            (None, Some(Value::String(name))) if kind == Kind::Entity => name.clone(),
            (None, _) if kind == Kind::Relationship => self.relation_in_words()?,
            (None, _) => {
                return Err(Failure::usage("the statement is missing").with_hint(
                    "add --statement TEXT, or statement, rule or description in the JSON",
                ));
            }
        };
        if given.any(|other| *other != text) {
            return Err(
                Failure::usage("statement, rule and description say different things")
                    .with_hint("they are one field: give one of them"),
            );
        }
        text.parse().map_err(|error| {
            Failure::usage(error)
                .with_hint("say it in one to three sentences, details belong into a cited document")
        })
    }

    fn relation_in_words(&self) -> Result<String, Failure> {
        let word =
            |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        match (word(&self.from), word(&self.rel), word(&self.to)) {
            (Some(from), Some(rel), Some(to)) => Ok(format!("{from} {rel} {to}")),
            _ => Err(Failure::usage("a relationship needs from, rel and to")),
        }
    }

    /// Gathers what only `kind` has, from `detail` and from members of its own.
    fn detail_of(&self, kind: Kind, engine: &Engine) -> Result<Option<Detail>, Failure> {
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
        if kind == Kind::Relationship {
            resolve_ends(&mut detail, engine)?;
        }
        let of = match kind.memory() {
            Memory::Procedural => "norm",
            Memory::Semantic | Memory::Episodic => kind.name(),
        };
        detail.entry("of").or_insert_with(|| of.into());
        let given = detail.keys().cloned().collect::<Vec<_>>().join(", ");
        let read: Detail = serde_json::from_value(Value::Object(detail)).map_err(|error| {
            Failure::usage(format!(
                "a {kind} cannot hold these details ({given}): {error}"
            ))
        })?;
        Ok(Some(read))
    }
}

fn replace<T: Clone>(field: &mut Option<T>, given: Option<&T>) {
    if let Some(given) = given {
        *field = Some(given.clone());
    }
}

/// The ends of a relationship may be named by any beginning of an id, or by alias.
fn resolve_ends(detail: &mut Map<String, Value>, engine: &Engine) -> Result<(), Failure> {
    for key in ["from", "to"] {
        if let Some(Value::String(wanted)) = detail.get(key) {
            let id = engine.find(wanted)?.id;
            detail.insert(key.to_owned(), id.to_string().into());
        }
    }
    Ok(())
}

/// Refuses content of a schema this build does not write.
fn check_schema_version(version: Option<&str>) -> Result<(), Failure> {
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    match version {
        Some(version) if major(version) != major(SCHEMA_VERSION) => Err(Failure::usage(format!(
            "schema_version {version} cannot be written; this ken writes {SCHEMA_VERSION}"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Returns how far a new entry reaches: nothing is everybody's before it has proven itself here.
fn scope_of(wanted: Option<Scope>) -> Result<Scope, Failure> {
    match wanted.unwrap_or_default() {
        Scope::Global => Err(Failure::usage("a new entry is not global")
            .with_hint("add it here; `ken promote ID --to global` copies it later")),
        near @ (Scope::Thread | Scope::Workspace) => Ok(near),
    }
}

/// Refuses a name another entry has: it would find neither.
fn check_alias(engine: &Engine, name: &Alias) -> Result<(), Failure> {
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
        Failure::refused("alias_taken", format!("`{name}` already names {id}")).with_hint(format!(
            "`ken revise {id}` words it anew, `ken cite {id}` adds evidence"
        )),
    )
}

fn citations(
    provenance: Vec<ProvenanceInput>,
    cite: &[String],
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<Citation>, Failure> {
    let mut citations = Vec::new();
    for it in provenance {
        citations.push(Citation {
            evidence_type: it.evidence_type,
            evidence_ref: it.evidence_ref,
            cited_by: it.cited_by.map_or(Ok(by.clone()), |name| actor(&name))?,
            cited_at: it.cited_at.unwrap_or_else(|| now.seconds()),
        });
    }
    for text in cite {
        let typed = if text.contains(':') {
            text.clone()
        } else {
            format!("commit:{text}")
        };
        let evidence: Evidence = typed.parse().map_err(Failure::usage)?;
        citations.push(evidence.cite(by, now));
    }
    Ok(citations)
}

/// Reads who cited; a bare name is an agent's, as knowledge stores write it.
fn actor(name: &str) -> Result<Actor, Failure> {
    if name.contains(':') {
        return name
            .parse()
            .map_err(|error| Failure::usage(error).at("cited_by"));
    }
    Ok(Actor::from_claim(Role::Agent, name))
}
