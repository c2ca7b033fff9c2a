//! Lines or chunks? What an iterable of unknown origin gives, told from its first items.
//!
//! A library's `iter_lines()` gives lines, mostly without their ends; `iter_bytes()` gives chunks that are
//! cut anywhere. Nobody says which, and the first item alone often cannot tell: `data: {"a":1}` may be
//! either. So an item that could be both waits for the next one, which an iterator of lines has at hand.

use crate::wire::is_complete;
use alloc::vec::Vec;

/// How a source's items stand to the stream's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Each item is a line without its end.
    Lines,
    /// Each item is a line with its end, or at least the stream's bytes as they are: nothing is to be
    /// added. What comes out is cut into lines.
    LinesWithEnds,
    /// Items are the stream's bytes, cut anywhere.
    Bytes,
}

impl Framing {
    /// Whether an item goes in as a line ([`push_line`](crate::Rewriter::push_line)) rather than as bytes.
    pub fn is_line(self, item: &[u8]) -> bool {
        match self {
            Self::Lines => true,
            Self::LinesWithEnds => item.ends_with(b"\n"),
            Self::Bytes => false,
        }
    }
}

/// Tells the framing of a source from its first items; holds them back meanwhile.
///
/// ```
/// use decluster::{Framer, Framing};
/// let mut framer = Framer::new(None);
/// assert!(framer.take(b"data: [DONE]".to_vec()).is_empty());
/// assert_eq!(framer.take(Vec::new()).len(), 2);
/// assert_eq!(framer.framing(), Some(Framing::Lines));
/// ```
#[derive(Debug, Default)]
pub struct Framer {
    framing: Option<Framing>,
    held: Vec<Vec<u8>>,
    started: bool,
}

impl Framer {
    /// A framer; `None` tells the framing from the data. Of lines it always tells whether they have ends.
    pub fn new(framing: Option<Framing>) -> Self {
        Self { framing, held: Vec::new(), started: false }
    }

    /// Takes an item; gives the items that can be pushed now, in order: none while the framing is not known.
    pub fn take(&mut self, item: Vec<u8>) -> Vec<Vec<u8>> {
        let first = !core::mem::replace(&mut self.started, true);
        if first && self.framing == Some(Framing::Lines) && item.ends_with(b"\n") {
            self.framing = Some(Framing::LinesWithEnds);
        }
        self.held.push(item);
        if self.framing.is_none() {
            self.framing = self.tell();
            if self.framing.is_none() {
                return Vec::new();
            }
        }
        core::mem::take(&mut self.held)
    }

    /// The source ended: gives what was held back.
    pub fn finish(&mut self) -> Vec<Vec<u8>> {
        let held = core::mem::take(&mut self.held);
        if !held.is_empty() {
            let lines = held.iter().all(|item| item.is_empty() || could_be_line(item));
            self.framing = Some(if lines { Framing::Lines } else { Framing::Bytes });
        }
        held
    }

    /// What the items that are held show. Empty ones alone show nothing: blank lines, or chunks without content.
    fn tell(&self) -> Option<Framing> {
        let mut items = self.held.iter().filter(|item| !without_cr(item).is_empty());
        match (items.next(), self.held.last()) {
            (None, _) => (self.held.len() >= EMPTY_MAX).then_some(Framing::Lines),
            (Some(first), Some(last)) if !core::ptr::eq(first, last) => Some(of_two(first, last)),
            (Some(first), _) => of_first(first),
        }
    }

    /// The framing, once it is known and nothing is held back any more: then items need not go through here.
    pub fn settled(&self) -> Option<Framing> {
        self.framing.filter(|_| self.started && self.held.is_empty())
    }

    /// The framing, once it is known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }
}

/// What the first item shows alone: only a chunk has an end inside.
fn of_first(item: &[u8]) -> Option<Framing> {
    match ends(item) {
        Ends::None => None,
        Ends::Last => Some(Framing::LinesWithEnds),
        Ends::Inside => Some(Framing::Bytes),
    }
}

/// What the second item shows when the first has no line end.
fn of_two(first: &[u8], second: &[u8]) -> Framing {
    // Lines that were cut at LF may have a CR behind them. A chunk that ends in one was cut inside of a CRLF, which only
    // happens where all of them are a byte or two.
    let line = without_cr(second);
    if line.len() < second.len() && matches!(line, b"" | b",") {
        let closed = could_be_line(first) || opens_array(first);
        return if closed { Framing::Lines } else { Framing::Bytes };
    }
    let second = line;
    let line = ends(second) == Ends::None && (begins_line(second) || is_foreign(first));
    let pretty = is_brackets(first) && ends(second) == Ends::None && continues_pretty(second);
    // A chunk is hardly ever cut just before what looks like a field; lines begin like that, each of them.
    let fields = ends(second) == Ends::None && field(first).is_some() && field(second).is_some();
    if second.is_empty() || line && could_be_line(first) || pretty || fields {
        Framing::Lines
    } else {
        Framing::Bytes
    }
}

/// A line as it is for a reader that cuts at CRLF.
fn without_cr(item: &[u8]) -> &[u8] {
    item.strip_suffix(b"\r").unwrap_or(item)
}

/// Whether this is the line of an array's first element.
fn opens_array(item: &[u8]) -> bool {
    let element = item.strip_prefix(b"[");
    element.is_some_and(|text| core::str::from_utf8(text).is_ok_and(is_complete))
}

/// Whether this is all that the first line of a JSON text over several lines holds.
fn is_brackets(item: &[u8]) -> bool {
    let brackets = item.trim_ascii_end();
    !brackets.is_empty() && brackets.iter().all(|byte| matches!(byte, b'{' | b'['))
}

/// Whether this is the second line of such a text. A chunk would begin with the line end of the first, or, where
/// there are no line ends, without a blank. If it does not, it does not matter much: line ends between values
/// may come and go.
fn continues_pretty(item: &[u8]) -> bool {
    let element = item.trim_ascii_end().strip_suffix(b",");
    item.starts_with(b" ")
        || item.starts_with(b"\t")
        || matches!(item, b"{" | b"[" | b"}" | b"]")
        || element.is_some_and(|text| core::str::from_utf8(text).is_ok_and(is_complete))
}

/// Nobody gives so many chunks without content.
const EMPTY_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    None,
    Last,
    Inside,
}

fn ends(item: &[u8]) -> Ends {
    let line = item.strip_suffix(b"\n").unwrap_or(item);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.contains(&b'\n') || line.contains(&b'\r') || line.is_empty() {
        Ends::Inside
    } else if line.len() < item.len() {
        Ends::Last
    } else {
        Ends::None
    }
}

/// Whether a line could begin like this, rather than a chunk that was cut somewhere.
fn begins_line(item: &[u8]) -> bool {
    field(item).is_some() || core::str::from_utf8(item).is_ok_and(is_complete)
}

/// Whether no event stream begins like this. Then it only matters that what comes out is what went in.
fn is_foreign(item: &[u8]) -> bool {
    field(item).is_none() && !item.starts_with(b"{") && !item.starts_with(b"[")
}

/// Whether this is a line that could stand alone.
fn could_be_line(item: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(item) else { return field(item).is_some() };
    let json = |text: &str| text.starts_with(['{', '[']);
    match field(item) {
        Some(b"data") => {
            let data = text.get("data:".len()..).unwrap_or_default().trim();
            !data.is_empty() && (is_complete(data) || !json(data))
        }
        Some(_) => true,
        None if json(text) => is_complete(text),
        None => !FIELDS.iter().any(|name| name.starts_with(item)),
    }
}

/// The known field that an item begins with; a comment counts as one without a name.
fn field(item: &[u8]) -> Option<&[u8]> {
    let name = item.split(|byte| *byte == b':').next().filter(|name| name.len() < item.len())?;
    (name.is_empty() || FIELDS.contains(&name)).then_some(name)
}

const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "data: {\"choices\":[]}";

    fn told(items: &[&str]) -> Option<Framing> {
        let mut framer = Framer::new(None);
        let mut out = Vec::new();
        for item in items {
            out.extend(framer.take(item.as_bytes().to_vec()));
        }
        out.extend(framer.finish());
        assert_eq!(out, items.iter().map(|item| item.as_bytes().to_vec()).collect::<Vec<_>>());
        framer.framing()
    }

    #[test]
    fn lines() {
        for items in [
            &[EVENT, ""][..],
            &[EVENT, EVENT],
            &["", EVENT],
            &["event: response.created", EVENT],
            &[": keep-alive", ""],
            &["data: {oops", ""],
            &["data: {'a': 1}", ""],
            &["{\"a\":1}", "{\"a\":2}"],
            &["data: {", "data: \"choices\":[]"],
            &["{\"a\":1}"],
            &["<html>", ""],
            &["<html>", "<body>"],
            &[EVENT],
            &["data: [DONE]"],
            &["[{", "  \"candidates\": ["],
            &["[", "{"],
            &["[", "{\"a\":1},"],
            &["{", "\t\"error\": {"],
            &["{\"a\":1}", "", "{\"a\":2}"],
            &["{\"a\":1}", "\r", "{\"a\":2}"],
            &[EVENT, "\r"],
            &["[{\"a\":1}", ",\r", "{\"a\":2}", "]"],
            &["[{", "  \"candidates\": [\r"],
            &["\r", EVENT, ""],
        ] {
            assert_eq!(told(items), Some(Framing::Lines), "{items:?}");
        }
        assert_eq!(told(&["data: x\n", "\n"]), Some(Framing::LinesWithEnds));
        assert_eq!(told(&["data: x\r\n", "\r\n"]), Some(Framing::LinesWithEnds));
    }

    #[test]
    fn chunks() {
        for items in [
            &["data: x\n\n"][..],
            &["data: x\n\ndata: y"],
            &["\n", "data: x\n\n"],
            &[EVENT, "\n\n"],
            &[EVENT, "\n", "\n"],
            &["data: ", "{\"choices\":[]}", "\n\n"],
            &["data: {\"cho", "ices\":[]}\n\n"],
            &["d", "ata: x\n\n"],
            &["event: response.cre", "ated\ndata: {}\n\n"],
            &["data: {\"a"],
            &["[{\n  \"candidates\": [\n"],
            &["[{", "\n  \"candidates\": ["],
            &["[", "{\"a\":1}"],
            &["{\"a\":", "1}\n"],
            &["{\"a\":1}", "\n{\"a\":2}\n"],
            &["{\"a\":1}\n{\"a\""],
            &["[", "\r", "\n"],
            &["\r", "\n", "{"],
            &["{\"a\":1", "}\r", "\n"],
            &["data: {\"a\":", "1}\r"],
            &[EVENT, "\r\r", EVENT],
            &["[{\"a\":1}", ",\r\n", "{\"a\":2}"],
        ] {
            assert_eq!(told(items), Some(Framing::Bytes), "{items:?}");
        }
    }

    #[test]
    fn a_last_line_without_its_end_goes_in_as_bytes() {
        assert!(Framing::Lines.is_line(b"data: x"));
        assert!(Framing::LinesWithEnds.is_line(b"data: x\r\n"));
        assert!(!Framing::LinesWithEnds.is_line(b"data: x"));
        assert!(!Framing::Bytes.is_line(b"data: x\n"));
    }

    #[test]
    fn any_cut_of_a_stream_of_events_keeps_its_bytes() {
        for stream in [
            "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
            "{\"a\":[{\"b\":\"c \"}]}\n{\"a\":[]}\n",
            "[{\n  \"a\": [\n    \"b \"\n  ]\n}\n,\r\n{\n  \"a\": [{}]\n}\n]",
        ] {
            for at in 1..stream.len() {
                let (one, two) = stream.split_at(at);
                let framing = told(&[one, two]);
                assert_ne!(framing, Some(Framing::Lines), "{stream:?} cut at {at}");
            }
        }
    }
}
