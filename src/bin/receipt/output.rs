//! Writing: standard output that may be closed early, and files that are whole or not there.
use std::fs::Permissions;
use std::io::{self, Write};
use std::path::Path;

/// Prints to standard output; a reader that has gone away is no error.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a file so that it is either whole or not there.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    let mut file = builder.permissions(readable()).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What a file made by a shell's redirection would have; the process's umask still applies.
#[cfg(unix)]
fn readable() -> Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
