//! How values are distributed, in little memory.

use alloc::boxed::Box;
use hdrhistogram::Histogram;

/// A quantile sketch: counts of values in buckets that are less than 1 % wide (an HDR histogram with two significant
/// digits). It grows with the largest value, from 1 KiB up to 255, to 11 KiB at the most; without values it is 32 bytes.
/// Sketches can be merged without loss. A bucket counts to four billion and then stands still.
///
/// ```
/// use decluster::guard::Sketch;
/// let mut sizes = Sketch::default();
/// [12, 11, 67, 81].into_iter().for_each(|tokens| sizes.record(tokens));
/// assert_eq!((sizes.count(), sizes.sum(), sizes.max()), (4, 171, Some(81)));
/// assert_eq!(sizes.quantile(0.5), Some(12));
/// assert_eq!(sizes.count_up_to(67), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// None before the first value.
    counts: Option<Box<Histogram<u32>>>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Sketch {
    /// The most by which a quantile exceeds the exact one, as a part of it.
    pub const ERROR: f64 = 0.01;
    /// Larger values count as this: a day in milliseconds.
    pub const VALUE_MAX: u64 = 86_400_000;

    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        let value = value.min(Self::VALUE_MAX);
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(value);
        if value > self.max || self.counts.is_none() {
            self.max = value;
            self.grow();
        }
        if let Some(counts) = &mut self.counts {
            // There is room up to the largest.
            counts.saturating_record(value);
        }
    }

    /// Counts all that another one counted.
    pub fn merge(&mut self, other: &Self) {
        let Some(others) = &other.counts else { return };
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
        self.grow();
        if let Some(counts) = &mut self.counts {
            // It has room for all of them by now, so it is never refused.
            let _ = counts.add(&**others);
        }
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Their mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The largest, exactly.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The least value that is not exceeded by this part (0 to 1) of the values, or up to [`Sketch::ERROR`] more.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let counts = self.counts.as_deref()?;
        // Not the histogram's own: its total goes on where a bucket stands still.
        let buckets = || counts.iter_recorded().map(|bucket| u64::from(bucket.count_at_value()));
        let total = buckets().fold(0, u64::saturating_add);
        // 0.07 of a hundred are seven, although their product is a little more.
        let rank = ((part * total as f64 * (1.0 - 1e-12)).ceil() as u64).max(1);
        let mut below = 0_u64;
        let found = counts.iter_recorded().find(|bucket| {
            below = below.saturating_add(u64::from(bucket.count_at_value()));
            below >= rank
        });
        let found = found.map(|bucket| counts.highest_equivalent(bucket.value_iterated_to()));
        Some(found.map_or(self.max, |value| value.min(self.max)))
    }

    /// How many values are this or less; some that exceed it by up to [`Sketch::ERROR`] count, too.
    pub fn count_up_to(&self, value: u64) -> u64 {
        match self.counts.as_deref() {
            Some(counts) if value < self.max => counts.count_between(0, value),
            _ => self.count,
        }
    }

    /// Makes room for the largest value. A histogram that grows by itself may take twice the memory it needs.
    fn grow(&mut self) {
        let high = (self.max | (SMALL - 1)).saturating_add(1).next_power_of_two() - 1;
        if self.counts.as_ref().is_some_and(|counts| counts.high() >= high) {
            return;
        }
        let Ok(mut larger) = Histogram::new_with_max(high, DIGITS) else { return };
        if let Some(counts) = &self.counts {
            let _ = larger.add(&**counts);
        }
        self.counts = Some(Box::new(larger));
    }
}

/// The same counts.
impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        let told = |s: &Self| (s.count, s.sum, s.max);
        told(self) == told(other) && self.counts == other.counts
    }
}

impl Eq for Sketch {}

/// Significant digits: a bucket is at most a 128th of its value wide.
const DIGITS: u8 = 2;
/// Values below this have buckets of their own, whatever the largest is.
const SMALL: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_within_what_is_said() {
        let bytes = |value: u64| {
            let mut sketch = Sketch::default();
            sketch.record(value);
            let counts = sketch.counts.unwrap();
            size_of::<Histogram<u32>>() + counts.distinct_values() * size_of::<u32>()
        };
        assert_eq!(size_of::<Sketch>(), 32);
        assert!(bytes(255) <= 1_200, "{}", bytes(255));
        assert!(bytes(u64::MAX) <= 11 << 10, "{}", bytes(u64::MAX));
    }

    #[test]
    fn counters_stand_still_at_their_end_and_quantiles_stay_right() {
        let mut sketch = Sketch::default();
        for value in [5, 5, 5, 700] {
            sketch.record(value);
        }
        for _ in 0..40 {
            let same = sketch.clone();
            sketch.merge(&same);
        }
        assert_eq!(sketch.count(), 4 << 40);
        assert_eq!(sketch.quantile(0.5), Some(5));
        assert_eq!(sketch.quantile(1.0), Some(700));
        sketch.record(5);
        assert_eq!(sketch.quantile(1.0), Some(700));
    }

    #[test]
    fn nothing_has_no_quantiles() {
        let mut sketch = Sketch::default();
        sketch.merge(&Sketch::default());
        assert_eq!((sketch.quantile(0.5), sketch.max(), sketch.mean()), (None, None, None));
        assert_eq!((sketch.count_up_to(9), sketch), (0, Sketch::default()));
    }

    #[test]
    fn parts_beyond_the_ends_are_the_ends() {
        let mut sketch = Sketch::default();
        for value in [3, 9] {
            sketch.record(value);
        }
        for (part, expected) in
            [(-1.0, 3), (0.0, 3), (f64::NAN, 3), (0.5, 3), (0.51, 9), (2.0, 9), (f64::INFINITY, 9)]
        {
            assert_eq!(sketch.quantile(part), Some(expected), "{part}");
        }
    }
}
