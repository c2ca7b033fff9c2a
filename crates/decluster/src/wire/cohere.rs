//! Cohere's chat, version 2.

use alloc::collections::BTreeMap;

use super::answer::ToolCall;
use super::common::{Common, Decode, End};
use super::json::{Object, Value};
use super::{Reading, Role};
use crate::Kind;

#[derive(Debug, Default)]
pub(super) struct Cohere {
    /// The place of the call with this number.
    calls: BTreeMap<u32, usize>,
    ended: bool,
}

pub(super) fn is_one(kind: &str) -> bool {
    SIGNS.contains(&kind)
}

impl Decode for Cohere {
    fn end(&self, common: &Common) -> End {
        match common.answer.finish() {
            Some(FAILED) => End::Failed,
            _ if self.ended => End::Closed,
            _ => End::Open,
        }
    }

    fn read<'a>(
        &mut self,
        kind: &str,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let index = Value::index(event.get("index"));
        let delta = event.get("delta").map(|v| v.object()).unwrap_or_default();
        let message = delta.get("message").map(|v| v.object()).unwrap_or_default();
        let object = |key: &str| message.get(key).map(|v| v.object()).unwrap_or_default();
        match kind {
            "message-start" => {
                common.answer.choice(0);
            }
            "content-start" | "content-delta" => {
                let content = object("content");
                for (key, kind) in TEXTS {
                    if let Some(text) = content.get(key) {
                        reading.plain |= common.text((kind, index, 0), 0, text, reading);
                    }
                }
                if kind == "content-start" {
                    // It opens the content, so it cannot be cut.
                    (reading.boundary, reading.whole, reading.plain) = (true, true, false);
                }
                for object in [event, &delta, &message] {
                    Common::others(object, &["delta", "message", "content"], reading);
                }
                Common::others(&content, &[], reading);
            }
            "tool-call-start" | "tool-call-delta" => {
                reading.role = Role::Hurry;
                self.call(index, kind == "tool-call-start", &object("tool_calls"), common);
            }
            "tool-call-end" => {
                common.answer.complete_call(self.calls.get(&index));
            }
            "message-end" => {
                self.ended = true;
                reading.role = Role::Hurry;
                let finish = delta.string("finish_reason").filter(|f| !f.is_empty());
                if let Some(finish) = finish {
                    common.answer.finish_choice(0, &finish);
                }
                if let Some(usage) = delta.present("usage") {
                    common.answer.take_usage(usage);
                }
                if let Some(error) = delta.present("error") {
                    common.answer.take_error(error);
                }
            }
            _ => {}
        }
    }
}

impl Cohere {
    fn call(&mut self, index: u32, starts: bool, call: &Object<'_, '_>, common: &mut Common) {
        let function = call.get("function").map(|v| v.object()).unwrap_or_default();
        if starts {
            let opened = ToolCall {
                index: Some(index),
                id: call.string("id").unwrap_or_default().into_owned(),
                name: function.string("name").unwrap_or_default().into_owned(),
                ..ToolCall::default()
            };
            if let Some(at) = common.answer.open_call(0, opened) {
                self.calls.insert(index, at);
            }
        }
        if let Some(at) = self.calls.get(&index) {
            common.answer.add_value(0, *at, function.present("arguments"));
        }
    }
}

/// Members of a content that hold text. Only the first event of a content names its type.
const TEXTS: [(&str, Kind); 2] = [("thinking", Kind::Reasoning), ("text", Kind::Output)];

/// The finish reason of an answer that did not end by itself; the error may be told nowhere else.
const FAILED: &str = "ERROR";

/// Types that no other dialect has.
const SIGNS: [&str; 9] = [
    "message-start",
    "content-start",
    "content-delta",
    "content-end",
    "tool-plan-delta",
    "tool-call-start",
    "tool-call-delta",
    "tool-call-end",
    "message-end",
];
