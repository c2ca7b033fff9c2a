//! Pacers that know the whole trace: what could be reached at best.
//!
//! Between what has arrived, A(t), and what is due, A(t - D), the shortest path has the least variable rate in
//! every convex sense (Salehi, Zhang, Kurose and Towsley 1998): the [taut string](taut_string).

use crate::trace::{Tokens, Trace, each, nanos, seconds};
use decluster::Nanos;

/// The schedule of the least variable rate in which nothing is later than `max_delay`. It does not minimise
/// stalls: on slow streams an online pacer may stall slightly less.
pub fn taut_string(trace: &Trace, max_delay: Nanos) -> Vec<Tokens> {
    let bounds = Bounds::new(trace, seconds(max_delay));
    let path = bounds.path(&bounds.corners(None));
    follow(trace, &path, 0.0)
}

/// Every arrival group spread evenly up to the next one, or over 400 ms: the least delay without stalls that
/// could be avoided.
pub fn just_in_time(trace: &Trace, max_delay: Nanos) -> Vec<Tokens> {
    let mut groups: Vec<Vec<Tokens>> = Vec::new();
    for arrival in &trace.arrivals {
        match groups.last_mut() {
            Some(group) if arrival.at.since(group[0].at) < GROUP => group.push(*arrival),
            _ => groups.push(vec![*arrival]),
        }
    }
    let mut schedule = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        let start = group[0].at;
        let wait = max_delay.min(Nanos::from_millis(400));
        let end = groups.get(place + 1).map_or(start.after(wait), |next| next[0].at);
        let span = seconds(end.min(start.after(max_delay)).since(start));
        let tokens = each(group);
        let n = tokens.len();
        let step = ((n as f64 / span.max(1e-3) * 0.06).round() as usize).clamp(1, 12);
        for from in (0..n).step_by(step) {
            let count = step.min(n - from);
            let at =
                start.after(nanos(span * from as f64 / n as f64)).max(tokens[from + count - 1]);
            schedule.push(Tokens { at, count: count as u32 });
        }
    }
    schedule.sort_by_key(|t| t.at);
    schedule
}

/// The least integral of squared rate plus `pull` times the mean rate times the backlog, everything out
/// `tail` after the last arrival: a taut string between bounds that are bent by a parabola. A strong
/// reference for a low rate variation at a given mean delay; `pull` trades one for the other.
pub fn frontier(trace: &Trace, max_delay: Nanos, pull: f64, tail: Nanos) -> Vec<Tokens> {
    let bounds = Bounds::new(trace, seconds(max_delay));
    let rate = trace.tokens() as f64 / trace.span().max(0.25);
    let bend = pull * rate / 4.0;
    let end = trace.span() + seconds(tail.min(max_delay));
    let bent: Vec<_> = bounds.grid(end).into_iter().map(|b| b.bent(bend)).collect();
    let path = Bounds { start: (0.0, bounds.start.1), ..bounds }.path(&bent);
    follow(trace, &path, bend)
}

/// Arrivals this close are one group.
const GROUP: Nanos = Nanos::from_millis(30);
/// The first tokens go at once.
const FIRST: f64 = 12.0;
/// Step of the grid on which bent bounds are laid.
const STEP: f64 = 0.02;

/// A value that the path must not exceed, or must have reached, at a time.
#[derive(Clone, Copy, Debug)]
struct Bound {
    at: f64,
    value: f64,
    upper: bool,
}

impl Bound {
    fn bent(self, bend: f64) -> Self {
        Self { value: self.value + bend * self.at * self.at, ..self }
    }
}

/// A(t) and A(t - D) of a trace.
struct Bounds {
    start: (f64, f64),
    /// Tokens that have arrived just after each time.
    arrived: Vec<(f64, f64)>,
    max_delay: f64,
}

impl Bounds {
    fn new(trace: &Trace, max_delay: f64) -> Self {
        let mut arrived: Vec<(f64, f64)> = Vec::new();
        let mut sum = 0.0;
        for a in &trace.arrivals {
            sum += f64::from(a.count);
            match arrived.last_mut() {
                Some(last) if last.0 >= seconds(a.at) => last.1 = sum,
                _ => arrived.push((seconds(a.at), sum)),
            }
        }
        Self { start: (0.0, arrived[0].1.min(FIRST)), arrived, max_delay }
    }

    /// The bounds at the times when they change.
    fn corners(&self, end: Option<f64>) -> Vec<Bound> {
        let mut corners = Vec::new();
        let mut before = 0.0;
        for (at, value) in &self.arrived {
            if *at > 0.0 {
                corners.push(Bound { at: *at, value: before, upper: true });
            }
            let due = (at + self.max_delay).min(end.unwrap_or(f64::INFINITY));
            corners.push(Bound { at: due, value: *value, upper: false });
            before = *value;
        }
        corners.sort_by(|a, b| a.at.total_cmp(&b.at).then(b.upper.cmp(&a.upper)));
        corners
    }

    /// The bounds at every step as well, for paths that are not straight between corners.
    fn grid(&self, end: f64) -> Vec<Bound> {
        let mut all = self.corners(Some(end));
        let total = self.arrived.last().map_or(0.0, |a| a.1);
        for k in 1..(end / STEP) as usize {
            let at = k as f64 * STEP;
            let until = |t: f64| {
                let n = self.arrived.partition_point(|a| a.0 < t);
                n.checked_sub(1).map_or(0.0, |i| self.arrived[i].1)
            };
            all.push(Bound { at, value: until(at).min(total), upper: true });
            all.push(Bound { at, value: until(at - self.max_delay), upper: false });
        }
        all.sort_by(|a, b| a.at.total_cmp(&b.at).then(b.upper.cmp(&a.upper)));
        all
    }

    /// The shortest path from the start through the bounds to the last of them.
    fn path(&self, bounds: &[Bound]) -> Vec<(f64, f64)> {
        let mut path = vec![self.start];
        let mut from = 0;
        let mut here = self.start;
        while let Some((place, next)) = turn(here, bounds, from) {
            path.push(next);
            (from, here) = (place + 1, next);
        }
        path
    }
}

/// The next corner of the shortest path: where the cone of free directions closes.
fn turn(here: (f64, f64), bounds: &[Bound], from: usize) -> Option<(usize, (f64, f64))> {
    let mut lowest: Option<(f64, usize)> = None;
    let mut highest: Option<(f64, usize)> = None;
    let point = |place: usize| (place, (bounds[place].at, bounds[place].value));
    for (place, bound) in bounds.iter().enumerate().skip(from) {
        if bound.at <= here.0 + 1e-9 {
            continue;
        }
        let slope = (bound.value - here.1) / (bound.at - here.0);
        if bound.upper {
            if let Some((low, corner)) = lowest
                && slope < low - 1e-12
            {
                return Some(point(corner));
            }
            if highest.is_none_or(|(high, _)| slope <= high) {
                highest = Some((slope, place));
            }
        } else {
            if let Some((high, corner)) = highest
                && slope > high + 1e-12
            {
                return Some(point(corner));
            }
            if lowest.is_none_or(|(low, _)| slope >= low) {
                lowest = Some((slope, place));
            }
        }
    }
    lowest.map(|(_, corner)| point(corner))
}

/// Releases each token when the path, unbent again, reaches its number.
fn follow(trace: &Trace, path: &[(f64, f64)], bend: f64) -> Vec<Tokens> {
    let arrived = each(&trace.arrivals);
    let total = arrived.len();
    let value = |(t, z): (f64, f64)| z - bend * t * t;
    let mut times = vec![Nanos::ZERO; value(path[0]) as usize];
    for leg in path.windows(2) {
        let slope = (leg[1].1 - leg[0].1) / (leg[1].0 - leg[0].0);
        while times.len() < total && (times.len() + 1) as f64 <= value(leg[1]) + 1e-9 {
            let want = (times.len() + 1) as f64;
            let at = crossing(leg[0], leg[1].0, slope, bend, want);
            let before = times.last().copied().unwrap_or_default();
            // Rounding must not let a token leave before it came, nor before the one before it.
            times.push(nanos(at).max(arrived[times.len()]).max(before));
        }
    }
    let end = nanos(path[path.len() - 1].0).max(times.last().copied().unwrap_or_default());
    times.resize(total, end);
    times.into_iter().map(|at| Tokens { at, count: 1 }).collect()
}

/// When `z + slope (t - t0) - bend t²` first reaches `want`, between `t0` and `end`.
fn crossing(from: (f64, f64), end: f64, slope: f64, bend: f64, want: f64) -> f64 {
    let (mut low, mut high) = (from.0, end);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        let value = from.1 + slope * (middle - from.0) - bend * middle * middle;
        if value < want { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Score;

    fn trace(arrivals: &[(u64, u32)]) -> Trace {
        let tokens =
            |(ms, count): &(u64, u32)| Tokens { at: Nanos::from_millis(*ms), count: *count };
        Trace::new("t", "t", arrivals.iter().map(tokens).collect())
    }

    #[test]
    fn a_burst_is_spread_over_the_whole_bound() {
        let t = trace(&[(0, 112)]);
        let s = taut_string(&t, Nanos::from_secs(1));
        assert!(s[..12].iter().all(|x| x.at == Nanos::ZERO));
        for (k, x) in s[12..].iter().enumerate() {
            assert!(x.at.0.abs_diff((k as u64 + 1) * 10_000_000) <= 1, "{k}: {}", x.at);
        }
    }

    #[test]
    fn two_bursts_are_joined_by_one_straight_line() {
        // 12 at once, then 100 of the first and 100 of the second: 200 over 1 + 1 s, and the first
        // hundred must be out by 1 s, which the line just does.
        let t = trace(&[(0, 112), (1_000, 100)]);
        let s = taut_string(&t, Nanos::from_secs(1));
        assert_eq!(s[112].at.0 / 1_000_000, 1_010);
        assert_eq!(s[211].at, Nanos::from_secs(2));
    }

    #[test]
    fn just_in_time_ends_as_the_next_begins() {
        let t = trace(&[(0, 10), (1_000, 10)]);
        let s = just_in_time(&t, Nanos::from_secs(2));
        assert_eq!((s[0].at, s[1].at), (Nanos::ZERO, Nanos::from_millis(100)));
        assert_eq!(s[10].at, Nanos::from_secs(1));
        assert_eq!(s[14].at, Nanos::from_millis(1_320), "the last group in twos, over 400 ms");
    }

    #[test]
    fn a_stronger_pull_means_less_delay_and_more_variation() {
        let arrivals: Vec<(u64, u32)> =
            (0..12).map(|k| (k * 900, 60 + 7 * (k as u32 % 5))).collect();
        let t = trace(&arrivals);
        let tail = Nanos::from_millis(300);
        let score = |pull| Score::new(&t, &frontier(&t, Nanos::from_millis(1_500), pull, tail));
        let scores = [score(0.0), score(1.0), score(4.0), score(16.0)];
        assert!(scores.windows(2).all(|s| s[0].delay_mean > s[1].delay_mean), "{scores:?}");
        assert!(scores[0].energy < scores[3].energy);
        assert!(scores.iter().all(|s| s.delay_max <= 1.5 + 1e-6 && s.tail <= 0.3 + 1e-6));
    }
}
