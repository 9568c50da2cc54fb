//! Opening what the library names: files, standard input, references that stay in their folder.
use receipt::manifest::source::{SourceError, SourceName, Sources};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file system, and standard input kept in a temporary file so that it can be read more than once.
#[derive(Default)]
pub(crate) struct Disk {
    standard_input: Mutex<Option<File>>,
}

impl Disk {
    /// What a path on the command line means: `-` is standard input.
    pub(crate) fn name(path: &Path) -> SourceName {
        if path == Path::new("-") { SourceName::StandardInput } else { SourceName::Path(path.to_owned()) }
    }

    fn standard_input(&self) -> io::Result<File> {
        let mut spooled = self.standard_input.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match spooled.as_mut() {
            Some(file) => file,
            None => {
                let mut file = tempfile::tempfile()?;
                io::copy(&mut io::stdin().lock(), &mut file)?;
                spooled.insert(file)
            }
        };
        // Each reader has its own offset only on platforms where `try_clone` does not share it: so it is set here, and
        // the library reads one source at a time.
        let mut reader = file.try_clone()?;
        reader.rewind()?;
        Ok(reader)
    }
}

impl Sources for Disk {
    fn open(&self, name: &SourceName) -> Result<Box<dyn Read + Send>, SourceError> {
        let file = match name {
            SourceName::StandardInput => self.standard_input()?,
            SourceName::Path(path) => open(path)?,
            SourceName::Reference { manifest, path } => open(&inside(manifest, path)?)?,
        };
        Ok(Box::new(file))
    }
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
