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
    pub(super) fn new(receipt: Receipt) -> Result<Self, CanonicalError> {
        let mut receipt = Receipt { receipt_sha256: None, ..receipt };
        receipt.receipt_sha256 = Some(digest(&receipt)?);
        let bytes = canonical::to_vec(&receipt)?;
        Ok(Sealed { receipt, bytes })
    }

    /// The receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Its RFC 8785 bytes, without a newline.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The hash of a receipt that carries none.
pub(super) fn digest(unsealed: &Receipt) -> Result<Digest, CanonicalError> {
    assert!(unsealed.receipt_sha256.is_none(), "bug: a receipt's hash over itself");
    canonical::digest(unsealed)
}
