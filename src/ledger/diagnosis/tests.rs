//! Every recipe on runs made by it.
