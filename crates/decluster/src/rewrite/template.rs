//! The events that are under way: kept as they came, written again when a piece of their text leaves.
//!
//! Every text of an event is one delta of the engine, numbered alike. A piece may take part of a text, or
//! several texts of one choice; the event of the last one is the template it is written with.

use super::RewriterOptions;
use crate::engine::Piece;
use crate::frames::{Ending, Writer, replace};
use crate::sse::{Form, Frame};
use crate::wire::{self, Edit, Part, Reading, With, splice};
use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// The events that are queued, in the order they came.
#[derive(Debug, Default)]
pub(super) struct Templates {
    slots: VecDeque<Slot>,
    /// Number of the first slot.
    first_slot: u64,
    texts: VecDeque<Text>,
    /// Number of the first text: the engine's delta number.
    first_text: u64,
    /// Tags of events that also hold text, in the order they leave.
    tags: VecDeque<Tag>,
    bytes: usize,
    /// Number of the last event that had one.
    number: Option<u64>,
    writer: Writer,
    /// Output is the input, byte for byte, wherever line ends were cut.
    verbatim: bool,
    /// Events came as JSON without fields.
    bare_json: bool,
    /// The frame before did not end the line that its JSON text is on.
    in_line: bool,
    options: RewriterOptions,
    object: Option<Object>,
}

/// One event.
#[derive(Debug)]
struct Slot {
    raw: Vec<u8>,
    data: Data,
    name: String,
    /// Texts that have not left; 1 for an event that travels as a mark.
    left: u32,
    /// How many texts it has, and the number of the first.
    texts: u32,
    first_text: u64,
    rest: Vec<(Range<usize>, With<'static>)>,
    lead: Vec<Range<usize>>,
    /// Strings that are empty in every part that has not something of its own there.
    blanks: Vec<Range<usize>>,
    number: Option<(u64, Range<usize>)>,
    /// The number of the event before, for parts that are not the last.
    number_before: Option<u64>,
    /// Its raw bytes begin with the LF of a CRLF.
    led: bool,
    /// It ended without a blank line because the source drops them.
    bare: bool,
    form: Form,
    /// It was written anew: its raw bytes are not what came.
    changed: bool,
    terminated: bool,
    /// Its texts have been taken out.
    emptied: bool,
}

/// Where an event's data is.
#[derive(Debug)]
enum Data {
    /// Verbatim in the raw bytes.
    Raw(Range<usize>),
    /// Put together from several lines, or repaired.
    Own(String),
    None,
}

/// One text of an event.
#[derive(Debug)]
struct Text {
    slot: u64,
    index: u32,
    bytes: usize,
    left: usize,
    /// The provider's count, and what of it has not been given to a piece.
    counted: u64,
    tokens: u64,
    tokens_span: Option<Range<usize>>,
    span: Range<usize>,
    copies: Vec<Range<usize>>,
    ascii: bool,
    altered: bool,
}

/// A tag, or what may become one, in a string that also holds text.
#[derive(Debug)]
struct Tag {
    slot: u64,
    text: String,
    span: Range<usize>,
    copies: Vec<Range<usize>>,
    ascii: bool,
}

impl Templates {
    pub(super) fn new(verbatim: bool, options: RewriterOptions) -> Self {
        Self { verbatim, options, writer: Writer::new(verbatim), ..Self::default() }
    }

    /// Whether output is to be the input, byte for byte.
    pub(super) fn is_verbatim(&self) -> bool {
        self.verbatim
    }

    /// Whether the frame begins a line; must be asked for each.
    pub(super) fn begins_line(&mut self, frame: &Frame<'_>) -> bool {
        let in_line = matches!(frame.form, Form::Line { .. }) && !frame.raw.ends_with(b"\n");
        !core::mem::replace(&mut self.in_line, in_line)
    }

    /// Whether the frame has fields or comments in a stream that is JSON, or began as JSON: ahead of that they would
    /// make all of it an event stream.
    pub(super) fn is_no_json(&self, frame: &Frame<'_>) -> bool {
        match frame.form {
            Form::Sse => self.bare_json,
            _ => frame.comments > 0,
        }
    }

    /// Writes a frame as it came.
    pub(super) fn write(&mut self, raw: &[u8], form: Form, led: bool, out: &mut Vec<u8>) {
        self.writer.whole(raw, form, led, out);
    }

    /// A frame that begins with the byte order mark, without it: comments may overtake the frame, and the mark
    /// belongs before everything.
    pub(super) fn unmark<'a>(&mut self, frame: &Frame<'a>) -> Option<Frame<'a>> {
        (frame.marked && !self.verbatim).then(|| {
            self.writer.mark();
            frame.unmarked()
        })
    }

    /// Whether an object was written that was not told yet.
    pub(super) fn has_object(&self) -> bool {
        self.object.is_some()
    }

    /// The object that was written last, if that was one. Tells it once.
    pub(super) fn take_object(&mut self) -> Option<Object> {
        self.object.take()
    }

    /// The number of the first object that is still kept, if one is.
    pub(super) fn first_object(&self) -> Option<u64> {
        match self.slots.front()?.form {
            Form::Object(number) => Some(number),
            _ => None,
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.verbatim, self.options);
    }

    /// Bytes of the events that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps an event that travels as a mark; gives its number.
    pub(super) fn event(&mut self, frame: &Frame<'_>, reading: &Reading<'_>) -> u64 {
        self.slot(frame, reading, 1, 0);
        let number = self.first_slot + self.slots.len() as u64 - 1;
        if self.verbatim {
            return number;
        }
        // Half characters that moved on to a later text must not stand in this one.
        let altered = altered_strings(reading);
        if altered.is_empty() && reading.blanks.is_empty() {
            return number;
        }
        let mut edits: Vec<_> = altered
            .iter()
            .flat_map(|(first, text)| {
                let places = core::iter::once(&first.span).chain(&first.copies);
                places.map(|span| (span, text.as_str(), first.ascii))
            })
            .chain(reading.blanks.iter().map(|s| (s, "", false)))
            .map(|(span, text, ascii)| Edit {
                span: span.clone(),
                with: With::Text { text, ascii },
            })
            .collect();
        if let Some(slot) = self.slots.back_mut() {
            let before = slot.raw.len();
            let data = splice(slot.data(), &mut edits);
            slot.set_data(data);
            self.bytes = self.bytes + slot.raw.len() - before;
        }
        number
    }

    /// Keeps an event whose texts go through the engine, each as the next delta.
    /// With `text_only` nothing of it will be written again but its text.
    pub(super) fn delta(&mut self, frame: &Frame<'_>, reading: &Reading<'_>, text_only: bool) {
        let options = self.options;
        let takes = |text: &&wire::Text<'_>| options.takes(text);
        let texts = reading.texts.iter().filter(takes).count() as u32;
        let tags = if options.pieces { &[][..] } else { &reading.texts };
        let tags = tags.iter().filter(|t| matches!(t.part, Part::Tag | Part::Turn));
        self.slot(frame, reading, texts + tags.clone().count() as u32, texts);
        if text_only && let Some(slot) = self.slots.back_mut() {
            self.bytes -= core::mem::take(&mut slot.raw).len();
            slot.data = Data::None;
        }
        let slot = self.first_slot + self.slots.len() as u64 - 1;
        for tag in tags {
            if let Some(slot) = self.slots.back_mut() {
                slot.blanks.extend(strings(&tag.span, &tag.copies));
            }
            self.tags.push_back(Tag {
                slot,
                text: tag.text.clone().into_owned(),
                span: tag.span.clone(),
                copies: tag.copies.clone(),
                ascii: tag.ascii,
            });
        }
        self.texts.extend(reading.texts.iter().filter(takes).map(|text| Text {
            slot,
            index: text.index,
            bytes: text.text.len(),
            left: text.text.len(),
            counted: u64::from(text.tokens.unwrap_or(0)),
            tokens: u64::from(text.tokens.unwrap_or(0)),
            tokens_span: text.tokens_span.clone(),
            span: text.span.clone(),
            copies: text.copies.clone(),
            ascii: text.ascii,
            altered: text.altered,
        }));
    }

    fn slot(&mut self, frame: &Frame<'_>, reading: &Reading<'_>, left: u32, texts: u32) {
        let data = match &frame.event {
            None => Data::None,
            Some(event) => match &event.data_range {
                Some(range) => Data::Raw(range.clone()),
                None => Data::Own(event.data.to_owned()),
            },
        };
        let named = self.options.pieces || matches!(frame.form, Form::Object(_));
        let name = frame.event.as_ref().filter(|_| named).map_or("", |event| event.name);
        let raw = frame.kept();
        self.bytes += raw.len() + name.len() + OVERHEAD;
        self.slots.push_back(Slot {
            raw,
            data,
            name: name.to_owned(),
            left,
            texts,
            first_text: self.first_text + self.texts.len() as u64,
            rest: reading.rest.clone(),
            lead: reading.lead.clone(),
            blanks: reading.blanks.clone(),
            number: reading.number.clone(),
            number_before: self.number,
            led: frame.led,
            bare: frame.bare,
            form: frame.form,
            changed: false,
            terminated: frame.terminated,
            emptied: false,
        });
        self.bare_json |= !matches!(frame.form, Form::Sse | Form::Object(_));
        if let Some((number, _)) = reading.number {
            self.number = Some(number);
        }
    }

    /// Gives the event of a mark as it came, and lets go of it.
    pub(super) fn take_event(&mut self, number: u64, sink: &mut Sink<'_>) {
        let place = number.checked_sub(self.first_slot).and_then(|n| usize::try_from(n).ok());
        let Some(slot) = place.and_then(|place| self.slots.get_mut(place)) else { return };
        slot.left = 0;
        match sink {
            Sink::Bytes(out) => {
                let (raw, form, led) = (core::mem::take(&mut slot.raw), slot.form, slot.led);
                let written = Object::of(form, slot.changed, &slot.name);
                self.write(&raw, form, led, out);
                self.bytes -= raw.len();
                self.object = written;
            }
            Sink::Other(other) => other.set(slot),
        }
        self.drop_done();
    }

    /// Accounts for a piece and writes its event. With a sink for other events, gives each event the last of
    /// whose text has left with it, if there is more in it than text.
    pub(super) fn take(&mut self, piece: &Piece<'_>, sink: &mut Sink<'_>) {
        let origin =
            piece.origin.checked_sub(self.first_text).and_then(|n| usize::try_from(n).ok());
        let Some(origin) = origin.filter(|n| *n < self.texts.len()) else { return };
        let taken = self.account(origin, piece);
        let place = (self.texts[origin].slot - self.first_slot) as usize;
        let slot = &self.slots[place];
        let last = slot.left == 0;
        match sink {
            Sink::Bytes(out) => {
                let altered = self.texts[origin].altered || !slot.blanks.is_empty();
                let whole = self.verbatim || taken.whole && slot.texts == 1 && !altered;
                if whole && last {
                    let slot = &mut self.slots[place];
                    let (raw, form, led) = (core::mem::take(&mut slot.raw), slot.form, slot.led);
                    let written = Object::of(form, slot.changed, &slot.name);
                    self.write(&raw, form, led, out);
                    self.bytes -= raw.len();
                    self.object = written;
                } else if !self.verbatim {
                    let first = self.empty(place);
                    let own = Own::Text(origin, piece.text, taken.tokens);
                    let data = self.part(place, own, first);
                    self.write_part(place, &data, out);
                }
            }
            Sink::Other(other) => {
                // A whole block may take the last text of several.
                for slot in self.slots.range_mut(..=place) {
                    if slot.left == 0 && slot.texts > 0 && !slot.rest.is_empty() {
                        other.set(slot);
                        slot.rest.clear();
                    }
                }
            }
        }
        self.drop_done();
    }

    /// Writes the event of the next tag, with nothing but the tag.
    pub(super) fn take_tag(&mut self, out: &mut Vec<u8>) {
        let Some(slot) = self.tags.front().map(|tag| tag.slot) else { return };
        let place = (slot - self.first_slot) as usize;
        let first = self.empty(place);
        let Some(tag) = self.tags.pop_front() else { return };
        self.slots[place].left -= 1;
        let data = self.part(place, Own::Tag(&tag), first);
        self.write_part(place, &data, out);
        self.drop_done();
    }

    /// Writes an event with this data; the last part of it ends as the event does.
    fn write_part(&mut self, place: usize, data: &str, out: &mut Vec<u8>) {
        let slot = &self.slots[place];
        let last = slot.left == 0;
        let close = match slot.form {
            // A value that no line end follows stands on a line with the next one, or ends the input.
            Form::Line { .. } => !slot.terminated,
            _ => !(slot.bare || last && !slot.terminated),
        };
        let ending = Ending { last, close };
        self.writer.part(&slot.raw, slot.form, data, ending, out);
        self.object = Object::of(slot.form, true, &slot.name);
    }

    /// Takes the piece's text out of the texts it comes from, the last of them being `origin`.
    fn account(&mut self, origin: usize, piece: &Piece<'_>) -> Taken {
        let mut need = piece.text.len();
        let (mut tokens, mut touched, mut whole) = (0, 0, false);
        for text in self.texts.range_mut(..=origin) {
            if text.index != piece.index || (text.left == 0 && text.tokens == 0) {
                continue;
            }
            let fresh = text.left == text.bytes && text.tokens == text.counted;
            let taken = text.left.min(need);
            // Of a count with text each piece gets its part; of a bare count, what the piece says.
            let share = match (text.bytes, taken == text.left) {
                (0, _) => u64::from(piece.tokens).min(text.tokens),
                (_, true) => text.tokens,
                (_, false) => text.tokens * taken as u64 / text.left as u64,
            };
            tokens += share;
            touched += 1;
            text.tokens -= share;
            text.left -= taken;
            need -= taken;
            if text.left == 0 && text.tokens == 0 {
                self.slots[(text.slot - self.first_slot) as usize].left -= 1;
                whole = fresh && touched == 1;
            }
        }
        Taken { tokens, whole: whole && touched == 1 }
    }

    /// The data of an event with nothing but `own` in it, `first` if no part was written before.
    fn part(&self, place: usize, own: Own<'_>, first: bool) -> String {
        let slot = &self.slots[place];
        let string = |text, ascii| With::Text { text, ascii };
        let mut edits = Vec::new();
        let mut put = |span: &Range<usize>, with| edits.push(Edit { span: span.clone(), with });
        // Several texts may stand in one string: of edits at one place the first is made.
        match own {
            Own::Text(number, piece, tokens) => {
                let text = &self.texts[number];
                strings(&text.span, &text.copies)
                    .for_each(|span| put(&span, string(piece, text.ascii)));
                text.tokens_span.iter().for_each(|span| put(span, With::Number(tokens)));
            }
            Own::Tag(tag) => strings(&tag.span, &tag.copies)
                .for_each(|span| put(&span, string(&tag.text, tag.ascii))),
        }
        for text in self.texts.range(self.texts_of(slot)) {
            strings(&text.span, &text.copies).for_each(|span| put(&span, string("", false)));
            text.tokens_span.iter().for_each(|span| put(span, With::Number(0)));
        }
        slot.blanks.iter().for_each(|span| put(span, string("", false)));
        if !first {
            slot.lead.iter().for_each(|span| put(span, With::Gone));
        }
        if slot.left > 0 {
            slot.rest.iter().for_each(|(span, with)| put(span, *with));
            if let Some((number, span)) = &slot.number {
                let before = slot.number_before.unwrap_or_else(|| number.saturating_sub(1));
                put(span, With::Number(before));
            }
        }
        splice(slot.data(), &mut edits)
    }

    /// Takes the texts out of an event that is going to be cut, so that each part costs what is left of the
    /// event, not the whole of it. Says whether that was to do.
    fn empty(&mut self, place: usize) -> bool {
        let slot = &self.slots[place];
        let (texts, number) = (self.texts_of(slot), self.first_slot + place as u64);
        let slot = &mut self.slots[place];
        if core::mem::replace(&mut slot.emptied, true) {
            return false;
        }
        let mut texts: Vec<&mut Text> = self.texts.range_mut(texts).collect();
        let mut gone: Vec<Range<usize>> = texts
            .iter()
            .flat_map(|text| strings(&text.span, &text.copies))
            .filter(|span| span.len() > EMPTY)
            .collect();
        gone.sort_by_key(|span| span.start);
        gone.dedup();
        let mut edits: Vec<_> = gone
            .iter()
            .map(|span| Edit { span: span.clone(), with: With::Text { text: "", ascii: false } })
            .collect();
        let data = splice(slot.data(), &mut edits);
        // How much shorter the data is before a place; places are looked up by halving.
        let mut shorter = 0;
        let sums: Vec<(usize, usize)> = gone
            .iter()
            .map(|span| {
                shorter += span.len() - EMPTY;
                (span.start, shorter)
            })
            .collect();
        let moved = |at: usize| match sums.partition_point(|(start, _)| *start < at) {
            0 => at,
            before => at - sums[before - 1].1,
        };
        let shift = |span: &mut Range<usize>| *span = moved(span.start)..moved(span.end);
        for text in &mut texts {
            core::iter::once(&mut text.span).chain(&mut text.copies).for_each(shift);
            text.tokens_span.iter_mut().for_each(shift);
        }
        let rest = slot.rest.iter_mut().map(|(span, _)| span);
        rest.chain(&mut slot.lead).chain(&mut slot.blanks).for_each(shift);
        for tag in self.tags.iter_mut().filter(|tag| tag.slot == number) {
            core::iter::once(&mut tag.span).chain(&mut tag.copies).for_each(shift);
        }
        if let Some((_, span)) = &mut slot.number {
            shift(span);
        }
        let before = slot.raw.len();
        slot.set_data(data);
        self.bytes = self.bytes + slot.raw.len() - before;
        true
    }

    /// The places of the texts of an event.
    fn texts_of(&self, slot: &Slot) -> Range<usize> {
        let first = (slot.first_text - self.first_text) as usize;
        first..first + slot.texts as usize
    }

    fn drop_done(&mut self) {
        while let Some(slot) = self.slots.front()
            && slot.left == 0
        {
            for _ in 0..slot.texts {
                self.texts.pop_front();
                self.first_text += 1;
            }
            self.bytes -= slot.raw.len() + slot.name.len() + OVERHEAD;
            self.slots.pop_front();
            self.first_slot += 1;
        }
    }
}

/// Where an event goes when its turn has come.
pub(super) enum Sink<'a> {
    /// It is written.
    Bytes(&'a mut Vec<u8>),
    /// Its name and data are given, unless it was nothing but text.
    Other(&'a mut Other),
}

/// An event that came as an object, and goes out as one.
#[derive(Debug)]
pub(super) struct Object {
    pub number: u64,
    pub name: String,
    pub changed: bool,
}

impl Object {
    pub(super) fn of(form: Form, changed: bool, name: &str) -> Option<Self> {
        let Form::Object(number) = form else { return None };
        Some(Self { number, name: name.to_owned(), changed })
    }
}

/// Events that are not text: the one that is out, and those to come.
#[derive(Debug, Default)]
pub(super) struct Other {
    pub name: String,
    pub data: String,
    waiting: VecDeque<(String, String)>,
}

/// What a part of an event holds.
#[derive(Clone, Copy)]
enum Own<'p> {
    /// A piece that ends in the text at this place, and the provider's count for it.
    Text(usize, &'p str, u64),
    /// A tag.
    Tag(&'p Tag),
}

/// What a piece took from its texts.
struct Taken {
    /// The provider's count for it.
    tokens: u64,
    /// It is exactly one text from beginning to end.
    whole: bool,
}

impl Other {
    fn set(&mut self, slot: &Slot) {
        if matches!(slot.data, Data::Raw(_) | Data::Own(_)) {
            self.waiting.push_back((slot.name.clone(), slot.data().to_owned()));
        }
    }

    /// Puts out the next one, if there is one.
    pub(super) fn advance(&mut self) -> bool {
        let Some(next) = self.waiting.pop_front() else { return false };
        (self.name, self.data) = next;
        true
    }
}

impl Slot {
    /// Writes the event anew with other data.
    fn set_data(&mut self, data: String) {
        self.changed = true;
        self.raw = replace(&self.raw, self.form, self.led, &data);
        self.data = Data::Own(data);
    }

    fn data(&self) -> &str {
        match &self.data {
            Data::Raw(range) => {
                let bytes = self.raw.get(range.clone()).unwrap_or_default();
                core::str::from_utf8(bytes).unwrap_or_default()
            }
            Data::Own(data) => data,
            Data::None => "",
        }
    }
}

/// The strings that hold a text.
fn strings<'s>(
    span: &'s Range<usize>,
    copies: &'s [Range<usize>],
) -> impl Iterator<Item = Range<usize>> + 's {
    core::iter::once(span).chain(copies).cloned()
}

/// The strings of an event that must be written anew although it passes whole: all of their text, with the
/// first text that stands in each.
fn altered_strings<'r, 'a>(reading: &'r Reading<'a>) -> Vec<(&'r wire::Text<'a>, String)> {
    let mut found: Vec<(&wire::Text<'_>, String)> = Vec::new();
    for text in reading.texts.iter().filter(|t| t.altered && t.part != Part::Late) {
        match found.last_mut().filter(|(first, _)| first.span == text.span) {
            Some((_, all)) => all.push_str(&text.text),
            None => found.push((text, text.text.clone().into_owned())),
        }
    }
    found
}

/// Length of an empty JSON string.
const EMPTY: usize = 2;
/// What an event costs besides its bytes.
const OVERHEAD: usize = 256;
