//! A slow and obvious decoder of event streams: the whole input at once, in the words of the standard
//! (html.spec.whatwg.org, "Server-sent events": parsing and interpreting an event stream). What a decoder
//! that works piece by piece gives must be what this one gives.

/// What a stream of server-sent events says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// What is dispatched.
    pub events: Vec<Event>,
    /// The text of each comment line; the standard ignores them.
    pub comments: u64,
    /// The last event id string at the end.
    pub last_id: String,
    /// The reconnection time, if the stream sets one, in milliseconds.
    pub retry: Option<u64>,
    /// The data of the block that the end of the input left open. The standard drops it. An unfinished line
    /// counts here, and here alone.
    pub unsent: Option<String>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type, `message` if it has none.
    pub name: String,
    /// Its data.
    pub data: String,
    /// The last event id string when it was dispatched.
    pub id: String,
    /// The reconnection time its block sets; the standard keeps that for the stream alone.
    pub retry: Option<u64>,
}

/// Reads a whole stream.
#[must_use]
pub fn read(input: &[u8]) -> Stream {
    // "Streams must be decoded using the UTF-8 decode algorithm", which drops one byte order mark.
    let text = String::from_utf8_lossy(input);
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut stream = Stream::default();
    let mut buffers = Buffers::default();
    while let Some(end) = rest.find(['\r', '\n']) {
        let line = &rest[..end];
        rest = &rest[end..];
        rest = rest.strip_prefix("\r\n").unwrap_or_else(|| &rest[1..]);
        if line.is_empty() {
            buffers.dispatch(&mut stream);
        } else if let Some((name, value)) = field(line) {
            buffers.process(name, value, &mut stream.retry);
        } else {
            stream.comments += 1;
        }
    }
    if !rest.is_empty() {
        match field(rest) {
            Some(("data", value)) => buffers.process("data", value, &mut None),
            Some(_) => {}
            None => stream.comments += 1,
        }
    }
    if let Some(data) = buffers.data.strip_suffix('\n') {
        stream.unsent = Some(data.to_owned());
    }
    stream
}

/// The field of a line that is not empty; none if it is a comment.
fn field(line: &str) -> Option<(&str, &str)> {
    match line.split_once(':') {
        Some(("", _)) => None,
        Some((name, value)) => Some((name, value.strip_prefix(' ').unwrap_or(value))),
        None => Some((line, "")),
    }
}

#[derive(Default)]
struct Buffers {
    data: String,
    kind: String,
    id: String,
    /// Not of the standard: see [`Event::retry`].
    retry: Option<u64>,
}

impl Buffers {
    fn process(&mut self, name: &str, value: &str, reconnection: &mut Option<u64>) {
        match name {
            "event" => value.clone_into(&mut self.kind),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit()) => {
                self.retry = Some(value.parse().unwrap_or(u64::MAX));
                *reconnection = self.retry;
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, stream: &mut Stream) {
        self.id.clone_into(&mut stream.last_id);
        let retry = self.retry.take();
        let kind = std::mem::take(&mut self.kind);
        let data = std::mem::take(&mut self.data);
        // "If the data buffer is an empty string": no `data` line, since each adds an LF.
        if let Some(data) = data.strip_suffix('\n') {
            stream.events.push(Event {
                name: if kind.is_empty() { "message".to_owned() } else { kind },
                data: data.to_owned(),
                id: stream.last_id.clone(),
                retry,
            });
        }
    }
}
