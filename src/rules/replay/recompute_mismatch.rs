//! GA703.
use crate::autograd::recompute::Mismatch;
use crate::finding::Code;
use crate::finding::Finding;
use crate::finding::Findings;
use crate::finding::Place;
use crate::replay::Trace;
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Where the replay recomputes blocks (`replay.recompute`, `--recompute`), compares what was run again with the first
    /// run before anything of it is differentiated: the same precision, the same parameters, and an output with the same
    /// bits. The finding names the node of the tape, the first element that differs, and its bits in both runs.
    ///
    /// ## Why it is wrong
    /// A gradient through values that the loss did not come from is a gradient of nothing. None was written, and the
    /// replay gives no figures of that window: neither for it nor against it is anything said.
    ///
    /// No manifest can cause this. The same operations ran on the same numbers in one process: what remains is faulty
    /// memory or a faulty processor, a compiler that translated one operation in two ways, or a fault of this program.
    ///
    /// ## What to do
    /// Run the same command again, and on another machine. Where it comes and goes, test the machine's memory. Where it
    /// stays, report it as a bug of `receipt`, with the manifest. `receipt replay --recompute none` executes the run without
    /// recomputing.
    GA703, Check::Replay(check)
}

fn check(trace: &Trace, findings: &mut Findings) {
    for found in &trace.mismatches {
        let place = found.window.map_or_else(Place::run, Place::window);
        findings.report(Finding::new(Code::GA703, place, message(&found.mismatch)));
    }
}

fn message(mismatch: &Mismatch) -> String {
    match mismatch {
        Mismatch::Output { node, element, forward, again } => {
            let shown = |bits: &u64| format!("{:e} (bits {bits:#018x})", f64::from_bits(*bits));
            format!(
                "recomputed, element {element} of node {node} is {} where the forward had {}",
                shown(again),
                shown(forward)
            )
        }
        Mismatch::Precision { .. } | Mismatch::Parameter { .. } => mismatch.to_string(),
    }
}
