//! Manifests recorded from real runs read without a fault.
use crate::reader::run::Disk;
use crate::reader::run::drain_from;
use receipt::manifest::source::SourceName;
use std::path::Path;
use std::path::PathBuf;

fn manifests(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    let manifest = folder.join("rank-manifest.json");
    if manifest.exists() {
        return found.push(manifest);
    }
    for entry in entries {
        if entry.is_dir() {
            manifests(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(entry);
        }
    }
}

#[test]
fn recorded_runs_read_without_a_fault() {
    let mut found = Vec::new();
    let folder = std::env::var_os("RECORDED")
        .map_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded"), Into::into);
    manifests(&folder, &mut found);
    assert!(found.len() >= 4, "{found:?}");
    for path in found {
        let drained = drain_from(&Disk, &[SourceName::Path(path.clone())], false);
        assert_eq!(drained.faults, [], "{}", path.display());
        let contract = drained.opened.contract.expect("a contract");
        assert_eq!(drained.events.len() as u64, contract.world_size.get());
        assert!(drained.events.iter().all(|events| events.len() > 8), "{}", path.display());
        assert!(
            drained.digests.iter().zip(&drained.events).all(|(digest, events)| digest.events == events.len() as u64)
        );
    }
}
