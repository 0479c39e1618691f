//! Stylesheet, scripts and icon. An asset's address contains a hash of its content, so browsers may
//! keep it forever.

use std::sync::LazyLock;

/// Maximum bytes of the script.
#[cfg(test)]
const SCRIPT_BYTES_MAX: usize = 12 * 1024;

/// Maximum bytes of the stylesheet.
#[cfg(test)]
const STYLE_BYTES_MAX: usize = 24 * 1024;

/// A file that pages refer to.
#[derive(Debug)]
pub(crate) struct Asset {
    /// The path below the base.
    pub(crate) path: String,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

/// All assets.
#[derive(Debug)]
pub(crate) struct Assets {
    pub(crate) style: Asset,
    pub(crate) script: Asset,
    /// Runs before the page is drawn, so that nothing jumps.
    pub(crate) early_script: Asset,
    pub(crate) icon: Asset,
}

pub(crate) static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: asset(include_bytes!("../assets/ken.css"), "css", "text/css"),
    script: asset(include_bytes!("../assets/ken.js"), "js", "text/javascript"),
    early_script: asset(
        include_bytes!("../assets/early.js"),
        "js",
        "text/javascript",
    ),
    icon: asset(include_bytes!("../assets/icon.svg"), "svg", "image/svg+xml"),
});

impl Assets {
    /// Returns the asset with this path.
    pub(crate) fn find(&self, path: &str) -> Option<&Asset> {
        let all = [&self.style, &self.script, &self.early_script, &self.icon];
        all.into_iter().find(|it| it.path == path)
    }
}

fn asset(bytes: &'static [u8], extension: &str, media_type: &'static str) -> Asset {
    let hash = blake3::hash(bytes).to_hex();
    Asset {
        path: format!("/static/{}.{extension}", &hash[..16]),
        media_type,
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_stay_small() {
        assert!(ASSETS.script.bytes.len() <= SCRIPT_BYTES_MAX);
        assert!(ASSETS.style.bytes.len() <= STYLE_BYTES_MAX);
        assert!(ASSETS.early_script.bytes.len() <= 100);
    }

    #[test]
    fn an_asset_is_found_by_its_hash_only() {
        assert!(ASSETS.find(&ASSETS.style.path).is_some());
        assert!(ASSETS.find("/static/ken.css").is_none());
    }
}
