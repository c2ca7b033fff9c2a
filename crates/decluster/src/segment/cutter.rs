//! Joins the scanner, the classes and the choice into one pass over the text of a run.

use alloc::collections::VecDeque;

use super::chars::{self, Script};
use super::choose::Chooser;
use super::class::{self, Class, Left, Mode, Next, Term};
use super::clusters::Clusters;
use super::scan::{Scanner, Word};
use super::tokens::{Estimator, LATIN_WORD, LETTER_MAX, TOKEN};
use super::{Boundary, Edge, SegmentConfig};

/// Finds where a text may be cut and where its blocks end. Offsets only: the text stays with the caller.
///
/// Everything is decided char by char, so it does not matter how the text was cut into pushes. Besides
/// the two queues, which the caller empties, its state has a fixed size.
#[derive(Clone, Debug)]
pub struct Cutter {
    edges: VecDeque<Edge>,
    ends: VecDeque<Edge>,
    /// The last one ever put into `edges`; the caller may have taken it by now.
    newest: Edge,
    /// All text seen.
    at: Mark,
    /// Where the last cluster begins.
    cluster: Mark,
    /// Where this run began.
    run: u64,
    /// Where the current word began, for words so long that they need edges inside.
    word: u64,
    /// The end of the last character that is not blank.
    ink: u64,
    waiting: Option<Waiting>,
    scanner: Scanner,
    estimator: Estimator,
    clusters: Clusters,
    chooser: Chooser,
    bytes_max: u64,
}

/// An offset and the token estimate up to it.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    end: u64,
    tokens: u64,
}

impl Mark {
    fn after(self, bytes: usize, tokens: u64) -> Self {
        Self { end: self.end + bytes as u64, tokens: self.tokens + tokens }
    }

    fn edge(self, boundary: Boundary) -> Edge {
        Edge { end: self.end, tokens: self.tokens, boundary }
    }
}

/// The one boundary whose class is not known yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: Mark,
    /// There was something to see before it in this run.
    ink: u64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// A run of newlines that may go on, and what it stands in.
    Lines { count: u32, mode: Mode },
    /// A blank; the next character tells, or asks for the next word.
    Blank(Left),
    /// A blank and the beginning of the next word, which the scanner keeps.
    Word(Left, Next),
    /// The same after a word that nothing is to be known of, as after most.
    Plain,
}

impl Cutter {
    /// A cutter at offset 0.
    pub fn new(config: SegmentConfig) -> Self {
        let start = Mark::default().edge(Boundary::Paragraph);
        Self {
            edges: VecDeque::new(),
            ends: VecDeque::new(),
            newest: start,
            at: Mark::default(),
            cluster: Mark::default(),
            run: 0,
            word: 0,
            ink: 0,
            waiting: None,
            scanner: Scanner::default(),
            estimator: Estimator::default(),
            clusters: Clusters::default(),
            chooser: Chooser::new(config, start),
            bytes_max: config.block_bytes_max(),
        }
    }

    /// More text of the run. Linear in its length.
    pub fn push(&mut self, text: &str) {
        let mut chars = text.chars();
        loop {
            let rest = chars.as_str();
            let taken = self.words(rest);
            if taken > 0 {
                chars = rest[taken..].chars();
            } else {
                let Some(c) = chars.next() else { return };
                self.step(c);
            }
        }
    }

    /// The run ends here: what is pending becomes the last block. The next `push` begins a new run, with
    /// a fresh scanner; offsets, tokens and the integrator go on.
    pub fn finish(&mut self) {
        let standing = self.standing();
        if let Some(waiting) = self.waiting.take() {
            match waiting.what {
                What::Plain => {
                    let word = self.scanner.word().bytes();
                    self.resolve(waiting, class::between_words(word));
                }
                What::Word(left, next) => {
                    let word = self.scanner.word().bytes();
                    self.resolve(waiting, class::classify(left, next, word));
                }
                What::Lines { .. } | What::Blank(_) => {}
            }
        }
        if self.at.end > self.chooser.start().end {
            let end = self.at.edge(standing);
            self.cut(end);
        }
        self.scanner = Scanner::default();
        self.estimator = Estimator::default();
        self.clusters = Clusters::default();
        self.cluster = self.at;
        (self.run, self.word) = (self.at.end, self.at.end);
    }

    /// Ends a block here if a sentence or a line may end here: for who would rather have it now than wait for what
    /// follows, as in a silence. Where blocks end is then no longer a matter of the text alone.
    pub fn flush(&mut self) {
        let end = self.end();
        let start = self.chooser.start().end;
        if end.boundary <= Boundary::Sentence && end.end > start && self.ink > start {
            self.waiting = None;
            self.cut(end);
        }
    }

    /// Every place known so far where the text may be cut, in order.
    pub fn edges(&self) -> &VecDeque<Edge> {
        &self.edges
    }

    /// The block ends decided so far, in order. Each is also an edge.
    pub fn ends(&self) -> &VecDeque<Edge> {
        &self.ends
    }

    /// Forgets the edges up to and including `offset`.
    pub fn drop_edges(&mut self, offset: u64) {
        if self.newest.end <= offset {
            self.edges.clear();
        }
        while self.edges.front().is_some_and(|edge| edge.end <= offset) {
            self.edges.pop_front();
        }
    }

    /// Takes the oldest block end.
    pub fn pop_end(&mut self) -> Option<Edge> {
        self.ends.pop_front()
    }

    /// The first place behind the last block end that may yet prove to be one: its look-ahead is not there. (A block
    /// at its limit may also end at [`last_cluster`](Self::last_cluster).)
    pub fn undecided(&self) -> Option<u64> {
        let waiting = self.waiting.as_ref().map(|waiting| waiting.at.end);
        let candidate = self.chooser.candidate().map(|edge| edge.end);
        waiting.into_iter().chain(candidate).filter(|end| *end > self.chooser.start().end).min()
    }

    /// All text seen, with the boundary that stands there if nothing follows.
    pub fn end(&self) -> Edge {
        self.at.edge(self.standing())
    }

    /// The greatest offset that is a grapheme cluster boundary whatever follows: the last cluster may
    /// still grow, except after a newline.
    pub fn last_cluster(&self) -> Edge {
        let mark = if self.clusters.is_closed() { self.at } else { self.cluster };
        if self.newest.end == mark.end { self.newest } else { mark.edge(Boundary::Grapheme) }
    }

    fn step(&mut self, c: char) {
        let script = chars::script(c);
        if self.clusters.push(c) {
            self.cluster = self.at;
            self.follow(c, script);
            self.between(c, script);
        } else {
            self.follow(c, script);
        }
        self.scanner.push(c, script);
        let before = self.at;
        let spent = self.at.tokens - self.cluster.tokens;
        let cost = self.estimator.push(c, script);
        self.at =
            before.after(c.len_utf8(), cost.min(self.cluster_cost_max().saturating_sub(spent)));
        self.keep_bounds(before);
        match script {
            Script::Newline => self.newline(c),
            Script::Blank => self.word = self.at.end,
            _ => self.ink = self.at.end,
        }
        self.confirm();
    }

    /// Ends the block at the candidate if it is too late for its sentence to end. A full stop does not make
    /// it too late: it may be that end itself.
    #[inline]
    fn confirm(&mut self) {
        if self.chooser.is_confirmed(self.at.tokens)
            && !self.may_end_sentence()
            && let Some(candidate) = self.chooser.candidate()
        {
            self.cut(candidate);
        }
    }

    /// The text ends with what may prove to be a sentence's end.
    fn may_end_sentence(&self) -> bool {
        self.scanner.term().is_end()
            || match &self.waiting {
                Some(Waiting { what: What::Blank(left) | What::Word(left, _), .. }) => {
                    left.term.is_end()
                }
                Some(Waiting { what: What::Lines { .. }, .. }) => true,
                Some(Waiting { what: What::Plain, .. }) | None => false,
            }
    }

    /// Takes what `text` begins with in one go if [`step`](Self::step) would have little to decide there:
    /// small ASCII letters after ASCII letters, and a blank between such. Most text is that. Returns how
    /// many bytes it took.
    fn words(&mut self, text: &str) -> usize {
        if !self.scanner.is_within_letters() {
            return 0;
        }
        match *text.as_bytes() {
            [c, ..] if c.is_ascii_lowercase() => self.letters(text),
            [b' ', c, ..] if c.is_ascii_alphabetic() => self.begin_word(c),
            _ => 0,
        }
    }

    /// Takes the letters `text` begins with, as far as they reach no limit.
    fn letters(&mut self, text: &str) -> usize {
        let limit = self.letters_max().min(text.len());
        let count = text.bytes().take(limit).take_while(u8::is_ascii_lowercase).count();
        let run = &text.as_bytes()[..count];
        let Some(last) = run.last() else { return 0 };
        self.scanner.letters(run);
        self.clusters.letter(char::from(*last));
        let (tokens, of_last) = self.estimator.letters(run);
        self.cluster = self.at.after(count - 1, tokens - of_last);
        self.at = self.at.after(count, tokens);
        self.ink = self.at.end;
        count
    }

    /// Takes a blank and the first letter of the next word, if this is prose and they reach no limit.
    fn begin_word(&mut self, letter: u8) -> usize {
        let first = char::from(letter);
        if self.scanner.mode() != Mode::Prose {
            return 0;
        }
        self.follow(' ', Script::Blank);
        if self.is_over(self.at.after(2, LATIN_WORD)) {
            return 0;
        }
        self.edge(self.at.edge(Boundary::Word));
        let what = match self.scanner.left_in_list() {
            Some(left) => What::Word(left, Next::of(first)),
            None => What::Plain,
        };
        self.waiting = Some(Waiting { at: self.at, ink: self.ink, what });
        self.scanner.begin_word(first);
        self.clusters.letter(first);
        self.cluster = self.at.after(1, 0); // the blank is free
        self.at = self.cluster.after(1, self.estimator.blank_and_letter(letter));
        self.word = self.cluster.end;
        self.ink = self.at.end;
        self.confirm();
        2
    }

    /// So many letters more can neither end a block nor give a word an edge or overfill it.
    fn letters_max(&self) -> usize {
        let start = self.chooser.start().end;
        let tokens = self.chooser.quiet_until().saturating_sub(self.at.tokens);
        let bytes = (start + self.bytes_max).saturating_sub(self.at.end);
        let inside = (self.word + LONG_WORD).saturating_sub(self.at.end);
        let waits =
            matches!(self.waiting, Some(Waiting { what: What::Word(..) | What::Plain, .. }));
        let word = if waits { self.scanner.word().room() } else { usize::MAX };
        word.min((tokens / LETTER_MAX).min(bytes).min(inside) as usize)
    }

    /// What `c` says about the boundary that waits.
    #[inline]
    fn follow(&mut self, c: char, script: Script) {
        let Some(waiting) = &mut self.waiting else { return };
        let may_be_listed =
            |word: &Word, from: Mark| self.at.tokens - from.tokens < WORD_TOKENS && !word.is_full();
        let class = match (&waiting.what, script) {
            (What::Plain, _) => {
                let word = self.scanner.word();
                if may_be_listed(word, waiting.at) && is_letter(c, script) {
                    return;
                }
                class::between_words(word.bytes())
            }
            (What::Lines { .. }, Script::Newline)
            | (What::Lines { .. } | What::Blank(_), Script::Blank) => return,
            (What::Lines { count, mode }, _) => class::lines(*mode, *count),
            (What::Blank(_), Script::Newline) => {
                self.waiting = None; // the line's end takes its place
                return;
            }
            (&What::Blank(left), _) => {
                let next = Next::of(c);
                // Words of scripts without blanks have no end, and none is listed.
                if class::needs_word(left, next) && !script.without_blanks() {
                    let plain = left.is_plain() && matches!(next, Next::Lower | Next::Letter);
                    waiting.what = if plain { What::Plain } else { What::Word(left, next) };
                    return;
                }
                class::classify(left, next, b"")
            }
            (&What::Word(left, next), _) => {
                let word = self.scanner.word();
                if may_be_listed(word, waiting.at)
                    && class::goes_on(next, word.bytes(), c, is_letter(c, script))
                {
                    return;
                }
                let blank = matches!(script, Script::Blank | Script::Newline);
                let word = class::whole(next, word.bytes(), blank, c);
                if blank && class::looks_past(left, next, word) {
                    waiting.what = What::Blank(left);
                    return;
                }
                class::classify(left, next, word)
            }
        };
        if let Some(waiting) = self.waiting.take() {
            self.resolve(waiting, class);
        }
    }

    /// A cluster begins before `c`: is there an edge, or a boundary?
    fn between(&mut self, c: char, script: Script) {
        if self.scanner.previous().is_none() {
            return;
        }
        let before = self.scanner.script();
        match (before, script) {
            // A lone CR has ended a line; after LF the edge was known at once.
            (Script::Newline, _) => self.edge(self.at.edge(Boundary::Line)),
            (Script::Blank, _) | (_, Script::Newline) => {}
            (_, Script::Blank) => self.blank(),
            _ => self.inside(c, before, script),
        }
    }

    fn blank(&mut self) {
        let left = self.scanner.left();
        // The best guess while the next word is not there yet.
        let guess = match left.term {
            _ if left.marker || left.mode != Mode::Prose => Boundary::Word,
            Term::None | Term::Parenthesis | Term::Period => Boundary::Word,
            Term::Stop => Boundary::Sentence,
            _ => Boundary::Clause,
        };
        self.edge(self.at.edge(guess));
        if self.waiting.is_some() {
            return; // the boundary before a dash takes precedence over the one after it
        }
        self.waiting = Some(Waiting { at: self.at, ink: self.ink, what: What::Blank(left) });
    }

    /// Between two characters neither of which is blank.
    fn inside(&mut self, c: char, before: Script, script: Script) {
        let wide = script.without_blanks() || script == Script::WidePunctuation;
        if self.scanner.breaks_formula(c)
            || (self.scanner.term() != Term::None || wide)
                && (!continues(c, self.scanner.term()) || self.scanner.opens(c))
        {
            let left = self.scanner.left();
            if let Some(class) = class::tight(left, self.scanner.is_closed(), c, wide) {
                self.edge(self.at.edge(class.into()));
                self.resolve(
                    Waiting { at: self.at, ink: self.ink, what: What::Blank(left) },
                    class,
                );
                return;
            }
        }
        if before.without_blanks() && script.without_blanks() {
            let alone = before != Script::Thai && (before == Script::Han || script == Script::Han);
            self.edge(self.at.edge(if alone { Boundary::Word } else { Boundary::Grapheme }));
        } else if self.is_long_word() && before != script
            || self.at.end - self.word > LONG_WORD
                && self.at.end - self.newest.end >= LONG_WORD_STEP
        {
            self.edge(self.at.edge(Boundary::Grapheme));
        }
    }

    /// Whether so much has come without an edge that a formula or a path should be cut between its parts.
    fn is_long_word(&self) -> bool {
        self.at.tokens - self.newest.tokens >= LONG_WORD_TOKENS
    }

    /// `c` ended a line; `self.at` is behind it.
    fn newline(&mut self, c: char) {
        self.word = self.at.end;
        let joined = c == '\n' && self.at.end - self.cluster.end > 1;
        let (count, ink, mode) = match self.waiting {
            Some(Waiting { what: What::Lines { count, mode }, ink, .. }) => {
                (count.saturating_add(u32::from(!joined)), ink, mode)
            }
            _ => (1, self.ink, self.scanner.mode()),
        };
        let waiting = Waiting { at: self.at, ink, what: What::Lines { count, mode } };
        self.waiting = Some(waiting);
        if c != '\n' {
            return; // LF may follow CR
        }
        let class = class::lines(mode, count);
        self.edge(self.at.edge(class.into()));
        if class == Class::Paragraph {
            self.waiting = None;
            self.resolve(waiting, class);
        }
    }

    /// The class of a boundary is known: the chooser decides.
    fn resolve(&mut self, waiting: Waiting, class: Class) {
        let edge = waiting.at.edge(class.into());
        let start = self.chooser.start().end;
        if edge.end <= start {
            return; // a bound has already ended the block there
        }
        self.improve(edge);
        let visible = waiting.ink > start;
        if let Some(end) = self.chooser.offer(edge, class, visible) {
            self.end_block(end);
        }
    }

    /// No block may be longer than the cap or the byte bound. `before` is where the last character begins.
    fn keep_bounds(&mut self, before: Mark) {
        while self.is_over(self.at) {
            if let Some(waiting) = self.waiting.take_if(|w| !matches!(w.what, What::Lines { .. })) {
                self.resolve(waiting, Class::Word);
                continue;
            }
            let start = self.chooser.start().end;
            if self.cluster.end > start {
                let end = self.chooser.force(self.last_start());
                self.end_block(end);
            } else if before.end > start {
                // One cluster larger than a block: the only place where a cluster is broken.
                let end = self.chooser.force(before.edge(Boundary::Grapheme));
                self.end_block(end);
                self.clusters.break_before_last();
                self.cluster = before;
            } else {
                return;
            }
        }
    }

    /// Where the last cluster begins, as an edge.
    fn last_start(&self) -> Edge {
        if self.newest.end == self.cluster.end {
            return self.newest;
        }
        let blank = self.scanner.previous().is_some_and(char::is_whitespace);
        self.cluster.edge(if blank { Boundary::Word } else { Boundary::Grapheme })
    }

    /// Would a block that goes on to `at` be too large?
    fn is_over(&self, at: Mark) -> bool {
        let start = self.chooser.start();
        at.tokens - start.tokens > self.chooser.cap() || at.end - start.end > self.bytes_max
    }

    /// A cluster may take half a block at most, so that the cap holds with whole clusters: a letter under
    /// a hundred accents is dear, but it is one thing to the reader.
    fn cluster_cost_max(&self) -> u64 {
        (self.chooser.cap() / 2).max(2 * TOKEN)
    }

    fn edge(&mut self, edge: Edge) {
        if edge.end > self.newest.end && edge.end > self.run {
            self.newest = edge;
            self.edges.push_back(edge);
        }
    }

    /// The class of an edge has become known.
    fn improve(&mut self, edge: Edge) {
        if self.newest.end == edge.end {
            self.newest = edge;
        }
        // It is the last one, unless a dash stands behind it.
        for known in self.edges.iter_mut().rev() {
            if known.end <= edge.end {
                if known.end == edge.end {
                    known.boundary = edge.boundary;
                }
                return;
            }
        }
    }

    /// Ends a block at `end` whatever the rules say.
    fn cut(&mut self, end: Edge) {
        let end = self.chooser.cut(end);
        self.end_block(end);
    }

    fn end_block(&mut self, end: Edge) {
        self.edge(end);
        self.improve(end);
        self.ends.push_back(end);
    }

    /// What stands at the end of the text if nothing follows.
    fn standing(&self) -> Boundary {
        match &self.waiting {
            Some(Waiting { what: What::Lines { count, mode }, .. }) => {
                class::lines(*mode, *count).into()
            }
            // Blanks at the end change nothing.
            Some(Waiting { what: What::Blank(left), .. }) => class::standing(*left),
            _ if self.scanner.previous().is_none() => Boundary::Paragraph,
            _ if self.scanner.term() == Term::None => Boundary::Word,
            _ => class::standing(self.scanner.left()),
        }
    }
}

fn is_letter(c: char, script: Script) -> bool {
    // The marks of Indic scripts are not alphabetic, but parts of words.
    chars::is_letter(c) || (script == Script::Indic && !chars::is_stop(c))
}

/// `c` goes on with the punctuation before it: a closer, or more of it.
fn continues(c: char, term: Term) -> bool {
    term != Term::None
        && (chars::is_closer(c)
            || chars::is_stop(c)
            || chars::is_smiley(c)
            || chars::is_note(c)
            || matches!(
                c,
                '，' | '、' | '；' | '：' | '…' | '—' | '.' | '!' | '?' | ',' | ';' | ':'
            ))
}

/// No listed word has more tokens. Longer ones are not waited for.
const WORD_TOKENS: u64 = 4 * TOKEN;
/// After so much without an edge, a formula, a path or a call has one between its parts.
const LONG_WORD_TOKENS: u64 = 3 * TOKEN;
/// Words of more bytes than this have edges anywhere: a reader would rather see half a hash than nothing.
const LONG_WORD: u64 = 64;
const LONG_WORD_STEP: u64 = 16;
