//! Receipts that are given as files.
use crate::failure::Failure;
use crate::progress::Progress;
use receipt::finding::Finding;
use receipt::receipt::Sealed;
use receipt::receipt::check;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A receipt is a document of at most this many bytes.
const RECEIPT_BYTES: u64 = 4 << 30;

/// The receipt in a file, or on standard input for `-`; or why there is none.
pub(crate) fn read(path: &Path) -> Result<Result<Sealed, Box<Finding>>, Failure> {
    let progress = Progress::default();
    progress.during(|| {
        let bytes = bytes(path, &progress);
        let bytes = bytes.map_err(|source| Failure::Read { name: path.display().to_string(), source })?;
        Ok(check::read(&bytes))
    })
}

fn bytes(path: &Path, progress: &Progress) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(progress.reading(io::stdin(), 0)),
        false => {
            let file = File::open(path)?;
            let size = file.metadata()?.len();
            Box::new(progress.reading(file, size))
        }
    };
    source.take(RECEIPT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The receipt of the run before, where one is given.
pub(crate) fn load(path: Option<&Path>) -> Result<Option<Sealed>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let sealed = read(path)?
        .map_err(|finding| Failure::NotAReceipt { name: path.display().to_string(), message: finding.message })?;
    Ok(Some(sealed))
}
