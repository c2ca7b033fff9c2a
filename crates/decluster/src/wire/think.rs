//! Reasoning between tags in the visible text: `<think>…</think>`.
//!
//! Models whose server does not part reasoning from text put it there. A tag may be cut anywhere by the
//! deltas; what may still become one is held until it is decided, so that no half of a tag is ever shown.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::Part;
use crate::Kind;

/// What to make of tags in visible text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Think {
    /// Which tags.
    pub tags: Tags,
    /// The text begins as reasoning: the prompt's template holds the opening tag.
    pub starts_inside: bool,
    /// A tag opens a block also after visible text. Off by default, since answers mention tags.
    pub reopens: bool,
    /// Where reasoning comes in a field of its own, what the tags hold repeats it and is left out.
    pub drop_copy: bool,
}

/// A choice of [`Think::tags`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tags {
    /// `<think>` and `<thinking>`.
    #[default]
    Common,
    /// All that are known.
    All,
    /// None: tags are text.
    Off,
}

/// Follows the tags of one stream, each choice on its own.
#[derive(Debug, Default)]
pub(super) struct Inline {
    think: Think,
    choices: BTreeMap<u32, Place>,
}

/// Where the text of a choice stands.
#[derive(Debug)]
struct Place {
    at: At,
    /// What may become a tag, or a blank before one. It has been given as [`Part::Tag`].
    held: String,
    /// Reasoning was seen, so a lone closing tag is text.
    reasoned: bool,
    /// Reasoning came in a field of its own.
    fielded: bool,
    /// Visible text was given.
    spoken: bool,
    /// The last character of it.
    last: Option<char>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before any text, or right behind a block.
    Start,
    /// In a block; of which tag, if it was seen. `blank` while there was nothing but blanks.
    In {
        tag: Option<&'static Tag>,
        blank: bool,
    },
    Out,
}

#[derive(Debug, PartialEq, Eq)]
struct Tag {
    open: &'static str,
    close: &'static str,
}

/// A part of a text: what it is, its kind, its characters.
pub(super) type Found<'a> = (Part, Kind, Cow<'a, str>);

impl Inline {
    pub(super) fn new(think: Think) -> Self {
        Self { think, choices: BTreeMap::new() }
    }

    /// Reasoning came in a field of its own: from now on tags are text, or hold a copy.
    pub(super) fn fielded(&mut self, choice: u32) {
        if self.think.tags != Tags::Off {
            let place = self.place(choice);
            (place.fielded, place.reasoned) = (true, true);
            if place.at == (At::In { tag: None, blank: true }) {
                place.at = At::Start;
            }
        }
    }

    /// Gives what is held: nothing will come that could complete it.
    pub(super) fn flush(&mut self, choice: u32) -> Option<(Kind, String)> {
        let place = self.choices.get_mut(&choice).filter(|place| !place.held.is_empty())?;
        let held = core::mem::take(&mut place.held);
        if let At::In { blank, .. } = &mut place.at {
            *blank = false;
            return Some((Kind::Reasoning, held));
        }
        place.spoken = true;
        Some((Kind::Output, held))
    }

    /// The choices of which something is held.
    pub(super) fn holding(&self) -> Vec<u32> {
        let held = self.choices.iter().filter(|(_, place)| !place.held.is_empty());
        held.map(|(choice, _)| *choice).collect()
    }

    /// The choice is in a block that was not closed, and no visible text came.
    pub(super) fn is_silent(&self, choice: u32) -> bool {
        let place = self.choices.get(&choice);
        place.is_some_and(|p| matches!(p.at, At::In { .. }) && !p.spoken)
    }

    /// Takes a text apart.
    pub(super) fn split<'a>(&mut self, choice: u32, text: Cow<'a, str>) -> Vec<Found<'a>> {
        let think = self.think;
        if think.tags == Tags::Off {
            return [(Part::Text, Kind::Output, text)].into();
        }
        let place = self.place(choice);
        let tags_are_text = place.fielded && !think.drop_copy;
        let undecided = !place.held.is_empty() || matches!(place.at, At::Start | At::In { .. });
        if tags_are_text && place.held.is_empty()
            || !undecided && memchr::memchr3(b'<', b'[', TRIANGLE, text.as_bytes()).is_none()
        {
            place.spoken = true;
            place.last = text.chars().next_back();
            return [(Part::Text, Kind::Output, text)].into();
        }
        let held = core::mem::take(&mut place.held);
        let all = if held.is_empty() { text.clone() } else { Cow::Owned([&held, &*text].concat()) };
        let mut found = Parts { all: &all, old: held.len(), text: &text, found: Vec::new() };
        if tags_are_text {
            place.at = At::Out;
            found.give(Part::Text, Kind::Output, 0..all.len());
            place.spoken = true;
            return found.found;
        }
        let mut from = 0;
        while from < all.len() {
            from = match place.at {
                At::Start => place.start(think, from, &mut found),
                At::In { tag, blank } => place.inside(think, tag, blank, from, &mut found),
                At::Out => place.outside(think, from, &mut found),
            };
        }
        found.found
    }

    fn place(&mut self, choice: u32) -> &mut Place {
        let inside = self.think.starts_inside;
        self.choices.entry(choice).or_insert_with(|| Place {
            at: if inside { At::In { tag: None, blank: true } } else { At::Start },
            held: String::new(),
            reasoned: inside,
            fielded: false,
            spoken: false,
            last: None,
        })
    }
}

/// Each reads on from a place in the text and says how far it came.
impl Place {
    fn start(&mut self, think: Think, from: usize, parts: &mut Parts<'_, '_>) -> usize {
        let rest = &parts.all[from..];
        let word = rest.trim_start();
        let gap = rest.len() - word.len();
        let near = gap <= BLANKS_MAX;
        let opened = tags(think).iter().find(|tag| near && word.starts_with(tag.open));
        let empty = EMPTY_BLOCKS.iter().find(|tag| near && word.starts_with(**tag));
        let may_open = |tag: &&str| tag.starts_with(word);
        if let Some(tag) = opened {
            let end = from + gap + tag.open.len();
            parts.give(Part::Tag, Kind::Output, from..end);
            (self.at, self.reasoned) = (At::In { tag: Some(tag), blank: true }, true);
            end
        } else if let Some(tag) = empty {
            let end = from + gap + tag.len();
            parts.give(Part::Tag, Kind::Output, from..end);
            self.reasoned = true;
            end
        } else if near && tags(think).iter().map(|tag| &tag.open).chain(&EMPTY_BLOCKS).any(may_open)
        {
            self.hold(from, parts)
        } else {
            self.at = At::Out;
            from
        }
    }

    fn inside(
        &mut self,
        think: Think,
        tag: Option<&'static Tag>,
        blank: bool,
        from: usize,
        parts: &mut Parts<'_, '_>,
    ) -> usize {
        let rest = &parts.all[from..];
        if blank && tag.is_none() {
            // The template had the tag, and the model writes it again.
            let word = rest.trim_start();
            let gap = rest.len() - word.len();
            let near = gap <= BLANKS_MAX;
            if let Some(tag) = tags(think).iter().find(|tag| near && word.starts_with(tag.open)) {
                let end = from + gap + tag.open.len();
                parts.give(Part::Tag, Kind::Output, from..end);
                self.at = At::In { tag: Some(tag), blank };
                return end;
            }
            let may_open = tags(think).iter().any(|tag| tag.open.starts_with(word));
            if near && may_open {
                return self.hold(from, parts);
            }
        }
        let one = tag.map(|tag| [tag]);
        let closing =
            one.iter().flatten().copied().chain(if tag.is_none() { tags(think) } else { &[] });
        let copy = self.fielded && think.drop_copy;
        let (text, kind) =
            if copy { (Part::Tag, Kind::Output) } else { (Part::Text, Kind::Reasoning) };
        let (end, close) = search(rest, closing.map(|tag| tag.close));
        let nothing = blank && rest[..end].trim_start().is_empty() && end <= BLANKS_MAX;
        if let Some(close) = close {
            // Blanks alone are no reasoning.
            let part = if nothing { Part::Tag } else { text };
            parts.give(part, kind, from..from + end);
            parts.give(Part::Tag, Kind::Output, from + end..from + end + close.len());
            self.at = At::Start;
            return from + end + close.len();
        }
        if nothing {
            return self.hold(from, parts);
        }
        parts.give(text, kind, from..from + end);
        self.at = At::In { tag, blank: false };
        self.hold(from + end, parts)
    }

    fn outside(&mut self, think: Think, from: usize, parts: &mut Parts<'_, '_>) -> usize {
        let rest = &parts.all[from..];
        let all = tags(think);
        // Text that has an opening tag talks about tags: a closing one is not lone then.
        let open = if think.reopens || !self.reasoned { all } else { &[] };
        let lone = if self.reasoned { &[] } else { all };
        let wanted = open.iter().map(|tag| tag.open).chain(lone.iter().map(|tag| tag.close));
        let (end, found) = search(rest, wanted);
        parts.give(Part::Text, Kind::Output, from..from + end);
        self.spoken |= end > 0;
        self.last = rest[..end].chars().next_back().or(self.last);
        let Some(found) = found else { return self.hold(from + end, parts) };
        let next = from + end + found.len();
        if let Some(tag) = open.iter().find(|tag| tag.open == found) {
            if think.reopens {
                parts.give(Part::Tag, Kind::Output, from + end..next);
                self.at = At::In { tag: Some(tag), blank: true };
            } else {
                parts.give(Part::Text, Kind::Output, from + end..next);
            }
        } else if self.last.is_some_and(|last| QUOTES.contains(&last)) {
            parts.give(Part::Text, Kind::Output, from + end..next);
        } else {
            // What came so far was reasoning, unless nothing did.
            let part = if self.spoken { Part::Turn } else { Part::Tag };
            parts.give(part, Kind::Output, from + end..next);
            self.spoken = false;
            self.at = At::Start;
        }
        self.reasoned = true;
        next
    }

    /// Keeps what is left until it is decided.
    fn hold(&mut self, from: usize, parts: &mut Parts<'_, '_>) -> usize {
        let end = parts.all.len();
        parts.give(Part::Tag, Kind::Output, from..end);
        self.held.push_str(&parts.all[from..]);
        end
    }
}

/// The parts found in what was held and the text after it.
struct Parts<'p, 'a> {
    all: &'p str,
    /// How much of it was held.
    old: usize,
    text: &'p Cow<'a, str>,
    found: Vec<Found<'a>>,
}

impl Parts<'_, '_> {
    /// Of what was held, tags were given before; text is given now, late.
    fn give(&mut self, part: Part, kind: Kind, range: Range<usize>) {
        let Range { start, end } = range;
        let old = start..end.min(self.old);
        if !old.is_empty() && part == Part::Text {
            self.found.push((Part::Late, kind, Cow::Owned(self.all[old].into())));
        }
        let new = start.max(self.old) - self.old..end.max(self.old) - self.old;
        if new.is_empty() {
            if part == Part::Turn {
                self.found.push((part, kind, Cow::Borrowed("")));
            }
            return;
        }
        let text = match self.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[new]),
            Cow::Owned(text) => Cow::Owned(text[new].into()),
        };
        self.found.push((part, kind, text));
    }
}

/// Finds the first of the words, and where the text before it ends. If there is none, a tail that may
/// become one is left out of the text.
fn search<'w>(
    text: &str,
    words: impl Iterator<Item = &'w str> + Clone,
) -> (usize, Option<&'w str>) {
    let bytes = text.as_bytes();
    // A word that never comes must not be looked for in all that follows each time another one is found.
    for at in memchr::memchr3_iter(b'<', b'[', TRIANGLE, bytes) {
        let found = words.clone().find(|word| bytes[at..].starts_with(word.as_bytes()));
        if found.is_some() {
            return (at, found);
        }
    }
    let tail = |word: &'w str| {
        let starts =
            word.char_indices().map(|(at, _)| at).filter(|at| (1..=text.len()).contains(at));
        starts.filter(|at| text.ends_with(&word[..*at])).max().unwrap_or(0)
    };
    (text.len() - words.map(tail).max().unwrap_or(0), None)
}

fn tags(think: Think) -> &'static [Tag] {
    match think.tags {
        Tags::Common => &TAGS[..COMMON],
        Tags::All => &TAGS,
        Tags::Off => &[],
    }
}

const fn tag(open: &'static str, close: &'static str) -> Tag {
    Tag { open, close }
}

/// The tags, the common ones first. The last is what gpt-oss writes where no server reads it.
static TAGS: [Tag; 8] = [
    tag("<think>", "</think>"),
    tag("<thinking>", "</thinking>"),
    tag("<thought>", "</thought>"),
    tag("<reasoning>", "</reasoning>"),
    tag("<seed:think>", "</seed:think>"),
    tag("◁think▷", "◁/think▷"),
    tag("[THINK]", "[/THINK]"),
    tag("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
];
const COMMON: usize = 2;
/// The first byte of `◁`; with `<` and `[` what a tag begins with.
const TRIANGLE: u8 = 0xe2;
/// Opens and closes at once.
const EMPTY_BLOCKS: [&str; 2] = ["<think/>", "<thinking/>"];
/// A closing tag right behind one of these is talked about, not meant.
const QUOTES: [char; 6] = ['`', '"', '\'', '(', '\u{201c}', '\u{2018}'];
/// So many bytes of blanks are held where a tag may come; more are text.
const BLANKS_MAX: usize = 256;
