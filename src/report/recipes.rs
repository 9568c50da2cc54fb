//! What a recipe's name means to a person: formula, description, the frameworks that ship it, what to change.
//!
//! Every name that MANIFEST.md §6 can produce has an entry: a base, a product with a name of its own, or a base with a
//! factor as a suffix, which is put together from the two.

/// A recipe for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// As a diagnosis names it.
    pub name: String,
    /// The weight f of a microbatch's summed loss.
    pub formula: String,
    /// What was done, a clause: "each microbatch's loss was averaged by itself, …".
    pub did: String,
    /// Which targets counted for the most; all of a window alike where empty.
    pub heaviest: &'static str,
    /// What that does to training, one sentence.
    pub effect: String,
    /// Where it is shipped; empty where no release is known.
    pub seen_in: &'static str,
    /// What to change, in the imperative.
    pub change: String,
}

struct Entry {
    name: &'static str,
    formula: &'static str,
    did: &'static str,
    heaviest: &'static str,
    effect: &'static str,
    seen_in: &'static str,
    change: &'static str,
}

/// What the letters of the formulas mean. Where one begins with another, it comes first.
const LETTERS: [(&str, &str); 11] = [
    ("N_r", "the rank's valid targets"),
    ("n_i", "the targets of one microstep over all ranks"),
    ("N", "the window's valid targets"),
    ("n", "the microbatch's valid targets"),
    ("K", "declared microbatches per rank and window"),
    ("k", "microbatches per rank really in the window"),
    ("W", "ranks"),
    ("c", "W where gradients are averaged over ranks, else 1"),
    ("u", "labels counted before the shift"),
    ("rows", "sequences of a microbatch"),
    ("slots", "label positions, padding included"),
];

/// What the letters of some formulas mean, in a sentence.
pub fn letters(formulas: &str) -> String {
    let words: Vec<&str> = formulas.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let is_used = |(letter, _): &&(&str, &str)| words.iter().any(|word| word == letter);
    let used: Vec<String> =
        LETTERS.iter().filter(is_used).map(|(letter, meaning)| format!("{letter}: {meaning}")).collect();
    format!("f: what multiplies a microbatch's summed loss; {}.", used.join("; "))
}

const BASES: [Entry; 13] = [
    Entry {
        name: "token-mean",
        formula: "c/N",
        did: "every valid target of the window had the same weight",
        heaviest: "",
        effect: "This is the update that one big batch would have made.",
        seen_in: "",
        change: "Nothing, as far as weights go",
    },
    Entry {
        name: "mean-of-means",
        formula: "c/(W·k·n)",
        did: "each microbatch's loss was averaged by itself, and then the averages were averaged",
        heaviest: "targets in short microbatches",
        effect: "A target in a short microbatch counts for more than one in a long microbatch, so the update has \
                 another direction than one big batch's.",
        seen_in: "Transformers up to 4.45, Accelerate's and Lightning's plain loops, DeepSpeed, Megatron by default, nanotron",
        change: "Sum each microbatch's loss (`reduction=\"sum\"`) and divide by the valid targets of the whole update",
    },
    Entry {
        name: "rank-token-mean",
        formula: "c/(W·N_r)",
        did: "the loss was divided by each rank's own target count",
        heaviest: "targets on ranks with few of them",
        effect: "A target on a rank with few targets counts for more than one on a rank with many.",
        seen_in: "Transformers 4.46 across ranks (later with `average_tokens_across_devices=False`), axolotl, OLMo-core",
        change: "All-reduce the target count over ranks before dividing, and multiply by the number of ranks where gradients \
                 are averaged over them (DDP, FSDP)",
    },
    Entry {
        name: "microbatch-global-mean",
        formula: "c/(k·n_i), n_i = Σ_r n(r,i)",
        did: "the loss was averaged over ranks in each microstep, and then the microsteps were averaged",
        heaviest: "targets in microsteps with few of them",
        effect: "A target in a microstep with few targets counts for more than one in a microstep with many.",
        seen_in: "Levanter; loops that all-reduce the count in every microstep",
        change: "Count the targets of all microbatches and ranks before the window's first backward, and divide by that",
    },
    Entry {
        name: "unshifted-count",
        formula: "c/Σu",
        did: "the loss was divided by a count of labels that was taken before the one-token shift",
        heaviest: "",
        effect: "The first label of a row is never predicted, so the count is too large by one for each row whose first \
                 label is not masked, and every update is too small.",
        seen_in: "Transformers 4.46.2 to 5.9 (5.24 for models without a mapped loss type), TRL 0.24",
        change: "Count `labels[..., 1:]`, or mask each row's first label",
    },
    Entry {
        name: "rank-unshifted-count",
        formula: "c/(W·Σu of the rank)",
        did: "the loss was divided by each rank's own count of labels, taken before the one-token shift",
        heaviest: "targets on ranks with few of them",
        effect: "Ranks with few targets count for too much, and the first label of every row is counted though it is \
                 never predicted.",
        seen_in: "Transformers 4.46.3 to 4.53 across ranks",
        change: "Count `labels[..., 1:]` over all microbatches and ranks, and divide by that",
    },
    Entry {
        name: "unshifted-weighted-means",
        formula: "c·u/(n·Σu)",
        did: "each microbatch's mean was weighted by a count of labels that was taken before the one-token shift",
        heaviest: "targets in microbatches that lose many labels by the shift",
        effect: "Numerator and denominator are counted differently, so the targets of rows whose first label is not \
                 masked weigh more than they should.",
        seen_in: "torchtune 0.6",
        change: "Use one count, taken after the shift, both to weight the means and to divide",
    },
    Entry {
        name: "slot-mean",
        formula: "c/Σ slots",
        did: "the loss was divided by all label positions, padding and masked ones included",
        heaviest: "",
        effect: "The more padding a window has, the smaller its update.",
        seen_in: "loops that average the unreduced loss with `.mean()`",
        change: "Divide by the labels that are not the ignore index, counted after the shift",
    },
    Entry {
        name: "row-weighted",
        formula: "c·rows/(Σ rows · n)",
        did: "the microbatches' means were averaged with their numbers of rows as weights",
        heaviest: "targets in short rows",
        effect: "A target in a short row counts for more than one in a long row.",
        seen_in: "Composer by default; verl",
        change: "Weight by valid targets in place of rows (Composer: `accumulate_train_batch_on_tokens=True`)",
    },
    Entry {
        name: "stale-denominator",
        formula: "c/N of the window before",
        did: "the loss was divided by the target count of the window before",
        heaviest: "",
        effect: "Every update is too large or too small by however much two windows differ.",
        seen_in: "loops that count a window late; LLaMA-Factory and TRL in some versions",
        change: "Count the targets of the very microbatches that are differentiated, before the window's first backward",
    },
    Entry {
        name: "unnormalized",
        formula: "c",
        did: "the summed loss was not divided at all",
        heaviest: "",
        effect: "The update grows with the number of targets; clipping and Adam hide that, the learning rate does not.",
        seen_in: "loops with `reduction=\"sum\"` and no division",
        change: "Divide by the valid targets of the whole update",
    },
    Entry {
        name: "last-microbatch-only",
        formula: "f for the last microbatch, 0 for the others",
        did: "only the gradient of the last microbatch was kept",
        heaviest: "targets in the last microbatch",
        effect: "Gradients were overwritten and not added: all data but the last microbatch of each window is lost.",
        seen_in: "gradients cleared or assigned in every microbatch; some fused gradient buffers",
        change: "Add to the gradient buffers, and clear them once per update",
    },
    Entry {
        name: "first-microbatch-only",
        formula: "f for the first microbatch, 0 for the others",
        did: "only the gradient of the first microbatch was kept",
        heaviest: "targets in the first microbatch",
        effect: "What later microbatches added was lost.",
        seen_in: "Primus in one version",
        change: "Add to the gradient buffers in every microbatch",
    },
];

/// Products with a name of their own, with the base and the suffix that they stand for.
const NAMED: [(Entry, &str); 7] = [
    (
        Entry {
            name: "sum-of-means",
            formula: "c/(W·n)",
            did: "each microbatch's loss was averaged by itself, and then the averages were added",
            heaviest: "targets in short microbatches",
            effect: "The gradient is about k times too large, which clipping and Adam hide, and a target in a short \
                     microbatch counts for more than one in a long microbatch.",
            seen_in: "Transformers 4.46 to 4.48 for models that take no loss arguments, Burn",
            change: "Sum each microbatch's loss (`reduction=\"sum\"`) and divide by the valid targets of the whole update",
        },
        "mean-of-means*k",
    ),
    (
        Entry {
            name: "mean-of-means-nominal",
            formula: "c/(W·K·n)",
            did: "each microbatch's loss was averaged by itself, and the averages were divided by the configured accumulation steps even where an update had fewer microbatches",
            heaviest: "targets in short microbatches",
            effect: "A target in a short microbatch counts for more than one in a long microbatch, and the short window \
                     at the end of the data makes too small an update.",
            seen_in: "Accelerate (`accumulate`) and Lightning (`accumulate_grad_batches`) with the loss left as it is",
            change: "Sum each microbatch's loss (`reduction=\"sum\"`), divide by the valid targets of the whole update, and \
                     undo the library's own division by the accumulation steps",
        },
        "mean-of-means*k/K",
    ),
    (
        Entry {
            name: "divided-twice",
            formula: "c/(N·k)",
            did: "the loss was divided by the window's targets, and by the number of its microbatches once more",
            heaviest: "",
            effect: "Every update is k times too small; clipping and Adam hide that, the learning rate does not.",
            seen_in: "a token mean handed to a library that divides too: accelerate#3533, transformers#35808",
            change: "Divide once: drop the division by the number of microbatches, or multiply the loss by it first",
        },
        "token-mean/k",
    ),
    (
        Entry {
            name: "divided-twice-nominal",
            formula: "c/(N·K)",
            did: "the loss was divided by the window's targets, and by the configured accumulation steps once more",
            heaviest: "",
            effect: "Every update is K times too small; clipping and Adam hide that, the learning rate does not.",
            seen_in: "a token mean handed to a library that divides too: accelerate#3533, transformers#35808",
            change: "Divide once: drop the division by the accumulation steps, or multiply the loss by them before the library divides",
        },
        "token-mean/K",
    ),
    (
        Entry {
            name: "multiplied-by-k",
            formula: "c·k/N",
            did: "the token mean was multiplied by the number of microbatches",
            heaviest: "",
            effect: "Every update is k times too large; clipping and Adam hide that, the learning rate does not.",
            seen_in: "Transformers 4.46.2 and 4.46.3 in some set-ups (the log was right)",
            change: "Drop the multiplication that was meant to undo a division which is no longer there",
        },
        "token-mean*k",
    ),
    (
        Entry {
            name: "world-size-lost",
            formula: "c/(N·W)",
            did: "the loss was divided by all ranks' targets, and the average over ranks (DDP, FSDP) divided by the number of ranks once more",
            heaviest: "",
            effect: "Every update is W times too small: the average over ranks divides once more.",
            seen_in: "torchtune#2172, transformers#37474",
            change: "Multiply the loss by the number of ranks where gradients are averaged over them (DDP, FSDP), or sum them",
        },
        "token-mean/W",
    ),
    (
        Entry {
            name: "world-size-twice",
            formula: "c·W/N",
            did: "the loss was multiplied by the number of ranks once too often",
            heaviest: "",
            effect: "Every update is W times too large.",
            seen_in: "",
            change: "Multiply the loss by the number of ranks only where gradients are averaged over them, and only once",
        },
        "token-mean*W",
    ),
];

/// Suffixes: how the formula goes on, what was done, what to change.
const FACTORS: [(&str, &str, &str, &str); 8] = [
    ("", "", "", ""),
    (
        "*K",
        " · K",
        "and the result was multiplied by the configured accumulation steps",
        "drop the multiplication by the accumulation steps",
    ),
    (
        "/K",
        " / K",
        "and the result was divided by the configured accumulation steps once more",
        "drop the division by the accumulation steps",
    ),
    (
        "*k",
        " · k",
        "and the result was multiplied by the number of microbatches",
        "drop the multiplication by the number of microbatches",
    ),
    (
        "/k",
        " / k",
        "and the result was divided by the number of microbatches once more",
        "drop the division by the number of microbatches",
    ),
    (
        "*k/K",
        " · k/K",
        "and short windows were made smaller, by their microbatches over the configured ones",
        "divide short windows by what is really in them",
    ),
    (
        "*W",
        " · W",
        "and the result was multiplied by the number of ranks once too often",
        "drop one multiplication by the number of ranks",
    ),
    (
        "/W",
        " / W",
        "and the result was divided by the number of ranks once too often",
        "drop one division by the number of ranks",
    ),
];

/// The recipe of a name; `None` for a name that this version does not know (a later version's receipt).
pub fn find(name: &str) -> Option<Recipe> {
    if let Some((entry, _)) = NAMED.iter().find(|(entry, _)| entry.name == name) {
        return Some(entry.alone());
    }
    let start = name.find(['*', '/']).unwrap_or(name.len());
    let (base, suffix) = name.split_at(start);
    let base = BASES.iter().find(|entry| entry.name == base)?;
    let (suffix, formula, did, change) = FACTORS.iter().find(|(each, ..)| *each == suffix)?;
    if suffix.is_empty() {
        return Some(base.alone());
    }
    if let Some((entry, _)) = NAMED.iter().find(|(_, stands_for)| *stands_for == name) {
        return Some(Recipe { name: name.to_owned(), ..entry.alone() });
    }
    Some(Recipe {
        name: name.to_owned(),
        formula: match base.formula.contains([' ', ',']) {
            true => format!("({}){formula}", base.formula),
            false => format!("{}{formula}", base.formula),
        },
        did: format!("{}, {did}", base.did),
        change: match base.name {
            "token-mean" => format!("{}{}", change[..1].to_uppercase(), &change[1..]),
            _ => format!("{}, and {change}", base.change),
        },
        ..base.alone()
    })
}

impl Entry {
    fn alone(&self) -> Recipe {
        Recipe {
            name: self.name.to_owned(),
            formula: self.formula.to_owned(),
            did: self.did.to_owned(),
            heaviest: self.heaviest,
            effect: self.effect.to_owned(),
            seen_in: self.seen_in,
            change: self.change.to_owned(),
        }
    }
}

/// The recipe that a contract's formula (`token-mean/1`) declares.
pub fn declared(formula: &str) -> Option<Recipe> {
    find(formula.strip_suffix("/1")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_entry() {
        for base in &BASES {
            for (suffix, ..) in FACTORS {
                let name = format!("{}{suffix}", base.name);
                let recipe = find(&name).unwrap_or_else(|| panic!("{name} has no entry"));
                assert_eq!(recipe.name, name);
                assert!(!recipe.formula.is_empty() && !recipe.did.is_empty() && !recipe.change.is_empty(), "{name}");
                assert!(!recipe.change.ends_with('.') && !recipe.did.ends_with('.'), "{name}: its clauses run on");
                assert!(recipe.effect.ends_with('.'), "{name}");
            }
        }
        for (entry, stands_for) in &NAMED {
            assert_eq!(find(entry.name).expect("named").formula, find(stands_for).expect("a product").formula);
        }
        assert_eq!(find("a-later-one"), None);
        assert_eq!(find("token-mean*Q"), None);
    }

    #[test]
    fn only_the_letters_used_are_explained() {
        assert_eq!(
            letters("c/(W·N_r)"),
            "f: what multiplies a microbatch's summed loss; N_r: the rank's valid targets; W: ranks; c: W where \
             gradients are averaged over ranks, else 1."
        );
    }

    #[test]
    fn products_are_put_together() {
        let recipe = find("unshifted-count/K").expect("a product");
        assert_eq!(recipe.formula, "c/Σu / K");
        assert_eq!(
            recipe.did,
            "the loss was divided by a count of labels that was taken before the one-token shift, and the result was \
             divided by the configured accumulation steps once more"
        );
        assert_eq!(
            recipe.change,
            "Count `labels[..., 1:]`, or mask each row's first label, and drop the division by the accumulation steps"
        );
        assert_eq!(
            find("token-mean*K").expect("a product").change,
            "Drop the multiplication by the accumulation steps"
        );
        assert_eq!(declared("mean-of-means/1").expect("a base").name, "mean-of-means");
    }
}
