//! The registry of codes. Codes are public and never reused.
//!
//! It lies below the readers, which raise GA1xx; each code's page is the doc comment of its file in `rules/`.
use super::Severity;
use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($code:ident $name:literal $severity:ident;)+) => {
        /// A rule's code. The name says the fault: read it after "this run has a …".
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum Code { $(#[doc = $name] $code),+ }

        /// Every code, in order.
        pub static CODES: &[Code] = &[$(Code::$code),+];

        impl Code {
            /// `"GA203"`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$code => stringify!($code)),+ }
            }

            /// The fault's name in kebab case.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name),+ }
            }

            /// The severity that a finding has unless its rule says otherwise.
            pub fn severity(self) -> Severity {
                match self { $(Code::$code => Severity::$severity),+ }
            }
        }
    };
}

codes! {
    GA101 "syntax-error" Error;
    GA102 "unsupported-schema" Error;
    GA103 "unexpected-shape" Error;
    GA104 "duplicate-key" Error;
    GA105 "unsafe-count" Error;
    GA106 "nonfinite-number" Error;
    GA107 "bad-identifier" Error;
    GA108 "duplicate-microbatch" Error;
    GA109 "gradient-dimension" Error;
    GA110 "rank-set" Error;
    GA111 "window-gap" Error;
    GA112 "inconsistent-accumulation" Error;
    GA113 "window-without-targets" Error;
    GA114 "tail-disagreement" Error;
    GA115 "limit-exceeded" Error;
    GA116 "broken-reference" Error;
    GA117 "contract-disagreement" Error;
    GA118 "impossible-contract" Error;
    GA201 "loss-drift" Error;
    GA202 "gradient-drift" Error;
    GA203 "weight-drift" Error;
    GA204 "denominator-mismatch" Error;
    GA205 "norm-mismatch" Error;
    GA206 "empty-microbatch" Warning;
    GA207 "accumulator-drift" Error;
    GA208 "missing-evidence" Error;
    GA301 "optimizer-step-count" Error;
    GA302 "scheduler-step-count" Error;
    GA303 "zero-inside-window" Error;
    GA304 "zero-forgotten" Error;
    GA305 "clock-order" Error;
    GA306 "skip-clock" Error;
    GA307 "learning-rate-off-schedule" Error;
    GA308 "update-counter" Error;
    GA309 "repeated-zero" Warning;
    GA310 "window-size" Error;
    GA311 "label-off-clock" Error;
    GA401 "missing-final-sync" Error;
    GA402 "early-sync" Warning;
    GA403 "forward-outside-no-sync" Warning;
    GA404 "sync-disagreement" Error;
    GA405 "ranks-diverge" Error;
    GA501 "unscale-count" Error;
    GA502 "scale-inside-window" Error;
    GA503 "unscale-mismatch" Error;
    GA504 "scaler-update-count" Error;
    GA505 "scaler-transition" Error;
    GA506 "clip-count" Error;
    GA507 "clip-before-unscale" Error;
    GA508 "nonfinite-applied" Error;
    GA601 "tail-policy" Error;
    GA602 "resume-mismatch" Error;
    GA701 "replay-drift" Error;
    GA702 "optimizer-drift" Error;
    GA703 "recompute-mismatch" Error;
    GA801 "receipt-hash" Error;
    GA802 "receipt-differs" Error;
    GA803 "receipt-unsupported" Error;
}

impl Code {
    /// Whether a finding of this code rejects the manifest: GA1xx.
    pub fn rejects(self) -> bool {
        self.as_str().starts_with("GA1")
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Code {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        CODES.iter().copied().find(|c| c.as_str().eq_ignore_ascii_case(text) || c.name() == text).ok_or(())
    }
}
