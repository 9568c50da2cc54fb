//! Bad input through the binary: a clear error that names the place, exit code 3, nothing written, no panic.
mod files;
mod mutations;
mod streams;
mod texts;
