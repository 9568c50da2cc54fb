//! Canonical bytes (RFC 8785) and their SHA-256.
