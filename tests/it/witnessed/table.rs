//! What kinds of leaves there are, how each is changed, and which rules have to see that.
use receipt::finding::Code::{self, *};

/// How a leaf is changed.
pub(super) enum Change {
    /// A count goes up by one, a real gets another value, a flag flips, an identifier changes.
    Other,
    /// To the first of these that it is not yet; JSON.
    To(&'static [&'static str]),
}

/// A kind of leaf.
pub(super) struct Row {
    /// The path to it, without indices, `contract`, and the rank's `events`.
    pub(super) kind: &'static str,
    pub(super) change: Change,
    /// Every one of them fires for some leaf of the kind; none where it is unwitnessed, and then nothing fires.
    pub(super) witnesses: &'static [Code],
    /// Leaves of the kind in the fully witnessed run whose change nothing sees: there is nothing in their window to
    /// compare them with, or what else was recorded there allows for it.
    pub(super) silent: usize,
}

const fn other(kind: &'static str, witnesses: &'static [Code]) -> Row {
    Row { kind, change: Change::Other, witnesses, silent: 0 }
}

const fn to(kind: &'static str, json: &'static [&'static str], witnesses: &'static [Code]) -> Row {
    Row { kind, change: Change::To(json), witnesses, silent: 0 }
}

impl Row {
    const fn silent(self, silent: usize) -> Row {
        Row { silent, ..self }
    }
}

/// All kinds of leaves.
pub(super) const TABLE: &[Row] = &[
    // Documents.
    other("schema", &[GA102]),
    other("rank", &[GA110]),
    other("replay.seed", &[]),
    other("replay.blocks", &[]),
    to("replay.width", &["8"], &[]),
    to("replay.heads", &["2"], &[]),
    other("replay.feed_forward", &[]),
    other("replay.context", &[]),
    other("replay.vocabulary", &[]),
    to("replay.dropout", &["0.5"], &[]),
    to("replay.recompute", &["\"blocks\""], &[]),
    to("resume.previous_receipt", &[DIGEST], &[GA602]),
    other("resume.window", &[GA111]),
    other("resume.ranks.rank", &[GA110]),
    other("resume.ranks.microbatches.microbatch", &[GA602]),
    other("resume.ranks.microbatches.valid_targets", &[GA602, GA203, GA201, GA204]),
    other("resume.ranks.microbatches.loss_sum", &[GA602, GA201]),
    other("resume.ranks.microbatches.gradient_sum", &[GA602, GA202]),
    other("resume.ranks.random_state", &[GA602]),
    other("resume.applied_updates", &[GA602, GA308, GA307]),
    other("resume.loss_scale", &[GA602, GA505]),
    other("resume.growth_tracker", &[GA602]),
    other("resume.hysteresis_left", &[GA602]),
    other("resume.growth_delay_pending", &[GA602]),
    other("resume.learning_rate", &[GA602]),
    // The contract.
    to("formula", &["\"mean-of-means/1\""], &[GA203, GA201, GA202]),
    other("accumulation_steps", &[GA310, GA601]),
    other("accumulation_steps.from_window", &[GA310]),
    other("accumulation_steps.steps", &[GA310]),
    other("world_size", &[GA110]),
    to("tail", &["\"drop\"", "\"carry\""], &[GA601]),
    other("tolerance.absolute", &[]),
    other("tolerance.relative", &[]),
    to("precision", &["\"float32\""], &[]),
    to("loss_precision", &["\"float32\""], &[]),
    to("gradient_reduction", &["\"sum\""], &[GA203]),
    to("gradient_basis.kind", &["\"complete\"", "\"coordinates\""], &[GA205]).silent(1),
    other("gradient_basis.dimension", &[GA109]),
    other("gradient_basis.seed", &[]),
    to("loss_scale.policy", &["\"static\"", "\"dynamic\""], &[GA103]),
    other("loss_scale.value", &[GA505]),
    other("loss_scale.initial", &[GA505]),
    other("loss_scale.growth_factor", &[GA505]),
    other("loss_scale.growth_interval", &[GA505]),
    other("loss_scale.growth_delay", &[GA505]),
    other("loss_scale.maximum", &[GA505]),
    to("loss_scale.backoff_factor", &["0.75"], &[GA505]),
    to("loss_scale.hysteresis", &["1"], &[GA505]),
    to("loss_scale.hysteresis_refill", &["\"clean\""], &[GA505]),
    to("loss_scale.minimum", &["4"], &[GA505]),
    other("clip.max_norm", &[GA506]),
    to("optimizer.name", &["\"sgd\"", "\"adamw\""], &[GA103]),
    other("optimizer.learning_rate", &[GA702]).silent(1),
    to("optimizer.beta1", &["0.8"], &[GA702]).silent(1),
    to("optimizer.beta2", &["0.8"], &[GA702]).silent(1),
    other("optimizer.epsilon", &[GA702]).silent(1),
    other("optimizer.momentum", &[GA702]),
    other("optimizer.weight_decay", &[GA702]).silent(1),
    to("scheduler.name", &["\"constant\"", "\"linear\""], &[GA103]),
    other("scheduler.peak", &[GA307]),
    other("scheduler.warmup_steps", &[GA307]),
    other("scheduler.total_steps", &[GA307]),
    to("scheduler.floor", &["0.02"], &[GA307]),
    to("scheduler.interval", &["\"epoch\"", "\"update\""], &[GA302]),
    other("scheduler.ticks", &[GA302]),
    to("scheduler.position", &["\"before\""], &[GA305]),
    to("on_skip.scheduler", &["\"advance\""], &[GA306]),
    to("on_skip.update", &["\"advance\""], &[GA306]),
    to("synchronize", &["\"last\"", "\"each\""], &[GA402]).silent(1),
    to("unobserved", &["\"sync\""], &[GA304]),
    to("require", &["\"parameters\""], &[GA208]).silent(2),
    to("numerator_source", &["\"scaled-loss\""], &[]),
    to("ignore_index", &["-1"], &[]),
    to("random_state", &["\"live\""], &[]),
    other("software.torch", &[]),
    // Events.
    to("zero_grad", &["\"epoch_end\""], &[GA304]).silent(2),
    to("epoch_end", &["\"zero_grad\""], &[GA302]),
    other("backward.window", &[GA111]),
    other("backward.microbatch", &[GA601]).silent(42),
    other("backward.valid_targets", &[GA203, GA201, GA204]),
    other("backward.loss_sum", &[GA203, GA201]),
    other("backward.nonfinite", &[GA103]),
    other("backward.backward_loss", &[GA203]),
    other("backward.auxiliary_loss", &[GA203]),
    other("backward.gradient_sum", &[GA202, GA207, GA205]).silent(12),
    other("backward.accumulated", &[GA207, GA405]).silent(4),
    other("backward.sync", &[GA401, GA402, GA403, GA404]),
    other("backward.forward_sync", &[GA401, GA402, GA403]),
    other("backward.loss_scale", &[GA502, GA503, GA505]),
    other("backward.rows", &[GA203]).silent(42),
    other("backward.slots", &[GA203]).silent(42),
    other("backward.unshifted_targets", &[GA203]).silent(42),
    other("rescale.factor", &[GA203, GA207]),
    other("unscale.loss_scale", &[GA503]),
    other("unscale.nonfinite", &[GA508]).silent(6),
    other("clip.norm", &[GA205, GA405]),
    other("clip.nonfinite", &[GA103]),
    other("optimizer_step.window", &[GA301]),
    to("optimizer_step.outcome", &["\"skipped\"", "\"applied\""], &[GA508, GA308, GA405]),
    other("optimizer_step.update", &[GA308]),
    other("optimizer_step.learning_rate", &[GA307]),
    other("optimizer_step.loss_scale", &[GA503]),
    other("scaler_update.loss_scale", &[GA505]),
    other("scheduler_step.learning_rate", &[GA307]),
    other("logged.window", &[GA305]),
    other("logged.loss", &[GA201]),
    other("logged.windows", &[GA201]),
    other("logged.decimals", &[GA201]),
    other("logged.denominator", &[GA204]),
    other("logged.grad_norm", &[GA205]),
    other("logged.gradient", &[GA202, GA405]),
    other("parameters.values", &[GA405, GA702]),
    other("checkpoint.update", &[GA311]),
    other("evaluation.update", &[GA311]),
    other("epoch_end.microbatches", &[GA601]),
    other("carry.window", &[GA601]),
    other("carry.microbatches", &[GA601]),
    other("carry.valid_targets", &[GA601]),
    other("carry.loss_sum", &[GA601]),
    other("carry.gradient_sum", &[GA601]),
    other("carry.backwards", &[GA601]),
    other("carry.next_microbatch", &[]),
    other("carry.random_state", &[]),
    other("drop.window", &[GA601]),
    other("drop.microbatches", &[GA601]),
    other("drop.valid_targets", &[GA601]),
    other("restore.window", &[GA111]),
    to("restore.applied_updates", &["60"], &[GA308]),
    other("restore.loss_scale", &[GA505]),
    other("restore.growth_tracker", &[GA505]),
    other("restore.hysteresis_left", &[GA505]),
    other("restore.growth_delay_pending", &[GA505]),
    other("restore.learning_rate", &[]),
];

const DIGEST: &str = "\"00000000000000000000000000000000000000000000000000000000000000ff\"";
