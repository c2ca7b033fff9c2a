//! Frames to bytes again.

use alloc::vec::Vec;

use super::is_blank;
use crate::sse::{BOM, Form, Rewrite, rewrite};

/// Writes frames, as they came or with other data, so that what comes out is a valid stream in the same
/// framing, also where events were cut in several, joined, or overtaken.
#[derive(Debug, Default)]
pub struct Writer {
    verbatim: bool,
    /// What was sent last ended with a CR.
    after_cr: bool,
    /// The array's bracket was sent and is open.
    in_array: bool,
    /// The byte order mark goes before whatever goes out first.
    marked: bool,
}

/// How a part of an event ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Nothing of the event comes after it. Only this part keeps an SSE `id`.
    pub last: bool,
    /// Give it the blank line of SSE, or the line end of JSON lines, if it has none.
    pub close: bool,
}

impl Writer {
    /// A writer. With `verbatim` whole frames come out byte for byte; for streams where nothing moves.
    #[must_use]
    pub fn new(verbatim: bool) -> Self {
        Self { verbatim, ..Self::default() }
    }

    /// The stream begins with a byte order mark; the frame that had it comes without
    /// ([`Frame::unmarked`](crate::sse::Frame::unmarked)).
    pub fn mark(&mut self) {
        self.marked = true;
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if core::mem::take(&mut self.marked) {
            out.extend_from_slice(BOM);
        }
    }

    /// Writes a frame as it came. If `led`, it begins with the LF of a CRLF whose CR ended the frame before; if
    /// another frame went out in between, each gets its own half. Of an array's elements the first gets the
    /// bracket and others a comma, whichever they came with.
    pub fn whole(&mut self, raw: &[u8], form: Form, led: bool, out: &mut Vec<u8>) {
        self.begin(out);
        match form {
            _ if self.verbatim => out.extend_from_slice(raw),
            Form::Sse => {
                let body = if led { raw.strip_prefix(b"\n").unwrap_or(raw) } else { raw };
                if self.after_cr && (led || memchr::memmem::find(body, b"\r\n").is_some()) {
                    out.push(b'\n');
                }
                out.extend_from_slice(body);
            }
            Form::Element { before, .. } => {
                let (head, body) = raw.split_at(before.min(raw.len()));
                if self.in_array == opens(head) && !body.is_empty() {
                    self.head(head, body, out);
                } else {
                    out.extend_from_slice(head);
                }
                out.extend_from_slice(body);
            }
            Form::Line { .. } | Form::ArrayEnd | Form::Object(_) => out.extend_from_slice(raw),
        }
        self.sent(form, out);
    }

    /// Writes the event in `raw` with `data` in place of its own, as a whole or as one of several parts.
    pub fn part(&mut self, raw: &[u8], form: Form, data: &str, part: Ending, out: &mut Vec<u8>) {
        self.begin(out);
        let Some((before, after)) = margins(raw, form) else {
            let how = Rewrite { keep_id: part.last, after_cr: self.after_cr, close: part.close };
            rewrite(raw, data, how, out);
            return self.sent(form, out);
        };
        if matches!(form, Form::Element { .. }) {
            self.head(before, data.as_bytes(), out);
        } else {
            out.extend_from_slice(before.strip_prefix(BOM).unwrap_or(before));
        }
        out.extend_from_slice(data.as_bytes());
        if part.last || matches!(form, Form::Line { .. }) {
            out.extend_from_slice(after);
        }
        let ends = |bytes: &[u8]| bytes.contains(&b'\n');
        let line = matches!(form, Form::Line { .. }) && !ends(before) && !ends(after);
        if line && !part.last && (part.close || ends(data.as_bytes())) {
            out.push(b'\n');
        }
        self.sent(form, out);
    }

    /// Writes what stands before an element: its own bytes, if they fit what was sent.
    fn head(&self, own: &[u8], body: &[u8], out: &mut Vec<u8>) {
        let own = own.strip_prefix(BOM).unwrap_or(own);
        let comma = own.contains(&b',');
        match (self.in_array, opens(own)) {
            (false, true) => out.extend_from_slice(own),
            (true, false) if comma => out.extend_from_slice(own),
            (true, _) if body.starts_with(b"{") => out.extend_from_slice(b",\n"),
            // At the beginning of a line it might be a field.
            (true, _) => out.push(b','),
            (false, false) => {
                out.push(b'[');
                out.extend(own.iter().filter(|byte| is_blank(**byte)));
            }
        }
    }

    fn sent(&mut self, form: Form, out: &[u8]) {
        let Some(last) = out.last() else { return };
        self.after_cr = *last == b'\r';
        self.in_array = matches!(form, Form::Element { .. });
    }
}

/// The frame `raw` with other data, everything else as it is.
#[must_use]
pub fn replace(raw: &[u8], form: Form, led: bool, data: &str) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some((before, after)) = margins(raw, form) {
        for part in [before, data.as_bytes(), after] {
            out.extend_from_slice(part);
        }
    } else {
        let how = Rewrite { keep_id: true, after_cr: led, close: false };
        rewrite(raw, data, how, &mut out);
    }
    out
}

/// What stands before the data and after it; `None` for an event of an event stream.
fn margins(raw: &[u8], form: Form) -> Option<(&[u8], &[u8])> {
    let (before, after) = match form {
        Form::Sse => return None,
        Form::Line { before, after } | Form::Element { before, after } => (before, after),
        Form::Object(_) => (0, 0),
        Form::ArrayEnd => (raw.len(), 0),
    };
    Some((raw.get(..before)?, raw.get(raw.len().checked_sub(after)?..)?))
}

fn opens(head: &[u8]) -> bool {
    head.contains(&b'[')
}
