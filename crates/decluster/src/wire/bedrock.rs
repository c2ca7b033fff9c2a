//! Bedrock's Converse stream in its decoded form: objects with one member, named by the event.

use alloc::collections::BTreeMap;

use super::answer::ToolCall;
use super::common::{Common, Decode, End};
use super::json::{Object, Value};
use super::{Reading, Role};
use crate::Kind;

#[derive(Debug, Default)]
pub(super) struct Bedrock {
    /// The place of the call that a block is.
    calls: BTreeMap<u32, usize>,
    stopped: bool,
    closed: bool,
    failed: bool,
}

pub(super) fn is_one(event: &Object<'_, '_>) -> bool {
    SIGNS.iter().chain(&EXCEPTIONS).any(|key| event.get(key).is_some_and(|v| v.is_compound()))
}

impl Decode for Bedrock {
    fn end(&self, _: &Common) -> End {
        match self {
            Self { failed: true, .. } => End::Failed,
            Self { closed: true, .. } => End::Closed,
            Self { stopped: true, .. } => End::Enough,
            _ => End::Open,
        }
    }

    fn read<'a>(
        &mut self,
        _: &str,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        for (key, value) in event.members() {
            let body = value.object();
            let index = Value::index(body.get("contentBlockIndex"));
            match &*key {
                "messageStart" => {
                    common.answer.choice(0);
                }
                "contentBlockStart" => {
                    reading.boundary = true;
                    self.open(index, &body, common, reading);
                }
                "contentBlockDelta" => self.delta(index, &body, common, reading),
                "contentBlockStop" => {
                    common.answer.complete_call(self.calls.get(&index));
                }
                "messageStop" => {
                    let reason = body.string("stopReason").unwrap_or_default();
                    common.answer.finish_choice(0, &reason);
                    self.stopped = true;
                    reading.role = Role::Hurry;
                }
                "metadata" => {
                    if let Some(usage) = body.present("usage") {
                        common.answer.take_usage(usage);
                    }
                    self.closed = true;
                    reading.role = Role::Hurry;
                }
                _ if EXCEPTIONS.contains(&&*key) => {
                    common.answer.take_error(value);
                    self.failed = true;
                    reading.role = Role::Hurry;
                }
                _ => {}
            }
        }
    }
}

impl Bedrock {
    fn open<'a>(
        &mut self,
        index: u32,
        body: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let start = body.get("start").map(|v| v.object()).unwrap_or_default();
        let Some(tool) = start.present("toolUse") else { return };
        reading.role = Role::Hurry;
        let tool = tool.object();
        let text = |key: &str| tool.string(key).unwrap_or_default().into_owned();
        let (id, name) = (text("toolUseId"), text("name"));
        let call = ToolCall { index: Some(index), id, name, ..ToolCall::default() };
        if let Some(at) = common.answer.open_call(0, call) {
            self.calls.insert(index, at);
        }
    }

    fn delta<'a>(
        &mut self,
        index: u32,
        body: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let delta = body.get("delta").map(|v| v.object()).unwrap_or_default();
        let reasoning = delta.get("reasoningContent").map(|v| v.object()).unwrap_or_default();
        let texts = [(reasoning.get("text"), Kind::Reasoning), (delta.get("text"), Kind::Output)];
        for (text, kind) in texts {
            if let Some(text) = text {
                reading.plain |= common.text((kind, index, 0), 0, text, reading);
            }
        }
        let tool = delta.get("toolUse").map(|v| v.object()).unwrap_or_default();
        if let Some(input) = tool.present("input")
            && let Some(at) = self.calls.get(&index)
        {
            common.answer.add_value(0, *at, Some(input));
            reading.role = Role::Hurry;
        }
        reading.last_only(reasoning.present("signature"));
        Common::others(body, &["delta"], reading);
        Common::others(&delta, &["reasoningContent"], reading);
        Common::others(&reasoning, &[], reading);
    }
}

/// Members that no other dialect has.
const SIGNS: [&str; 5] =
    ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"];

/// What AWS names errors in a stream.
const EXCEPTIONS: [&str; 6] = [
    "throttlingException",
    "modelStreamErrorException",
    "modelTimeoutException",
    "internalServerException",
    "validationException",
    "serviceUnavailableException",
];
