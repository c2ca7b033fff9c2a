//! Content as an array of chunks: Mistral's, and that of others who took it over. All else is chat
//! completions.

use super::common::Common;
use super::json::Value;
use super::{Reading, With};
use crate::Kind;

/// Reads the array in place of a content string.
pub(super) fn content<'a>(
    chunks: Value<'a, '_>,
    choice: u32,
    common: &mut Common,
    reading: &mut Reading<'a>,
) {
    let mut other = false;
    for chunk in chunks.array() {
        let members = chunk.object();
        let kind = members.string("type").unwrap_or_default();
        let known = CHUNKS.iter().find(|(name, ..)| *name == kind);
        let found = known.and_then(|(_, key, kind)| Some((members.present(key)?, *kind)));
        let Some((value, kind)) = found else {
            // A reference or an image stands on the last part; one before text cannot move behind it.
            other = true;
            reading.last_with(chunk, With::Json(EMPTY_CHUNK));
            continue;
        };
        reading.whole |= other;
        if kind == Kind::Output {
            common.visible(choice, value, None, reading);
            continue;
        }
        let inner = if value.text.starts_with('[') { value.array() } else { [value].into() };
        for value in inner {
            let text = if value.is_compound() { value.object().get("text") } else { Some(value) };
            let Some(text) = text else { continue };
            if common.text((kind, choice, 0), choice, text, reading) {
                common.inline.fielded(choice);
            }
        }
    }
    reading.plain &= !reading.whole;
}

/// Types of chunks that hold text: in which member, of which kind.
const CHUNKS: [(&str, &str, Kind); 3] = [
    ("text", "text", Kind::Output),
    ("thinking", "thinking", Kind::Reasoning),
    ("reasoning", "summary", Kind::Reasoning),
];
const EMPTY_CHUNK: &str = r#"{"type":"text","text":""}"#;
