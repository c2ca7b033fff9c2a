//! Made streams: the same answers in the words of each dialect. [`FORMS`] has one entry a dialect, or more where it
//! is spoken in several ways; a new one needs a function that writes what is said as that provider's events.

use std::fmt::Write as _;

use decluster::Kind;
use decluster::wire::{Dialect, ToolCall, Verdict};
use serde_json::value::RawValue;

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
    /// The dialect that is heard.
    pub dialect: Dialect,
    /// Whether it has tool calls.
    pub calls: bool,
    /// Whether it has usage.
    pub usage: bool,
    /// How many choices say it, each in its own time.
    pub choices: u32,
    /// Reasoning stands between tags, also after output.
    pub tags: bool,
    /// How its events may be framed.
    framings: &'static [Framing],
    /// Writes one thing.
    write: fn(&mut Writer<'_>, &Say),
}

/// What must not be said again with each part of an event.
const ONCE: [&str; 20] = [
    r#""finish_reason":"stop""#,
    r#""reasoning_tokens":"#,
    r#""tool_calls":"#,
    r#""type":"reference""#,
    r#""type":"message_start""#,
    r#""type":"content_block_start""#,
    r#""type":"content_block_stop""#,
    r#""signature":""#,
    r#""partial_json":"#,
    r#""stop_reason":"end_turn""#,
    r#""thoughtSignature":""#,
    r#""functionCall":"#,
    r#""thoughtsTokenCount":"#,
    r#""finishReason":"STOP""#,
    r#""type":"content-start""#,
    r#""done":true"#,
    r#""eval_count":9"#,
    r#""toolUse":"#,
    r#""stopReason":"#,
    r#""novelty":"#,
];

/// What encloses the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Sse,
    /// A JSON text a line.
    Lines,
    /// One JSON array, written with line ends and indents.
    Array,
}

/// All dialects that are read.
pub const FORMS: [Form; 12] = [
    CHAT,
    Form { choices: 2, ..CHAT },
    Form { tags: true, write: tags, ..CHAT },
    Form { write: mistral, ..CHAT },
    Form { dialect: Dialect::Responses, write: responses, ..CHAT },
    Form {
        dialect: Dialect::Incident,
        calls: false,
        usage: false,
        framings: &[Framing::Sse],
        write: incident,
        ..CHAT
    },
    Form { dialect: Dialect::Anthropic, write: anthropic, ..CHAT },
    Form { dialect: Dialect::Gemini, framings: &[Framing::Sse], write: gemini, ..CHAT },
    Form { dialect: Dialect::Gemini, framings: &[Framing::Array], write: gemini, ..CHAT },
    Form { dialect: Dialect::Cohere, write: cohere, ..CHAT },
    Form { dialect: Dialect::Ollama, usage: false, write: ollama, ..LINES },
    Form { dialect: Dialect::Bedrock, usage: false, write: bedrock, ..LINES },
];

const CHAT: Form = Form {
    dialect: Dialect::Chat,
    calls: true,
    usage: true,
    choices: 1,
    tags: false,
    framings: &[Framing::Sse, Framing::Sse, Framing::Lines],
    write: chat,
};
const LINES: Form = Form { framings: &[Framing::Lines, Framing::Lines, Framing::Sse], ..CHAT };

impl Form {
    /// A random answer: reasoning and output in turns, calls, and what lies between.
    #[must_use]
    pub fn answer(&self, random: &mut Random) -> Vec<Say> {
        let mut said = Vec::new();
        let mut calls = 0;
        for _ in 0..=random.below(4) {
            for kind in [Kind::Reasoning, Kind::Output] {
                for _ in 0..random.below(8) {
                    said.push(match random.below(12) {
                        0 => Say::Comment,
                        1 => Say::Novelty,
                        _ => Say::Text(kind, self.text(random)),
                    });
                }
            }
            if random.below(3) == 0 {
                let pieces =
                    [vec!["{}"], vec!["", "{\"a\":", "\"é\\n\"}"], vec!["{\"q\"", ":[1,2]}"]];
                said.push(Say::Call(calls, pieces[random.below(3) as usize].clone()));
                calls += 1;
            }
        }
        // A stream that says nothing has no dialect either.
        said.push(Say::Text(Kind::Output, self.text(random)));
        said.extend([Say::Usage(random.below(5_000)), Say::End]);
        said
    }

    fn text(&self, random: &mut Random) -> String {
        let text = text(random);
        // Blanks alone between tags, or between text and a tag, are not heard.
        if self.tags && text.trim().is_empty() { "So.".to_owned() } else { text }
    }

    /// The stream that says it.
    #[must_use]
    pub fn stream(&self, said: &[Say], random: &mut Random) -> Vec<u8> {
        let framing = self.framings[random.below(self.framings.len() as u64) as usize];
        let ends = if framing == Framing::Sse { 3 } else { 2 };
        let end = ["\n", "\r\n", "\r"][random.below(ends) as usize];
        let ascii = random.below(2) == 0;
        let mut writer = Writer {
            random,
            framing,
            end,
            ascii,
            out: String::new(),
            number: 0,
            choice: 0,
            item: 0,
            open: None,
            waiting: Vec::new(),
        };
        // Usage and the end are said once, when all choices are there.
        let once = said.iter().position(|say| matches!(say, Say::Usage(_) | Say::End));
        let (each, last) = said.split_at(once.unwrap_or(said.len()));
        let mut left = vec![each; self.choices as usize];
        while left.iter().any(|rest| !rest.is_empty()) {
            let choice = writer.random.below(u64::from(self.choices));
            if let Some((say, rest)) = left[choice as usize].split_first() {
                left[choice as usize] = rest;
                writer.choice = choice;
                self.say(&mut writer, say);
            }
        }
        for say in last {
            self.say(&mut writer, say);
        }
        if framing == Framing::Array {
            let _ = write!(writer.out, "{end}]{end}");
        }
        writer.out.into_bytes()
    }

    fn say(&self, writer: &mut Writer<'_>, say: &Say) {
        match say {
            Say::Comment => writer.comment(),
            _ => (self.write)(writer, say),
        }
    }

    /// Holds what a stream became against the stream: it is in the same framing, also for a strict reader, and what is
    /// no text is there as often as before, however often its event was cut.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn is_kept(&self, stream: &[u8], out: &[u8]) {
        let [stream, out] = [stream, out].map(String::from_utf8_lossy);
        for once in ONCE {
            let count = |text: &str| text.matches(once).count();
            assert_eq!(count(&out), count(&stream), "{once} in {out}");
        }
        let is_json = |text: &str| serde_json::from_str::<&RawValue>(text).is_ok();
        let is_line = |line: &str| line.trim().is_empty() || line == "[DONE]" || is_json(line);
        match stream.chars().next() {
            Some('[') => assert!(is_json(&out), "one array: {out}"),
            Some('{') => assert_eq!(out.lines().find(|line| !is_line(line)), None, "of {out}"),
            _ => {}
        }
    }

    /// Holds what was read against what was said.
    ///
    /// # Panics
    ///
    /// If it is something else.
    pub fn is_heard(&self, said: &[Say], heard: &Decoded) {
        assert_eq!(heard.dialect, Some(self.dialect));
        for choice in 0..self.choices {
            for kind in [Kind::Reasoning, Kind::Output] {
                let text: String = said
                    .iter()
                    .filter_map(|say| match say {
                        Say::Text(of, text) if *of == kind => Some(text.as_str()),
                        _ => None,
                    })
                    .collect();
                assert_eq!(heard.text(choice, kind), text, "the text");
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
            let ours = heard.answer.choices.iter().filter(|c| c.index == choice);
            let ours = ours.flat_map(|c| &c.tool_calls);
            // An object stands as it was written, blanks and all.
            let tidy = |call: &ToolCall| match serde_json::from_str::<serde_json::Value>(
                &call.arguments,
            ) {
                Ok(object) if call.is_object => object.to_string(),
                _ => call.arguments.clone(),
            };
            let ours: Vec<_> = ours.map(|call| (call.name.clone(), tidy(call))).collect();
            assert_eq!(ours, calls, "the calls");
        }
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
    framing: Framing,
    /// The line end of this stream.
    end: &'static str,
    /// Escape what is not ASCII.
    ascii: bool,
    out: String,
    /// Events so far.
    number: u32,
    /// Which choice speaks.
    choice: u64,
    /// The item, block or part that is open, for dialects that number them, and its kind.
    item: u32,
    open: Option<Kind>,
    /// What was said and goes into a later event.
    waiting: Vec<String>,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push_str(self.end);
        if self.framing == Framing::Sse {
            // Comments and events both end with a blank line.
            self.out.push_str(self.end);
        }
    }

    /// What keeps the connection alive.
    fn comment(&mut self) {
        match self.framing {
            Framing::Sse => self.line(": still here"),
            Framing::Lines => self.line(""),
            Framing::Array => {}
        }
    }

    /// An event without a name.
    fn data(&mut self, data: &str) {
        match self.framing {
            Framing::Sse => self.line(&format!("data: {data}")),
            Framing::Lines => self.line(data),
            Framing::Array => {
                let before =
                    if self.number == 0 { "[".to_owned() } else { [",", self.end].concat() };
                self.out.push_str(&before);
                self.out.push_str(&pretty(data, self.end));
            }
        }
        self.number += 1;
    }

    /// An event with a name, and now and then an id.
    fn event(&mut self, name: &str, data: &str) {
        if self.framing == Framing::Sse {
            let end = self.end;
            let _ = write!(self.out, "event: {name}{end}");
            if self.random.below(3) == 0 {
                let _ = write!(self.out, "id: {}{end}", self.number + 1);
            }
        }
        self.data(data);
    }

    /// The text in two, either of which may be empty.
    fn halves<'t>(&mut self, text: &'t str) -> (&'t str, &'t str) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let place = self.random.below(places.len() as u64 + 1) as usize;
        text.split_at(places.get(place).copied().unwrap_or(text.len()))
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
    let choice = to.choice;
    let chunk = |delta: &str, more: &str| {
        format!(r#"{{"id":"c","choices":[{{"index":{choice},"delta":{{{delta}}}{more}}}]}}"#)
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

/// As chat, with the reasoning between tags in the content, cut anywhere.
fn tags(to: &mut Writer<'_>, say: &Say) {
    let mut text = to.waiting.concat();
    to.waiting.clear();
    if let Say::Text(kind, said) = say {
        if to.open.unwrap_or(Kind::Output) != *kind {
            let names = if to.open.is_none() { to.random.below(2) as u32 } else { to.item };
            to.item = if *kind == Kind::Reasoning { to.random.below(2) as u32 } else { names };
            let slash = if *kind == Kind::Reasoning { "" } else { "/" };
            let _ = write!(text, "<{slash}{}>", ["think", "thinking"][to.item as usize]);
        }
        to.open = Some(*kind);
        text.push_str(said);
    }
    // What is no text comes behind all that was said before it.
    let now = if matches!(say, Say::Text(..)) { to.halves(&text) } else { (&text[..], "") };
    if !now.0.is_empty() {
        let (first, second) = to.halves(now.0);
        for part in [first, second] {
            let text = to.string(part);
            to.data(&format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{text}}}}}]}}"#));
        }
    }
    to.waiting.push(now.1.to_owned());
    if !matches!(say, Say::Text(..)) {
        chat(to, say);
    }
}

/// As chat, with content in arrays.
fn mistral(to: &mut Writer<'_>, say: &Say) {
    if let Say::Text(kind, text) = say {
        let (first, second) = to.halves(text);
        let inner =
            [first, second].map(|text| format!(r#"{{"type":"text","text":{}}}"#, to.string(text)));
        to.waiting.push(match kind {
            Kind::Reasoning => format!(r#"{{"type":"thinking","thinking":[{}]}}"#, inner.join(",")),
            Kind::Output => inner.join(", "),
        });
        if to.random.below(4) == 0 {
            to.waiting.push(r#"{"type":"reference","reference_ids":[1]}"#.to_owned());
        } else if to.random.below(3) == 0 {
            return;
        }
    }
    let chunks = std::mem::take(&mut to.waiting).join(",");
    if !chunks.is_empty() {
        to.data(&format!(r#"{{"choices":[{{"index":0,"delta":{{"content":[{chunks}]}}}}]}}"#));
    }
    if !matches!(say, Say::Text(..)) {
        chat(to, say);
    }
}

fn anthropic(to: &mut Writer<'_>, say: &Say) {
    let event = |to: &mut Writer<'_>, kind: &str, rest: &str| {
        // Blanks hide how long the text is.
        let blanks = " ".repeat(to.random.below(12) as usize);
        to.event(kind, &format!(r#"{{"type":"{kind}"{rest}}}{blanks}"#));
        if to.random.below(12) == 0 {
            to.event("ping", r#"{"type": "ping"}"#);
        }
    };
    let close = |to: &mut Writer<'_>| {
        let Some(kind) = to.open.take() else { return };
        let index = to.item;
        if kind == Kind::Reasoning {
            for signature in ["c2ln", "bmF0"] {
                let delta = format!(
                    r#","index":{index},"delta":{{"type":"signature_delta","signature":"{signature}"}}"#
                );
                event(to, "content_block_delta", &delta);
            }
        }
        event(to, "content_block_stop", &format!(r#","index":{index}"#));
        to.item += 1;
    };
    if to.number == 0 {
        let message = r#","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}"#;
        event(to, "message_start", message);
    }
    match say {
        Say::Text(kind, text) => {
            let name = if *kind == Kind::Reasoning { "thinking" } else { "text" };
            let mut text = to.string(text);
            if to.open != Some(*kind) {
                close(to);
                to.open = Some(*kind);
                // Some servers begin with text.
                let first = if to.random.below(4) == 0 {
                    std::mem::replace(&mut text, r#""""#.to_owned())
                } else {
                    r#""""#.to_owned()
                };
                let index = to.item;
                let block = format!(
                    r#","index":{index},"content_block":{{"type":"{name}","{name}":{first}}}"#
                );
                event(to, "content_block_start", &block);
            }
            let index = to.item;
            let delta =
                format!(r#","index":{index},"delta":{{"type":"{name}_delta","{name}":{text}}}"#);
            event(to, "content_block_delta", &delta);
        }
        Say::Call(number, pieces) => {
            close(to);
            let index = to.item;
            let block = format!(
                r#","index":{index},"content_block":{{"type":"tool_use","id":"id{number}","name":"tool{number}","input":{{}}}}"#
            );
            event(to, "content_block_start", &block);
            for piece in pieces {
                let piece = to.string(piece);
                let delta = format!(
                    r#","index":{index},"delta":{{"type":"input_json_delta","partial_json":{piece}}}"#
                );
                event(to, "content_block_delta", &delta);
            }
            event(to, "content_block_stop", &format!(r#","index":{index}"#));
            to.item += 1;
        }
        Say::Novelty => event(to, "novelty", r#","novelty":{"a":[1.50,"b"]}"#),
        Say::Usage(tokens) => {
            close(to);
            let rest = format!(
                r#","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":9,"output_tokens_details":{{"thinking_tokens":{tokens}}}}}"#
            );
            event(to, "message_delta", &rest);
        }
        Say::End => event(to, "message_stop", ""),
        Say::Comment => {}
    }
}

fn gemini(to: &mut Writer<'_>, say: &Say) {
    let send = |to: &mut Writer<'_>, finish: &str, tokens: u64| {
        let parts = std::mem::take(&mut to.waiting).join(",");
        let content = format!(r#""content":{{"parts":[{parts}],"role":"model"}}"#);
        let usage =
            format!(r#""usageMetadata":{{"promptTokenCount":4,"thoughtsTokenCount":{tokens}}}"#);
        to.data(&format!(
            r#"{{"candidates":[{{{content},"index":0{finish}}}],{usage},"modelVersion":"m"}}"#
        ));
    };
    match say {
        Say::Text(kind, text) => {
            let thought = if *kind == Kind::Reasoning { r#","thought":true"# } else { "" };
            let text = to.string(text);
            let signature =
                if to.random.below(6) == 0 { r#","thoughtSignature":"c2ln""# } else { "" };
            to.waiting.push(format!(r#"{{"text":{text}{thought}{signature}}}"#));
            if to.random.below(8) == 0 {
                to.waiting.push(r#"{"text":"","thoughtSignature":"bmF0"}"#.to_owned());
            }
            if to.random.below(3) > 0 {
                send(to, "", 0);
            }
        }
        Say::Call(number, pieces) => {
            let args = pieces.concat();
            to.waiting
                .push(format!(r#"{{"functionCall":{{"name":"tool{number}","args":{args}}}}}"#));
            if to.random.below(2) == 0 {
                send(to, "", 0);
            }
        }
        Say::Novelty => to.data(r#"{"novelty":{"a":[1.50,"b"]},"modelVersion":"m"}"#),
        Say::Usage(tokens) => send(to, r#","finishReason":"STOP""#, *tokens),
        Say::End | Say::Comment => {}
    }
}

fn cohere(to: &mut Writer<'_>, say: &Say) {
    let event = |to: &mut Writer<'_>, kind: &str, rest: &str| {
        to.event(kind, &format!(r#"{{"type":"{kind}"{rest}}}"#));
    };
    let close = |to: &mut Writer<'_>| {
        if to.open.take().is_some() {
            event(to, "content-end", &format!(r#","index":{}"#, to.item));
            to.item += 1;
        }
    };
    if to.number == 0 {
        event(to, "message-start", r#","id":"m","delta":{"message":{"role":"assistant"}}"#);
    }
    match say {
        Say::Text(kind, text) => {
            let name = if *kind == Kind::Reasoning { "thinking" } else { "text" };
            if to.open != Some(*kind) {
                close(to);
                to.open = Some(*kind);
                let rest = format!(
                    r#","index":{},"delta":{{"message":{{"content":{{"type":"{name}","{name}":""}}}}}}"#,
                    to.item
                );
                event(to, "content-start", &rest);
            }
            let rest = format!(
                r#","index":{},"delta":{{"message":{{"content":{{"{name}":{}}}}}}}"#,
                to.item,
                to.string(text)
            );
            event(to, "content-delta", &rest);
        }
        Say::Call(number, pieces) => {
            close(to);
            let call = |call: &str| {
                format!(r#","index":{number},"delta":{{"message":{{"tool_calls":{{{call}}}}}}}"#)
            };
            let begin = format!(
                r#""id":"id{number}","type":"function","function":{{"name":"tool{number}","arguments":""}}"#
            );
            event(to, "tool-call-start", &call(&begin));
            for piece in pieces {
                let arguments = format!(r#""function":{{"arguments":{}}}"#, to.string(piece));
                event(to, "tool-call-delta", &call(&arguments));
            }
            event(to, "tool-call-end", &format!(r#","index":{number}"#));
        }
        Say::Novelty => event(to, "novelty", r#","novelty":{"a":[1.50,"b"]}"#),
        Say::Usage(tokens) => {
            close(to);
            let rest = format!(
                r#","delta":{{"finish_reason":"COMPLETE","usage":{{"tokens":{{"output_tokens":9,"reasoning_tokens":{tokens}}}}}}}"#
            );
            event(to, "message-end", &rest);
        }
        Say::End => to.data("[DONE]"),
        Say::Comment => {}
    }
}

fn ollama(to: &mut Writer<'_>, say: &Say) {
    let line = |to: &mut Writer<'_>, message: &str, rest: &str| {
        let number = to.number;
        let head = format!(r#""model":"m","created_at":"2025-06-01T10:00:00.{number:06}Z""#);
        to.data(&format!(r#"{{{head},"message":{{"role":"assistant",{message}}},"done":{rest}}}"#));
    };
    let mut last = to.waiting.pop();
    if !matches!(say, Say::Usage(_))
        && let Some(content) = last.take()
    {
        line(to, &content, "false");
    }
    match say {
        Say::Text(Kind::Reasoning, text) => {
            let text = to.string(text);
            line(to, &format!(r#""content":"","thinking":{text}"#), "false");
        }
        // It may be the last, and come with the end.
        Say::Text(Kind::Output, text) => {
            let text = to.string(text);
            to.waiting.push(format!(r#""content":{text}"#));
        }
        Say::Call(number, pieces) => {
            let arguments = pieces.concat();
            let call = format!(
                r#""content":"","tool_calls":[{{"function":{{"name":"tool{number}","arguments":{arguments}}}}}]"#
            );
            line(to, &call, "false");
        }
        Say::Novelty => to.data(r#"{"model":"m","novelty":{"a":[1.50,"b"]},"done":false}"#),
        Say::Usage(_) => {
            let content = last.unwrap_or_else(|| r#""content":"""#.to_owned());
            line(to, &content, r#"true,"done_reason":"stop","eval_count":9"#);
        }
        Say::End | Say::Comment => {}
    }
}

fn bedrock(to: &mut Writer<'_>, say: &Say) {
    let event = |to: &mut Writer<'_>, name: &str, body: &str| {
        // Random letters hide how long the text is.
        let padding = &"abcdefghijklmnop"[..to.random.below(16) as usize];
        to.data(&format!(r#"{{"{name}":{{{body},"p":"{padding}"}}}}"#));
    };
    let delta = |to: &mut Writer<'_>, delta: &str| {
        let body = format!(r#""contentBlockIndex":{},"delta":{{{delta}}}"#, to.item);
        event(to, "contentBlockDelta", &body);
    };
    let stop = |to: &mut Writer<'_>| {
        event(to, "contentBlockStop", &format!(r#""contentBlockIndex":{}"#, to.item));
        to.item += 1;
    };
    let close = |to: &mut Writer<'_>| {
        let Some(kind) = to.open.take() else { return };
        if kind == Kind::Reasoning {
            delta(to, r#""reasoningContent":{"signature":"c2ln"}"#);
        }
        stop(to);
    };
    if to.number == 0 {
        event(to, "messageStart", r#""role":"assistant""#);
    }
    match say {
        Say::Text(kind, text) => {
            if to.open != Some(*kind) {
                close(to);
                to.open = Some(*kind);
            }
            let text = format!(r#""text":{}"#, to.string(text));
            match kind {
                Kind::Reasoning => delta(to, &format!(r#""reasoningContent":{{{text}}}"#)),
                Kind::Output => delta(to, &text),
            }
        }
        Say::Call(number, pieces) => {
            close(to);
            let start = format!(
                r#""contentBlockIndex":{},"start":{{"toolUse":{{"toolUseId":"id{number}","name":"tool{number}"}}}}"#,
                to.item
            );
            event(to, "contentBlockStart", &start);
            for piece in pieces {
                let input = format!(r#""toolUse":{{"input":{}}}"#, to.string(piece));
                delta(to, &input);
            }
            stop(to);
        }
        Say::Novelty => to.data(r#"{"novelty":{"a":[1.50,"b"]}}"#),
        Say::Usage(_) => {
            close(to);
            event(to, "messageStop", r#""stopReason":"end_turn""#);
            event(to, "metadata", r#""usage":{"inputTokens":4,"outputTokens":9,"totalTokens":13}"#);
        }
        Say::End | Say::Comment => {}
    }
}

/// The JSON text with a line for each value.
fn pretty(json: &str, end: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut inside, mut escaped) = (0, false, false);
    for c in json.chars() {
        let breaks = !inside && matches!(c, '{' | '[' | ',' | '}' | ']');
        inside ^= c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
        let closes = breaks && matches!(c, '}' | ']');
        if closes {
            depth -= 1;
        } else {
            out.push(c);
        }
        if breaks {
            depth += usize::from(matches!(c, '{' | '['));
            let _ = write!(out, "{end}{}", "  ".repeat(depth));
        }
        if closes {
            out.push(c);
        }
    }
    out
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
