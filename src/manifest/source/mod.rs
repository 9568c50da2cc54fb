//! Where bytes come from. The library opens nothing itself: it names what it wants, and the caller opens it.
mod memory;
mod reference;
pub(crate) mod stored;

pub use memory::Memory;
pub use reference::check as check_reference;

use std::fmt;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// What is to be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceName {
    /// A path, as given on the command line.
    Path(PathBuf),
    /// Standard input, which is read more than once: the caller keeps what came.
    StandardInput,
    /// A file below the folder of a rank manifest.
    Reference {
        /// The rank manifest.
        manifest: Box<SourceName>,
        /// Relative, with `/` between its components, none of which is empty, `.` or `..`.
        path: String,
    },
}

impl SourceName {
    /// The path on disk, as far as the name tells: a reference's is that of its manifest's folder and its own.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            SourceName::Path(path) => Some(path.clone()),
            SourceName::StandardInput => None,
            SourceName::Reference { manifest, path } => {
                let manifest = manifest.path().unwrap_or_default();
                Some(manifest.parent().unwrap_or(Path::new("")).join(path))
            }
        }
    }
}

/// For a person; what an outsider chose in it has to be made visible like any other text.
impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            Some(path) => path.display().fmt(f),
            None => f.write_str("standard input"),
        }
    }
}

/// Opens what the library names.
pub trait Sources {
    /// Opens a source for reading from its beginning, as often as asked.
    ///
    /// # Errors
    ///
    /// If it cannot be opened. For a [`SourceName::Reference`] it is also an error if the path, once its symbolic links
    /// are followed, leads out of the rank manifest's folder: [`SourceError::Outside`].
    fn open(&self, name: &SourceName) -> Result<Box<dyn Read + Send>, SourceError>;
}

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A reference whose symbolic links lead out of the rank manifest's folder.
    #[error("it leads out of the rank manifest's folder")]
    Outside,
    /// The system refuses to have more files open.
    #[error("too many open files: raise the limit (`ulimit -n`) or merge the microbatch manifests")]
    TooManyOpen,
    /// It is missing, say, or may not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}
