//! SplitMix64: a counter and a mixing function, so that every word is known from seed and position alone.
//!
//! Source: Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014; constants as in
//! Vigna's `splitmix64.c`. The known answers in the tests are PyTorch-independent and stand in `fixtures/golden/ops.json`.

/// What the counter advances by: 2^64 divided by the golden ratio, made odd.
pub const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's output function: a bijection of 64-bit words in which every input bit reaches every output bit.
#[must_use]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Word number `position`, counted from 0, of the stream that starts after `seed`: no word before it is needed.
#[must_use]
pub fn word_at(seed: u64, position: u64) -> u64 {
    mix(seed.wrapping_add(GOLDEN_GAMMA.wrapping_mul(position.wrapping_add(1))))
}

/// A word as a number in [0, 1) with 53 random bits: `(word >> 11) · 2^-53`.
#[must_use]
pub fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// The stream of words that starts after `seed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A stream whose first word is `mix(seed + GOLDEN_GAMMA)`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64-bit word.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// A number in [-1, 1) with 53 random bits: `2 · (word >> 11) · 2^-53 - 1`.
    pub fn symmetric(&mut self) -> f64 {
        2.0 * unit(self.word()) - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words() {
        let mut stream = SplitMix64::new(0);
        let words: Vec<u64> = (0..5).map(|_| stream.word()).collect();
        assert_eq!(
            words,
            [16294208416658607535, 7960286522194355700, 487617019471545679, 17909611376780542444, 1961750202426094747]
        );
    }

    #[test]
    fn a_word_is_known_from_its_position() {
        let mut stream = SplitMix64::new(u64::MAX - 3);
        for position in 0..100 {
            assert_eq!(word_at(u64::MAX - 3, position), stream.word());
        }
    }

    #[test]
    fn known_numbers() {
        let mut stream = SplitMix64::new(0x5EED_0000_0000_002A);
        assert_eq!(stream.symmetric(), -0.9663727849119979);
        assert_eq!(stream.symmetric(), 0.03424545421133085);
    }

    #[test]
    fn range_is_half_open() {
        let mut stream = SplitMix64::new(7);
        assert!((0..10_000).map(|_| stream.symmetric()).all(|x| (-1.0..1.0).contains(&x)));
    }
}
