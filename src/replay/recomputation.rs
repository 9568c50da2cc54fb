//! What is to be said of memory where a replay recomputes: four questions, answered with the figures of one pass.
//!
//! The pass goes over one full row at the first parameters, once with the plan and once recording everything, so that the
//! figures depend on the model and the plan alone.
use super::machine::Machine;
use crate::autograd::commit::NotCommitted;
use crate::autograd::recompute::Mismatch;
use crate::autograd::recompute::Plan;
use crate::canonical::Count;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// One pass over one full row, with the plan and without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recomputation {
    /// Positions of the row.
    pub positions: Count,
    /// Payload bytes that the tape retains when the loss has been computed.
    pub retained_bytes: Count,
    /// The same where everything is recorded.
    pub retained_bytes_recorded: Count,
    /// Constants and rotary tables in the recipes, in numbers of 8 bytes; they are among the retained bytes.
    pub recipe_values: Count,
    /// Segments that leave no tape.
    pub recompute_nodes: Count,
    /// Block runs beyond the forward's.
    pub extra_block_runs: Count,
    /// Whether loss and gradient have the bits that they have where everything is recorded.
    pub identical: bool,
    /// What is retained.
    pub retained: String,
    /// What is replayed.
    pub replayed: String,
    /// What makes the replay of a block deterministic.
    pub deterministic: String,
    /// What kind of figure the bytes are.
    pub kind: String,
}

impl Recomputation {
    /// Of a machine that recomputes; `None` where it does not, or where the pass overflows.
    ///
    /// # Errors
    /// [`Mismatch`]: what was run again did not come out the same.
    pub fn of(machine: &Machine) -> Result<Option<Self>, Mismatch> {
        if machine.recompute() == Plan::Record {
            return Ok(None);
        }
        let probes = machine.probe().and_then(|planned| Ok((planned, machine.recomputing(Plan::Record).probe()?)));
        let ((planned, gradient), (recorded, other)) = match probes {
            Ok(probes) => probes,
            Err(NotCommitted::Overflow(_)) => return Ok(None),
            Err(NotCommitted::Recompute(mismatch)) => return Err(mismatch),
        };
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let identical = planned.loss_sum.to_bits() == recorded.loss_sum.to_bits()
            && bits(gradient.values()) == bits(other.values());
        let count = |value: usize| Count::saturating(value as u64);
        let (retained, runs) = (planned.retained, planned.reruns.total());
        Ok(Some(Recomputation {
            positions: count(machine.context()),
            retained_bytes: count(retained.bytes()),
            retained_bytes_recorded: count(recorded.retained.bytes()),
            recipe_values: count(retained.recipes),
            recompute_nodes: count(retained.recompute_nodes),
            extra_block_runs: Count::saturating(runs),
            identical,
            retained: "when the loss has been computed: values of nodes that are no parameters, what operations saved for \
                       their derivatives, and constants and rotary tables of recipes"
                .to_owned(),
            replayed: format!("{runs} block runs beyond the forward's, from the kept input of each segment"),
            deterministic: "values depend on inputs and settings alone; dropout masks come from tickets and nothing is \
                            drawn again; there are no running statistics and no control flow that depends on data; each \
                            segment's output is compared bit for bit before it is differentiated"
                .to_owned(),
            kind: "a count of payload in numbers of 8 bytes: neither peak nor total memory; parameters, gradients, \
                   optimizer state, shapes, rows, tickets, unused capacity and the reverse sweep's own buffers are not in it"
                .to_owned(),
        }))
    }
}
