//! A warm update allocates next to nothing: buffers stay in the arena from one tape to the next.
//!
//! Counting needs an allocator of one's own, and `GlobalAlloc` is an unsafe trait: hence `unsafe` in this test. It
//! counts on each thread for itself, so that the other tests of the binary do not disturb.
#![expect(clippy::print_stdout, reason = "the counts are shown with --nocapture")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use receipt::decoder::outcome::Outcome;
use receipt::decoder::pass::Arithmetic;
use receipt::decoder::update::Recipe;
use receipt::decoder::{Trainer, nine_targets};
use receipt::optimizer::{AdamW, LossScale, Optimizer, Schedule, adamw};

use crate::engine_fixtures::default_decoder;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[expect(unsafe_code, reason = "sound: every call is passed on to the system's allocator as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_default_update_makes_fewer_than_100_allocations() {
    let (decoder, parameters) = default_decoder();
    let recipe = Recipe {
        optimizer: Optimizer::AdamW(AdamW::new(adamw::Settings::default(), parameters.values().len())),
        loss_scale: LossScale::fixed(128.0).unwrap(),
        schedule: Schedule::Constant { peak: 0.01 },
        max_norm: Some(1.0),
        arithmetic: Arithmetic::default(),
    };
    let mut trainer = Trainer::new(parameters, recipe);
    let microbatches = nine_targets::microbatches(2);
    let mut update = || {
        let before = ALLOCATIONS.get();
        let outcome = trainer.update(&decoder, &microbatches);
        assert!(matches!(outcome, Ok(Outcome::Applied(_))));
        ALLOCATIONS.get() - before
    };
    let counts: Vec<usize> = (0..4).map(|_| update()).collect();
    println!("allocations of the first updates: {counts:?}");
    assert!(counts[0] > 100, "the counter counts: {counts:?}");
    assert!(counts[2] < 100 && counts[3] == counts[2], "{counts:?}");
}
