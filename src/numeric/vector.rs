//! The widest vector unit at hand, for loops whose results do not depend on it.
//!
//! A loop over independent elements has the same bits however many are computed side by side: each element sees the
//! same roundings in the same order, and LLVM fuses no multiplication with an addition unless told to. So one program
//! is compiled for several vector units, and the CPU picks.
//!
//! This file has the crate's only `unsafe` outside tests: a function compiled for AVX may be called only where there is
//! AVX. It was measured as needed (`docs/engine.md`): products run at 14 GFLOP/s without, 26 with AVX2, 45 with AVX-512,
//! where PyTorch has 26.

/// A loop that may be compiled for several vector units.
pub trait Kernel {
    /// What it computes beside what it writes.
    type Output;

    /// Runs it. `WIDE` says that registers hold 4 or 8 numbers, not 2. Mark it `#[inline(always)]`, with everything
    /// in it that is to be compiled for the unit; no bit of the result may depend on `WIDE`.
    fn run<const WIDE: bool>(self) -> Self::Output;
}

/// Runs a kernel on the widest vector unit that this CPU has.
pub fn on_widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            #[expect(unsafe_code, reason = "sound: the CPU was just seen to have AVX-512F")]
            return unsafe { with_avx512(kernel) };
        }
        if is_x86_feature_detected!("avx2") {
            #[expect(unsafe_code, reason = "sound: the CPU was just seen to have AVX2")]
            return unsafe { with_avx2(kernel) };
        }
    }
    portable(kernel)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

/// With what every CPU of the architecture has.
fn portable<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<false>()
}

/// What a kernel computes on each vector unit that this machine has, by name: for the test that all agree.
#[cfg(test)]
pub(crate) fn on_each<K: Kernel>(mut kernel: impl FnMut() -> K) -> Vec<(&'static str, K::Output)> {
    let mut outputs = vec![("portable", portable(kernel()))];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            #[expect(unsafe_code, reason = "sound: the CPU was just seen to have AVX2")]
            outputs.push(("AVX2", unsafe { with_avx2(kernel()) }));
        }
        if is_x86_feature_detected!("avx512f") {
            #[expect(unsafe_code, reason = "sound: the CPU was just seen to have AVX-512F")]
            outputs.push(("AVX-512", unsafe { with_avx512(kernel()) }));
        }
    }
    outputs
}
