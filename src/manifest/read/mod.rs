//! Reading: named sources to ranks' events, with every fault at its place.
pub(crate) mod decode;
mod digest;
pub(crate) mod lines;
pub(crate) mod pool;
pub(crate) mod stream;
pub(crate) mod terms;

pub use digest::input_sha256;
pub use digest::raw_sha256;
pub use stream::RankDigest;
pub use stream::RankStream;

use crate::manifest::source::SourceError;
use crate::manifest::source::SourceName;

/// Why what was named on the command line can't be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It can't be opened, or reading it broke off.
    #[error("cannot read {name}")]
    Source {
        /// Which.
        name: SourceName,
        /// Why.
        source: SourceError,
    },
    /// A rank manifest is a whole run.
    #[error("{0} is a rank manifest, which stands alone: it names the microbatch manifests itself")]
    NotAlone(SourceName),
    /// The same input twice.
    #[error("{0} is given twice")]
    Twice(SourceName),
    /// Nothing was named.
    #[error("no manifest is named")]
    Nothing,
}
