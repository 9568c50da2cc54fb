//! Recompute schedules of a chain: what uniform blocks and binomial snapshots cost, as tables and curves.
//!
//! The two models count different things and stand in columns of their own, under their definitions.
use crate::autograd::recompute::binomial;
use crate::autograd::recompute::chain;
use crate::autograd::recompute::uniform::Uniform;
use crate::report::Style;
use crate::report::layout::Block;
use crate::report::layout::Section;
use crate::report::layout::Table;
use crate::report::layout::table::Cell;
use crate::report::layout::text as layout;
use crate::report::words;
use serde::Serialize;

/// The longest chain that is planned.
pub const LONGEST: u64 = 1 << 16;

/// The longest chain on which a schedule is executed as well.
pub const LONGEST_EXECUTED: u64 = 256;

/// What the state model counts.
pub const STATE_MODEL: &str = "State model: reversing a step needs its input state alone. Blocks of k steps keep ⌈L/k⌉ \
boundaries; the other inputs are made again by transitions, ⌈L/k⌉ fewer than steps. A state is alive from when it is \
made until the step that begins in it has been reversed, the output until the last step has; ⌈L/k⌉ + k is a bound.";

/// What the tape model counts.
pub const TAPE_MODEL: &str = "Tape model: a step must be run on the tape to be reversed, one at a time. With s snapshots, the \
input among them, the least total is T(L, s) = L + r·L − C(s + r, s + 1), r being the least with C(s + r, s) ≥ L: L \
runs on the tape, the rest advances without it, the first sweep's included.";

/// Uniform blocks in the state model, planned and, where the chain is short enough, executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StateRow {
    /// Steps in a block.
    pub block: u64,
    /// States that the forward keeps.
    pub boundaries: u64,
    /// ⌈L/k⌉ + k.
    pub bound: u64,
    /// The most states alive at once.
    pub alive: u64,
    /// Transitions made again.
    pub transitions: u64,
    /// States alive and transitions as counted on a scalar chain.
    pub counted: Option<[u64; 2]>,
}

/// Binomial snapshots in the tape model, planned and, where the chain is short enough, executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TapeRow {
    /// Snapshots at once, the input among them.
    pub snapshots: u64,
    /// The most often that a step is run without a tape.
    pub repetitions: u64,
    /// Runs without a tape.
    pub advances: u64,
    /// Runs on the tape.
    pub taped: u64,
    /// Both.
    pub total: u64,
    /// Snapshots at once and runs in all as counted on a scalar chain.
    pub counted: Option<[u64; 2]>,
}

/// The block with the least bound, and the one with the fewest states alive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestRow {
    /// L.
    pub depth: u64,
    /// √L.
    pub root: f64,
    /// The block with the least ⌈L/k⌉ + k.
    pub block: u64,
    /// That bound.
    pub bound: u64,
    /// Transitions made again with it.
    pub transitions: u64,
    /// The block with the fewest states alive.
    pub block_by_alive: u64,
    /// So many.
    pub alive: u64,
    /// States alive where all are stored.
    pub store_all: u64,
}

/// All about one depth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schedule {
    /// L.
    pub depth: u64,
    /// States alive where all are stored: L + 1.
    pub store_all: u64,
    /// What the state model counts.
    pub state_model: &'static str,
    /// Uniform blocks.
    pub blocks: Vec<StateRow>,
    /// What the tape model counts.
    pub tape_model: &'static str,
    /// Binomial snapshots.
    pub snapshots: Vec<TapeRow>,
    /// Best blocks of depths from 16 to 4096.
    pub best_blocks: Vec<BestRow>,
}

impl Schedule {
    /// The schedules of a chain, with the block and the number of snapshots asked for, or else with a choice of them.
    ///
    /// # Panics
    /// Where the depth, the block or the number of snapshots is 0, which is a bug of the caller.
    pub fn new(depth: u64, block: Option<u64>, snapshots: Option<u64>) -> Self {
        let best = [Uniform::least_bound(depth).block, Uniform::least_live(depth).block];
        let blocks = block.map_or_else(|| choice(depth, &best), |block| vec![block]);
        let snapshots = snapshots.map_or_else(|| choice(depth, &[3, 5]), |snapshots| vec![snapshots]);
        Schedule {
            depth,
            store_all: Uniform::store_all(depth),
            state_model: STATE_MODEL,
            blocks: blocks.into_iter().map(|block| state_row(depth, block)).collect(),
            tape_model: TAPE_MODEL,
            snapshots: snapshots.into_iter().map(|snapshots| tape_row(depth, snapshots)).collect(),
            best_blocks: (4..=12).map(|exponent| best_row(1 << exponent)).collect(),
        }
    }
}

/// Powers of two up to the depth, the depth, and what is special, in order.
fn choice(depth: u64, special: &[u64]) -> Vec<u64> {
    let powers = (0..64).map(|exponent| 1 << exponent).take_while(|power| *power < depth);
    let mut chosen: Vec<u64> = powers.chain(special.iter().copied().filter(|each| *each < depth)).collect();
    chosen.push(depth);
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn state_row(depth: u64, block: u64) -> StateRow {
    let Uniform { boundaries, bound, live, replayed, .. } = Uniform::new(depth, block);
    let counted = (depth <= LONGEST_EXECUTED).then(|| chain::uniform(depth, block));
    let counted = counted.map(|executed| [executed.most_kept, executed.transitions]);
    StateRow { block, boundaries, bound, alive: live, transitions: replayed, counted }
}

fn tape_row(depth: u64, snapshots: u64) -> TapeRow {
    let total = binomial::runs(depth, snapshots);
    let counted = (depth <= LONGEST_EXECUTED).then(|| chain::snapshots(depth, snapshots));
    TapeRow {
        snapshots,
        repetitions: binomial::repetitions(depth, snapshots),
        advances: total - depth,
        taped: depth,
        total,
        counted: counted.map(|executed| [executed.most_kept, executed.transitions + executed.taped]),
    }
}

fn best_row(depth: u64) -> BestRow {
    let (by_bound, by_alive) = (Uniform::least_bound(depth), Uniform::least_live(depth));
    BestRow {
        depth,
        root: (depth as f64).sqrt(),
        block: by_bound.block,
        bound: by_bound.bound,
        transitions: by_bound.replayed,
        block_by_alive: by_alive.block,
        alive: by_alive.live,
        store_all: Uniform::store_all(depth),
    }
}

/// Tables and curves for a terminal.
pub fn text(schedule: &Schedule, style: Style) -> String {
    layout::sections(&sections(schedule, Some(style.width)), style)
}

/// Tables, and curves of characters where there is a width for them.
pub(super) fn sections(schedule: &Schedule, curves: Option<usize>) -> [Section; 3] {
    let Schedule { depth, store_all, .. } = *schedule;
    let steps = words::count(depth, "step");
    let drawn = |section: Section, said: &str, name: &str, points: &[(u64, f64, String)]| match curves {
        Some(width) => section.paragraph(said).with(Block::Figure(curve(name, points, width))),
        None => section,
    };
    let alive: Vec<_> =
        schedule.blocks.iter().map(|row| (row.block, row.alive as f64, row.alive.to_string())).collect();
    let runs: Vec<_> =
        schedule.snapshots.iter().map(|row| (row.snapshots, row.total as f64, row.total.to_string())).collect();
    let uniform = Section::new(format!("uniform blocks of {steps}: state model"))
        .paragraph(schedule.state_model)
        .paragraph(format!("Storing every state keeps {store_all} alive and makes no transition again."))
        .with(Block::Table(state_table(&schedule.blocks)));
    let binomial = Section::new(format!("snapshots of {steps}: tape model"))
        .paragraph(schedule.tape_model)
        .with(Block::Table(tape_table(&schedule.snapshots)));
    let best = Section::new("best integer block: state model").with(Block::Table(best_table(&schedule.best_blocks)));
    [
        drawn(uniform, "States alive at once, by block:", "k", &alive),
        drawn(binomial, "Step runs in all, by snapshots:", "s", &runs),
        best,
    ]
}

fn or_empty(counted: Option<u64>) -> Cell {
    Cell::or_empty(counted.map(Cell::count))
}

fn state_table(rows: &[StateRow]) -> Table {
    let mut table = Table::new(&[
        "#block k",
        "#boundaries",
        "#bound",
        "#alive at most",
        "#transitions again",
        "#counted alive",
        "#counted transitions",
    ]);
    for row in rows {
        let planned = [row.block, row.boundaries, row.bound, row.alive, row.transitions].map(Cell::count);
        let counted = [row.counted.map(|counted| counted[0]), row.counted.map(|counted| counted[1])].map(or_empty);
        table.push(planned.into_iter().chain(counted).collect());
    }
    table.without_empty_columns()
}

fn tape_table(rows: &[TapeRow]) -> Table {
    let mut table = Table::new(&[
        "#snapshots s",
        "#r",
        "#advances",
        "#on the tape",
        "#runs in all T",
        "#counted snapshots",
        "#counted runs",
    ]);
    for row in rows {
        let planned = [row.snapshots, row.repetitions, row.advances, row.taped, row.total].map(Cell::count);
        let counted = [row.counted.map(|counted| counted[0]), row.counted.map(|counted| counted[1])].map(or_empty);
        table.push(planned.into_iter().chain(counted).collect());
    }
    table.without_empty_columns()
}

fn best_table(rows: &[BestRow]) -> Table {
    let mut table = Table::new(&[
        "#depth L",
        "#√L",
        "#k of the least bound",
        "#bound",
        "#transitions again",
        "#k of the fewest alive",
        "#alive at most",
        "#store all",
    ]);
    for row in rows {
        let mut cells = vec![Cell::count(row.depth), Cell::ratio(row.root)];
        let rest = [row.block, row.bound, row.transitions, row.block_by_alive, row.alive, row.store_all];
        cells.extend(rest.map(Cell::count));
        table.push(cells);
    }
    table
}

/// A bar for each point, as long as its amount.
fn curve(name: &str, points: &[(u64, f64, String)], width: usize) -> Vec<String> {
    const LONGEST_BAR: usize = 50;
    let most = points.iter().map(|(_, amount, _)| *amount).fold(1.0, f64::max);
    let longest = points.iter().map(|(at, _, _)| at.to_string().len()).max().unwrap_or(0);
    let columns = width.saturating_sub(longest + name.len() + 20).clamp(8, LONGEST_BAR);
    let bar = |amount: f64| "█".repeat(((amount / most * columns as f64).round() as usize).max(1));
    points.iter().map(|(at, amount, shown)| format!("{name} = {at:longest$}  {} {shown}", bar(*amount))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_schedules() {
        let schedule = Schedule::new(64, Some(8), Some(8));
        let counted = Some([16, 56]);
        let blocks = [StateRow { block: 8, boundaries: 8, bound: 16, alive: 16, transitions: 56, counted }];
        assert_eq!((schedule.blocks.as_slice(), schedule.store_all), (blocks.as_slice(), 65));
        let counted = Some([8, 201]);
        let row = TapeRow { snapshots: 8, repetitions: 3, advances: 137, taped: 64, total: 201, counted };
        assert_eq!(schedule.snapshots, [row]);
        let best: Vec<_> = schedule.best_blocks.iter().map(|row| (row.depth, row.block)).collect();
        assert_eq!((best[0], best[2], best[8]), ((16, 4), (64, 8), (4096, 64)));
    }

    #[test]
    fn what_is_executed_is_what_is_planned() {
        for depth in [1, 2, 10, 63, 64, 100] {
            let schedule = Schedule::new(depth, None, None);
            for row in &schedule.blocks {
                assert_eq!(row.counted, Some([row.alive, row.transitions]), "{depth}, block {}", row.block);
            }
            for row in &schedule.snapshots {
                let [snapshots, runs] = row.counted.expect("a short chain is executed");
                assert!(snapshots <= row.snapshots && runs == row.total, "{depth}, {row:?}");
            }
        }
        assert!(Schedule::new(LONGEST_EXECUTED + 1, None, None).blocks.iter().all(|row| row.counted.is_none()));
    }

    #[test]
    fn a_curve_is_as_long_as_its_amounts() {
        let points = [(1, 2.0, "2".to_owned()), (10, 4.0, "4".to_owned())];
        assert_eq!(curve("k", &points, 31), ["k =  1  ████ 2", "k = 10  ████████ 4"]);
    }
}
