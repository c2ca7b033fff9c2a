//! Made streams: the same answers in the words of each dialect. [`FORMS`] has one entry a dialect; a new one needs a
//! function that writes what is said as that provider's events.

use std::fmt::Write as _;

use decluster::Kind;
use decluster::wire::{Dialect, Verdict};

use crate::Random;
use crate::streams::Decoded;

/// One thing that an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    /// A piece of text.
    Text(Kind, String),
    /// A tool call, its arguments in pieces. Its number among the calls comes first.
    Call(u32, Vec<&'static str>),
    /// Nothing, to keep the connection alive.
    Comment,
    /// An event that nobody knows.
    Novelty,
    /// How many tokens the reasoning took, where the dialect tells.
    Usage(u64),
    /// The end of the answer.
    End,
}

/// How a dialect says it.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The dialect.
    pub dialect: Dialect,
    /// Whether it has tool calls.
    pub calls: bool,
    /// Whether it has usage.
    pub usage: bool,
    /// Writes one thing.
    write: fn(&mut Writer<'_>, &Say),
}

/// All dialects that are read.
pub const FORMS: [Form; 3] = [
    Form { dialect: Dialect::Chat, calls: true, usage: true, write: chat },
    Form { dialect: Dialect::Responses, calls: true, usage: true, write: responses },
    Form { dialect: Dialect::Incident, calls: false, usage: false, write: incident },
];

/// A random answer: reasoning and output in turns, calls, and what lies between.
#[must_use]
pub fn answer(random: &mut Random) -> Vec<Say> {
    let mut said = Vec::new();
    let mut calls = 0;
    for _ in 0..=random.below(4) {
        for kind in [Kind::Reasoning, Kind::Output] {
            for _ in 0..random.below(8) {
                said.push(match random.below(12) {
                    0 => Say::Comment,
                    1 => Say::Novelty,
                    _ => Say::Text(kind, text(random)),
                });
            }
        }
        if random.below(3) == 0 {
            let pieces = [vec!["{}"], vec!["", "{\"a\": ", "\"é\\n\"}"], vec!["{\"q\"", ":[1,2]}"]];
            said.push(Say::Call(calls, pieces[random.below(3) as usize].clone()));
            calls += 1;
        }
    }
    // A stream that says nothing has no dialect either.
    said.push(Say::Text(Kind::Output, text(random)));
    said.extend([Say::Usage(random.below(5_000)), Say::End]);
    said
}

impl Form {
    /// The stream that says it.
    #[must_use]
    pub fn stream(&self, said: &[Say], random: &mut Random) -> Vec<u8> {
        let end = ["\n", "\r\n", "\r"][random.below(3) as usize];
        let ascii = random.below(2) == 0;
        let mut writer =
            Writer { random, end, ascii, out: String::new(), number: 0, item: 0, open: None };
        for say in said {
            match say {
                Say::Comment => writer.line(": still here"),
                _ => (self.write)(&mut writer, say),
            }
        }
        writer.out.into_bytes()
    }

    /// Holds what was read against what was said.
    ///
    /// # Panics
    ///
    /// If it is something else.
    pub fn is_heard(&self, said: &[Say], heard: &Decoded) {
        assert_eq!(heard.dialect, Some(self.dialect));
        for kind in [Kind::Reasoning, Kind::Output] {
            let text: String = said
                .iter()
                .filter_map(|say| match say {
                    Say::Text(of, text) if *of == kind => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(heard.text(0, kind), text, "the text");
        }
        let calls: Vec<(String, String)> = said
            .iter()
            .filter_map(|say| match say {
                Say::Call(number, pieces) if self.calls => {
                    Some((format!("tool{number}"), pieces.concat()))
                }
                _ => None,
            })
            .collect();
        let ours = heard.answer.tool_calls().iter();
        let ours: Vec<_> = ours.map(|c| (c.name.clone(), c.arguments.clone())).collect();
        assert_eq!(ours, calls, "the calls");
        let tokens = said.iter().find_map(|say| match say {
            Say::Usage(tokens) if self.usage => Some(*tokens),
            _ => None,
        });
        assert_eq!(heard.answer.reasoning_tokens, tokens, "the usage");
        assert_eq!(heard.answer.verdict, Some(Verdict::Complete));
        assert_eq!((heard.answer.malformed, heard.answer.repairs), (0, 0));
    }
}

/// Writes the events of a stream.
#[derive(Debug)]
struct Writer<'r> {
    random: &'r mut Random,
    /// The line end of this stream.
    end: &'static str,
    /// Escape what is not ASCII.
    ascii: bool,
    out: String,
    /// Events so far.
    number: u32,
    /// The item, block or part that is open, for dialects that number them, and its kind.
    item: u32,
    open: Option<Kind>,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        // Comments and events both end with a blank line.
        self.out.push_str(self.end);
        self.out.push_str(self.end);
    }

    /// An event without a name.
    fn data(&mut self, data: &str) {
        self.number += 1;
        self.line(&format!("data: {data}"));
    }

    /// An event with a name, and now and then an id.
    fn event(&mut self, name: &str, data: &str) {
        let end = self.end;
        let _ = write!(self.out, "event: {name}{end}");
        if self.random.below(3) == 0 {
            let _ = write!(self.out, "id: {}{end}", self.number);
        }
        self.data(data);
    }

    /// The number of the item for text of this kind; `None` for what is no text. A new one for each change.
    fn item(&mut self, kind: Option<Kind>) -> u32 {
        if self.number > 0 && (self.open != kind || kind.is_none()) {
            self.item += 1;
        }
        self.open = kind;
        self.item
    }

    fn string(&self, text: &str) -> String {
        let json = serde_json::Value::from(text).to_string();
        if !self.ascii {
            return json;
        }
        let mut out = String::new();
        for c in json.chars() {
            if c.is_ascii() {
                out.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04X}");
                }
            }
        }
        out
    }
}

fn chat(to: &mut Writer<'_>, say: &Say) {
    let chunk = |delta: &str, more: &str| {
        format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{{{delta}}}{more}}}]}}"#)
    };
    match say {
        Say::Text(kind, text) => {
            let text = to.string(text);
            let delta = match (kind, to.random.below(4)) {
                (Kind::Reasoning, 0) => format!(r#""reasoning": {text}, "content": """#),
                (Kind::Reasoning, 1) => format!(
                    r#""reasoning":{text},"reasoning_details":[{{"type":"reasoning.text","text":{text}}}]"#
                ),
                (Kind::Reasoning, _) => format!(r#""content":null,"reasoning_content":{text}"#),
                (Kind::Output, 0) => format!(r#""role":"assistant","content":{text}"#),
                (Kind::Output, _) => format!(r#""content":{text}"#),
            };
            to.data(&chunk(&delta, r#","finish_reason":null"#));
        }
        Say::Call(number, pieces) => {
            let begin = format!(r#""id":"id{number}","type":"function","#);
            for (at, piece) in pieces.iter().enumerate() {
                let name =
                    if at == 0 { format!(r#""name":"tool{number}","#) } else { String::new() };
                let begin = if at == 0 { begin.as_str() } else { "" };
                let piece = to.string(piece);
                to.data(&chunk(
                    &format!(
                        r#""tool_calls":[{{"index":{number},{begin}"function":{{{name}"arguments":{piece}}}}}]"#
                    ),
                    "",
                ));
            }
        }
        Say::Novelty => to.data(r#"{"id":"c","choices":[],"novelty":{"a":[1.50,"b"]}}"#),
        Say::Usage(tokens) => {
            to.data(&chunk("", r#","finish_reason":"stop""#));
            to.data(&format!(
                r#"{{"choices":[],"usage":{{"completion_tokens_details":{{"reasoning_tokens":{tokens}}}}}}}"#
            ));
        }
        Say::End => to.data("[DONE]"),
        Say::Comment => {}
    }
}

fn responses(to: &mut Writer<'_>, say: &Say) {
    let event = |to: &mut Writer<'_>, kind: &str, rest: &str| {
        let number = to.number;
        let data = format!(r#"{{"type":"response.{kind}","sequence_number":{number},{rest}}}"#);
        to.event(&format!("response.{kind}"), &data);
    };
    match say {
        Say::Text(kind, text) => {
            let item = to.item(Some(*kind));
            let text = to.string(text);
            let (kind, part) = match kind {
                Kind::Reasoning => ("reasoning_summary_text", "summary_index"),
                Kind::Output => ("output_text", "content_index"),
            };
            let rest = format!(r#""output_index":{item},"{part}":0,"delta":{text}"#);
            event(to, &format!("{kind}.delta"), &rest);
        }
        Say::Call(number, pieces) => {
            let item = to.item(None);
            let begin = format!(
                r#""output_index":{item},"item":{{"type":"function_call","call_id":"id{number}","name":"tool{number}","arguments":""}}"#
            );
            event(to, "output_item.added", &begin);
            for piece in pieces {
                let rest = format!(r#""output_index":{item},"delta":{}"#, to.string(piece));
                event(to, "function_call_arguments.delta", &rest);
            }
            let rest =
                format!(r#""output_index":{item},"arguments":{}"#, to.string(&pieces.concat()));
            event(to, "function_call_arguments.done", &rest);
        }
        Say::Novelty => event(to, "novelty.in_progress", r#""novelty":{"a":[1.50,"b"]}"#),
        Say::Usage(tokens) => event(
            to,
            "completed",
            &format!(
                r#""response":{{"status":"completed","usage":{{"output_tokens_details":{{"reasoning_tokens":{tokens}}}}}}}"#
            ),
        ),
        Say::End | Say::Comment => {}
    }
}

fn incident(to: &mut Writer<'_>, say: &Say) {
    match say {
        Say::Text(kind, text) => {
            let name = match kind {
                Kind::Reasoning => "response.reasoning.delta",
                Kind::Output => "response.output.delta",
            };
            let text = to.string(text);
            let count = to.random.below(90);
            to.event(name, &format!(r#"{{"delta_tokens": {count}, "delta": {text}}}"#));
            if count > 60 {
                to.event(name, &format!(r#"{{"delta_tokens": {count}}}"#));
            }
        }
        Say::Novelty => to.event("novelty", r#"{"novelty":{"a":[1.50,"b"]}}"#),
        Say::End => to.data("[DONE]"),
        Say::Call(..) | Say::Usage(_) | Say::Comment => {}
    }
}

/// A few words, or something that is cut easily in the wrong place.
fn text(random: &mut Random) -> String {
    let parts = [
        "The lock is taken first. ",
        "Then",
        " it is read, and",
        " written: ",
        "so nothing is lost. ",
        "Why? ",
        "\n\n- a\n- b\n",
        "`x = 1`",
        "\"quoted\" \\ ",
        "我们看一下。",
        "é",
        "e\u{301}",
        "👩\u{200d}💻",
        "🇩🇪",
        "\u{2028}",
        " ",
        "\u{0}",
        "No. ",
    ];
    let many = 1 + random.below(6);
    (0..many).map(|_| parts[random.below(parts.len() as u64) as usize]).collect()
}
