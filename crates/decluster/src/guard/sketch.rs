//! How values are distributed, in little memory.

use hdrhistogram::Histogram;

/// A quantile sketch: counts of values in buckets that are less than 1 % wide (an HDR histogram with two significant
/// digits). It grows with the largest value, to 11 KiB at the most, and sketches can be merged without loss.
///
/// ```
/// use decluster::guard::Sketch;
/// let mut sizes = Sketch::default();
/// [12, 11, 67, 81].into_iter().for_each(|tokens| sizes.record(tokens));
/// assert_eq!((sizes.count(), sizes.sum(), sizes.max()), (4, 171, Some(81)));
/// assert_eq!(sizes.quantile(0.5), Some(12));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// None before the first value.
    counts: Option<Histogram<u32>>,
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
        self.max = self.max.max(value);
        if self.counts.is_none() {
            self.counts = Histogram::new(DIGITS).ok();
        }
        if let Some(counts) = &mut self.counts {
            // It grows up to the value, which is bounded above.
            let _ = counts.record(value);
        }
    }

    /// Counts all that another one counted.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
        match (&mut self.counts, &other.counts) {
            (Some(counts), Some(others)) => {
                let _ = counts.add(others);
            }
            (counts @ None, others) => counts.clone_from(others),
            (Some(_), None) => {}
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

    /// The largest, exactly.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The least value that is not exceeded by this part (0 to 1) of the values, or up to [`Sketch::ERROR`] more.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let counts = self.counts.as_ref().filter(|_| self.count > 0)?;
        Some(counts.value_at_quantile(part).min(self.max))
    }
}

/// The same counts.
impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        let told = |s: &Self| (s.count, s.sum, s.max);
        told(self) == told(other) && (self.count == 0 || self.counts == other.counts)
    }
}

impl Eq for Sketch {}

/// Significant digits: a bucket is at most a 128th of its value wide.
const DIGITS: u8 = 2;
