//! The small transformer that the replay runs on.
