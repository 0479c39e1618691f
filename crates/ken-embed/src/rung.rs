//! Which kind of model serves: the ladder a configuration chooses from.

use crate::model::Embedder;
use crate::static_table::StaticTable;

/// A kind of embedding model, from the best down to doing without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// A sentence transformer in a folder, run here.
    Transformer,
    /// A model behind an endpoint.
    Http,
    /// The table compiled into the program.
    Static,
    /// Keywords only.
    None,
}

impl Rung {
    pub const ALL: &[Self] = &[Self::Transformer, Self::Http, Self::Static, Self::None];

    /// The rung's name in configuration and answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transformer => "transformer",
            Self::Http => "http",
            Self::Static => "static",
            Self::None => "none",
        }
    }

    /// Finds a rung by its [`name`](Self::name).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rung| rung.name() == name)
    }

    /// Returns the model of the one rung that has a model and needs no configuration; for the others
    /// there is [`Choice`](crate::Choice).
    #[must_use]
    pub fn built_in(self) -> Option<Box<dyn Embedder>> {
        match self {
            Self::Static => Some(Box::new(StaticTable::new())),
            Self::Transformer | Self::Http | Self::None => None,
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
    fn only_the_static_model_is_built_in() {
        for rung in Rung::ALL {
            assert_eq!(rung.built_in().is_some(), *rung == Rung::Static);
        }
    }
}
