//! Usage in one meaning for all providers. Where each puts its counts is one table; whether a count is
//! part of another is told from the table and from the sums.

use alloc::string::String;

use super::json::{self, Object, Value};
use super::tape::Tape;

/// What an answer cost in tokens. `None` is what the provider does not say.
///
/// All counts are integers without bound but that of `u64`; sums stop there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokens {
    /// All tokens of the input: also those that were read from a cache or written to one.
    pub input: Option<u64>,
    /// Of the input, those that were read from a cache.
    pub cached_input: Option<u64>,
    /// Of the input, those that were written to a cache.
    pub cache_write: Option<u64>,
    /// All tokens of the output: also those of the reasoning, whatever the provider's own count holds.
    pub output: Option<u64>,
    /// Of the output, those of the reasoning. May exceed the output by a little: some count the two in
    /// different ways.
    pub reasoning: Option<u64>,
    /// Of the output, what is no reasoning; not below 0. `None` if either is not known.
    pub visible: Option<u64>,
    /// What the answer cost, where the provider says so: in 10^-12 dollars, rounded half up, up to 18
    /// million dollars.
    pub cost_picodollars: Option<u64>,
}

impl Tokens {
    /// Reads a provider's own usage object. `reasoning_text` says whether any text of the reasoning came: a
    /// provider that counts 0 tokens for it has not counted. `None` if this is no JSON object, or holds no
    /// known count.
    ///
    /// ```
    /// use decluster::wire::Tokens;
    /// let xai = r#"{"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 303,
    ///     "completion_tokens_details": {"reasoning_tokens": 290}}"#;
    /// let tokens = Tokens::of(xai, true).unwrap_or_default();
    /// assert_eq!((tokens.output, tokens.visible), (Some(291), Some(1)));
    /// ```
    #[must_use]
    pub fn of(usage: &str, reasoning_text: bool) -> Option<Self> {
        let mut tape = Tape::default();
        let usage = Value::parse(usage, 0, &mut tape).ok()?.object();
        let find = |count| find(&usage, count);
        let cached = find(Count::Cached);
        let beside = [Count::CachedBeside, Count::WrittenBeside].map(find);
        let uncached = find(Count::NewInput).map(|new| {
            let [read, written] = beside.map(|n| n.filter(|_| cached.is_none()).unwrap_or(0));
            new.saturating_add(read).saturating_add(written)
        });
        let input = find(Count::Input).or(uncached);
        let more = find(Count::MoreInput).unwrap_or(0);
        let input = input.map(|n| n.saturating_add(more));
        let own = find(Count::Output);
        let apart = find(Count::ReasoningBeside);
        let reasoning = apart.or_else(|| find(Count::Reasoning));
        let reasoning = reasoning.filter(|n| *n > 0 || !reasoning_text);
        // The sums may be of the input as it is sent or as it is meant.
        let total = find(Count::Total);
        let rests = [input, find(Count::NewInput)].map(|input| total?.checked_sub(input?));
        let chat = at(&usage, CHAT_INPUT).is_some();
        let usual = apart.is_some() || chat && BESIDE_SIGNS.iter().any(|k| usage.get(k).is_some());
        let output = match (own, reasoning) {
            (Some(own), Some(reasoning)) if stands_beside(own, reasoning, rests, usual) => {
                Some(own.saturating_add(reasoning))
            }
            (None, Some(reasoning)) if usual => Some(reasoning),
            _ => own,
        };
        let tokens = Self {
            input,
            cached_input: cached.or(beside[0]),
            cache_write: find(Count::Written).or(beside[1]),
            output,
            reasoning,
            visible: output.zip(reasoning).map(|(all, part)| all.saturating_sub(part)),
            cost_picodollars: COSTS.iter().find_map(|(path, places)| {
                scaled(at(&usage, path)?.text, *places).map(|(cost, _)| cost)
            }),
        };
        (tokens != Self::default()).then_some(tokens)
    }
}

/// The reasoning tokens as the provider counts them, 0 included.
pub(super) fn reported_reasoning(usage: &Object<'_, '_>) -> Option<u64> {
    find(usage, Count::ReasoningBeside).or_else(|| find(usage, Count::Reasoning))
}

/// The usage of a dialect that has no object for it, as one.
pub(super) fn gathered(answer: &Object<'_, '_>) -> Option<String> {
    let members = LOOSE.iter().filter_map(|key| Some((*key, answer.present(key)?.text)));
    members.clone().next()?;
    Some(json::write_object(members))
}

/// Whether the reasoning is missing from the provider's output count. `rests` is what the total leaves for
/// the output, for each way to count the input; where it decides nothing, it is as `usual`.
fn stands_beside(output: u64, reasoning: u64, rests: [Option<u64>; 2], usual: bool) -> bool {
    let rest_is = |sum| rests.contains(&Some(sum));
    // More reasoning than output: then it is in neither count. A little more is another way of counting.
    let too_much = reasoning > output.saturating_add(output / 4 + 2);
    if reasoning > 0 && rest_is(output.saturating_add(reasoning)) {
        true
    } else if rest_is(output) {
        too_much
    } else {
        usual || too_much
    }
}

/// The first count of this kind that is a number.
fn find(usage: &Object<'_, '_>, count: Count) -> Option<u64> {
    let mut rows = MEMBERS.iter().filter(|(kind, _)| *kind == count);
    rows.find_map(|(_, path)| match scaled(at(usage, path)?.text, 0)? {
        (number, true) => Some(number),
        (_, false) => None,
    })
}

/// The member at the end of a path, unless it is null.
fn at<'a, 't>(object: &Object<'a, 't>, path: &[&str]) -> Option<Value<'a, 't>> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.present(first)?, |value, key| value.object().present(key))
}

/// A decimal number times 10^`places`, rounded half up, and whether that is exact. `None` if it is no
/// number (it may stand in quotes), below 0 or too large.
fn scaled(text: &str, places: i64) -> Option<(u64, bool)> {
    let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (negative, whole) = whole.strip_prefix('-').map_or((false, whole), |whole| (true, whole));
    let digits = || whole.bytes().chain(fraction.bytes());
    if whole.is_empty() || !digits().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let zeros = digits().take_while(|b| *b == b'0').count();
    let mut digits = digits().skip(zeros).map(|b| u64::from(b - b'0')).peekable();
    if digits.peek().is_none() {
        return Some((0, true));
    }
    let exponent: i64 = exponent.parse().ok()?;
    let [whole, zeros] = [whole.len(), zeros].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let before_point = (whole - zeros).checked_add(exponent)?.checked_add(places)?;
    if negative || before_point > U64_DIGITS {
        return None;
    }
    if before_point < 0 {
        return Some((0, false));
    }
    let mut number = 0_u64;
    for _ in 0..before_point {
        number = number.checked_mul(10)?.checked_add(digits.next().unwrap_or(0))?;
    }
    let up = digits.peek().is_some_and(|digit| *digit >= 5);
    Some((number.checked_add(u64::from(up))?, digits.all(|digit| digit == 0)))
}

/// What a count is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// The input with all that was cached.
    Input,
    /// The input without what is counted beside it.
    NewInput,
    /// Input in a count of its own.
    MoreInput,
    Cached,
    CachedBeside,
    Written,
    WrittenBeside,
    Output,
    /// Reasoning that the output count holds, unless the sums say otherwise.
    Reasoning,
    ReasoningBeside,
    Total,
}

/// Where the counts stand; of each kind the first that is there counts. In the order of: chat
/// completions, Responses and Anthropic, Gemini (with the names of its Python SDK), Gemini's
/// interactions, Bedrock and the AI SDK, Cohere, Ollama.
const MEMBERS: [(Count, &[&str]); 54] = [
    (Count::Input, CHAT_INPUT),
    (Count::NewInput, &["input_tokens"]),
    (Count::Input, &["promptTokenCount"]),
    (Count::Input, &["prompt_token_count"]),
    (Count::MoreInput, &["toolUsePromptTokenCount"]),
    (Count::MoreInput, &["tool_use_prompt_token_count"]),
    (Count::Input, &["total_input_tokens"]),
    (Count::MoreInput, &["total_tool_use_tokens"]),
    (Count::NewInput, &["inputTokens"]),
    (Count::Input, &["promptTokens"]),
    (Count::Input, &["tokens", "input_tokens"]),
    (Count::Input, &["billed_units", "input_tokens"]),
    (Count::Input, &["prompt_eval_count"]),
    (Count::Cached, &["prompt_tokens_details", "cached_tokens"]),
    (Count::Cached, &["input_tokens_details", "cached_tokens"]),
    (Count::Cached, &["prompt_cache_hit_tokens"]),
    (Count::Cached, &["num_cached_tokens"]),
    (Count::Cached, &["cached_tokens"]),
    (Count::CachedBeside, &["cache_read_input_tokens"]),
    (Count::Cached, &["cachedContentTokenCount"]),
    (Count::Cached, &["cached_content_token_count"]),
    (Count::Cached, &["total_cached_tokens"]),
    (Count::CachedBeside, &["cacheReadInputTokens"]),
    (Count::CachedBeside, &["cacheReadInputTokenCount"]),
    (Count::Cached, &["cachedInputTokens"]),
    (Count::Written, &["prompt_tokens_details", "cache_write_tokens"]),
    (Count::Written, &["prompt_tokens_details", "cache_creation_tokens"]),
    (Count::Written, &["input_tokens_details", "cache_write_tokens"]),
    (Count::WrittenBeside, &["cache_creation_input_tokens"]),
    (Count::WrittenBeside, &["cacheWriteInputTokens"]),
    (Count::WrittenBeside, &["cacheWriteInputTokenCount"]),
    (Count::Output, &["completion_tokens"]),
    (Count::Output, &["output_tokens"]),
    (Count::Output, &["candidatesTokenCount"]),
    (Count::Output, &["candidates_token_count"]),
    (Count::Output, &["total_output_tokens"]),
    (Count::Output, &["outputTokens"]),
    (Count::Output, &["completionTokens"]),
    (Count::Output, &["tokens", "output_tokens"]),
    (Count::Output, &["billed_units", "output_tokens"]),
    (Count::Output, &["eval_count"]),
    (Count::Reasoning, &["completion_tokens_details", "reasoning_tokens"]),
    (Count::Reasoning, &["output_tokens_details", "reasoning_tokens"]),
    (Count::Reasoning, &["output_tokens_details", "thinking_tokens"]),
    (Count::Reasoning, &["tokens", "reasoning_tokens"]),
    (Count::Reasoning, &["reasoning_tokens"]),
    (Count::Reasoning, &["reasoningTokens"]),
    (Count::ReasoningBeside, &["thoughtsTokenCount"]),
    (Count::ReasoningBeside, &["thoughts_token_count"]),
    (Count::ReasoningBeside, &["total_thought_tokens"]),
    (Count::Total, &["total_tokens"]),
    (Count::Total, &["totalTokenCount"]),
    (Count::Total, &["total_token_count"]),
    (Count::Total, &["totalTokens"]),
];

const CHAT_INPUT: &[&str] = &["prompt_tokens"];

/// Members that only xAI sends: in its chat completions reasoning stands beside the output.
const BESIDE_SIGNS: [&str; 2] = ["num_sources_used", "cost_in_usd_ticks"];

/// Where costs stand, and how many places their unit is above 10^-12 dollars.
const COSTS: [(&[&str], i64); 4] = [
    (&["cost"], 12),
    (&["cost", "total_cost"], 12),
    (&["cost_in_usd_ticks"], 2),
    (&["estimated_cost"], 12),
];

/// Ollama's counts, which stand in the answer itself.
pub(super) const LOOSE: [&str; 6] = [
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
];

/// As many digits as the largest count has.
const U64_DIGITS: i64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_scaled_without_floats() {
        for (text, places, expected) in [
            ("0", 12, Some((0, true))),
            ("-0.0", 12, Some((0, true))),
            ("12.0", 0, Some((12, true))),
            ("12.5", 0, Some((13, false))),
            ("1.25e2", 0, Some((125, true))),
            ("1.2345678E7", 0, Some((12_345_678, true))),
            ("3.875e-05", 12, Some((38_750_000, true))),
            ("\"0.0012\"", 12, Some((1_200_000_000, true))),
            ("0.00000000000049", 12, Some((0, false))),
            ("0.0000000000005", 12, Some((1, false))),
            ("1e-40", 12, Some((0, false))),
            ("18446744073709551615", 0, Some((u64::MAX, true))),
            ("18446744073709551616", 0, None),
            ("18446744073709551615.5", 0, None),
            ("1e300", 0, None),
            ("1e99999999999999999999", 0, None),
            ("-1", 0, None),
            ("true", 0, None),
            ("\"\"", 0, None),
            ("1.e", 0, None),
            ("{}", 0, None),
        ] {
            assert_eq!(scaled(text, places), expected, "{text}");
        }
    }

    #[test]
    fn no_path_stands_twice_in_the_table() {
        for (at, (_, path)) in MEMBERS.iter().enumerate() {
            assert!(MEMBERS[..at].iter().all(|(_, other)| other != path), "{path:?}");
        }
    }

    #[test]
    fn loose_counts_become_an_object() {
        let (mut tape, mut other) = (Tape::default(), Tape::default());
        let answer =
            Value::parse(r#"{"eval_count":3,"done":true,"load_duration":null}"#, 0, &mut tape);
        assert_eq!(gathered(&answer.unwrap().object()).as_deref(), Some(r#"{"eval_count":3}"#));
        let none = Value::parse(r#"{"done":true}"#, 0, &mut other);
        assert_eq!(gathered(&none.unwrap().object()), None);
    }
}
