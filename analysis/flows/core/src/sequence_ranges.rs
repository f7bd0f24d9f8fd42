//! What the peer has selectively acknowledged above its ACK: few ranges, ordered, apart from each
//! other.

/// More ranges than this are not remembered: the lowest is forgotten, and counts as not
/// acknowledged.
const MOST: usize = 256;

/// First what packets ask for if there are none.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Ranges {
    /// Bytes in all ranges.
    pub total: i64,
    list: Vec<(i64, i64)>,
}

impl Ranges {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The end of the highest range.
    pub fn top(&self) -> i64 {
        self.list.last().map_or(i64::MIN, |range| range.1)
    }

    /// Whether a range has this byte.
    pub fn holds(&self, byte: i64) -> bool {
        self.list.iter().any(|range| range.0 <= byte && byte < range.1)
    }

    pub fn add(&mut self, left: i64, right: i64) {
        let from = self.list.partition_point(|range| range.1 < left);
        let to = self.list.partition_point(|range| range.0 <= right);
        if from < to {
            let merged = (left.min(self.list[from].0), right.max(self.list[to - 1].1));
            self.list.splice(from..to, [merged]);
        } else {
            self.list.insert(from, (left, right));
        }
        if self.list.len() > MOST {
            self.list.remove(0);
        }
        self.count();
    }

    /// Forgets what lies below `ack`, which needs no selective acknowledgement any more.
    pub fn acknowledge(&mut self, ack: i64) {
        let gone = self.list.partition_point(|range| range.1 <= ack);
        self.list.drain(..gone);
        if let Some(first) = self.list.first_mut() {
            first.0 = first.0.max(ack);
        }
        self.count();
    }

    fn count(&mut self) {
        self.total = self.list.iter().map(|range| range.1 - range.0).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_shrink() {
        let mut ranges = Ranges::default();
        ranges.add(10, 20);
        ranges.add(30, 40);
        assert_eq!((ranges.total, ranges.top()), (20, 40));
        ranges.add(20, 30);
        assert_eq!((ranges.total, ranges.list.len()), (30, 1));
        ranges.acknowledge(35);
        assert_eq!(ranges.list, [(35, 40)]);
        ranges.acknowledge(40);
        assert!(ranges.is_empty() && ranges.total == 0);
    }

    #[test]
    fn there_are_never_too_many() {
        let mut ranges = Ranges::default();
        (0..1000).for_each(|at| ranges.add(at * 10, at * 10 + 5));
        assert_eq!((ranges.list.len(), ranges.total, ranges.top()), (MOST, 5 * MOST as i64, 9995));
    }
}
