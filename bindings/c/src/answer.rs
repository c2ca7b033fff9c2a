//! What a stream amounts to, as JSON with the names that every language uses.

use decluster::wire::{Dialect, Tokens, Verdict};
use decluster::{ReasoningBudgetExceeded, Rewriter};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
struct Answer<'a> {
    dialect: Option<&'static str>,
    model: Option<&'a str>,
    recognised: Option<bool>,
    verdict: Option<&'static str>,
    reason: Option<&'a str>,
    finish: Option<&'a str>,
    tool_calls: Vec<Call<'a>>,
    choices: Vec<Ended<'a>>,
    usage: Option<&'a RawValue>,
    tokens: Option<Counts>,
    reasoning_tokens: Option<u64>,
    error: Option<&'a RawValue>,
    exceeded: Option<Exceeded>,
    stalled_ns: Option<u64>,
    restarts: u32,
    events: u64,
    comments: u64,
    repairs: u64,
    malformed: u64,
}

#[derive(Serialize)]
struct Ended<'a> {
    index: u32,
    finish: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    index: u32,
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
    is_object: bool,
    complete: bool,
}

#[derive(Serialize)]
pub(crate) struct Counts {
    input: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    visible: Option<u64>,
    cost_picodollars: Option<u64>,
}

#[derive(Serialize)]
struct Exceeded {
    used: u64,
    limit: u64,
    source: &'static str,
    shared: bool,
}

pub(crate) fn json(rewriter: &Rewriter) -> String {
    let answer = rewriter.answer();
    let calls = answer.choices.iter().flat_map(|choice| {
        choice.tool_calls.iter().map(|call| Call {
            index: choice.index,
            id: &call.id,
            name: &call.name,
            arguments: &call.arguments,
            is_object: call.is_object,
            complete: call.complete,
        })
    });
    let choices = answer.choices.iter();
    let choices =
        choices.map(|choice| Ended { index: choice.index, finish: choice.finish.as_deref() });
    let known = Answer {
        dialect: rewriter.dialect().map(Dialect::name),
        model: answer.model.as_deref(),
        recognised: rewriter.recognised(),
        verdict: answer.verdict.map(Verdict::name),
        reason: answer.reason.as_deref(),
        finish: answer.finish(),
        tool_calls: calls.collect(),
        choices: choices.collect(),
        usage: answer.usage.as_deref().and_then(raw),
        tokens: answer.tokens().map(Counts::from),
        reasoning_tokens: answer.reasoning_tokens,
        error: answer.error.as_deref().and_then(raw),
        exceeded: rewriter.exceeded().map(Exceeded::from),
        stalled_ns: rewriter.stalled().map(|silence| silence.0),
        restarts: answer.restarts,
        events: answer.events,
        comments: answer.comments,
        repairs: answer.repairs,
        malformed: answer.malformed,
    };
    // It holds nothing that JSON cannot say.
    serde_json::to_string(&known).unwrap_or_default()
}

/// How a budget was exceeded.
pub(crate) fn exceeded(told: ReasoningBudgetExceeded) -> String {
    serde_json::to_string(&Exceeded::from(told)).unwrap_or_default()
}

impl From<Tokens> for Counts {
    fn from(tokens: Tokens) -> Self {
        Self {
            input: tokens.input,
            cached_input: tokens.cached_input,
            cache_write: tokens.cache_write,
            output: tokens.output,
            reasoning: tokens.reasoning,
            visible: tokens.visible,
            cost_picodollars: tokens.cost_picodollars,
        }
    }
}

impl From<ReasoningBudgetExceeded> for Exceeded {
    fn from(told: ReasoningBudgetExceeded) -> Self {
        let ReasoningBudgetExceeded { used, limit, source, shared } = told;
        Self { used, limit, source: source.name(), shared }
    }
}

/// JSON that is there already.
pub(crate) fn raw(json: &str) -> Option<&RawValue> {
    serde_json::from_str(json).ok()
}
