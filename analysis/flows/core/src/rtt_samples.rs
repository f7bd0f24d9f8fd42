//! Sums and histograms of times, in whole numbers: the same in any order and in any language.

/// Count, extremes, sum and sum of squares of times in nanoseconds.
#[derive(Clone, Copy, Default, Debug)]
pub struct Samples {
    pub count: u64,
    pub min: i64,
    pub max: i64,
    pub sum: i128,
    pub squares: u128,
}

impl Samples {
    /// tcptrace takes a smallest time of 0 for none (`compatible`).
    #[inline(always)]
    pub fn add(&mut self, time: i64, compatible: bool) {
        if self.count == 0 || time < self.min || (compatible && self.min == 0) {
            self.min = time;
        }
        if self.count == 0 || time > self.max {
            self.max = time;
        }
        self.count += 1;
        self.sum += i128::from(time);
        self.squares = self.squares.saturating_add((time as u128) * (time as u128));
    }

    pub fn merge(&mut self, other: &Samples) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 || other.min < self.min {
            self.min = other.min;
        }
        if self.count == 0 || other.max > self.max {
            self.max = other.max;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Nanoseconds; tcptrace divides by a little more than the count.
    pub fn mean(&self, compatible: bool) -> f64 {
        match (self.count, compatible) {
            (0, _) => 0.0,
            (count, true) => self.sum as f64 / (count as f64 + 0.0001),
            (count, false) => self.sum as f64 / count as f64,
        }
    }

    /// Nanoseconds, for n - 1; 0 for fewer than three, as tcptrace has it.
    pub fn deviation(&self) -> f64 {
        if self.count <= 2 {
            return 0.0;
        }
        let (count, sum) = (self.count as f64, self.sum as f64);
        ((self.squares as f64 - sum * sum / count) / (count - 1.0)).max(0.0).sqrt()
    }
}

/// Bits of a value that a bucket keeps: its width is at most 1/64 of its value.
const BITS: u32 = 6;

/// How often each bucket was met, ordered by bucket. The rule: below 128 each value is a bucket of
/// its own; above, the highest bit and the six after it choose the bucket. It stands for its
/// middle, `low + width / 2`.
#[derive(Clone, Default, Debug)]
pub struct Histogram {
    counts: Vec<(u16, u32)>,
}

impl Histogram {
    pub fn add(&mut self, bucket: u16, times: u16) {
        let times = u32::from(times);
        match self.counts.binary_search_by_key(&bucket, |entry| entry.0) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(times),
            Err(at) if times > 0 => self.counts.insert(at, (bucket, times)),
            Err(_) => {}
        }
    }

    /// The value that `percent` of `rtt_samples` do not exceed: of the bucket with the
    /// `ceil(percent * n / 100)`-th sample.
    pub fn percentile(&self, percent: u64) -> Option<i64> {
        let total: u64 = self.counts.iter().map(|entry| u64::from(entry.1)).sum();
        let wanted = (percent * total + 99) / 100;
        let mut seen = 0;
        for (bucket, count) in &self.counts {
            seen += u64::from(*count);
            if seen >= wanted {
                return Some(middle(*bucket) as i64);
            }
        }
        None
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().map(|entry| u64::from(entry.1)).sum()
    }
}

#[inline(always)]
pub fn bucket(time: i64) -> u16 {
    let value = time.max(0) as u64;
    let shift = (64 - value.leading_zeros()).saturating_sub(BITS + 1);
    ((shift << BITS) + (value >> shift) as u32) as u16
}

fn middle(bucket: u16) -> u64 {
    let bucket = u32::from(bucket);
    if bucket < 2 << BITS {
        return u64::from(bucket);
    }
    let shift = (bucket >> BITS) - 1;
    let low = u64::from(bucket - (shift << BITS)) << shift;
    low + (1 << shift >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_stands_for_its_values_within_a_percent() {
        for exponent in 0..62 {
            for value in
                [1u64 << exponent, (1 << exponent) + (1 << exponent >> 1), (2 << exponent) - 1]
            {
                let middle = middle(bucket(value as i64));
                assert!(middle.abs_diff(value) * 127 <= value, "{value} {middle}");
            }
        }
    }

    #[test]
    fn percentiles_take_the_sample_at_the_rank() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|value| histogram.add(bucket(value), 1));
        assert_eq!(histogram.percentile(50), Some(50));
        assert_eq!(histogram.percentile(99), Some(99));
        assert_eq!(Histogram::default().percentile(50), None);
    }
}
