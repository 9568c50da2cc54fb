//! A source's stored bytes on their way to being text: hashed where asked, and decompressed by what they begin with.
//!
//! Invariant: the digest is of every byte stored, also of those that a decoder did not want.
use crate::canonical::Digest;
use crate::canonical::Hasher;
use crate::manifest::source::SourceError;
use crate::manifest::source::SourceName;
use crate::manifest::source::Sources;
use flate2::read::MultiGzDecoder;
use std::io;
use std::io::Cursor;
use std::io::Read;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// How much a decoder is given at once.
const CHUNK: usize = 1 << 16;

/// A source as text, whatever it is compressed with.
pub(crate) struct Stored {
    text: Box<dyn Read + Send>,
    raw: Arc<Mutex<Raw>>,
    format: &'static str,
}

struct Raw {
    source: Box<dyn Read + Send>,
    hasher: Option<Hasher>,
    failed: Option<io::Error>,
}

/// Why text stops before its end.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The source could not be read any further.
    Source(io::Error),
    /// What was read is not what the compression format allows.
    Compression { format: &'static str, error: io::Error },
}

impl Stored {
    /// Opens a source; with `hashed`, its digest can be had at the end.
    pub(crate) fn open(sources: &dyn Sources, name: &SourceName, hashed: bool) -> Result<Self, SourceError> {
        let source = sources.open(name)?;
        let hasher = hashed.then(Hasher::new);
        let raw = Arc::new(Mutex::new(Raw { source, hasher, failed: None }));
        let mut shared = Shared(Arc::clone(&raw));
        let mut magic = Vec::new();
        Read::by_ref(&mut shared).take(4).read_to_end(&mut magic)?;
        let format = format_of(&magic);
        let bytes = Cursor::new(magic).chain(shared);
        let text: Box<dyn Read + Send> = match format {
            "zstd" => Box::new(zstd::Decoder::new(bytes)?),
            "gzip" => Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(CHUNK, bytes))),
            _ => Box::new(bytes),
        };
        Ok(Stored { text, raw, format })
    }

    /// Appends up to `limit` bytes of text; fewer only at the end.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>, limit: usize) -> Result<usize, Broken> {
        out.reserve(limit);
        (&mut self.text).take(limit as u64).read_to_end(out).map_err(|error| {
            let failed = self.raw.lock().unwrap_or_else(PoisonError::into_inner).failed.take();
            match failed {
                Some(error) => Broken::Source(error),
                None => Broken::Compression { format: self.format, error },
            }
        })
    }

    /// The digest of all that is stored, once nothing more is wanted of the text; `None` unless it was asked for.
    pub(crate) fn digest(self) -> Result<Option<Digest>, io::Error> {
        io::copy(&mut Shared(Arc::clone(&self.raw)), &mut io::sink())?;
        let mut raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(raw.hasher.take().map(Hasher::finish))
    }
}

fn format_of(magic: &[u8]) -> &'static str {
    match magic {
        // A frame (RFC 8878 §3.1.1), or one to be skipped (§3.1.2).
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => "zstd",
        // RFC 1952 §2.3.1.
        [0x1f, 0x8b, ..] => "gzip",
        _ => "text",
    }
}

/// The stored bytes, for the decoder and for whoever wants the rest after it.
struct Shared(Arc<Mutex<Raw>>);

impl Read for Shared {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut raw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Raw { source, hasher, failed } = &mut *raw;
        match source.read(out) {
            Ok(length) => {
                if let Some(hasher) = hasher {
                    hasher.update(&out[..length]);
                }
                Ok(length)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let told = io::Error::from(error.kind());
                *failed = Some(error);
                Err(told)
            }
        }
    }
}
