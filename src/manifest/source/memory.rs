//! Sources held in memory, for tests and for callers who have the bytes already.
use crate::manifest::source::SourceError;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use std::collections::BTreeMap;
use std::io;
use std::io::Cursor;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Files by path; the empty path is standard input.
#[derive(Clone, Debug, Default)]
pub struct Memory(BTreeMap<PathBuf, Arc<[u8]>>);

impl Memory {
    /// None at all.
    pub fn new() -> Self {
        Memory::default()
    }

    /// With one more.
    #[must_use]
    pub fn with(mut self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Self {
        self.0.insert(path.as_ref().to_owned(), bytes.as_ref().into());
        self
    }
}

impl Sources for Memory {
    fn open(&self, name: &SourceName) -> Result<Box<dyn Read + Send>, SourceError> {
        let bytes = self.0.get(&name.path().unwrap_or_default());
        let bytes = bytes.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))?;
        Ok(Box::new(Cursor::new(Arc::clone(bytes))))
    }
}
