//! Gemini: one response object an event or an array element.

use super::answer::ToolCall;
use super::common::{Common, Decode, End};
use super::json::{Object, Value};
use super::{Reading, Role, With};
use crate::Kind;

#[derive(Debug, Default)]
pub(super) struct Gemini {
    finished: bool,
}

pub(super) fn is_one(event: &Object<'_, '_>) -> bool {
    SIGNS.iter().any(|key| event.get(key).is_some())
}

impl Decode for Gemini {
    fn end(&self, _: &Common) -> End {
        if self.finished { End::Enough } else { End::Open }
    }

    fn read<'a>(
        &mut self,
        _: &str,
        response: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        reading.plain = true;
        common.answer.take_model(response, "modelVersion");
        for candidate in response.get("candidates").map(|v| v.array()).unwrap_or_default() {
            self.candidate(&candidate.object(), common, reading);
        }
        let feedback = response.get("promptFeedback").map(|v| v.object()).unwrap_or_default();
        if let Some(reason) = feedback.present("blockReason") {
            self.finish(0, reason, common, reading);
        }
        if let Some(usage) = response.present("usageMetadata") {
            common.answer.take_usage(usage);
        }
        Common::others(response, &["candidates", "error"], reading);
    }
}

impl Gemini {
    fn candidate<'a>(
        &mut self,
        candidate: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let index = Value::index(candidate.get("index"));
        if common.answer.choice(index).is_none() {
            return;
        }
        let content = candidate.get("content").map(|v| v.object()).unwrap_or_default();
        let mut other = false;
        for part in content.get("parts").map(|v| v.array()).unwrap_or_default() {
            let members = part.object();
            if members.present("text").is_none() {
                // It stands on the last part of the event; one before text cannot move behind it.
                other = true;
                reading.last_with(part, With::Json(EMPTY_PART));
                call(&members, index, common, reading);
                continue;
            }
            let thought = members.get("thought").is_some_and(|v| v.text == "true");
            let kind = if thought { Kind::Reasoning } else { Kind::Output };
            let text = members.get("text").filter(|v| !v.is_empty());
            reading.whole |= text
                .is_some_and(|text| common.text((kind, index, 0), index, text, reading))
                && other;
            reading.last_only(members.present("thoughtSignature"));
            Common::others(&members, &[], reading);
        }
        if let Some(reason) = candidate.present("finishReason") {
            self.finish(index, reason, common, reading);
        }
        Common::others(candidate, &["content"], reading);
    }

    fn finish<'a>(
        &mut self,
        index: u32,
        reason: Value<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        // Some servers send the number of the word.
        let word = reason.string();
        common.answer.finish_choice(index, word.as_deref().unwrap_or(reason.text));
        self.finished = true;
        reading.role = Role::Hurry;
        reading.last_only(reason);
    }
}

/// A call comes whole, or begins with a name and goes on in parts without one.
fn call<'a>(part: &Object<'a, '_>, index: u32, common: &mut Common, reading: &mut Reading<'a>) {
    let Some(call) = part.present("functionCall") else { return };
    reading.role = Role::Hurry;
    let call = call.object();
    let Some(name) = call.string("name").filter(|name| !name.is_empty()) else { return };
    let opened = ToolCall {
        id: call.string("id").unwrap_or_default().into_owned(),
        name: name.into_owned(),
        is_object: true,
        ..ToolCall::default()
    };
    let Some(at) = common.answer.open_call(index, opened) else { return };
    match call.present("args") {
        None => common.answer.add_arguments(index, at, "{}"),
        arguments => common.answer.add_value(index, at, arguments),
    }
}

/// Members that no other dialect has.
const SIGNS: [&str; 3] = ["candidates", "usageMetadata", "promptFeedback"];
const EMPTY_PART: &str = r#"{"text":""}"#;
