//! Which kind of model serves: the ladder a configuration chooses from.

use crate::model::Embedder;
use crate::static_table::StaticTable;

/// A kind of embedding model, from the one that always works down to doing without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// The table compiled into the program.
    Static,
    /// Keywords only.
    None,
}

impl Rung {
    pub const ALL: &[Self] = &[Self::Static, Self::None];

    /// The rung's name in configuration and answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::None => "none",
        }
    }

    /// Finds a rung by its [`name`](Self::name).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rung| rung.name() == name)
    }

    /// Returns the model to embed with, or `None` where only keywords serve.
    #[must_use]
    pub fn embedder(self) -> Option<Box<dyn Embedder>> {
        match self {
            Self::Static => Some(Box::new(StaticTable::new())),
            Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_is_found_by_its_name_and_no_other() {
        for rung in Rung::ALL {
            assert_eq!(Rung::parse(rung.name()), Some(*rung));
        }
        for name in ["", "Static", "onnx"] {
            assert_eq!(Rung::parse(name), None, "{name:?}");
        }
    }

    #[test]
    fn only_keywords_need_no_model() {
        assert!(Rung::Static.embedder().is_some());
        assert!(Rung::None.embedder().is_none());
    }
}
