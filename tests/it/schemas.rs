//! `schemas/` is what the types say. `UPDATE=1 cargo test` rewrites it.
use receipt::manifest::{self, SchemaKind};
use std::path::Path;
use std::{env, fs};

#[test]
fn committed_schemas_are_fresh() {
    let schemas = [
        ("rank-manifest.schema.json", manifest::schema(SchemaKind::Manifest)),
        ("microbatch-manifest-line.schema.json", manifest::schema(SchemaKind::Microbatches)),
        ("receipt.schema.json", receipt::receipt::schema()),
    ];
    let mut stale = vec![];
    for (name, schema) in schemas {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name);
        let text = format!("{schema:#}\n");
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            if env::var_os("UPDATE").is_some() {
                fs::write(&path, text).expect("a schema");
            } else {
                stale.push(name);
            }
        }
    }
    assert!(stale.is_empty(), "stale, run `UPDATE=1 cargo test`: {stale:?}");
}
