//! A number that may be unknown, in eight bytes: an `Option<i64>` has sixteen.

/// Neither a time nor a sequence number that a capture can have.
const UNKNOWN: i64 = i64::MIN;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionalNumber(i64);

impl Default for OptionalNumber {
    fn default() -> OptionalNumber {
        OptionalNumber(UNKNOWN)
    }
}

impl From<i64> for OptionalNumber {
    #[inline(always)]
    fn from(number: i64) -> OptionalNumber {
        OptionalNumber(number)
    }
}

impl OptionalNumber {
    #[inline(always)]
    pub fn get(self) -> Option<i64> {
        (self.0 != UNKNOWN).then_some(self.0)
    }
}
