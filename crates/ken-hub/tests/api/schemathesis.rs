//! Third-party contract test: schemathesis, which knows only the served OpenAPI document.

use std::path::Path;
use std::process::Command;

use crate::hub::ApiHubEnvironment;

/// Runs only if `KEN_HUB_TOOLS` names a folder to install it in, as `.ci/run` does; it comes from
/// PyPI.
#[test]
fn schemathesis_finds_nothing_between_the_document_and_the_hub() {
    let Some(cache) = std::env::var_os("KEN_HUB_TOOLS") else {
        eprintln!("left out: KEN_HUB_TOOLS names no folder to install schemathesis in");
        return;
    };
    let hub = ApiHubEnvironment::start();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/hub/schemathesis");
    let output = Command::new(script)
        .args([&hub.url, &hub.acme.admin, &hub.acme.name])
        .arg(cache)
        .output()
        .expect("the script");
    let told = String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{talk}");
}
