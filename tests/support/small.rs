//! Small streams to write down in a test. Texts are what stands between the quotes of a JSON string.

/// An event with this data and no name.
#[must_use]
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// An event whose `type` is its name; `members` follow it.
#[must_use]
pub fn named(kind: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{comma}{members}}}\n\n")
}

/// A chat chunk with this delta in choice 0.
#[must_use]
pub fn chat(delta: &str) -> String {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#))
}

/// A chat chunk with visible text.
#[must_use]
pub fn content(text: &str) -> String {
    chat(&format!(r#"{{"content":"{text}"}}"#))
}

/// A chat chunk with reasoning.
#[must_use]
pub fn reasoning(text: &str) -> String {
    chat(&format!(r#"{{"reasoning_content":"{text}"}}"#))
}

/// A chat chunk that says why choice 0 stopped.
#[must_use]
pub fn stop(why: &str) -> String {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{why}"}}]}}"#))
}

/// The end of a chat stream.
pub const DONE: &str = "data: [DONE]\n\n";
