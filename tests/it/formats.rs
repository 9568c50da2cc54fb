//! The formats for other tools: each fixture's output is held against the format's schema.
mod binary;
mod github;
mod gitlab;
mod junit;
mod sarif;

use crate::fixtures::{self, Fixture};
use crate::reader::run::Disk;
use annotate_snippets::Renderer;
use receipt::finding::Severity;
use receipt::manifest::source::SourceName;
use receipt::pipeline::{self, Verified};
use receipt::report::ci::{Checked, Folders};
use receipt::report::{Excerpt, Shown};
use std::sync::LazyLock;

/// A run that was verified, and its report in one of the formats.
pub(crate) struct Formatted {
    pub(crate) name: &'static str,
    pub(crate) verified: &'static Verified,
    pub(crate) text: String,
}

impl Formatted {
    /// How many findings of a severity there are, each instance of a malformed manifest's counted that is kept.
    pub(crate) fn problems(&self, severity: Severity) -> usize {
        let of = |(folded, _): &(receipt::finding::Folded, _)| match folded.code.rejects() {
            true => folded.instances.len(),
            false => 1,
        };
        self.verified.findings.iter().filter(|(folded, _)| folded.severity == severity).map(of).sum()
    }
}

/// A fixture, verified once for all formats.
struct Ready {
    name: String,
    inputs: Vec<SourceName>,
    verified: Verified,
    excerpts: Vec<Vec<Excerpt>>,
}

impl Ready {
    fn of(fixture: &Fixture) -> Self {
        let verified = fixture.verify();
        let excerpts = pipeline::excerpts(&Disk, &verified, &Renderer::plain()).expect("the sources can be read again");
        let inputs = fixture.inputs().into_iter().map(SourceName::Path).collect();
        Ready { name: fixture.name.clone(), inputs, verified, excerpts }
    }
}

/// Every fixture that is a run, in a format.
pub(crate) fn every_fixture(format: fn(&Checked<'_>) -> String) -> Vec<Formatted> {
    static READY: LazyLock<Vec<Ready>> = LazyLock::new(|| {
        fixtures::all().iter().filter(|fixture| !fixture.inputs().is_empty()).map(Ready::of).collect()
    });
    assert!(READY.len() > 100, "only {} fixtures were found", READY.len());
    let folders = Folders { current: "/repo".into(), root: "/repo".into() };
    let formatted = |ready: &'static Ready| {
        let Ready { name, inputs, verified, excerpts } = ready;
        let shown = Shown { receipt: verified.sealed.receipt(), subject: name, excerpts };
        Formatted { name, verified, text: format(&Checked { shown, inputs, folders: &folders }) }
    };
    READY.iter().map(formatted).collect()
}

/// A schema of `fixtures/schemas/`, ready to validate.
pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let mut schema = crate::runs::document(&format!("schemas/{name}"));
    // The published SARIF schema has a pattern that is no regular expression of ECMA 262 with Unicode (a lone bracket), of
    // fields that are not written here.
    for owner in ["run", "toolComponent"] {
        if let Some(language) = schema.pointer_mut(&format!("/definitions/{owner}/properties/language")) {
            language.as_object_mut().expect("an object").remove("pattern");
        }
    }
    jsonschema::draft7::options().should_validate_formats(true).build(&schema).expect("a schema")
}
