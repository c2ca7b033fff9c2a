//! Anthropic's Messages.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::answer::Answer;
use super::answer::ToolCall;
use super::common::{Common, Decode, End};
use super::json::{self, Object, Value};
use super::{Reading, Role};
use crate::Kind;

#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// The message that is being sent.
    id: Option<String>,
    usage: Overlay,
    /// The place of the call that a block is.
    calls: BTreeMap<u32, usize>,
    stopped: bool,
    closed: bool,
}

pub(super) fn is_one(name: &str, kind: &str) -> bool {
    SIGNS.contains(&kind) || kind.starts_with("content_block_") || name == COMPLETION
}

impl Decode for Anthropic {
    fn end(&self, _: &Common) -> End {
        match (self.closed, self.stopped) {
            (true, _) => End::Closed,
            (false, true) => End::Enough,
            (false, false) => End::Open,
        }
    }

    fn read<'a>(
        &mut self,
        kind: &str,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let object = |key: &str| event.get(key).map(|v| v.object()).unwrap_or_default();
        let index = Value::index(event.get("index"));
        match kind {
            "message_start" => self.start(&object("message"), common, reading),
            "content_block_start" => {
                self.open(index, &object("content_block"), common, reading);
            }
            "content_block_delta" => self.delta(index, event, common, reading),
            "content_block_stop" => {
                common.answer.complete_call(self.calls.get(&index));
            }
            "message_delta" => {
                let stop = object("delta").string("stop_reason").filter(|s| !s.is_empty());
                if let Some(stop) = stop {
                    common.answer.finish_choice(0, &stop);
                    self.stopped = true;
                }
                if let Some(usage) = event.present("usage") {
                    self.usage.take(usage, &mut common.answer);
                }
                reading.role = Role::Hurry;
            }
            "message_stop" => {
                self.closed = true;
                reading.role = Role::Hurry;
            }
            COMPLETION => self.completion(event, common, reading),
            _ => {}
        }
    }
}

impl Anthropic {
    /// The same message may be announced again. Another one means that a gateway started anew.
    fn start<'a>(
        &mut self,
        message: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let id = message.string("id").unwrap_or_default();
        if let Some(before) = &self.id {
            if *before == id {
                return;
            }
            common.restart(reading);
            *self = Self::default();
        }
        self.id = Some(id.into_owned());
        common.answer.take_model(message, "model");
        common.answer.choice(0);
        if let Some(usage) = message.present("usage") {
            self.usage.take(usage, &mut common.answer);
        }
    }

    fn open<'a>(
        &mut self,
        index: u32,
        block: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        reading.boundary = true;
        // Only compatible servers send text here. The event opens the block, so it cannot be cut.
        for (key, kind) in TEXTS {
            if let Some(text) = block.get(key) {
                reading.whole |= common.text((kind, index, 0), 0, text, reading);
            }
        }
        if block.string("type").is_none_or(|t| t != TOOL) {
            return;
        }
        reading.role = Role::Hurry;
        let text = |key: &str| block.string(key).unwrap_or_default().into_owned();
        let (id, name) = (text("id"), text("name"));
        let call = ToolCall { index: Some(index), id, name, ..ToolCall::default() };
        let Some(at) = common.answer.open_call(0, call) else { return };
        self.calls.insert(index, at);
        common.answer.add_value(0, at, block.get("input").filter(|v| !v.is_empty()));
    }

    fn delta<'a>(
        &mut self,
        index: u32,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let delta = event.get("delta").map(|v| v.object()).unwrap_or_default();
        for (key, kind) in TEXTS {
            if let Some(text) = delta.get(key) {
                reading.plain |= common.text((kind, index, 0), 0, text, reading);
            }
        }
        if let Some(json) = delta.string("partial_json")
            && let Some(at) = self.calls.get(&index)
        {
            common.answer.add_arguments(0, *at, &json);
            reading.role = Role::Hurry;
        }
        Common::others(event, &["delta"], reading);
        Common::others(&delta, &[], reading);
    }

    /// The events before Messages.
    fn completion<'a>(
        &mut self,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        common.answer.take_model(event, "model");
        if let Some(text) = event.get(COMPLETION) {
            reading.plain |= common.text((Kind::Output, 0, 0), 0, text, reading);
        }
        if let Some(stop) = event.string("stop_reason").filter(|s| !s.is_empty()) {
            common.answer.finish_choice(0, &stop);
            self.stopped = true;
            reading.role = Role::Hurry;
            for key in ["stop_reason", "stop"] {
                reading.last_only(event.present(key));
            }
        }
    }
}

/// The usage of a message. Later objects have the newer numbers, but not all of them: null, or what is
/// missing, leaves what came before.
#[derive(Debug, Default)]
struct Overlay {
    members: Vec<(String, String)>,
    /// Of all keys and values.
    bytes: usize,
}

impl Overlay {
    fn take(&mut self, usage: Value<'_, '_>, answer: &mut Answer) {
        let usage = usage.object();
        for (key, value) in usage.members().filter(|(_, value)| !value.is_null()) {
            let known = self.members.iter().position(|(known, _)| *known == key);
            let old = known.map_or(0, |at| self.members[at].1.len() + key.len());
            let bytes = self.bytes - old + key.len() + value.text.len();
            if bytes > USAGE_BYTES_MAX {
                continue;
            }
            self.bytes = bytes;
            match known {
                Some(at) => value.text.clone_into(&mut self.members[at].1),
                None => self.members.push((key.into_owned(), value.text.to_owned())),
            }
        }
        let whole = json::write_object(self.members.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        answer.take_usage_text(&whole);
    }
}

/// Members of a block or of its delta that hold text.
const TEXTS: [(&str, Kind); 2] = [("thinking", Kind::Reasoning), ("text", Kind::Output)];

/// The block that is a call for the caller to run; the other calls run at the provider.
const TOOL: &str = "tool_use";

/// Types that no other dialect has. `ping` and `error` tell nothing.
const SIGNS: [&str; 4] = ["message_start", "message_delta", "message_stop", COMPLETION];
/// Bytes of usage that are kept, since each event with usage writes them anew. Far above what comes.
const USAGE_BYTES_MAX: usize = 8_192;
const COMPLETION: &str = "completion";
