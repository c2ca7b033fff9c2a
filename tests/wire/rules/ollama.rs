//! Ollama, a JSON text a line.

use decluster::wire::Dialect;
use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::steady_lines;

use super::{calls, told};

fn message(members: &str) -> String {
    format!(
        "{{\"model\":\"m\",\"created_at\":\"2025-01-01T00:00:00.1Z\",\"message\":{{\"role\":\"assistant\",{members}}},\"done\":false}}\n"
    )
}

fn content(text: &str) -> String {
    message(&format!(r#""content":"{text}""#))
}

const END: &str = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":9,\"prompt_eval_count\":4,\"eval_count\":7}\n";

#[test]
fn thinking_stands_in_a_field_of_its_own() {
    let stream = [
        message(r#""content":"","thinking":"First we look. Then we act.""#),
        message(r#""thinking":" And it ends.""#),
        content("Yes. "),
        content("It is so. <think> stays."),
        END.to_owned(),
    ];
    let seen = steady_lines(&stream.concat());
    assert_eq!(seen.dialect, Some(Dialect::Ollama));
    assert_eq!(
        told(&seen),
        (
            "First we look. Then we act. And it ends.",
            "Yes. It is so. <think> stays.",
            Complete,
            Some("stop")
        )
    );
    assert!(seen.answer.usage.unwrap().contains(r#""eval_count":7"#));
}

#[test]
fn the_last_line_may_have_text() {
    let last =
        END.replace(r#""content":"""#, r#""content":"One thing. Another thing. And a third.""#);
    let seen = steady_lines(&last);
    assert_eq!(told(&seen), ("", "One thing. Another thing. And a third.", Complete, Some("stop")));
}

#[test]
fn generate_has_its_text_in_the_line_itself() {
    let line = |members: &str| format!("{{\"model\":\"m\",{members},\"done\":false}}\n");
    let stream = [
        line(r#""response":"","thinking":"So it is. And so.""#),
        line(r#""response":"Yes. It is so.""#),
        "{\"model\":\"m\",\"response\":\"\",\"done\":true,\"done_reason\":\"length\",\"context\":[1,2],\"eval_count\":7}\n".to_owned(),
    ];
    assert_eq!(
        told(&steady_lines(&stream.concat())),
        ("So it is. And so.", "Yes. It is so.", Complete, Some("length"))
    );
}

#[test]
fn tags_stand_in_the_text_where_thinking_is_off() {
    let stream = [content("<thi"), content("nk>so</th"), content("ink>Yes <"), END.to_owned()];
    assert_eq!(told(&steady_lines(&stream.concat())), ("so", "Yes <", Complete, Some("stop")));
}

#[test]
fn calls_come_whole() {
    let stream = [
        content("I look <"),
        message(
            r#""content":"","tool_calls":[{"function":{"index":0,"name":"f","arguments":{"x":1}}},{"function":{"name":"g","arguments":{}}}]"#,
        ),
        END.to_owned(),
    ];
    let seen = steady_lines(&stream.concat());
    assert_eq!(told(&seen).1, "I look <");
    assert_eq!(calls(&seen), [["", "f", "{\"x\":1}"], ["", "g", "{}"]]);
}

#[test]
fn a_line_with_an_error_is_a_failure_and_no_end_is_a_cut() {
    let seen =
        steady_lines(&[&content("Half of"), "{\"error\":\"model runner has stopped\"}\n"].concat());
    assert_eq!(told(&seen), ("", "Half of", Failed, None));
    assert_eq!(seen.answer.error.as_deref(), Some(r#""model runner has stopped""#));
    assert_eq!(told(&steady_lines(&content("Half of"))).2, Truncated);
}

#[test]
fn fields_of_the_wrong_type_are_nothing() {
    for wrong in ["null", "7", "true", "[]", "{}", "[null]"] {
        let odd = [
            message(&format!(r#""content":{wrong}"#)),
            message(&format!(
                r#""content":"","thinking":{wrong},"tool_calls":{}"#,
                if wrong == "[null]" { "7" } else { wrong }
            )),
            format!("{{\"message\":{wrong},\"done\":false}}\n"),
            format!("{{\"response\":{wrong},\"thinking\":{wrong},\"done\":false}}\n"),
        ];
        for odd in odd {
            let seen = steady_lines(&[&content("a"), &odd, &*content("b"), END].concat());
            assert_eq!(told(&seen), ("", "ab", Complete, Some("stop")), "{odd}");
            assert!(calls(&seen).is_empty(), "{odd}");
        }
    }
}
