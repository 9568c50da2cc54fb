//! An exact sum as sign and magnitude, its quotient by an integer, and the one place where anything is rounded.
//!
//! Invariant: `words` has no zero at either end, so equal values have equal fields.

use std::cmp::Ordering;

use super::{GRID, LIMBS};

/// ±magnitude in words of radix 2^32.
pub(in crate::numeric) struct Digits {
    negative: bool,
    /// Least significant first; those within `low .. high` count, and each of the two ends is not zero.
    words: [u32; LIMBS + 1],
    low: usize,
    high: usize,
}

impl Digits {
    /// Propagates the carries of redundant signed `limbs`, the first of which has position `low`.
    pub(super) fn of(limbs: &[i64], low: usize) -> Self {
        let mut digits = Self { negative: false, words: [0; LIMBS + 1], low, high: low + limbs.len() + 1 };
        let mut carry = digits.propagate(limbs, 1);
        if carry < 0 {
            digits.negative = true;
            carry = digits.propagate(limbs, -1);
        }
        digits.words[low + limbs.len()] = u32::try_from(carry).expect("bug: a limb outgrew its carry");
        digits.trimmed()
    }

    /// An integer.
    pub(in crate::numeric) fn of_integer(value: u128) -> Self {
        let low = (-GRID / 32) as usize;
        let mut words = [0; LIMBS + 1];
        for (index, word) in words[low..low + 4].iter_mut().enumerate() {
            *word = (value >> (32 * index)) as u32;
        }
        Self { negative: false, words, low, high: low + 4 }.trimmed()
    }

    /// Writes the words of `sign · limbs` and gives what is carried out of the highest.
    fn propagate(&mut self, limbs: &[i64], sign: i64) -> i64 {
        let mut carry = 0;
        for (word, &limb) in self.words[self.low..].iter_mut().zip(limbs) {
            let sum = sign * limb + carry;
            *word = sum as u32;
            carry = sum >> 32;
        }
        carry
    }

    fn trimmed(mut self) -> Self {
        while self.high > self.low && self.words[self.high - 1] == 0 {
            self.high -= 1;
        }
        while self.low < self.high && self.words[self.low] == 0 {
            self.low += 1;
        }
        self
    }

    fn words(&self) -> &[u32] {
        &self.words[self.low..self.high]
    }

    pub(super) fn sign(&self) -> Ordering {
        match (self.words().is_empty(), self.negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }

    /// The binary64 nearest to the exact quotient by `divisor`.
    pub(in crate::numeric) fn over(&self, divisor: u128) -> f64 {
        assert!(divisor != 0, "bug: an exact sum divided by zero");
        if self.words().is_empty() {
            return 0.0;
        }
        // Long division from the highest word, past the lowest where need be, until 64 bits of quotient are there;
        // what is left can only break a tie.
        let mut rest = self.words().iter().rev();
        let (mut quotient, mut remainder, mut position) = (0_u128, 0_u128, self.high as i32);
        while quotient >> 64 == 0 {
            let word = rest.next().copied().unwrap_or(0);
            let (digit, left) = divide(remainder, word, divisor);
            quotient = quotient << 32 | u128::from(digit);
            remainder = left;
            position -= 1;
        }
        // The lowest word held is not zero, so it is enough to ask whether it was reached.
        let sticky = remainder != 0 || rest.len() > 0;
        let magnitude = nearest(quotient, GRID + 32 * position, sticky);
        // A quotient that rounds to zero has no sign: −0 has no place in a receipt.
        if self.negative && magnitude != 0.0 { -magnitude } else { magnitude }
    }
}

impl PartialEq for Digits {
    fn eq(&self, other: &Self) -> bool {
        self.sign() == other.sign()
            && self.words() == other.words()
            && (self.low == other.low || self.words().is_empty())
    }
}

/// One step of long division: quotient digit and remainder of `remainder · 2^32 + word`, where `remainder` is below
/// `divisor`.
fn divide(remainder: u128, word: u32, divisor: u128) -> (u32, u128) {
    if divisor >> 96 == 0 {
        let dividend = remainder << 32 | u128::from(word);
        let digit = dividend / divisor;
        return (digit as u32, dividend - digit * divisor);
    }
    let (mut digit, mut remainder) = (0, remainder);
    for bit in (0..32).rev() {
        let carried = remainder >> 127 == 1;
        remainder = remainder << 1 | u128::from(word >> bit & 1);
        digit <<= 1;
        if carried || remainder >= divisor {
            remainder = remainder.wrapping_sub(divisor);
            digit |= 1;
        }
    }
    (digit, remainder)
}

/// The binary64 nearest to `(quotient + rest) · 2^exponent`, ties to even, where `rest` lies strictly between 0 and 1
/// if `sticky` and is 0 otherwise; infinity from 2^1024 − 2^970 on.
fn nearest(quotient: u128, exponent: i32, sticky: bool) -> f64 {
    let length = (u128::BITS - quotient.leading_zeros()) as i32;
    assert!(length > 64, "bug: too few bits to round to 53");
    // Exponent of the result's last bit; subnormals share the least one.
    let last = (exponent + length - 53).max(-1074);
    let dropped = last - exponent;
    if dropped > length {
        return 0.0;
    }
    let kept = (quotient >> dropped) as u64;
    let lost = quotient & ((1 << dropped) - 1);
    let up = match lost.cmp(&(1 << (dropped - 1))) {
        Ordering::Less => false,
        Ordering::Equal => sticky || kept & 1 == 1,
        Ordering::Greater => true,
    };
    // The implicit bit of `kept` is what makes the exponent field 1 higher, and so is a carry out of rounding up.
    let bits = (((last + 1074) as u64) << 52) + kept + u64::from(up);
    f64::from_bits(bits.min(f64::INFINITY.to_bits()))
}
