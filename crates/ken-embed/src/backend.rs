//! Backends: the kinds of embedding model a configuration can select.

use crate::model::Embedder;
use crate::static_table::StaticTable;

/// Kind of embedding model, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// A sentence transformer in a folder, run in this process.
    Transformer,
    /// A model behind an HTTP endpoint.
    Http,
    /// The table compiled into the program.
    Static,
    /// No model; keyword search only.
    None,
}

impl Backend {
    pub const ALL: &[Self] = &[Self::Transformer, Self::Http, Self::Static, Self::None];

    /// Returns the name used in configuration and output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transformer => "transformer",
            Self::Http => "http",
            Self::Static => "static",
            Self::None => "none",
        }
    }

    /// Returns the backend with this [`name`](Self::name).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rung| rung.name() == name)
    }

    /// Returns the model of the only backend that needs no configuration; the others are opened
    /// with [`ModelChoice`](crate::ModelChoice).
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
        for rung in Backend::ALL {
            assert_eq!(Backend::parse(rung.name()), Some(*rung));
        }
        for name in ["", "Static", "onnx"] {
            assert_eq!(Backend::parse(name), None, "{name:?}");
        }
    }

    #[test]
    fn only_the_static_model_is_built_in() {
        for rung in Backend::ALL {
            assert_eq!(rung.built_in().is_some(), *rung == Backend::Static);
        }
    }
}
