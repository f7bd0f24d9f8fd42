//! RTT samples of a direction: tcptrace's, those of full-sized segments, and ours. Most are all of
//! these at once and like the one before: such are summed up in few words first.

use crate::rtt_samples::{bucket, Histogram, Samples};

/// Longer times are not summed up first.
const SHORT: i64 = 1 << 32;

/// First what most samples need.
#[derive(Default)]
#[repr(C)]
pub struct RoundTrips {
    usual: UsualSamples,
    ours_run: Run,
    timestamps_run: Run,
    full_size: i64,
    sums: Option<Box<Sums>>,
}

#[derive(Default)]
pub struct Sums {
    pub all: Samples,
    pub full: Samples,
    pub ours: Samples,
    pub histogram: Histogram,
    pub timestamps: Histogram,
}

/// Samples that are tcptrace's, of full size, and ours.
#[derive(Default)]
struct UsualSamples {
    squares: u64,
    sum: u64,
    count: u64,
    min: u32,
    max: u32,
}

impl UsualSamples {
    /// False if there is no more room for it.
    #[inline(always)]
    fn add(&mut self, time: u32) -> bool {
        let wide = u64::from(time);
        let squares = match self.squares.checked_add(wide * wide) {
            Some(squares) => squares,
            None => return false,
        };
        if self.count == 0 || time < self.min {
            self.min = time;
        }
        self.max = self.max.max(time);
        self.count += 1;
        (self.sum, self.squares) = (self.sum + wide, squares);
        true
    }

    fn samples(&self) -> Samples {
        Samples {
            count: self.count,
            min: self.min.into(),
            max: self.max.into(),
            sum: self.sum.into(),
            squares: self.squares.into(),
        }
    }
}

/// Times of one bucket, one after another.
#[derive(Default)]
struct Run {
    bucket: u16,
    count: u16,
}

impl Run {
    /// Counts a time; a run that it ends is returned: its bucket and how many they were.
    #[inline(always)]
    fn add(&mut self, time: i64) -> Option<Run> {
        let bucket = bucket(time);
        let is_next = bucket == self.bucket && self.count < u16::MAX;
        let ended = (!is_next).then(|| std::mem::take(self));
        (self.bucket, self.count) = (bucket, self.count + 1);
        ended
    }
}

impl RoundTrips {
    /// The time until the ACK that ends just where a segment ends; `is_ours` says whether it is the
    /// newest data that the ACK covers too.
    #[inline(always)]
    pub fn exact(&mut self, time: i64, size: i64, is_ours: bool, compatible: bool) {
        let is_usual = is_ours && size == self.full_size && time < SHORT && !compatible;
        if is_usual && self.usual.add(time as u32) {
            self.count_ours(time);
        } else {
            self.unusual(time, size, compatible);
            if is_ours {
                self.ours(time);
            }
        }
    }

    #[inline(never)]
    fn unusual(&mut self, time: i64, size: i64, compatible: bool) {
        if size >= self.full_size && self.usual.count > 0 {
            self.sum_up();
        }
        if size > self.full_size {
            (self.full_size, self.sums().full) = (size, Samples::default());
        }
        let full_size = self.full_size;
        let sums = self.sums();
        sums.all.add(time, compatible);
        if size == full_size {
            sums.full.add(time, compatible);
        }
    }

    #[inline(never)]
    pub fn ours(&mut self, time: i64) {
        self.sums().ours.add(time, false);
        self.count_ours(time);
    }

    #[inline(always)]
    fn count_ours(&mut self, time: i64) {
        if let Some(run) = self.ours_run.add(time) {
            self.sums().histogram.add(run.bucket, run.count);
        }
    }

    #[inline(always)]
    pub fn timestamp(&mut self, time: i64) {
        if let Some(run) = self.timestamps_run.add(time) {
            self.sums().timestamps.add(run.bucket, run.count);
        }
    }

    #[inline(never)]
    fn sums(&mut self) -> &mut Sums {
        self.sums.get_or_insert_with(Default::default)
    }

    /// The shortest so far.
    pub fn least(&self) -> Option<i64> {
        let usual = if self.usual.count > 0 { Some(self.usual.min.into()) } else { None };
        let ours = self.sums.as_deref().filter(|sums| sums.ours.count > 0);
        let ours = ours.map(|sums| sums.ours.min);
        ours.into_iter().chain(usual).min()
    }

    /// All samples, once they are summed up.
    pub fn summed_up(&self) -> Option<&Sums> {
        self.sums.as_deref()
    }

    /// Lets all samples have what was counted first.
    pub fn sum_up(&mut self) {
        if self.usual.count == 0 && self.ours_run.count == 0 && self.timestamps_run.count == 0 {
            return;
        }
        let usual = std::mem::take(&mut self.usual).samples();
        let runs = [&mut self.ours_run, &mut self.timestamps_run].map(std::mem::take);
        let sums = self.sums();
        for samples in [&mut sums.all, &mut sums.full, &mut sums.ours] {
            samples.merge(&usual);
        }
        for (run, histogram) in runs.into_iter().zip([&mut sums.histogram, &mut sums.timestamps]) {
            histogram.add(run.bucket, run.count);
        }
    }
}
