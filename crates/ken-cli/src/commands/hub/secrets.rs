//! Files with secrets and settings of a hub.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::failure::CommandFailure;

/// Maximum size of a file with a secret in bytes.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// Reads a text file of limited size.
pub(in crate::commands) fn read_limited(path: &Path, max: u64) -> Result<String, CommandFailure> {
    let cannot = |e| CommandFailure::io(format!("cannot read `{}`", path.display()), &e);
    let file = File::open(path).map_err(cannot)?;
    let mut text = String::new();
    // Read instead of asking for the size: the file may be a pipe.
    let read = file
        .take(max + 1)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    if read as u64 > max {
        let message = format!("`{}` is larger than {max} bytes", path.display());
        return Err(CommandFailure::usage(message));
    }
    Ok(text)
}

/// Reads a file that contains one secret. Space around it is ignored.
pub(in crate::commands) fn read_secret(path: &Path) -> Result<String, CommandFailure> {
    let text = read_limited(path, SECRET_BYTES_MAX)?;
    let secret = text.trim();
    if secret.is_empty() {
        let message = format!("`{}` is empty", path.display());
        return Err(CommandFailure::usage(message));
    }
    Ok(secret.to_owned())
}

/// Returns whether other users of this machine can read a file.
#[cfg(unix)]
pub(super) fn is_world_readable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    const READ_BY_OTHERS: u32 = 0o004;
    path.metadata()
        .is_ok_and(|it| it.permissions().mode() & READ_BY_OTHERS != 0)
}

/// Returns whether other users of this machine can read a file; unknown here.
#[cfg(not(unix))]
pub(super) fn is_world_readable(_path: &Path) -> bool {
    false
}
