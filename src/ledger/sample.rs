//! Contracts, windows and runs for tests, from JSON; no fault of structure is looked for.
use super::Ledger;
use super::WindowLedger;
use super::diagnosis::Diagnosis;
use super::diagnosis::DiagnosisReport;
use crate::manifest::contract::Contract;
use crate::manifest::event::Event;
use crate::manifest::resume::Resume;
use crate::manifest::window::Indexed;
use crate::manifest::window::RankWindow;
use crate::manifest::window::Window;
use serde_json::Value;
use serde_json::json;

/// A run: what was declared, and each rank's events.
pub(crate) struct Run {
    pub(crate) contract: Contract,
    pub(crate) resume: Option<Resume>,
    pub(crate) windows: Vec<Window>,
}

/// K = 3 on one rank in float64 under flush, and what `with` says differently.
pub(crate) fn contract(with: Value) -> Contract {
    let mut declared = json!({
        "formula": "token-mean/1", "accumulation_steps": 3, "world_size": 1, "tail": "flush",
        "tolerance": {"absolute": 1e-12, "relative": 1e-9}, "precision": "float64",
    });
    let (Value::Object(declared), Value::Object(with)) = (&mut declared, with) else { panic!("two objects") };
    declared.extend(with);
    let contract: Contract = serde_json::from_value(Value::Object(declared.clone())).expect("a contract");
    contract.with_defaults()
}

impl Run {
    /// A run of ranks' events under a contract.
    pub(crate) fn new(contract: Contract, ranks: Vec<Vec<Value>>) -> Self {
        let event = |value: Value| serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"));
        let ranks = ranks.into_iter().map(|events| events.into_iter().map(event).collect()).collect();
        Run { contract, resume: None, windows: align(ranks) }
    }

    /// A rank manifest with its events inline.
    pub(crate) fn from_manifest(text: &str) -> Self {
        let manifest: Value = serde_json::from_str(text).expect("JSON");
        let mut ranks = manifest["ranks"].as_array().expect("ranks").clone();
        ranks.sort_by_key(|rank| rank["rank"].as_u64());
        let events = ranks.iter().map(|rank| rank["events"].as_array().expect("events").clone()).collect();
        let contract: Contract = serde_json::from_value(manifest["contract"].clone()).expect("a contract");
        let resume = manifest.get("resume").map(|resume| serde_json::from_value(resume.clone()).expect("a resume"));
        Run { resume, ..Run::new(contract.with_defaults(), events) }
    }

    /// A microbatch manifest: a header and one event a line.
    pub(crate) fn from_lines(texts: &[String], contract: Option<Contract>) -> Self {
        let lines = |text: &String| -> Vec<Value> {
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        let ranks: Vec<Vec<Value>> = texts.iter().map(lines).collect();
        let contract =
            contract.unwrap_or_else(|| serde_json::from_value(ranks[0][0]["contract"].clone()).expect("a contract"));
        let events = ranks.into_iter().map(|lines| lines.into_iter().skip(1).collect()).collect();
        Run::new(contract.with_defaults(), events)
    }

    /// What explains the run.
    pub(crate) fn diagnosed(&self) -> DiagnosisReport {
        let mut diagnosis = Diagnosis::new(&self.contract);
        for (window, ledger) in self.tallied() {
            diagnosis.observe(window, &ledger, ledger.stepped_or_skipped());
        }
        diagnosis.finish()
    }

    /// Every window with its ledger.
    pub(crate) fn tallied(&self) -> Vec<(&Window, WindowLedger)> {
        let mut ledger = Ledger::new(&self.contract, self.resume.as_ref());
        self.windows.iter().map(|window| (window, ledger.tally(window))).collect()
    }
}

/// Cuts streams into windows.
fn align(ranks: Vec<Vec<Event>>) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for (rank, events) in ranks.into_iter().enumerate() {
        let mut segments: Vec<(Option<u64>, RankWindow)> = vec![(None, segment(rank))];
        for (index, event) in events.into_iter().enumerate() {
            let (number, last) = segments.last_mut().expect("a segment");
            match &event {
                Event::Backward(backward) => {
                    let this = backward.window.get();
                    if number.is_some_and(|number| number != this) {
                        segments.push((Some(this), segment(rank)));
                    }
                    segments.last_mut().expect("a segment").0 = Some(this);
                }
                Event::Restore(restore) => {
                    let to = restore.window.get();
                    segments.retain(|(number, _)| number.is_some_and(|number| number < to));
                    segments.push((None, RankWindow { restore: Some(restore.clone()), ..segment(rank) }));
                }
                Event::Logged(logged) if number.is_some_and(|number| logged.window.get() < number) => {
                    let about = logged.window.get();
                    let event = Indexed { index: index as u64, event: event.clone() };
                    let earlier = segments.iter_mut().find(|(number, _)| *number == Some(about));
                    earlier.expect("the window logged about").1.late.push(event);
                    continue;
                }
                _ => {
                    let _ = last;
                }
            }
            let (_, last) = segments.last_mut().expect("a segment");
            last.events.push(Indexed { index: index as u64, event });
        }
        for (position, (number, segment)) in segments.into_iter().enumerate() {
            if rank == 0 {
                windows.push(Window { window: number.expect("a backward"), ranks: Vec::new(), is_last: false });
            }
            windows[position].ranks.push(segment);
        }
    }
    windows.last_mut().expect("a window").is_last = true;
    windows
}

fn segment(rank: usize) -> RankWindow {
    RankWindow { rank: rank as u64, ..RankWindow::default() }
}

/// A backward of one rank, with what `with` adds.
pub(crate) fn backward(window: u64, name: &str, targets: u64, loss_sum: f64, with: Value) -> Value {
    let mut fields = json!({"window": window, "microbatch": name, "valid_targets": targets, "loss_sum": loss_sum});
    let (Value::Object(fields), Value::Object(with)) = (&mut fields, with) else { panic!("two objects") };
    fields.extend(with);
    json!({"backward": fields})
}

/// An applied step of a window.
pub(crate) fn step(window: u64) -> Value {
    json!({"optimizer_step": {"window": window, "outcome": "applied"}})
}
