//! Integration files published with the repository match the output of the source.

use std::path::{Path, PathBuf};

use ken_agents::setup::plugin::{self, PluginFile, REGISTRY_DESCRIPTION_CHARS_MAX};

fn integrations_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations")
}

/// Asserts that the files below `below` have this text; with `KEN_BLESS=1` rewrites them first.
fn assert_published(below: &str, files: &[PluginFile]) {
    let is_blessed = std::env::var_os("KEN_BLESS").is_some();
    for PluginFile { path, text } in files {
        let at = integrations_dir().join(below).join(path);
        if is_blessed {
            std::fs::create_dir_all(at.parent().expect("it is there")).expect("it is there");
            std::fs::write(&at, text).expect("it is there");
        }
        let there = std::fs::read_to_string(&at).unwrap_or_default();
        assert_eq!(&there, text, "{}: KEN_BLESS=1 writes it anew", at.display());
    }
}

#[test]
fn the_claude_code_plugin_is_as_the_source_writes_it() {
    let files = plugin::claude_code_files();
    assert_published("claude-code", &files);
    let at = |name: &str| {
        let file = files.iter().find(|it| it.path.ends_with(name)).unwrap();
        serde_json::from_str::<serde_json::Value>(&file.text).unwrap()
    };
    assert_eq!(at("plugin.json")["name"], "ken");
    let plugins = &at("marketplace.json")["plugins"];
    assert_eq!(plugins[0]["source"], "./plugins/ken");
    let command = &at("hooks/hooks.json")["hooks"]["SessionStart"][0]["hooks"][0]["command"];
    assert_eq!(command, "ken hook claude-code start");
    // Nobody waits for the end of a session, in which its run is closed.
    let end = &at("hooks/hooks.json")["hooks"]["SessionEnd"][0]["hooks"][0];
    assert_eq!(end["command"], "ken hook claude-code end");
    assert_eq!(end["async"], true);
    assert_eq!(at(".mcp.json")["mcpServers"]["ken"]["args"][0], "mcp");
}

#[test]
fn the_registry_entry_starts_the_server_of_each_package() {
    let file = plugin::registry_file();
    assert_published("mcp-registry", std::slice::from_ref(&file));
    let server: serde_json::Value = serde_json::from_str(&file.text).unwrap();
    assert!(server.get("remotes").is_none());
    let packages = server["packages"].as_array().unwrap();
    let registries: Vec<_> = packages.iter().map(|it| &it["registryType"]).collect();
    assert_eq!(registries, ["npm", "pypi"]);
    for package in packages {
        assert_eq!(package["version"], server["version"]);
        assert_eq!(package["packageArguments"][0]["value"], "mcp");
    }
    let name = server["name"].as_str().unwrap();
    assert_eq!(name.matches('/').count(), 1);
    let about = server["description"].as_str().unwrap();
    assert!(about.chars().count() <= REGISTRY_DESCRIPTION_CHARS_MAX);
    assert!(server["$schema"].as_str().unwrap().contains("2025-12-11"));
}
