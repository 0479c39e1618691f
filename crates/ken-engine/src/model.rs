//! Which model helps a search here: a choice of this machine, never of the repository.
//!
//! The choice lies in the state git keeps for itself, so nothing that is pulled or checked out can make
//! Ken read a folder or send text to an endpoint; a copy of
//! somebody's `.git` is another clone, whose choices are not believed. Outside git that state lies in the folder and travels with it: only what is built in can be
//! chosen there.
//!
//! A chosen model that is not to be had never breaks a search: something else serves, and says so. What
//! serves keeps the vectors that were paid for with time or money.

mod choose;
mod error;
mod file;

use std::sync::Arc;

use ken_index::{Choice, Embedder, Held, IndexError, Vector};

use crate::engine::Engine;
use crate::error::Error;
use crate::notice::Notice;
use file::ModelFile;

pub use choose::{Endpoint, Fetch};
pub use error::ModelError;
pub use ken_index::Rung;

/// What serves a search.
#[derive(Debug)]
pub struct Serving {
    rung: Rung,
    embedder: Option<Box<dyn Embedder>>,
    vectors: Vectors,
    /// Why it is not what was chosen.
    trouble: Option<String>,
}

/// What becomes of the vectors the index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vectors {
    /// They are of the model that serves, or are made anew.
    Served,
    /// They are of a model that is not to be had now.
    Kept,
}

/// What is known about the model here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was chosen, as its file spells it.
    pub chosen: String,
    pub served_by: Rung,
    /// Why that is not the same.
    pub trouble: Option<String>,
    /// The id of the model that serves.
    pub id: Option<String>,
    pub dimension: Option<usize>,
    /// The folder of the transformer that was added, if one was.
    pub folder: Option<String>,
    /// The endpoint that was added, and the name of the model there.
    pub endpoint: Option<(String, String)>,
    /// Live entries.
    pub entries: u64,
    /// Entries whose vectors the next search has to make.
    pub waiting: u64,
}

impl Serving {
    fn of(rung: Rung, embedder: Option<Box<dyn Embedder>>) -> Self {
        Self {
            rung,
            embedder,
            vectors: Vectors::Served,
            trouble: None,
        }
    }

    pub(crate) fn rung(&self) -> Rung {
        self.rung
    }

    pub(crate) fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Returns whether the vectors of another model must stay as they are.
    pub(crate) fn keeps_vectors(&self) -> bool {
        self.vectors == Vectors::Kept
    }

    /// Returns whether it needs something a configuration names, which may be gone.
    pub(crate) fn is_configured(&self) -> bool {
        match self.rung {
            Rung::Transformer | Rung::Http => true,
            Rung::Static | Rung::None => false,
        }
    }
}

impl Engine {
    /// Returns the model that serves here; opens it once a process.
    pub(crate) fn serving(&mut self) -> Result<Arc<Serving>, Error> {
        if let Some(serving) = &self.serving {
            return Ok(Arc::clone(serving));
        }
        match self.open_chosen() {
            Ok(serving) => Ok(self.serve(serving)),
            Err(why) => self.serve_instead(told(&why)),
        }
    }

    /// Returns the model that serves, after looking again where the index has another one's vectors:
    /// somebody may have chosen since this process began.
    pub(crate) fn serving_now(&mut self) -> Result<Arc<Serving>, Error> {
        let serving = self.serving()?;
        let id = serving.embedder().map_or("", |it| &it.model().id);
        if serving.keeps_vectors() || self.index.holds_vectors_of(id)? {
            return Ok(serving);
        }
        self.serving = None;
        self.serving()
    }

    /// Returns what the built-in model makes of `texts`, with its id, where it serves: whether two claims are alike was
    /// calibrated with that one.
    pub(crate) fn built_in_vectors(
        &mut self,
        texts: &[&str],
    ) -> Result<Option<(String, Vec<Vector>)>, Error> {
        let serving = self.serving()?;
        let is_built_in = serving.rung() == Rung::Static;
        let Some(embedder) = serving.embedder().filter(|_| is_built_in) else {
            return Ok(None);
        };
        let vectors = embedder.embed(texts).map_err(IndexError::from)?;
        Ok(Some((embedder.model().id.to_string(), vectors)))
    }

    /// Serves without the chosen model from here on, and tells why.
    ///
    /// The built-in model needs vectors of its own. Where those of another model would have to go for
    /// it, keywords serve alone.
    pub(crate) fn serve_instead(&mut self, why: String) -> Result<Arc<Serving>, Error> {
        let held = self.index.held()?.model.unwrap_or_default();
        let built_in = Rung::Static.built_in();
        let own = built_in.as_ref().map_or("", |it| &it.model().id);
        let mut serving = match held.is_empty() || held == own {
            true => Serving::of(Rung::Static, built_in),
            false => Serving {
                vectors: Vectors::Kept,
                ..Serving::of(Rung::None, None)
            },
        };
        self.notices.push(Notice::ModelMissing {
            why: why.clone(),
            served_by: serving.rung,
        });
        serving.trouble = Some(why);
        Ok(self.serve(serving))
    }

    /// Serves from here on with what is at hand: no model is loaded from a folder and nobody is asked over the network,
    /// because somebody waits. Vectors of a configured model stay as they are; then keywords serve alone.
    pub(crate) fn serve_at_once(&mut self) {
        if self.serving.is_some() {
            return;
        }
        let chosen = ModelFile::load(self);
        let is_built_in = match &chosen {
            Ok(None) => true,
            Ok(Some(file)) => [Rung::Static, Rung::None]
                .iter()
                .any(|it| file.rung == it.name()),
            Err(_) => false,
        };
        if !is_built_in {
            self.serve(Serving {
                vectors: Vectors::Kept,
                ..Serving::of(Rung::None, None)
            });
        }
    }

    fn serve(&mut self, serving: Serving) -> Arc<Serving> {
        Arc::clone(self.serving.insert(Arc::new(serving)))
    }

    fn open_chosen(&self) -> Result<Serving, ModelError> {
        let Some(mut file) = ModelFile::load(self)? else {
            return Ok(Serving::of(Rung::Static, Rung::Static.built_in()));
        };
        let choice = file.choice(self)?;
        let embedder = open(&choice)?;
        if let Some(embedder) = &embedder
            && file.remember(embedder.known())
            && ModelFile::load(self)?.is_some_and(|it| it.names_the_same(&file))
        {
            // Not being able to only costs the next search some time.
            let _ = file.store(self);
        }
        Ok(Serving::of(choice.rung(), embedder))
    }

    /// Returns which model serves here and how far its vectors have come.
    pub fn model(&mut self) -> Result<Report, Error> {
        let serving = self.serving()?;
        // The report has the trouble itself.
        let is_trouble = |it: &Notice| matches!(it, Notice::ModelMissing { .. });
        self.notices.retain(|it| !is_trouble(it));
        let file = ModelFile::load(self).ok().flatten().unwrap_or_default();
        let held = self.index.held()?;
        let id = serving.embedder().map(|it| it.model().id.to_string());
        Ok(Report {
            waiting: match &id {
                None => 0,
                Some(id) => waiting(&held, id),
            },
            entries: held.entries,
            chosen: file.rung.clone(),
            served_by: serving.rung,
            trouble: serving.trouble.clone(),
            id,
            dimension: serving.embedder().map(|it| it.model().dimension),
            folder: file.folder().map(|it| it.display().to_string()),
            endpoint: file.endpoint(),
        })
    }
}

fn waiting(held: &Held, id: &str) -> u64 {
    match held.model.as_deref() == Some(id) {
        true => held.waiting,
        false => held.entries,
    }
}

fn open(choice: &Choice) -> Result<Option<Box<dyn Embedder>>, ModelError> {
    Ok(choice.open()?)
}

/// An error, its causes and what to do about it in one line.
fn told(error: &ModelError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    match error.hint() {
        Some(hint) => format!("{text} ({hint})"),
        None => text,
    }
}
