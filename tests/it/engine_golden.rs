//! The engine against the golden files: PyTorch's values, and a 50-digit computation's.

use receipt::autograd::{Arena, Gradients};
use receipt::decoder::pass::{self, Arithmetic};
use receipt::decoder::{Config, Decoder, initial, nine_targets};

use crate::golden;

#[test]
fn probe() {
    let decoder = Decoder::new(Config::default()).unwrap();
    let parameters = decoder.initial_parameters(initial::GOLDEN_SEED);
    let exact = golden::read("exact_mp");
    let model = golden::read("model");
    let names: Vec<&str> = parameters.tensors().iter().map(|t| &*t.name).collect();
    let reference = golden::tensors(&exact["grads_nearest_f64"], names.iter().copied());
    for limit in [3, 2, 1] {
        let mut g = Gradients::zeros(&parameters);
        let mut arena = Arena::default();
        let mut sum = 0.0;
        for m in nine_targets::microbatches(limit) {
            sum += pass::backward(&decoder, &parameters, &m, 1.0 / 9.0, Arithmetic::default(), &mut g, &mut arena)
                .unwrap();
        }
        println!("{limit}: {sum} {:?}", golden::distance(g.values(), &reference));
    }
    println!("exact {} torch {}", exact["full_sum"], model["loss"]["full_sum"]["value"]);
    for k in ["full", "accumulated"] {
        println!(
            "torch {k} {:?}",
            golden::distance(&golden::tensors(&model["grads"][k], names.iter().copied()), &reference)
        );
    }
}
