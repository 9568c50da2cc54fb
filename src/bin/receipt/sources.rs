//! Opening what the library names: files, standard input, references that stay in their folder.
use crate::progress::Progress;
use receipt::manifest::source::{SourceError, SourceName, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file system. What can be read only once, like standard input or a pipe, is kept in a temporary file.
#[derive(Default)]
pub(crate) struct Disk {
    /// By path; standard input is `-`.
    spooled: Mutex<BTreeMap<PathBuf, File>>,
    /// The real paths of the files that were opened.
    opened: Mutex<BTreeSet<PathBuf>>,
    /// Is told of every byte that is read.
    pub(crate) progress: Progress,
}

impl Disk {
    /// What a path on the command line means: `-` is standard input.
    pub(crate) fn name(path: &Path) -> SourceName {
        if path == Path::new("-") { SourceName::StandardInput } else { SourceName::Path(path.to_owned()) }
    }

    /// Whether a path names a file that was read: writing there would destroy the input.
    pub(crate) fn has_read(&self, path: &Path) -> bool {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        path.canonicalize().is_ok_and(|path| opened.contains(&path))
    }

    /// What can be read only once, from its beginning: readers of it do not overlap.
    fn spooled(&self, path: &Path, open: impl FnOnce() -> io::Result<Box<dyn Read>>) -> io::Result<File> {
        let mut spooled = self.spooled.lock().unwrap_or_else(PoisonError::into_inner);
        if !spooled.contains_key(path) {
            let mut file = tempfile::tempfile()?;
            self.progress.spooling(open()?, |source| io::copy(source, &mut file))?;
            spooled.insert(path.to_owned(), file);
        }
        let mut reader = spooled[path].try_clone()?;
        reader.rewind()?;
        Ok(reader)
    }

    fn file(&self, path: &Path) -> Result<File, SourceError> {
        if let Ok(real) = path.canonicalize() {
            self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(real);
        }
        open(path)
    }
}

impl Sources for Disk {
    fn open(&self, name: &SourceName) -> Result<Box<dyn Read + Send>, SourceError> {
        let file = match name {
            SourceName::StandardInput => self.spooled(Path::new("-"), || Ok(Box::new(io::stdin())))?,
            SourceName::Path(path) if is_stream(path) => self.spooled(path, || Ok(Box::new(File::open(path)?)))?,
            SourceName::Path(path) => self.file(path)?,
            SourceName::Reference { manifest, path } => {
                let path = inside(manifest, path)?;
                // Waiting for someone to write into a pipe could take for ever.
                if is_stream(&path) {
                    return Err(SourceError::Io(io::Error::from(io::ErrorKind::InvalidInput)));
                }
                self.file(&path)?
            }
        };
        let size = file.metadata()?.len();
        Ok(Box::new(self.progress.reading(file, size)))
    }
}

/// Whether a path names something that is there and neither a file nor a folder.
fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The real path of a reference, which must lie in the real folder of its manifest.
fn inside(manifest: &SourceName, path: &str) -> Result<PathBuf, SourceError> {
    let manifest = manifest.path().unwrap_or_default();
    let folder = match manifest.parent() {
        Some(folder) if folder != Path::new("") => folder.canonicalize()?,
        _ => Path::new(".").canonicalize()?,
    };
    let real = folder.join(path).canonicalize()?;
    if real.starts_with(&folder) { Ok(real) } else { Err(SourceError::Outside) }
}

fn open(path: &Path) -> Result<File, SourceError> {
    /// EMFILE and ENFILE of Linux and macOS.
    const TOO_MANY: [i32; 2] = [24, 23];
    let file = File::open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if TOO_MANY.contains(&code) => SourceError::TooManyOpen,
        _ => SourceError::Io(error),
    })?;
    if file.metadata()?.is_dir() {
        return Err(SourceError::Io(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(file)
}
