//! Rows of a table, gathered by id. Where an id comes more than once its row's cotangents add, in order of position.

use std::sync::Arc;

use crate::autograd::primitive::{Extent, Pinned, Primitive, Setting, sample};
use crate::autograd::tape::{Tape, Var};
use crate::autograd::tensor::{Shape, View};

pub(super) static PRIMITIVE: Primitive = Primitive {
    name: "embedding",
    inputs: 1,
    extent: |call| {
        let (table, ids) = (call.inputs[0].shape, call.setting.ids());
        assert!(ids.iter().all(|&id| (id as usize) < table.rows), "bug: an id beyond the table's {} rows", table.rows);
        Extent { output: Shape::matrix(ids.len(), table.columns), saved: 0 }
    },
    value: |call, out, _| gather(out, call.inputs[0], call.setting.ids()),
    vjp: |call, _, ct, [table, ..]| {
        let width = call.inputs[0].shape.columns;
        table.fill(0.0);
        for (&id, ct) in call.setting.ids().iter().zip(ct.chunks_exact(width)) {
            let row = &mut table[id as usize * width..][..width];
            row.iter_mut().zip(ct).for_each(|(sum, ct)| *sum += ct);
        }
    },
    jvp: |call, _, tangents, out| {
        gather(out, View { values: tangents[0], ..call.inputs[0] }, call.setting.ids());
    },
    samples: || {
        let table = [0.5, -1.0, 2.0, 0.25, -3.0, 1.5];
        vec![sample([(3, 2, &table)], Setting::Ids(Arc::new([2, 0, 2, 2])))]
    },
    // Id 1 three times; ids 2 and 4 never, so that their rows get zero.
    pinned: || vec![Pinned {
    at: sample(
        [
            (5, 3, &[
                0.9130860476450364, -0.7950351583127502, -0.30273100608056547, 0.03212429386053328,
                0.7325032799604461, -0.36389366180764693, 0.853318360306381, 0.23493384355561386,
                0.3632853397711129, -0.9312529360297275, -0.1386547274171992, 0.9191653981893424,
                0.47520536626745513, -0.4001573006805741, -0.9918739606957481
            ]),
        ],
        Setting::Ids(Arc::new([1, 3, 1, 1, 0])),
    ),
    output: vec![
        0.03212429386053328, 0.7325032799604461, -0.36389366180764693, -0.9312529360297275,
        -0.1386547274171992, 0.9191653981893424, 0.03212429386053328, 0.7325032799604461, -0.36389366180764693,
        0.03212429386053328, 0.7325032799604461, -0.36389366180764693, 0.9130860476450364, -0.7950351583127502,
        -0.30273100608056547
    ],
    ct: vec![
        0.7481271999474646, -0.14499168409158814, 0.703807123024031, 0.4877001936948169, 0.05671676782002,
        0.6065704858486909, 0.32308094665851894, -0.5067776109944269, 0.5582564294547769, -0.7939203515202398,
        0.8038300462572361, -0.6031904592530144, 0.09574296230528412, 0.023254867955974534,
        -0.5647708560552438
    ],
    input_cts: vec![
        vec![
            0.09574296230528412, 0.023254867955974534, -0.5647708560552438, 0.27728779508574375,
            0.1520607511712211, 0.6588730932257936, 0.0, 0.0, 0.0, 0.4877001936948169, 0.05671676782002,
            0.6065704858486909, 0.0, 0.0, 0.0
        ],
    ],
    tolerance: 1e-16,
}],
};

fn gather(out: &mut [f64], table: View<'_>, ids: &[u32]) {
    for (&id, out) in ids.iter().zip(out.chunks_exact_mut(table.shape.columns)) {
        out.copy_from_slice(table.row(id as usize));
    }
}

impl Tape<'_> {
    /// Row `ids[t]` of a vocabulary × width table at each position t: positions × width.
    ///
    /// # Panics
    /// Where an id has no row, which is a bug of the caller: check ids where they come in.
    pub fn embedding(&mut self, table: Var, ids: Arc<[u32]>) -> Var {
        self.apply(&PRIMITIVE, [table], Setting::Ids(ids))
    }
}
