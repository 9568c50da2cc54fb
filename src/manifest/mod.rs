//! The public input format: wire types, limits, readers (MANIFEST.md §2–4, `docs/method.md`).
#[macro_use]
mod strict;

mod bind;
pub mod contract;
pub mod document;
pub mod event;
mod explain;
pub mod identifier;
mod impossible;
pub mod integer;
mod json;
mod layout;
pub mod limits;
pub mod list;
pub mod locate;
mod open;
mod pointer;
pub mod read;
pub mod replay;
pub mod resume;
mod schema;
mod snippet;
pub mod source;
mod visible;
pub mod window;

pub use bind::Bound;
pub use bind::Member;
pub use bind::bind;
pub use layout::Layout;
pub use open::Opened;
pub use open::open_run;
pub use schema::SchemaKind;
pub use schema::schema;
pub use snippet::snippet;
pub use visible::is_unseen;
pub use visible::visible;
