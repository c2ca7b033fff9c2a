//! Ollama: a JSON text a line, of `/api/chat` and of `/api/generate`.

use alloc::string::String;

use super::answer::ToolCall;
use super::common::{Common, Decode, End};
use super::json::Object;
use super::usage;
use super::{Reading, Role, With};
use crate::Kind;

#[derive(Debug, Default)]
pub(super) struct Ollama {
    done: bool,
}

pub(super) fn is_one(event: &Object<'_, '_>) -> bool {
    event.get("done").is_some_and(|v| matches!(v.text, "true" | "false"))
        && (event.get("message").is_some() || event.get("response").is_some())
}

impl Decode for Ollama {
    fn end(&self, _: &Common) -> End {
        if self.done { End::Closed } else { End::Open }
    }

    fn read<'a>(
        &mut self,
        _: &str,
        line: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        reading.plain = true;
        common.answer.take_model(line, "model");
        common.answer.choice(0);
        let message = line.get("message").map(|v| v.object()).unwrap_or_default();
        let texts = [(line, "response"), (&message, "content")];
        for thinking in [line, &message].into_iter().filter_map(|o| o.get("thinking")) {
            if common.text((Kind::Reasoning, 0, 0), 0, thinking, reading) {
                common.inline.fielded(0);
            }
        }
        for text in texts.into_iter().filter_map(|(object, key)| object.get(key)) {
            common.visible(0, text, None, reading);
        }
        let calls = message.present("tool_calls").map(|v| v.array()).unwrap_or_default();
        if !calls.is_empty() {
            common.settle(0, reading);
            reading.role = Role::Hurry;
        }
        for call in calls {
            let call = call.object();
            let function = call.get("function").map(|v| v.object()).unwrap_or_default();
            let text =
                |of: &Object<'_, '_>, key: &str| of.string(key).unwrap_or_default().into_owned();
            let opened = ToolCall {
                id: text(&call, "id"),
                name: text(&function, "name"),
                complete: true,
                ..ToolCall::default()
            };
            if let Some(at) = common.answer.open_call(0, opened) {
                common.answer.add_value(0, at, function.present("arguments"));
            }
        }
        if line.get("done").is_some_and(|v| v.text == "true") {
            self.end_line(line, common, reading);
        }
        Common::others(line, &["message"], reading);
        Common::others(&message, &[], reading);
    }
}

impl Ollama {
    fn end_line<'a>(
        &mut self,
        line: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        self.done = true;
        reading.role = Role::Hurry;
        common.settle(0, reading);
        let reason = line.string("done_reason").filter(|r| !r.is_empty());
        if let Some(reason) = reason {
            common.answer.finish_choice(0, &reason);
        }
        // A last line without counts says that there are none.
        let usage = usage::gathered(line).unwrap_or_else(|| String::from("{}"));
        common.answer.take_usage_text(&usage);
        reading.last_with(line.present("done"), With::Json("false"));
        reading.last_only(line.present("done_reason"));
        for key in usage::LOOSE {
            reading.last_only(line.present(key));
        }
    }
}
