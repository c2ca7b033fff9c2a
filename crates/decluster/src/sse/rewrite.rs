//! Writing an event again with other data.

use alloc::vec::Vec;

use super::Field;

/// How [`rewrite`] treats the lines that are not data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// Keep `id` lines. When one event becomes several, only the last may carry its id, or a client that
    /// resumes after an earlier part loses the rest.
    pub keep_id: bool,
    /// The last byte sent before this event is a CR. Then a CRLF stream goes on with the LF, and a frame
    /// that begins with that LF keeps it; otherwise it is left out.
    pub after_cr: bool,
    /// Add the blank line if the frame has none: true for all but the last copy of an unterminated
    /// event, false for bare ones.
    pub close: bool,
}

/// Writes the event in `raw` (a [`Frame::raw`](super::Frame::raw)) to `out` with `data` in place of its
/// own.
///
/// Other lines, their order and the line ends stay. A byte order mark would be part of the first line: see
/// [`Frame::unmarked`](super::Frame::unmarked). Data of several lines goes out as several `data` lines, which
/// a reader joins with LF again; a CR or CRLF in it becomes LF, since the framing cannot carry them (JSON has
/// them between tokens only, where any blank will do).
/// If `raw` has no `data` line, its first line with no known field is taken for the data
/// ([`Frame::bare`](super::Frame::bare)); if it has none of these either, the data goes nowhere.
pub fn rewrite(raw: &[u8], data: &str, how: Rewrite, out: &mut Vec<u8>) {
    let (led, raw) = match raw.strip_prefix(b"\n") {
        Some(rest) => (true, rest),
        None => (false, raw),
    };
    let end = Lines(raw).map(|(_, end)| end).find(|end| !end.is_empty()).unwrap_or(b"\n");
    if how.after_cr && (led || end == b"\r\n") {
        out.push(b'\n');
    }
    let named = Lines(raw).any(|(line, _)| Field::of_any(line).is_some_and(|f| f.0 == Field::Data));
    let begin = out.len();
    // Where a line was left out, the CR of one and the LF of another may have come together: that is one end.
    let blank = |end: &[u8], out: &mut Vec<u8>| {
        if end == b"\n" && out.len() > begin && out.ends_with(b"\r") {
            out.push(b'\n');
        }
        out.extend_from_slice(end);
    };
    let (mut written, mut closed) = (false, false);
    for (line, own_end) in Lines(raw) {
        closed = line.is_empty();
        let own_end = if own_end.is_empty() && how.close { end } else { own_end };
        match Field::of_any(line) {
            Some((Field::Data, value)) => {
                if !written {
                    let prefix = if value == DATA.len() { b"data: " } else { &line[..value] };
                    write_data(prefix, data, end, out);
                    out.extend_from_slice(own_end);
                }
                written = true;
            }
            Some((Field::Unknown, _)) if !named && !written => {
                write_data(b"", data, end, out);
                out.extend_from_slice(own_end);
                written = true;
            }
            Some((Field::Id, _)) if !how.keep_id => {}
            None => blank(own_end, out),
            Some(_) => {
                out.extend_from_slice(line);
                out.extend_from_slice(own_end);
            }
        }
    }
    if how.close && !closed {
        blank(end, out);
    }
}

impl Field {
    fn of_any(line: &[u8]) -> Option<(Self, usize)> {
        (!line.is_empty()).then(|| Self::of(line))
    }
}

/// All of `data`, line by line, without the last line end.
fn write_data(prefix: &[u8], data: &str, end: &[u8], out: &mut Vec<u8>) {
    let mut first = true;
    for (line, _) in Lines(data.as_bytes()) {
        if !first {
            out.extend_from_slice(end);
        }
        first = false;
        out.extend_from_slice(prefix);
        // A reader takes one blank away, which must not be the data's own.
        if prefix.ends_with(b":") && line.starts_with(b" ") {
            out.push(b' ');
        }
        out.extend_from_slice(line);
    }
    if first {
        out.extend_from_slice(prefix);
    } else if data.ends_with(['\n', '\r']) {
        out.extend_from_slice(end);
        out.extend_from_slice(prefix);
    }
}

/// Lines with their ends: LF, CR, CRLF, or nothing at the end of the input.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let text = memchr::memchr2(b'\n', b'\r', self.0).unwrap_or(self.0.len());
        let end = match &self.0[text..] {
            [] => 0,
            [b'\r', b'\n', ..] => 2,
            _ => 1,
        };
        let (line, rest) = self.0.split_at(text + end);
        self.0 = rest;
        Some(line.split_at(text))
    }
}

/// A line of this length is the bare field name, with neither colon nor value.
const DATA: &[u8] = b"data";
