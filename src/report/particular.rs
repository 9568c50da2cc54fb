//! What the windows of a run tell beyond its worst finding: faults that have a usual cause of their own.
use super::words;
use crate::finding::Code;
use crate::manifest::contract::AccumulationSteps;
use crate::receipt::document::FindingReport;
use crate::receipt::document::Receipt;

/// What to say in place of what the rule alone would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Particular {
    /// What is wrong; absent where the rule says it well.
    pub(super) what: Option<String>,
    /// What to change.
    pub(super) change: String,
}

/// Of the worst finding of a run; absent where its windows tell nothing more.
pub(super) fn of(receipt: &Receipt, worst: &FindingReport) -> Option<Particular> {
    match worst.code {
        Code::GA310 => steps_every_microbatch(receipt, worst),
        Code::GA302 => ticks_by_process(receipt),
        _ => None,
    }
}

/// Every update is one microbatch of each rank: the step stands outside the test that closes a window.
fn steps_every_microbatch(receipt: &Receipt, worst: &FindingReport) -> Option<Particular> {
    let contract = receipt.contract.as_ref()?;
    let AccumulationSteps::Constant(steps) = contract.accumulation_steps else { return None };
    let windows = receipt.windows.as_deref().filter(|windows| windows.len() > 1)?;
    let is_every = windows.iter().all(|window| window.microbatches == contract.world_size);
    (steps.get() > 1 && is_every).then(|| Particular {
        what: Some(format!(
            "The optimizer stepped after every microbatch ({}), where {steps} microbatches were to make an update",
            words::windows_of(worst)
        )),
        change: format!(
            "Call `optimizer.step()`, and what belongs to it, once every {steps} microbatches; or declare the \
             `accumulation_steps` that are meant."
        ),
    })
}

/// Each update has as many ticks as the declared times the ranks: what Accelerate's prepared scheduler does.
fn ticks_by_process(receipt: &Receipt) -> Option<Particular> {
    let contract = receipt.contract.as_ref()?;
    let declared = contract.scheduler.as_ref()?.clock().ticks;
    let ranks = contract.world_size.get();
    let windows = receipt.windows.as_deref().filter(|windows| !windows.is_empty())?;
    let is_every = windows.iter().all(|window| window.clock.scheduler_step == declared * ranks);
    (ranks > 1 && is_every).then(|| Particular {
        what: None,
        change: format!(
            "The scheduler ticks once for each of the {ranks} processes, as one does that Accelerate prepared: build it \
             without `prepare`, or declare that as `ticks` with a schedule laid out for it."
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;
    use crate::report::testing;
    use serde_json::json;

    fn receipt(microbatches: u64, ticks: u64, ranks: u64) -> Receipt {
        let mut receipt = testing::violated(&[&testing::RIGHT, &testing::RIGHT]);
        let contract = receipt.contract.as_mut().expect("a contract");
        contract.world_size = testing::count(ranks);
        contract.scheduler = serde_json::from_value(json!({"name": "recorded"})).expect("a scheduler");
        for window in receipt.windows.iter_mut().flatten() {
            window.microbatches = testing::count(microbatches);
            window.clock.scheduler_step = ticks;
        }
        receipt
    }

    #[test]
    fn a_step_in_every_microbatch_is_told_from_another_k() {
        let finding = testing::finding(Code::GA310, Place::window(0), "1 microbatch per rank");
        let particular = of(&receipt(2, 1, 2), &finding).expect("more is known");
        assert_eq!(
            particular.what.expect("what is wrong"),
            "The optimizer stepped after every microbatch (window 0), where 3 microbatches were to make an update"
        );
        assert!(particular.change.starts_with("Call `optimizer.step()`, and what belongs to it, once every 3"));
        assert_eq!(of(&receipt(4, 1, 2), &finding), None, "another number");
        let mut once = receipt(2, 1, 2);
        once.windows.as_mut().expect("windows")[1].microbatches = testing::count(6);
        assert_eq!(of(&once, &finding), None, "not in every window");
    }

    #[test]
    fn ticks_by_process_are_told_from_ticks_by_microbatch() {
        let finding = testing::finding(Code::GA302, Place::window(0), "2 scheduler ticks");
        let particular = of(&receipt(6, 2, 2), &finding).expect("more is known");
        assert!(particular.what.is_none() && particular.change.contains("Accelerate"), "{particular:?}");
        assert_eq!(of(&receipt(6, 3, 2), &finding), None, "a tick for each microbatch");
        assert_eq!(of(&receipt(3, 1, 1), &finding), None, "one rank");
    }
}
