//! What the contract and the limits ask of a single event, beyond its shape.
use crate::finding::Code;
use crate::manifest::contract::Contract;
use crate::manifest::contract::Unobserved;
use crate::manifest::event::Event;
use crate::manifest::event::Logged;
use crate::manifest::explain::Fault;
use crate::manifest::limits::DECIMALS;
use crate::manifest::limits::LOGGED_WINDOWS;
use crate::manifest::limits::VECTOR;

/// What an event is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) dimension: Dimension,
    /// Every backward says whether it was outside no_sync.
    pub(crate) needs_sync: bool,
    /// The run still goes on: its last line may be torn.
    pub(crate) partial: bool,
}

/// The largest dimension.
const LONGEST: u64 = VECTOR as u64;

/// How long a vector has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Dimension {
    /// The contract couldn't be read, or says something impossible.
    Unknown,
    /// The contract declares no basis: there may be no vector.
    Undeclared,
    /// D.
    Declared(u64),
}

impl From<Option<&Contract>> for Dimension {
    fn from(contract: Option<&Contract>) -> Self {
        match contract.map(|contract| contract.gradient_basis) {
            None => Dimension::Unknown,
            Some(None) => Dimension::Undeclared,
            Some(Some(basis)) => match basis.dimension() {
                dimension @ 1..=LONGEST => Dimension::Declared(dimension),
                _ => Dimension::Unknown,
            },
        }
    }
}

impl Dimension {
    /// What is wrong with a vector of this length, if anything.
    pub(crate) fn refuse(self, length: usize) -> Option<String> {
        match self {
            Dimension::Declared(dimension) if dimension != length as u64 => Some(format!(
                "a vector of {length} values, where the contract's gradient_basis has dimension {dimension}"
            )),
            Dimension::Undeclared => {
                Some(format!("a vector of {length} values, but the contract declares no gradient_basis"))
            }
            _ => None,
        }
    }
}

impl Terms {
    /// Those of a contract, as far as it could be read.
    pub(crate) fn new(contract: Option<&Contract>, partial: bool) -> Self {
        let needs_sync =
            contract.is_some_and(|contract| contract.world_size.get() > 1 && contract.observes(Unobserved::Sync));
        Terms { dimension: Dimension::from(contract), needs_sync, partial }
    }

    /// Those by which an event is judged on its own.
    pub(crate) fn none() -> Self {
        Terms::new(None, false)
    }

    /// What is wrong with an event of the right shape.
    pub(crate) fn judge(&self, event: &Event) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut vector = |pointer: &str, length: Option<usize>| {
            if let Some(message) = length.and_then(|length| self.dimension.refuse(length)) {
                faults.push(Fault::new(Code::GA109, pointer.to_owned(), message, 0..0));
            }
        };
        match event {
            Event::Backward(backward) => {
                vector("/backward/accumulated", backward.accumulated.as_ref().map(|v| v.len()));
                vector("/backward/gradient_sum", backward.gradient_sum.as_ref().map(|v| v.len()));
                if self.needs_sync && backward.sync.is_none() {
                    let message = "missing field `sync`, which is needed where world_size is more than 1";
                    faults.push(Fault::new(Code::GA103, "/backward".to_owned(), message, 0..0));
                }
            }
            Event::Logged(logged) => {
                vector("/logged/gradient", logged.gradient.as_ref().map(|v| v.len()));
                numbers(logged, &mut faults);
            }
            Event::Parameters(parameters) => vector("/parameters/values", Some(parameters.values.len())),
            Event::Carry(carry) => vector("/carry/gradient_sum", carry.gradient_sum.as_ref().map(|v| v.len())),
            _ => {}
        }
        faults
    }
}

fn numbers(logged: &Logged, faults: &mut Vec<Fault>) {
    let mut limit = |pointer: &str, code: Code, message: String| {
        faults.push(Fault::new(code, pointer.to_owned(), message, 0..0));
    };
    if let Some(decimals) = logged.decimals.filter(|decimals| decimals.get() > DECIMALS) {
        limit("/logged/decimals", Code::GA115, format!("{decimals} decimals, beyond the limit of {DECIMALS}"));
    }
    match logged.windows.map(|windows| windows.get()) {
        Some(0) => limit("/logged/windows", Code::GA103, "a mean over 0 windows".to_owned()),
        Some(windows) if windows > LOGGED_WINDOWS => {
            let message = format!("a mean over {windows} windows, beyond the limit of {LOGGED_WINDOWS}");
            limit("/logged/windows", Code::GA115, message);
        }
        _ => {}
    }
}
