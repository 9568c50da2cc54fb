//! Receipts that are given as files.
use crate::failure::Failure;
use receipt::receipt::Sealed;
use receipt::receipt::check;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A receipt is a document of at most this many bytes.
const RECEIPT_BYTES: u64 = 4 << 30;

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![];
    let source: io::Result<Box<dyn Read>> = match path == Path::new("-") {
        true => Ok(Box::new(io::stdin())),
        false => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    source
        .and_then(|source| source.take(RECEIPT_BYTES).read_to_end(&mut bytes))
        .map_err(|source| Failure::Read { name: path.display().to_string(), source })?;
    Ok(bytes)
}

/// The receipt of the run before, where one is given.
pub(crate) fn load(path: Option<&Path>) -> Result<Option<Sealed>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let sealed = check::read(&read_file(path)?)
        .map_err(|finding| Failure::NotAReceipt { name: path.display().to_string(), message: finding.message })?;
    Ok(Some(sealed))
}
