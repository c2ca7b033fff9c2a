//! The model's name, where a stream tells it.

use decluster_tests::rewriting::steady;

#[track_caller]
fn names(stream: &str, expected: Option<&str>) {
    let decoded = steady(stream);
    assert_eq!(decoded.answer.model.as_deref(), expected);
}

#[test]
fn chat_completions_name_it_in_each_chunk_and_the_first_name_counts() {
    names(
        "data: {\"model\":\"\",\"choices\":[],\"prompt_filter_results\":[]}\n\n\
         data: {\"model\":\"gpt-\\u0034.1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi there.\"}}]}\n\n\
         data: {\"model\":\"another\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        Some("gpt-4.1"),
    );
}

#[test]
fn responses_name_it_in_the_response() {
    let delta = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi there.\"}\n\n";
    let created = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"gpt-5.5-codex\"}}\n\n";
    let completed = "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"model\":\"gpt-5.5-codex\"}}\n\n";
    names(&[created, delta].concat(), Some("gpt-5.5-codex"));
    names(&[delta, completed].concat(), Some("gpt-5.5-codex"));
    names(delta, None);
}

#[test]
fn anthropic_names_it_in_the_message_and_a_new_beginning_keeps_it() {
    let start = |id: &str, model: &str| {
        format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"{id}\",\
             \"model\":\"{model}\"}}}}\n\n"
        )
    };
    names(
        &[start("a", "claude-sonnet-4.5"), start("b", "other")].concat(),
        Some("claude-sonnet-4.5"),
    );
    names(
        "event: completion\ndata: {\"completion\":\" Hi.\",\"model\":\"claude-2\"}\n\n",
        Some("claude-2"),
    );
}

#[test]
fn gemini_and_ollama_name_it_in_each_event() {
    names(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi.\"}]}}],\
         \"modelVersion\":\"gemini-2.5-flash\"}\n\n",
        Some("gemini-2.5-flash"),
    );
    names(
        "data: {\"model\":\"qwen3:8b\",\"message\":{\"content\":\"Hi.\"},\"done\":false}\n\n",
        Some("qwen3:8b"),
    );
}

#[test]
fn what_is_no_name_is_none() {
    let chunk = |model: &str| {
        let choices = "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"}}]";
        format!("data: {{\"model\":{model},{choices}}}\n\n")
    };
    let most = "x".repeat(256);
    names(&chunk(&format!("\"{most}\"")), Some(&most));
    for none in [format!("\"{most}x\""), "null".to_owned(), "7".to_owned(), "{}".to_owned()] {
        names(&chunk(&none), None);
        names(&[chunk(&none), chunk("\"m\"")].concat(), Some("m"));
    }
}
