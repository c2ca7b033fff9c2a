//! Which boundaries become block ends: thresholds in tokens, one waiting candidate, and an integrator
//! that keeps the average near the target.

use super::class::Class;
use super::tokens::TOKEN;
use super::{Boundary, Edge, SegmentConfig};

/// Decides, boundary by boundary, in order.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    limits: Limits,
    /// The end of the last block.
    start: Edge,
    candidate: Option<Candidate>,
    level: bool,
    sentences: bool,
    /// Sum of (tokens - target) over the blocks, in sixteenths, clamped.
    excess: i64,
}

/// A boundary where the block ends unless its sentence ends soon.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: Edge,
    /// Once the text has more tokens than this, it is too late for that.
    until: u64,
}

/// What a boundary means for the block it would end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Cut,
    /// Cut here once more than so many sixteenths have come without the sentence ending.
    Wait(u64),
    Pass,
}

/// Sizes that scale with the target, in sixteenths.
#[derive(Clone, Copy, Debug)]
struct Limits {
    target: u64,
    cap: u64,
}

impl Chooser {
    pub(super) fn new(config: SegmentConfig, start: Edge) -> Self {
        let target = u64::from(config.target_tenths()) * TOKEN / 10;
        let cap = if config.is_sentences() { SENTENCE_CAP } else { scale(CAP, target) };
        let limits = Limits { target, cap };
        let (level, sentences) = (config.is_level(), config.is_sentences());
        Self { limits, start, candidate: None, level, sentences, excess: 0 }
    }

    /// The end of the last block.
    pub(super) fn start(&self) -> Edge {
        self.start
    }

    /// A place where the block ends unless its sentence ends soon.
    pub(super) fn candidate(&self) -> Option<Edge> {
        self.candidate.map(|candidate| candidate.at)
    }

    /// No block is larger, in sixteenths of a token.
    pub(super) fn cap(&self) -> u64 {
        self.limits.cap
    }

    /// No block ends before the text has more tokens than this, unless a boundary is offered.
    pub(super) fn quiet_until(&self) -> u64 {
        let cap = self.start.tokens + self.limits.cap;
        self.candidate.map_or(cap, |candidate| cap.min(candidate.until))
    }

    /// The candidate, if the text has gone on far enough past it: a block ends there.
    pub(super) fn confirmed(&mut self, tokens: u64) -> Option<Edge> {
        let candidate = self.candidate?;
        (tokens > candidate.until).then(|| self.cut(candidate.at))
    }

    /// A boundary of known class; `visible` says whether the block has anything but blanks. True if the
    /// block ends there.
    #[inline]
    pub(super) fn offer(&mut self, at: Edge, class: Class, visible: bool) -> Option<Edge> {
        if at.end <= self.start.end || !visible {
            return None;
        }
        match self.verdict(class, at.tokens - self.start.tokens) {
            Verdict::Cut => Some(self.cut(at)),
            Verdict::Wait(tokens) => {
                let candidate = Candidate { at, until: at.tokens + tokens };
                self.candidate.get_or_insert(candidate);
                None
            }
            Verdict::Pass => None,
        }
    }

    /// The block is at its limit: the candidate if there is one, else `at`.
    pub(super) fn force(&mut self, at: Edge) -> Edge {
        let at = self.candidate().unwrap_or(at);
        self.cut(at)
    }

    /// Ends a block at `at` whatever the rules say.
    pub(super) fn cut(&mut self, at: Edge) -> Edge {
        let size = (at.tokens - self.start.tokens).cast_signed();
        let bound = scale(EXCESS_MAX, self.limits.target).cast_signed();
        let kept = self.excess - self.excess / FORGETTING;
        self.excess = (kept + size - self.limits.target.cast_signed()).clamp(-bound, bound);
        self.start = at;
        self.candidate = None;
        at
    }

    fn verdict(&self, class: Class, n: u64) -> Verdict {
        if self.sentences {
            return match class {
                Class::Paragraph | Class::Line | Class::Sentence | Class::Row => Verdict::Cut,
                Class::Strong | Class::Comma if n >= SENTENCE_CAP / 2 => {
                    Verdict::Wait(SENTENCE_CAP)
                }
                _ => Verdict::Pass,
            };
        }
        let shift = if self.level { shift(self.excess, self.limits.target) } else { 0 };
        verdict(class, n, shift, self.limits.target, self.candidate.is_some())
    }
}

/// How far the integrator moves the thresholds: against the excess, within bounds.
fn shift(excess: i64, target: u64) -> i64 {
    let bound = scale(SHIFT_MAX, target).cast_signed();
    (-excess * GAIN_PERCENT / 100).clamp(-bound, bound)
}

/// What a boundary of `class` means for a block of `n` sixteenths.
fn verdict(class: Class, n: u64, shift: i64, target: u64, waiting: bool) -> Verdict {
    // Sentences and lines move least, since they are what a block should be; commas most. The last resorts
    // move less than commas, lest they come first.
    let comma = if shift > 0 { 2 * shift } else { shift * 3 / 2 };
    let (tokens, shift, floor) = match class {
        Class::Paragraph => (0, 0, 0),
        Class::Line => (2, shift / 2, 2),
        Class::Sentence => (3, shift / 2, 2),
        Class::Row => (8, shift, 2),
        Class::Strong => (10, comma, 0),
        Class::Comma => (12, comma, 0),
        Class::Conjunction => (16, shift, 0),
        Class::Preposition => (18, shift / 2, 0),
        Class::Word => (24, shift / 2, 0),
    };
    let limit = scale(tokens * TOKEN, target).cast_signed() + shift;
    if n.cast_signed() < limit.max(scale(floor * TOKEN, target).cast_signed()) {
        return Verdict::Pass;
    }
    match class {
        Class::Word if waiting => Verdict::Pass,
        Class::Paragraph | Class::Line | Class::Sentence | Class::Word => Verdict::Cut,
        _ => Verdict::Wait(scale(CONFIRM, target)),
    }
}

/// The thresholds are written for the default target; they keep their proportion to it.
fn scale(sixteenths: u64, target: u64) -> u64 {
    sixteenths * target / DEFAULT_TARGET
}

impl From<Class> for Boundary {
    fn from(class: Class) -> Self {
        match class {
            Class::Paragraph => Self::Paragraph,
            Class::Line | Class::Row => Self::Line,
            Class::Sentence => Self::Sentence,
            Class::Strong | Class::Comma | Class::Conjunction | Class::Preposition => Self::Clause,
            Class::Word => Self::Word,
        }
    }
}

/// 12.4 tokens.
const DEFAULT_TARGET: u64 = 124 * TOKEN / 10;
/// Three times the target, so that a cut in the middle of a word is rare.
const CAP: u64 = 36 * TOKEN;
/// More than any sentence that is read aloud in one go. A formula or a table may be longer.
const SENTENCE_CAP: u64 = 256 * TOKEN;
/// A clause cut closer than this to the sentence's end would leave a stub.
const CONFIRM: u64 = 7 * TOKEN / 4;
/// Five blocks' worth: what the average owes is forgotten beyond that.
const EXCESS_MAX: u64 = 60 * TOKEN;
/// A comma cut comes no earlier than at 6 tokens, no later than at 14.
const SHIFT_MAX: u64 = 6 * TOKEN;
/// A block in so many of what is owed is forgiven: a stream of long sentences may have slightly larger blocks.
const FORGETTING: i64 = 96;
const GAIN_PERCENT: i64 = 35;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(class: Class, tokens: u64) -> Verdict {
        verdict(class, tokens * TOKEN, 0, DEFAULT_TARGET, false)
    }

    #[test]
    fn thresholds() {
        assert_eq!(at(Class::Paragraph, 1), Verdict::Cut);
        assert_eq!(at(Class::Sentence, 2), Verdict::Pass);
        assert_eq!(at(Class::Sentence, 3), Verdict::Cut);
        assert_eq!(at(Class::Comma, 11), Verdict::Pass);
        assert_eq!(at(Class::Comma, 12), Verdict::Wait(CONFIRM));
        assert_eq!(at(Class::Word, 24), Verdict::Cut);
    }

    #[test]
    fn the_integrator_leans_against_the_excess() {
        assert_eq!(shift(0, DEFAULT_TARGET), 0);
        assert_eq!(shift(100, DEFAULT_TARGET), -GAIN_PERCENT);
        assert_eq!(shift(-100_000, DEFAULT_TARGET), SHIFT_MAX.cast_signed());
    }

    #[test]
    fn no_shift_brings_a_last_resort_before_a_comma() {
        let limit = |class, shift| {
            (0..60 * TOKEN)
                .find(|n| verdict(class, *n, shift, DEFAULT_TARGET, false) != Verdict::Pass)
        };
        let bound = SHIFT_MAX.cast_signed();
        for shift in -bound..=bound {
            let limits = [Class::Comma, Class::Preposition, Class::Word].map(|c| limit(c, shift));
            assert!(limits[0].max(limits[1]) <= limits[2] && limits[2] < Some(CAP), "{shift}");
        }
    }

    #[test]
    fn a_small_target_scales_everything() {
        let tokens = |n: u64| verdict(Class::Comma, n, 0, DEFAULT_TARGET / 2, false);
        assert_eq!(tokens(6 * TOKEN), Verdict::Wait(CONFIRM / 2));
        assert_eq!(tokens(5 * TOKEN), Verdict::Pass);
    }
}
