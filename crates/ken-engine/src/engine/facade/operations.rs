//! Methods on the installation: health, maintenance, guard, model, remotes and sync.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ken_core::health::HealthFacts;
use ken_core::health::drift::DriftFinding;
use ken_core::health::maintenance::{MaintenancePolicy, MaintenanceService};
use ken_core::health::thresholds::HealthThresholds;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{BlankReason, DomainAction, Switch};
use ken_core::ledger::source::ContributionSource;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::person::PersonId;
use ken_core::values::text::Note;
use ken_ledger::check::LedgerCheck;
use ken_ledger::recover::{RecoverScope, RecoveryReport};
use ken_ledger::replace::ReplaceReport;

use crate::conversations::ConversationHome;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::forage::{
    DomainStatus, ForageLogLine, ForageOutcome, ForageQuestion, ForageRecord, ForageReport,
    ForageRequest, ForageSetup, ForageStatus,
};
use crate::guard::{QuarantinedEntry, RescanFinding};
use crate::health::{HealthDay, HealthReport, HealthReview};
use crate::ledger_maintenance::DoctorCheck;
use crate::live::LiveState;
use crate::maintenance::{MaintenanceStatus, ServiceOutcome, ServicePreview};
use crate::model::{Backend, ModelDownload, ModelEndpoint, ModelReport};
use crate::people::{ForgetPlan, ForgetReport, ListedPerson, PersonExport, PersonRecord};
use crate::remote::{
    HubAddress, HubClient, HubToken, ProgressCallback, PullReport, PushReport, PushSelection,
    Remote, RemoteName, RemoteStatus, TokenSource,
};
use crate::runs::BlastRadius;
use crate::sync::{BulkDeletion, SyncOutcome};
use crate::{
    drift, forage, guard, health, ledger_maintenance, live, maintenance, model, people, remote,
    runs, sync,
};

impl Engine {
    /// Returns memories that are stale, bloated, contradictory or orphaned.
    pub fn drift(&mut self) -> Result<Vec<DriftFinding>, EngineError> {
        drift::drift(self)
    }

    /// Reads the configured sources and returns the best passages for a question.
    pub fn find_passages(
        &mut self,
        setup: &ForageSetup,
        question: &ForageQuestion,
    ) -> Result<ForageReport, EngineError> {
        forage::find(
            self,
            setup,
            question,
            #[cfg(feature = "http")]
            None,
        )
    }

    /// Like [`Self::find_passages`], with a gateway of the caller.
    #[cfg(feature = "http")]
    pub fn find_passages_through(
        &mut self,
        gateway: &mut ken_fetch::FetchGateway,
        setup: &ForageSetup,
        question: &ForageQuestion,
    ) -> Result<ForageReport, EngineError> {
        forage::find(self, setup, question, Some(gateway))
    }

    /// Proposes the findings of a question as entries, within the budgets, and records the
    /// request.
    pub fn admit_passages(
        &mut self,
        setup: &ForageSetup,
        question: &ForageQuestion,
        report: &ForageReport,
        by: &Actor,
    ) -> Result<ForageOutcome, EngineError> {
        forage::admit(self, setup, question, report, by)
    }

    /// Returns the gaps that the forager can look into: searches with a weak answer, then signals
    /// of the health report.
    pub fn forage_requests(&mut self) -> Result<Vec<ForageRequest>, EngineError> {
        forage::forage_requests(self)
    }

    /// Returns the words of a question that a search service would be sent; `None` if it would not
    /// be asked.
    pub fn search_service_query(
        &self,
        setup: &ForageSetup,
        question: &str,
    ) -> Result<Option<String>, EngineError> {
        forage::search_service_query(self, setup, question)
    }

    /// Records a person's trust in a domain and every host below it, or resets it.
    pub fn override_domain(
        &mut self,
        domain: &str,
        action: DomainAction,
        by: &Actor,
    ) -> Result<(), EngineError> {
        forage::override_domain(self, domain, action, by)
    }

    /// Returns what this workspace says about domains.
    pub fn domain_statuses(&self) -> Result<Vec<DomainStatus>, EngineError> {
        forage::domain_statuses(self)
    }

    /// Returns the numbers of the forager.
    pub fn forage_status(&self) -> Result<ForageStatus, EngineError> {
        forage::forage_status(self)
    }

    /// Returns what the forager read today, and what was refused.
    pub fn forage_log(&self) -> Result<Vec<ForageLogLine>, EngineError> {
        forage::forage_log(self)
    }

    /// Returns the last `limit` questions that entries were proposed for, newest first.
    pub fn forage_records(&self, limit: usize) -> Result<Vec<ForageRecord>, EngineError> {
        forage::forage_records(self, limit)
    }

    /// Scans every event and ignores its recorded scan result, which is only the writer's claim.
    pub fn rescan(&self) -> Result<Vec<RescanFinding>, EngineError> {
        guard::rescan::rescan(self)
    }

    /// Revokes a source, or ends its revocation, with a single event. Returns the number of its
    /// entries.
    pub fn revoke(
        &mut self,
        source: &ContributionSource,
        state: Switch,
        by: &Actor,
    ) -> Result<usize, EngineError> {
        guard::sources::revoke(self, source, state, by)
    }

    /// Returns how far the entries of a source have spread.
    pub fn blast_radius(&self, source: &ContributionSource) -> Result<BlastRadius, EngineError> {
        runs::blame::blast_radius(self, source)
    }

    /// Quarantines an entry until a person releases it.
    pub fn quarantine(
        &mut self,
        id: EntryId,
        reason: &Note,
        by: &Actor,
    ) -> Result<Entry, EngineError> {
        guard::sources::quarantine(self, id, reason, by)
    }

    /// Quarantines every entry that the change since `base` adds or touches. Returns their ids.
    pub fn quarantine_change(
        &mut self,
        base: &str,
        reason: &Note,
        by: &Actor,
    ) -> Result<Vec<EntryId>, EngineError> {
        guard::sources::quarantine_change(self, base, reason, by)
    }

    /// Returns every quarantined entry with the reason.
    pub fn quarantined_entries(&self) -> Result<Vec<QuarantinedEntry>, EngineError> {
        guard::sources::quarantined_entries(self)
    }

    /// Returns the entry with the reason if it exists and is quarantined.
    pub fn quarantined_entry(&self, id: EntryId) -> Result<Option<QuarantinedEntry>, EngineError> {
        guard::sources::quarantined_entry(self, id)
    }

    /// Gathers all facts for the rules. Reads no code and loads no model.
    pub fn health_facts(&mut self) -> Result<HealthFacts, EngineError> {
        health::health_facts(self)
    }

    /// Computes the health report and stores it on this machine.
    pub fn health_report(&mut self) -> Result<HealthReport, EngineError> {
        health::report::health_report(self)
    }

    /// Returns the counts of each day with a report, oldest first.
    pub fn health_days(&self) -> Result<Vec<HealthDay>, EngineError> {
        health::days::health_days(self)
    }

    /// Counts problems. Writes a proposal if a threshold is reached, else deletes an old one.
    pub fn health_review(
        &mut self,
        thresholds: &HealthThresholds,
    ) -> Result<HealthReview, EngineError> {
        health::review::health_review(self, thresholds)
    }

    /// Returns metadata that differs if entries, open runs or one of the `watched` files changed.
    pub fn live_state(&self, watched: &BTreeSet<String>) -> Result<LiveState, EngineError> {
        live::live_state(self, watched)
    }

    /// Packs committed segments; in a git repository, in a commit of its own.
    pub fn pack(&mut self) -> Result<ReplaceReport, EngineError> {
        ledger_maintenance::pack(self)
    }

    /// Redacts an event: removes its data from segments, journal, index and entry files.
    pub fn redact(
        &mut self,
        event: &str,
        reason: BlankReason,
        by: &Actor,
    ) -> Result<ReplaceReport, EngineError> {
        ledger_maintenance::redact(self, event, reason, by)
    }

    /// Returns the people of the repository, or an empty list if events contain names.
    pub fn people(&self) -> Result<Vec<ListedPerson>, EngineError> {
        people::list_people(self)
    }

    /// Returns the name of a listed person whom an event names by id.
    pub fn person_name(&self, actor: &Actor) -> Option<String> {
        self.people.name_of(actor)
    }

    /// Lists a person under a new id, or adds names to a listed one.
    pub fn add_person(
        &mut self,
        record: PersonRecord,
        id: Option<PersonId>,
    ) -> Result<ListedPerson, EngineError> {
        people::add_person(self, record, id)
    }

    /// Collects everything by or about a person: events of this branch, local notes, names.
    pub fn export_person(&self, wanted: &str) -> Result<PersonExport, EngineError> {
        people::export_person(self, wanted)
    }

    /// Finds what forgetting a person would delete, and what would stay.
    pub fn plan_forgetting(
        &self,
        wanted: &str,
        also: &[String],
    ) -> Result<ForgetPlan, EngineError> {
        people::plan_forgetting(self, wanted, also)
    }

    /// Deletes a person's names: the list, texts that mention them, local notes.
    pub fn forget_person(
        &mut self,
        wanted: &str,
        also: &[String],
        conversations: Option<&ConversationHome>,
        by: &Actor,
    ) -> Result<ForgetReport, EngineError> {
        people::forget_person(self, wanted, also, conversations, by)
    }

    /// Recovers events lost in a reset, a clean or with a removed worktree.
    pub fn recover(&mut self, scope: RecoverScope) -> Result<RecoveryReport, EngineError> {
        ledger_maintenance::recover(self, scope)
    }

    /// Verifies every line of every segment and pack.
    pub fn check_ledger(&self) -> Result<LedgerCheck, EngineError> {
        ledger_maintenance::check_ledger(self)
    }

    /// Returns the lines of a segment or pack as text.
    pub fn segment_text(&self, path: &str) -> Result<String, EngineError> {
        ledger_maintenance::segment_text(self, path)
    }

    /// Checks the installation for `ken doctor`.
    pub fn doctor(&mut self) -> Result<Vec<DoctorCheck>, EngineError> {
        ledger_maintenance::doctor(self)
    }

    /// Returns the status of maintenance.
    pub fn maintenance_status(&self) -> Result<MaintenanceStatus, EngineError> {
        maintenance::maintenance_status(self)
    }

    /// Returns the policy of this workspace; the default if it is absent or invalid.
    pub fn maintenance_policy(&self) -> Result<MaintenancePolicy, EngineError> {
        maintenance::maintenance_policy(self)
    }

    /// Sets the policy of this workspace; `None` restores the default. Requires a person.
    pub fn set_maintenance_policy(
        &mut self,
        policy: Option<&MaintenancePolicy>,
        by: &Actor,
    ) -> Result<MaintenancePolicy, EngineError> {
        maintenance::set_maintenance_policy(self, policy, by)
    }

    /// Runs a service on request, due or not, without a limit of changes. At most `listed` of the
    /// decisions left to a person are in the outcome.
    pub fn maintain(
        &mut self,
        service: MaintenanceService,
        listed: usize,
        by: &Actor,
    ) -> Result<ServiceOutcome, EngineError> {
        maintenance::maintain(self, service, listed, by)
    }

    /// Returns what [`Self::maintain`] would do now, without writing anything. At most `listed`
    /// changes and decisions are described.
    pub fn maintenance_preview(
        &mut self,
        service: MaintenanceService,
        listed: usize,
        by: &Actor,
    ) -> Result<ServicePreview, EngineError> {
        maintenance::maintenance_preview(self, service, listed, by)
    }

    /// Returns the configuration of the model and the state of its vectors.
    pub fn model_report(&mut self) -> Result<ModelReport, EngineError> {
        model::model_report(self)
    }

    /// Selects a backend whose model is built in or was added.
    pub fn select_model(&mut self, rung: Backend) -> Result<(), EngineError> {
        model::selection::select_model(self, rung)
    }

    /// Selects the sentence transformer in `folder`, which is not copied.
    pub fn add_model_folder(&mut self, folder: &Path) -> Result<(), EngineError> {
        model::selection::add_model_folder(self, folder)
    }

    /// Selects a model behind an endpoint, after requesting its dimension.
    pub fn add_model_endpoint(&mut self, endpoint: &ModelEndpoint) -> Result<(), EngineError> {
        model::selection::add_model_endpoint(self, endpoint)
    }

    /// Downloads a model unless it is cached; returns its folder.
    pub fn fetch_model(
        &self,
        wanted: &ModelDownload,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<PathBuf, EngineError> {
        model::selection::fetch_model(self, wanted, progress)
    }

    /// Removes every added model; the built-in model becomes active.
    pub fn remove_models(&mut self) -> Result<(), EngineError> {
        model::selection::remove_models(self)
    }

    /// Returns the recorded state of a remote without a request to the hub.
    pub fn remote_status(&self, remote: &Remote) -> Result<RemoteStatus, EngineError> {
        remote::remote_status(self, remote)
    }

    /// Returns the remotes of this clone, by name.
    pub fn remotes(&self) -> Result<Vec<Remote>, EngineError> {
        remote::file::remotes(self)
    }

    /// Returns the remote called `name`; without a name, the only one or the default one.
    pub fn remote(&self, name: Option<&str>) -> Result<Remote, EngineError> {
        remote::file::remote(self, name)
    }

    /// Adds a remote, or replaces the token of an existing one at the same address.
    pub fn add_remote(
        &mut self,
        name: &RemoteName,
        address: &HubAddress,
        token: &TokenSource,
    ) -> Result<Remote, EngineError> {
        remote::file::add_remote(self, name, address, token)
    }

    /// Removes a remote, its token and its recorded state. The hub is not contacted.
    pub fn remove_remote(&mut self, name: &RemoteName) -> Result<(), EngineError> {
        remote::file::remove_remote(self, name)
    }

    /// Returns the stored token of a remote, or `None` if the caller must supply it.
    pub fn remote_token(&self, remote: &Remote) -> Result<Option<HubToken>, EngineError> {
        remote::file::remote_token(self, remote)
    }

    /// Pulls every event this clone lacks.
    pub fn pull_events(
        &mut self,
        remote: &Remote,
        hub: &mut dyn HubClient,
        progress: ProgressCallback<'_>,
    ) -> Result<PullReport, EngineError> {
        remote::pull::pull_events(self, remote, hub, progress)
    }

    /// Sends the hub every event of this work tree that it is not known to have.
    pub fn push_events(
        &mut self,
        remote: &Remote,
        hub: &mut dyn HubClient,
        again: PushSelection,
        progress: ProgressCallback<'_>,
    ) -> Result<PushReport, EngineError> {
        remote::push::push_events(self, remote, hub, again, progress)
    }

    /// Turns edits of entry files into events, redacts copies that came back, follows moved code
    /// and renders stale files.
    pub fn sync(&mut self, bulk: BulkDeletion) -> Result<SyncOutcome, EngineError> {
        sync::sync(self, bulk)
    }

    /// Adds a notice if entry files have edits that are not events yet. Writes nothing.
    pub fn note_unrecorded_edits(&mut self) {
        sync::pending::note_unrecorded_edits(self);
    }
}
