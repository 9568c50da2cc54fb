//! The contract's words: fields that take one of a few fixed strings.

words! {
    /// The recipe by which each microbatch is to be weighted, with its version.
    #[schemars(extend("x-kind" = "version"))]
    Formula {
        /// c/N: every target of the window counts the same.
        TokenMean = "token-mean/1",
        /// c/(W·k·n).
        MeanOfMeans = "mean-of-means/1",
        /// c/(W·N_r).
        RankTokenMean = "rank-token-mean/1",
        /// c/(k·Σ_r n(r,i)).
        MicrobatchGlobalMean = "microbatch-global-mean/1",
        /// c/Σu.
        UnshiftedCount = "unshifted-count/1",
        /// c/(W·Σu of the rank).
        RankUnshiftedCount = "rank-unshifted-count/1",
        /// c·u/(n·Σu).
        UnshiftedWeightedMeans = "unshifted-weighted-means/1",
        /// c/Σ slots.
        SlotMean = "slot-mean/1",
        /// c·rows/(Σ rows·n).
        RowWeighted = "row-weighted/1",
        /// c/N of the window before.
        StaleDenominator = "stale-denominator/1",
        /// c.
        Unnormalized = "unnormalized/1",
    }
}
words! {
    /// What happens to a window that the end of the data leaves with fewer than K microbatches.
    Tail {
        /// It is stepped with its own denominator.
        Flush = "flush",
        /// It is kept and goes on in the next epoch or run.
        Carry = "carry",
        /// It is thrown away.
        Drop = "drop",
    }
}
words! {
    /// How ranks' gradients are combined.
    Reduction {
        /// Their mean: c = W.
        Mean = "mean",
        /// Their sum: c = 1.
        Sum = "sum",
    }
}
words! {
    /// Which backwards of a window all-reduce.
    Synchronize {
        /// Only the last.
        Last = "last",
        /// Every one.
        Each = "each",
    }
}
words! {
    /// A kind of event that the recorder cannot see.
    Unobserved {
        /// Gradient clearing.
        ZeroGrad = "zero_grad",
        /// Dividing out the loss scale.
        Unscale = "unscale",
        /// Clipping.
        Clip = "clip",
        /// The loss scaler's update.
        ScalerUpdate = "scaler_update",
        /// The scheduler's tick.
        SchedulerStep = "scheduler_step",
        /// Whether a backward all-reduced.
        Sync = "sync",
    }
}
words! {
    /// A kind of evidence that a run can hold.
    Evidence {
        /// `backward_loss`: what multiplied each loss sum.
        Weights = "weights",
        /// `logged.loss`.
        Loss = "loss",
        /// `logged.denominator`.
        Denominator = "denominator",
        /// `gradient_sum` of the microbatches and `logged.gradient` of the window.
        Gradient = "gradient",
        /// `logged.grad_norm` or `clip.norm`.
        Norm = "norm",
        /// `optimizer_step.learning_rate` or `scheduler_step`.
        LearningRate = "learning_rate",
        /// `backward.accumulated`.
        Accumulated = "accumulated",
        /// `parameters`.
        Parameters = "parameters",
    }
}
words! {
    /// Where `loss_sum` came from.
    NumeratorSource {
        /// Recomputed from the logits.
        Recomputed = "recomputed",
        /// The framework's loss times its divisor: it can hide that divisor's fault.
        ScaledLoss = "scaled-loss",
    }
}
words! {
    /// What the random streams did between microbatches.
    RandomState {
        /// No randomness in forward.
        Disabled = "disabled",
        /// The same masks whatever the partition.
        FixedLayout = "fixed-layout",
        /// Masks follow the partition.
        Live = "live",
    }
}
words! {
    /// What a skipped update does to a clock.
    Move {
        /// Nothing.
        Hold = "hold",
        /// It ticks as if the update had been applied.
        Advance = "advance",
    }
}
words! {
    /// When the hysteresis refills.
    Refill {
        /// When S grows.
        Growth = "growth",
        /// On every clean window.
        Clean = "clean",
    }
}
words! {
    /// What a scheduler ticks with.
    Interval {
        /// Every update.
        Update = "update",
        /// Every epoch.
        Epoch = "epoch",
    }
}
words! {
    /// On which side of the optimizer step a scheduler ticks.
    Position {
        /// The tick sets the next step's rate.
        After = "after",
        /// The tick sets this step's rate.
        Before = "before",
    }
}

macro_rules! default_words {
    ($($word:ident::$variant:ident),+ $(,)?) => {$(
        impl Default for $word {
            fn default() -> Self {
                $word::$variant
            }
        }
    )+};
}

default_words!(Move::Hold, Refill::Growth, Interval::Update, Position::After);
