//! Which boundaries become block ends: thresholds in tokens, one waiting candidate, and an integrator
//! that keeps the average near the target.

use super::class::Class;
use super::tokens;
use super::{Boundary, Edge, SegmentConfig};

/// Decides, boundary by boundary, in order.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    target: u32,
    /// No block is larger.
    cap: u32,
    /// How much may follow a candidate before it is an end.
    confirm: u32,
    thresholds: Thresholds,
    /// The end of the last block.
    start: Edge,
    candidate: Option<Candidate>,
    level: bool,
    sentences: bool,
    /// Sum of (tokens - target) over the blocks, in sixteenths, clamped.
    excess: i64,
}

/// A boundary where the block ends unless its sentence ends soon; of a sentence alone, where it would be cut.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: Edge,
    /// Once the text has more tokens than this, it is too late for that.
    until: u64,
}

/// From how many sixteenths on a block ends at a boundary, by its [`Class`].
type Thresholds = [u16; Class::COUNT];

impl Chooser {
    pub(super) fn new(config: SegmentConfig, start: Edge) -> Self {
        let target = config.target_tenths() * TOKEN / 10;
        let (level, sentences) =
            (config.is_level() && !config.is_sentences(), config.is_sentences());
        let (cap, confirm, thresholds) = if sentences {
            (SENTENCE_CAP, SENTENCE_CAP, SENTENCE_THRESHOLDS)
        } else {
            (scale(CAP, target), scale(CONFIRM, target), thresholds(0, target))
        };
        Self {
            target,
            cap,
            confirm,
            thresholds,
            start,
            candidate: None,
            level,
            sentences,
            excess: 0,
        }
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
        self.cap.into()
    }

    /// No block ends before the text has more tokens than this, unless a boundary is offered.
    pub(super) fn quiet_until(&self) -> u64 {
        let cap = self.start.tokens + self.cap();
        self.candidate.map_or(cap, |candidate| cap.min(candidate.until))
    }

    /// The text has gone on so far past the candidate that the block ends there.
    pub(super) fn is_confirmed(&self, tokens: u64) -> bool {
        self.candidate.is_some_and(|candidate| tokens > candidate.until)
    }

    /// A boundary of known class; `visible` says whether the block has anything but blanks. Gives it
    /// back if the block ends there.
    #[inline]
    pub(super) fn offer(&mut self, at: Edge, class: Class, visible: bool) -> Option<Edge> {
        if at.end <= self.start.end || !visible {
            return None;
        }
        let n = at.tokens - self.start.tokens;
        if n < u64::from(self.thresholds[class as usize]) {
            return None;
        }
        let cuts = match class {
            Class::Paragraph | Class::Line | Class::Sentence => true,
            Class::Row => self.sentences,
            Class::Word => !self.sentences && self.candidate.is_none(),
            _ => false,
        };
        if cuts {
            return Some(self.cut(at));
        }
        // The first clause, and until there is one, the last blank of a sentence that may have to be cut.
        let better = self.candidate.is_none_or(|candidate| candidate.at.boundary == Boundary::Word);
        if better && (class != Class::Word || self.sentences) {
            self.candidate = Some(Candidate { at, until: at.tokens + u64::from(self.confirm) });
        }
        None
    }

    /// The block is at its limit: the candidate if there is one, else `at`.
    pub(super) fn force(&mut self, at: Edge) -> Edge {
        let at = self.candidate().unwrap_or(at);
        self.cut(at)
    }

    /// Ends a block at `at` whatever the rules say.
    pub(super) fn cut(&mut self, at: Edge) -> Edge {
        let size = (at.tokens - self.start.tokens).cast_signed();
        self.start = at;
        self.candidate = None;
        if self.level {
            let bound = i64::from(scale(EXCESS_MAX, self.target));
            let kept = self.excess - self.excess / FORGETTING;
            self.excess = (kept + size - i64::from(self.target)).clamp(-bound, bound);
            self.thresholds = thresholds(shift(self.excess, self.target), self.target);
        }
        at
    }
}

/// How far the integrator moves the thresholds: against the excess, within bounds.
fn shift(excess: i64, target: u32) -> i64 {
    let bound = i64::from(scale(SHIFT_MAX, target));
    (-excess * GAIN_PERCENT / 100).clamp(-bound, bound)
}

fn thresholds(shift: i64, target: u32) -> Thresholds {
    // Sentences and lines move least, since they are what a block should be; commas most. The last resorts
    // move less than commas, lest they come first.
    let comma = if shift > 0 { 2 * shift } else { shift * 3 / 2 };
    // Text has its own sizes of sentences and paragraphs: blocks larger than those have to join them.
    let beyond = i64::from(target.saturating_sub(DEFAULT_TARGET));
    let from = |tokens: u32, shift: i64, least: u32| {
        let scaled = i64::from(scale(tokens * TOKEN, target));
        let joined = i64::from(tokens * TOKEN) + beyond * JOINED_PERCENT / 100;
        let limit = if beyond > 0 { scaled.max(joined) } else { scaled } + shift;
        limit.max(scale(least * TOKEN, target).into()) as u16
    };
    let mut thresholds = [0; Class::COUNT];
    thresholds[Class::Paragraph as usize] = (beyond * PARAGRAPH_PERCENT / 100) as u16;
    thresholds[Class::Line as usize] = from(2, shift / 2, 2);
    thresholds[Class::Sentence as usize] = from(3, shift / 3, 2);
    thresholds[Class::Row as usize] = from(6, shift, 2);
    thresholds[Class::Strong as usize] = from(11, comma, 0);
    thresholds[Class::Comma as usize] = from(13, comma, 0);
    thresholds[Class::Conjunction as usize] = from(16, shift, 0);
    thresholds[Class::Preposition as usize] = from(18, shift / 2, 0);
    thresholds[Class::Word as usize] = from(24, shift / 2, 0);
    thresholds
}

/// The thresholds are written for the default target; they keep their proportion to it.
fn scale(sixteenths: u32, target: u32) -> u32 {
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

/// Sixteenths in one token.
const TOKEN: u32 = tokens::TOKEN as u32;
/// 12.4 tokens.
const DEFAULT_TARGET: u32 = 124 * TOKEN / 10;
/// Three times the target, so that a cut in the middle of a word is rare.
const CAP: u32 = 36 * TOKEN;
/// More than any sentence that is read aloud in one go. A formula or a table may be longer.
const SENTENCE_CAP: u32 = 256 * TOKEN;
/// Every sentence and line; a clause only where the block may have to be cut; nothing else.
const SENTENCE_THRESHOLDS: Thresholds = {
    let mut thresholds = [0; Class::COUNT];
    thresholds[Class::Strong as usize] = SENTENCE_CAP as u16 / 2;
    thresholds[Class::Comma as usize] = SENTENCE_CAP as u16 / 2;
    thresholds[Class::Conjunction as usize] = u16::MAX;
    thresholds[Class::Preposition as usize] = u16::MAX;
    thresholds[Class::Word as usize] = SENTENCE_CAP as u16 / 2;
    thresholds
};
/// A clause cut closer than this to the sentence's end would leave a stub.
const CONFIRM: u32 = 7 * TOKEN / 4;
/// How much of what a target exceeds the default is added to the thresholds of sentences and lines, and of
/// paragraphs.
const JOINED_PERCENT: i64 = 100;
const PARAGRAPH_PERCENT: i64 = 80;
/// Five blocks' worth: what the average owes is forgotten beyond that.
const EXCESS_MAX: u32 = 60 * TOKEN;
/// A comma cut comes no earlier than at 4 tokens, no later than at 25.
const SHIFT_MAX: u32 = 6 * TOKEN;
/// A block in so many of what is owed is forgiven: a stream of long sentences may have slightly larger blocks.
const FORGETTING: i64 = 48;
const GAIN_PERCENT: i64 = 35;

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(class: Class, shift: i64, target: u32) -> u32 {
        u32::from(thresholds(shift, target)[class as usize]) / TOKEN
    }

    #[test]
    fn thresholds_in_tokens() {
        let tokens = |class| tokens(class, 0, DEFAULT_TARGET);
        assert_eq!(tokens(Class::Paragraph), 0);
        assert_eq!(tokens(Class::Sentence), 3);
        assert_eq!(tokens(Class::Comma), 13);
        assert_eq!(tokens(Class::Word), 24);
    }

    #[test]
    fn the_integrator_leans_against_the_excess() {
        assert_eq!(shift(0, DEFAULT_TARGET), 0);
        assert_eq!(shift(100, DEFAULT_TARGET), -GAIN_PERCENT);
        assert_eq!(shift(-100_000, DEFAULT_TARGET), i64::from(SHIFT_MAX));
    }

    #[test]
    fn no_shift_brings_a_last_resort_before_a_comma() {
        let bound = i64::from(SHIFT_MAX);
        for shift in -bound..=bound {
            let limit = |class| thresholds(shift, DEFAULT_TARGET)[class as usize];
            let [comma, preposition, word] =
                [Class::Comma, Class::Preposition, Class::Word].map(limit);
            assert!(comma.max(preposition) <= word && u32::from(word) < CAP, "{shift}");
        }
    }

    #[test]
    fn a_small_target_scales_everything() {
        assert_eq!(tokens(Class::Comma, 0, DEFAULT_TARGET / 2), 6);
        assert_eq!(tokens(Class::Word, 0, DEFAULT_TARGET * 2), 48);
    }
}
