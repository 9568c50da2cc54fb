//! Opening and draining a run that is held in memory or on disk.
use receipt::finding::Code;
use receipt::finding::Findings;
use receipt::finding::Place;
use receipt::finding::Severity;
use receipt::manifest::Opened;
use receipt::manifest::locate::Wanted;
use receipt::manifest::locate::locate;
use receipt::manifest::open_run;
use receipt::manifest::read::RankDigest;
use receipt::manifest::source::SourceError;
use receipt::manifest::source::SourceName;
use receipt::manifest::source::Sources;
use receipt::manifest::window::Indexed;
use std::io::Read;

/// A header with a contract for one rank.
pub(crate) const HEADER: &str = concat!(
    r#"{"schema":"accumulation/microbatch-manifest/1","rank":0,"contract":{"formula":"token-mean/1","#,
    r#""accumulation_steps":1,"world_size":1,"tail":"flush","tolerance":{"absolute":0,"relative":0},"#,
    r#""precision":"float64"}}"#
);

/// Files on disk.
pub(crate) struct Disk;

impl Sources for Disk {
    #[expect(clippy::disallowed_methods, reason = "tests open files themselves")]
    fn open(&self, name: &SourceName) -> Result<Box<dyn Read + Send>, SourceError> {
        Ok(Box::new(std::fs::File::open(name.path().expect("a path"))?))
    }
}

/// A run that has been read to its end.
#[derive(Debug)]
pub(crate) struct Drained {
    pub(crate) opened: Opened,
    pub(crate) events: Vec<Vec<Indexed>>,
    pub(crate) digests: Vec<RankDigest>,
    pub(crate) faults: Vec<Told>,
}

/// A finding as a test names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Told {
    pub(crate) code: Code,
    pub(crate) severity: Severity,
    pub(crate) place: Place,
    pub(crate) message: String,
}

pub(crate) fn path(name: &str) -> SourceName {
    SourceName::Path(name.into())
}

pub(crate) fn drain_from(sources: &dyn Sources, inputs: &[SourceName], partial: bool) -> Drained {
    let mut opened = open_run(sources, inputs, partial).expect("the inputs can be opened");
    let mut findings = std::mem::take(&mut opened.findings);
    let (mut events, mut digests) = (Vec::new(), Vec::new());
    for mut stream in std::mem::take(&mut opened.streams) {
        events.push(std::iter::from_fn(|| stream.next(&mut findings)).collect());
        digests.push(stream.digest().expect("the source can be read to its end"));
    }
    Drained { opened, events, digests, faults: told(findings) }
}

pub(crate) fn told(findings: Findings) -> Vec<Told> {
    let mut all = Vec::new();
    for folded in findings.into_folded() {
        let (code, severity) = (folded.code, folded.severity);
        all.extend(folded.instances.into_iter().map(|(place, message)| Told { code, severity, place, message }));
    }
    all
}

/// Each finding as `code line:column pointer: message`, in the order of the file.
pub(crate) fn shown(sources: &dyn Sources, drained: &Drained) -> Vec<String> {
    let wanted: Vec<Wanted<'_>> = drained
        .faults
        .iter()
        .map(|told| Wanted { code: told.code, place: &told.place, message: &told.message })
        .collect();
    let found = locate(sources, &drained.opened.layout, &wanted).expect("the sources can be read again");
    let mut all: Vec<_> = drained
        .faults
        .iter()
        .zip(found)
        .map(|(told, location)| {
            let at = location.map(|found| (found.line, found.column, found.pointer));
            let warning = if told.severity == Severity::Warning { "warning " } else { "" };
            let (code, message) = (told.code, &told.message);
            let text = match &at {
                Some((line, column, pointer)) => format!("{code} {warning}{line}:{column} {pointer}: {message}"),
                None => format!("{code} {warning}nowhere: {message}"),
            };
            (at, text)
        })
        .collect();
    all.sort_by(|a, b| a.0.as_ref().map(|at| (at.0, at.1)).cmp(&b.0.as_ref().map(|at| (at.0, at.1))));
    all.into_iter().map(|(_, text)| text).collect()
}
