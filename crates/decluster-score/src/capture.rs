//! What a file holds: arrival traces, a stream with the times at which it arrived, or a stream alone. Told from the first
//! line that is not blank.

use crate::trace::{Trace, TraceError};
use decluster::Nanos;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fmt;

/// What a file holds.
#[derive(Clone, Debug)]
pub enum Capture {
    /// Arrival traces, each with the number of its line, and the time from the begin of the capture to its first token,
    /// where its times count from there.
    Traces(Vec<(usize, Trace, Option<Nanos>)>),
    /// One stream.
    Stream(Chunks),
}

/// A stream as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// What came when, in order of time, cut anywhere. One chunk at zero where there are no times.
    pub chunks: Vec<(Nanos, Vec<u8>)>,
    /// The chunks have times.
    pub timed: bool,
    /// Time zero is when the recording began, not when the first chunk came.
    pub begins: bool,
}

/// A file that is none of these, or is broken.
#[derive(Debug, PartialEq, Eq)]
pub struct CaptureError {
    /// The line, from 1, if it is a matter of a line.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl Capture {
    /// Reads a file. `name` is for the traces in it.
    ///
    /// # Errors
    /// [`CaptureError`] says what is wrong, and where.
    pub fn read(name: &str, file: &[u8]) -> Result<Self, CaptureError> {
        let file = file.strip_prefix(BOM).unwrap_or(file);
        let Some((number, first)) = lines(file).find(|(_, line)| !line.trim_ascii().is_empty())
        else {
            return Err(CaptureError { line: None, message: "the file is empty".into() });
        };
        match Form::of(first).map_err(|message| at(number, message))? {
            Form::Traces => traces(name, file),
            Form::Timed => timed(file),
            Form::Stamped => stamped(file),
            Form::Plain => {
                let chunks = vec![(Nanos::ZERO, file.to_vec())];
                Ok(Self::Stream(Chunks { chunks, timed: false, begins: false }))
            }
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for CaptureError {}

/// How the lines of a file are to be read.
enum Form {
    /// `{"t_ms": [...], "tokens": [...]}`: a stream a line.
    Traces,
    /// `{"t_ms": 1400.2, "data": "..."}`: an arrival a line.
    Timed,
    /// A time, a blank, and a line of the stream.
    Stamped,
    /// No times.
    Plain,
}

/// The members by which the first line shows what it is.
#[derive(Deserialize)]
struct Head {
    t_ms: Option<IgnoredAny>,
    tokens: Option<IgnoredAny>,
    data: Option<IgnoredAny>,
    base64: Option<IgnoredAny>,
}

impl Form {
    fn of(line: &[u8]) -> Result<Self, String> {
        if stamp(line).is_some() {
            return Ok(Self::Stamped);
        }
        if !line.trim_ascii_start().starts_with(b"{") {
            return Ok(Self::Plain);
        }
        let Ok(head) = serde_json::from_slice::<Head>(line) else {
            // Broken; what is wrong is said by who reads it.
            let holds = |word: &str| {
                line[..line.len().min(HEAD)].windows(word.len()).any(|w| w == word.as_bytes())
            };
            return Ok(match (holds("\"t_ms\""), holds("\"data\"") || holds("\"base64\"")) {
                (true, true) => Self::Timed,
                (true, false) => Self::Traces,
                (false, _) => Self::Plain,
            });
        };
        match (head.t_ms, head.tokens, head.data.or(head.base64)) {
            (None, ..) => Ok(Self::Plain),
            (_, Some(_), _) => Ok(Self::Traces),
            (_, _, Some(_)) => Ok(Self::Timed),
            _ => Err("t_ms without tokens, data or base64".into()),
        }
    }
}

fn traces(name: &str, file: &[u8]) -> Result<Capture, CaptureError> {
    let mut traces = Vec::new();
    for (number, line) in lines(file).filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let line = text(line).map_err(|message| at(number, message))?;
        let (trace, start_ms) = Trace::with_start(&format!("{name}:{number}"), "", line)
            .map_err(|TraceError(message)| at(number, message))?;
        traces.push((number, trace, since_begin(start_ms)));
    }
    Ok(Capture::Traces(traces))
}

/// Times that begin above zero, and not with a date, count from when the recording began.
fn since_begin(first_ms: f64) -> Option<Nanos> {
    (first_ms > 0.0 && first_ms < LONGEST.0 as f64 / 1e6)
        .then(|| Nanos((first_ms * 1e6).round() as u64))
}

/// One arrival.
#[derive(Deserialize)]
struct Arrival {
    t_ms: f64,
    data: Option<String>,
    base64: Option<String>,
}

fn timed(file: &[u8]) -> Result<Capture, CaptureError> {
    let mut clock = Clock::default();
    let mut chunks = Vec::new();
    let mut begins = false;
    for (number, line) in lines(file).filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let wrong = |message| at(number, message);
        let arrival: Arrival = text(line).and_then(parsed).map_err(wrong)?;
        if !(0.0..=MAX_MS).contains(&arrival.t_ms) {
            return Err(wrong(format!("t_ms = {:e} is below 0 or out of range", arrival.t_ms)));
        }
        if chunks.is_empty() {
            begins = since_begin(arrival.t_ms).is_some();
        }
        let origin = if begins { Some(0) } else { None };
        let when = clock.read((arrival.t_ms * 1e6).round() as u64, origin).map_err(wrong)?;
        let chunk = match (arrival.data, arrival.base64) {
            (Some(data), None) => data.into_bytes(),
            (None, Some(coded)) => decoded(&coded).ok_or_else(|| wrong("base64 is none".into()))?,
            _ => return Err(wrong("takes one of data and base64".into())),
        };
        chunks.push((when, chunk));
    }
    Ok(Capture::Stream(Chunks { chunks, timed: true, begins }))
}

fn stamped(file: &[u8]) -> Result<Capture, CaptureError> {
    let mut clock = Clock::default();
    let mut chunks = Vec::new();
    let mut begins = false;
    for (number, line) in lines(file) {
        let Some(stamp) = stamp(line) else {
            if line.trim_ascii().is_empty() {
                continue;
            }
            return Err(at(number, "no time stands before the line".into()));
        };
        if !stamp.fraction {
            let message = "the time has no fraction of a second; write it with: ts '%.s'";
            return Err(at(number, message.into()));
        }
        let elapsed = stamp.ns < LONGEST.0;
        if chunks.is_empty() {
            // An empty line before the stream was put there to say when the request was sent.
            begins = elapsed || stamp.rest.trim_ascii().is_empty();
        }
        let origin = if elapsed { Some(0) } else { None };
        let when = clock.read(stamp.ns, origin).map_err(|message| at(number, message))?;
        let mut chunk = stamp.rest.to_vec();
        chunk.push(b'\n');
        chunks.push((when, chunk));
    }
    Ok(Capture::Stream(Chunks { chunks, timed: true, begins }))
}

/// Times of a file, from its first or from an origin on.
#[derive(Default)]
struct Clock {
    origin: Option<u64>,
    last: u64,
}

impl Clock {
    fn read(&mut self, ns: u64, origin: Option<u64>) -> Result<Nanos, String> {
        let origin = *self.origin.get_or_insert(origin.unwrap_or(ns));
        if ns < self.last {
            return Err("the time is before that of the line before".into());
        }
        self.last = ns;
        let since = Nanos(ns).since(Nanos(origin));
        if since > LONGEST {
            return Err("more than a day after the first".into());
        }
        Ok(since)
    }
}

/// A time that stands before a line.
struct Stamp<'a> {
    ns: u64,
    /// It has a fraction of a second.
    fraction: bool,
    rest: &'a [u8],
}

/// Seconds, or a date and a time (RFC 3339; without a zone it is taken for UTC), and then a blank or nothing.
fn stamp(line: &[u8]) -> Option<Stamp<'_>> {
    let (seconds, after) = date(line).or_else(|| number(line, 1..=11))?;
    let (fraction, after) = match after.strip_prefix(b".") {
        Some(digits) => fraction(digits)?,
        None => (None, after),
    };
    let after = if line.get(4) == Some(&b'-') { zone(after) } else { (0, after) };
    let (offset, after) = after;
    let seconds = seconds.checked_add_signed(-offset)?;
    let ns = seconds.checked_mul(1_000_000_000)?.checked_add(fraction.unwrap_or_default())?;
    let rest = match after {
        [b' ', rest @ ..] => rest,
        [] | [b'\r'] => after,
        _ => return None,
    };
    Some(Stamp { ns, fraction: fraction.is_some(), rest })
}

/// The time that a whole text is.
pub(crate) fn instant(text: &str) -> Option<u64> {
    let stamp = stamp(text.as_bytes()).filter(|_| date(text.as_bytes()).is_some())?;
    (stamp.rest.is_empty() && stamp.fraction).then_some(stamp.ns)
}

/// `2026-01-31T23:59:59`, as seconds since 1970.
fn date(text: &[u8]) -> Option<(u64, &[u8])> {
    let (day, time) = (text.get(..10)?, text.get(11..19)?);
    let of =
        |part: &[u8], marks: [usize; 2], mark: u8| marks.iter().all(|place| part[*place] == mark);
    if !of(day, [4, 7], b'-') || !of(time, [2, 5], b':') || !matches!(text[10], b'T' | b' ') {
        return None;
    }
    let whole = |digits: &[u8]| {
        let (value, rest) = number(digits, 2..=4)?;
        rest.is_empty().then_some(value)
    };
    let (year, month, day) = (whole(&day[..4])?, whole(&day[5..7])?, whole(&day[8..])?);
    let (hour, minute, second) = (whole(&time[..2])?, whole(&time[3..5])?, whole(&time[6..])?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day;
    let days = days.checked_sub(DAYS_TO_1970)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second, &text[19..]))
}

/// `Z`, `+01:00`, `+0100` or nothing: seconds ahead of UTC.
fn zone(text: &[u8]) -> (i64, &[u8]) {
    let sign = match text {
        [b'Z', rest @ ..] => return (0, rest),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return (0, text),
    };
    let read = || {
        let (hours, rest) = number(text.get(1..3)?, 2..=2)
            .filter(|(_, rest)| rest.is_empty())
            .map(|(hours, _)| (hours, &text[3..]))?;
        let rest = rest.strip_prefix(b":").unwrap_or(rest);
        let (minutes, _) = number(rest.get(..2)?, 2..=2)?;
        Some((sign * (hours * 3_600 + minutes * 60).cast_signed(), &rest[2..]))
    };
    read().unwrap_or((0, text))
}

/// Leading digits, so many of them.
fn number(text: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<(u64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = digits.contains(&length).then(|| value(&text[..length]))?;
    Some((value, &text[length..]))
}

/// Digits behind the point, as nanoseconds; beyond the ninth they say nothing.
fn fraction(text: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let kept = length.min(9);
    let ns = value(&text[..kept]) * 10u64.pow(9 - kept as u32);
    (length > 0).then_some((Some(ns), &text[length..]))
}

fn value(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'))
}

/// What base64 stands for, with or without its padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if digits.len() % 4 == 1 || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

fn lines(file: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    // What follows the last line end is a line if there is anything.
    let file = file.strip_suffix(b"\n").unwrap_or(file);
    (1..).zip(file.split(|byte| *byte == b'\n'))
}

fn text(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|e| format!("byte {} is not UTF-8", e.valid_up_to()))
}

fn parsed<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    // There is one line; its number in the file is said apart.
    serde_json::from_str(line)
        .map_err(|e| e.to_string().replace(" at line 1 column ", " at column "))
}

fn at(line: usize, message: String) -> CaptureError {
    CaptureError { line: Some(line), message }
}

/// The longest that a capture may be: a day.
const LONGEST: Nanos = Nanos::from_secs(86_400);
/// The year 2286 in milliseconds.
const MAX_MS: f64 = 1e13;
/// So much of a broken line is looked at.
const HEAD: usize = 256;
/// From the first of March of the year 0.
const DAYS_TO_1970: u64 = 719_469;
const BOM: &[u8] = b"\xEF\xBB\xBF";

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(file: &str) -> Chunks {
        match Capture::read("f", file.as_bytes()).unwrap() {
            Capture::Stream(chunks) => chunks,
            Capture::Traces(_) => panic!("traces"),
        }
    }

    fn times(file: &str) -> Vec<u64> {
        stream(file).chunks.iter().map(|(at, _)| at.0 / 1_000_000).collect()
    }

    fn wrong(file: &str) -> String {
        Capture::read("f", file.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn arrivals_are_read_with_their_times() {
        let file =
            "{\"t_ms\": 12.5, \"data\": \"data: a\"}\n\n{\"base64\": \"CsOk\", \"t_ms\": 1400}\n";
        let read = stream(file);
        assert!(read.begins && read.timed);
        assert_eq!(read.chunks[0], (Nanos(12_500_000), b"data: a".to_vec()));
        assert_eq!(read.chunks[1], (Nanos::from_millis(1400), "\nä".as_bytes().to_vec()));
    }

    #[test]
    fn a_clock_that_shows_a_date_or_zero_first_has_no_begin() {
        for first in ["0", "1700000000000"] {
            let read = stream(&format!("{{\"t_ms\": {first}, \"data\": \"data: a\"}}"));
            assert!(!read.begins);
            assert_eq!(read.chunks[0].0, Nanos::ZERO);
        }
    }

    #[test]
    fn lines_with_times_before_them_are_lines_of_the_stream() {
        let read = stream("1700000000.250000 \n1700000001.5 data: a\n1700000001.5 \n");
        assert!(read.begins);
        assert_eq!(read.chunks[1], (Nanos::from_millis(1_250), b"data: a\n".to_vec()));
        assert_eq!(read.chunks[2].1, b"\n");
        assert_eq!(times("0.100 data: a\n0.350 \n"), [100, 350]);
    }

    #[test]
    fn dates_are_times() {
        let file = "2024-02-29T23:59:59.500 a: b\n2024-03-01 00:00:00.25 c\n2024-03-01T01:00:00.75+01:00\n\
                    2024-02-29T19:00:01.000001Z-\n";
        assert!(wrong(file).starts_with("line 4: "), "{}", wrong(file));
        let file = file.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(times(&file), [0, 750, 1_250]);
        assert_eq!(instant("1970-01-02T00:00:00.5Z"), Some(86_400_500_000_000));
        assert_eq!(instant("1970-01-01T01:00:00.5+01:00"), Some(500_000_000));
        assert_eq!(instant("2024-01-01T00:00:00Z"), None);
    }

    #[test]
    fn what_has_no_times_is_one_chunk() {
        for file in ["data: {}\n\n", "{\"message\":{},\"done\":false}\n", "[{}]", "{\"a\":"] {
            let read = stream(file);
            assert!(!read.timed);
            assert_eq!(read.chunks, [(Nanos::ZERO, file.as_bytes().to_vec())]);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (file, says) in [
            ("\n \n", "the file is empty"),
            ("{\"t_ms\": 1}", "line 1: t_ms without tokens, data or base64"),
            ("{\"t_ms\": [NaN], \"tokens\": [1]}", "line 1: expected value at column 11"),
            ("{\"t_ms\": NaN, \"data\": \"\"}", "line 1: expected value at column 10"),
            ("{\"t_ms\": -1, \"data\": \"\"}", "line 1: t_ms = -1e0 is below 0 or out of range"),
            ("{\"t_ms\": 1e308, \"data\": \"\"}", "line 1: t_ms = 1e308 is below 0"),
            ("{\"t_ms\": 1, \"base64\": \"a\"}", "line 1: base64 is none"),
            ("{\"t_ms\": 1, \"base64\": \"\", \"data\": \"\"}", "line 1: takes one of"),
            (
                "{\"t_ms\": 2, \"data\": \"\"}\n{\"t_ms\": 1, \"data\": \"\"}",
                "line 2: the time is before",
            ),
            (
                "{\"t_ms\": 2, \"data\": \"\"}\n{\"t_ms\": 9e7, \"data\": \"\"}",
                "line 2: more than a day",
            ),
            ("1.5 data: a\ndata: b\n", "line 2: no time stands before"),
            ("1.5 data: a\n1.25 \n", "line 2: the time is before"),
            ("1700000000 data: a\n", "line 1: the time has no fraction"),
        ] {
            assert!(wrong(file).starts_with(says), "{file}: {}", wrong(file));
        }
    }
}
