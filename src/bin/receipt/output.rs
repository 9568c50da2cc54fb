//! Writing: standard output that may be closed early, and files that are whole or not there.
use crate::cli::PlainFormat;
use crate::failure::Failure;
use receipt::report::json;
use serde::Serialize;
use std::fs::OpenOptions;
#[cfg(unix)]
use std::fs::Permissions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Prints to standard output; a reader that has gone away is no error.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Prints a document as text or as JSON.
pub(crate) fn document<T: Serialize>(
    format: PlainFormat,
    document: &T,
    text: impl Fn(&T) -> String,
) -> Result<(), Failure> {
    let printed = match format {
        PlainFormat::Text => text(document),
        PlainFormat::Json => json::pretty(document),
    };
    print(printed.as_bytes()).map_err(Failure::Print)
}

/// Prints a receipt, whose bytes are canonical but where a person would see them: a terminal obeys control characters,
/// some of which JSON lets stand.
pub(crate) fn receipt(bytes: &[u8]) -> io::Result<()> {
    if !io::stdout().is_terminal() {
        return print(&[bytes, b"\n"].concat());
    }
    let text = std::str::from_utf8(bytes).expect("bug: a receipt that is no text");
    print(format!("{}\n", json::harmless(text)).as_bytes())
}

/// Writes a file so that it is either whole or not there. A symbolic link is followed; what is no regular file (a pipe, a
/// device) is written to as it is.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(readable());
    let mut file = builder.tempfile_in(folder).map_err(without_path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The system's own error: a temporary file's name says nothing to who named the file.
fn without_path(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|error| error.source()?.downcast_ref::<io::Error>());
    match inner.and_then(io::Error::raw_os_error) {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::from(error.kind()),
    }
}

/// What a file made by a shell's redirection would have; the process's umask still applies.
#[cfg(unix)]
fn readable() -> Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
