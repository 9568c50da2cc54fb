//! Sealing: a receipt's hash is that of the canonical bytes of everything else in it.
use super::document::Receipt;
use crate::canonical::{self, CanonicalError, Digest};

/// A receipt whose `receipt_sha256` is right, with its canonical bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    receipt: Receipt,
    bytes: Vec<u8>,
}

impl Sealed {
    /// Seals a receipt, whatever hash it carries.
    ///
    /// # Errors
    ///
    /// If a number in it is not canonical, which is a bug of ours and names the field.
    pub(crate) fn new(receipt: Receipt) -> Result<Self, CanonicalError> {
        let unsealed = Receipt { receipt_sha256: None, ..receipt };
        let (bytes, digest) = canonical::seal(&unsealed, "receipt_sha256")?;
        Ok(Sealed { receipt: Receipt { receipt_sha256: Some(digest), ..unsealed }, bytes })
    }

    /// The receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Its hash.
    pub fn hash(&self) -> Digest {
        self.receipt.receipt_sha256.expect("bug: a sealed receipt without a hash")
    }

    /// Its RFC 8785 bytes, without a newline.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<Receipt> for Sealed {
    fn as_ref(&self) -> &Receipt {
        &self.receipt
    }
}
