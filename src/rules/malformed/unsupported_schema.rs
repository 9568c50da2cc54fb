//! GA102.
use crate::rules::Check;

rule! {
    /// ## What it does
    /// Finds a `schema` or `formula` that this version does not know.
    ///
    /// ## Why it is wrong
    /// Names carry their version, because a guess at a format's meaning could verify a run that its own version
    /// would refuse.
    ///
    /// ## What to do
    /// Use `accumulation/microbatch-manifest/1` or `accumulation/rank-manifest/1`, and a formula of
    /// `docs/method.md` with its version, like `token-mean/1`; or a version of `receipt` that knows the name.
    GA102, Check::Reading
}
