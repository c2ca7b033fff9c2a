//! The numbers of the binary interface, once more: a number that was given never changes. What is added is added here.

use crate::config::{decluster_measure::*, decluster_parameter_info};
use crate::output::{
    decluster_boundary::*, decluster_cancel::*, decluster_clusters, decluster_kind::*,
    decluster_output, decluster_output_type::*, decluster_stage::*, decluster_stats,
    decluster_tokens, decluster_verdict::*,
};
use crate::rewriter::{decluster_dialect::*, decluster_framing::*, decluster_mode::*};
use crate::status::{STATUSES, decluster_status, decluster_status::*};
use crate::version::DECLUSTER_ABI_VERSION;
use decluster::PARAMETERS;
use std::mem::{offset_of, size_of};

/// That each name stands for its number.
macro_rules! numbers {
    ($type:ty: $($name:ident = $number:literal,)+) => {
        $(assert_eq!($name as $type, $number, stringify!($name));)+
    };
}

/// That each field stands where it stood.
macro_rules! offsets {
    ($struct:ty: $($field:ident at $offset:literal,)+) => {
        $(assert_eq!(offset_of!($struct, $field), $offset, stringify!($field));)+
    };
}

#[test]
fn statuses_keep_their_numbers() {
    numbers! { i32:
        DECLUSTER_OK = 0,
        DECLUSTER_ERROR_NULL = -1,
        DECLUSTER_ERROR_BAD_ARGUMENT = -2,
        DECLUSTER_ERROR_UNKNOWN_PARAMETER = -3,
        DECLUSTER_ERROR_OUT_OF_BOUNDS = -4,
        DECLUSTER_ERROR_UNKNOWN_NAME = -5,
        DECLUSTER_ERROR_TOO_SMALL = -6,
        DECLUSTER_ERROR_BAD_UTF8 = -7,
        DECLUSTER_ERROR_FULL = -8,
        DECLUSTER_ERROR_TOO_LARGE = -9,
        DECLUSTER_ERROR_TOO_MANY_CHOICES = -10,
        DECLUSTER_ERROR_FINISHED = -11,
        DECLUSTER_ERROR_MIXED = -12,
        DECLUSTER_ERROR_CONFLICT = -13,
        DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED = -14,
        DECLUSTER_ERROR_BUSY = -15,
        DECLUSTER_ERROR_PANIC = -16,
        DECLUSTER_ERROR_POISONED = -17,
        DECLUSTER_ERROR_STALLED = -18,
        DECLUSTER_ERROR_OUT_OF_TURN = -19,
        DECLUSTER_ERROR_UNREADABLE = -20,
        DECLUSTER_ERROR_LEDGER_FULL = -21,
    }
    // They are in order, each with a text.
    let told: Vec<i32> = STATUSES.iter().map(|(status, _)| *status as i32).collect();
    assert_eq!(told, (-21..=0).rev().collect::<Vec<_>>());
    assert_eq!(size_of::<decluster_status>(), 4);
}

#[test]
fn enumerators_keep_their_numbers() {
    numbers! { u32:
        DECLUSTER_MEASURE_NANOSECONDS = 0,
        DECLUSTER_MEASURE_TOKENS = 1,
        DECLUSTER_MEASURE_TOKENS_PER_SECOND = 2,
        DECLUSTER_MEASURE_MILLITOKENS = 3,
        DECLUSTER_MEASURE_THOUSANDTHS = 4,
        DECLUSTER_MEASURE_BYTES = 5,
        DECLUSTER_MEASURE_COUNT = 6,
        DECLUSTER_MEASURE_CHOICE = 7,
        DECLUSTER_MEASURE_SWITCH = 8,
        DECLUSTER_OUTPUT_NEED_INPUT = 0,
        DECLUSTER_OUTPUT_WAIT = 1,
        DECLUSTER_OUTPUT_FINISHED = 2,
        DECLUSTER_OUTPUT_PIECE = 3,
        DECLUSTER_OUTPUT_MARK = 4,
        DECLUSTER_OUTPUT_RESTARTED = 5,
        DECLUSTER_OUTPUT_RECLASSIFIED = 6,
        DECLUSTER_OUTPUT_BYTES = 7,
        DECLUSTER_OUTPUT_OBJECT = 8,
        DECLUSTER_OUTPUT_EVENT = 9,
        DECLUSTER_OUTPUT_COMMENT = 10,
        DECLUSTER_OUTPUT_BLOCK = 11,
        DECLUSTER_OUTPUT_BUDGET_EXCEEDED = 12,
        DECLUSTER_KIND_REASONING = 0,
        DECLUSTER_KIND_OUTPUT = 1,
        DECLUSTER_BOUNDARY_PARAGRAPH = 0,
        DECLUSTER_BOUNDARY_LINE = 1,
        DECLUSTER_BOUNDARY_SENTENCE = 2,
        DECLUSTER_BOUNDARY_CLAUSE = 3,
        DECLUSTER_BOUNDARY_WORD = 4,
        DECLUSTER_BOUNDARY_GRAPHEME = 5,
        DECLUSTER_VERDICT_NONE = 0,
        DECLUSTER_VERDICT_COMPLETE = 1,
        DECLUSTER_VERDICT_FAILED = 2,
        DECLUSTER_VERDICT_TRUNCATED = 3,
        DECLUSTER_STAGE_BEFORE = 0,
        DECLUSTER_STAGE_AFTER = 1,
        DECLUSTER_CANCEL_FLUSH = 0,
        DECLUSTER_CANCEL_DROP = 1,
        DECLUSTER_DIALECT_UNKNOWN = 0,
        DECLUSTER_DIALECT_OPENAI_CHAT = 1,
        DECLUSTER_DIALECT_OPENAI_RESPONSES = 2,
        DECLUSTER_DIALECT_ANTHROPIC = 3,
        DECLUSTER_DIALECT_GEMINI = 4,
        DECLUSTER_DIALECT_OLLAMA = 5,
        DECLUSTER_DIALECT_MISTRAL = 6,
        DECLUSTER_DIALECT_COHERE = 7,
        DECLUSTER_DIALECT_BEDROCK_CONVERSE = 8,
        DECLUSTER_DIALECT_INCIDENT = 9,
        DECLUSTER_MODE_STREAM = 0,
        DECLUSTER_MODE_PIECES = 1,
        DECLUSTER_MODE_PIECES_AND_EVENTS = 2,
        DECLUSTER_FRAMING_UNKNOWN = 0,
        DECLUSTER_FRAMING_LINES = 1,
        DECLUSTER_FRAMING_LINES_WITH_ENDS = 2,
        DECLUSTER_FRAMING_BYTES = 3,
    }
}

#[test]
fn fields_of_an_output_keep_their_bytes() {
    offsets! { decluster_output:
        r#type at 0,
        wants_input at 4,
        kind at 8,
        index at 12,
        part at 16,
        boundary at 20,
        ends_block at 24,
        tokens at 28,
        seq at 32,
        block at 40,
        origin at 48,
        arrived_ns at 56,
        at_ns at 64,
        number at 72,
        done at 80,
        retry_ms at 88,
        changed at 96,
        terminated at 100,
        verdict at 104,
        reserved at 108,
    }
    #[cfg(target_pointer_width = "64")]
    offsets! { decluster_output:
        text at 112,
        text_length at 120,
        name at 128,
        name_length at 136,
        id at 144,
        id_length at 152,
        reserved_words at 160,
    }
    #[cfg(target_pointer_width = "64")]
    assert_eq!(size_of::<decluster_output>(), 192);
}

#[test]
fn fields_of_counters_keep_their_bytes() {
    offsets! { decluster_stats:
        deltas at 0,
        pieces at 8,
        blocks at 16,
        cuts at 24,
        hurried at 32,
        tokens_in at 40,
        tokens_out at 48,
        bytes_in at 56,
        bytes_out at 64,
        queued_bytes at 72,
        max_delay_ns at 80,
        rate at 88,
        reserved_words at 96,
    }
    assert_eq!(size_of::<decluster_stats>(), 128);
}

#[test]
fn fields_of_clusters_keep_their_bytes() {
    offsets! { decluster_clusters:
        events at 0,
        events_per_hour at 8,
        groups at 16,
        tokens at 24,
        streams at 32,
        watched_ns at 40,
        size_p50 at 48,
        size_p95 at 56,
        size_max at 64,
        size_sum at 72,
        gap_p50_ms at 80,
        gap_p95_ms at 88,
        gap_max_ms at 96,
        gap_sum_ms at 104,
        reserved_words at 112,
    }
    assert_eq!(size_of::<decluster_clusters>(), 128);
}

#[test]
fn fields_of_token_counts_keep_their_bytes() {
    offsets! { decluster_tokens:
        input at 0,
        cached_input at 8,
        cache_write at 16,
        output at 24,
        reasoning at 32,
        visible at 40,
        cost_picodollars at 48,
        reserved_words at 56,
    }
    assert_eq!(size_of::<decluster_tokens>(), 80);
}

#[test]
fn fields_of_a_parameter_keep_their_bytes() {
    offsets! { decluster_parameter_info:
        min at 0,
        max at 8,
        initial at 16,
        measure at 24,
        reserved at 28,
    }
    #[cfg(target_pointer_width = "64")]
    offsets! { decluster_parameter_info:
        name at 32,
        doc at 40,
        reserved_words at 48,
    }
    #[cfg(target_pointer_width = "64")]
    assert_eq!(size_of::<decluster_parameter_info>(), 64);
}

#[test]
fn parameters_keep_their_numbers() {
    let names: Vec<&str> = PARAMETERS.iter().map(|row| row.name).collect();
    assert_eq!(names, NAMES);
}

#[test]
fn choices_keep_their_numbers() {
    let rows = PARAMETERS.iter().filter(|row| !row.unit.names().is_empty());
    let choices: Vec<(&str, &[&str])> = rows.map(|row| (row.name, row.unit.names())).collect();
    assert_eq!(choices, CHOICES);
}

#[test]
fn the_version_of_the_interface_is_this() {
    assert_eq!(DECLUSTER_ABI_VERSION, 0);
}

/// The parameters by number. Rows are only added at the end.
const NAMES: [&str; 53] = [
    "unit",
    "pace",
    "segment",
    "target",
    "max_delay",
    "first_hold",
    "max_tail",
    "max_gap",
    "word_gap",
    "cut_part",
    "grapheme_hold",
    "rate",
    "burst",
    "max_rate",
    "quantum",
    "piece_max",
    "cluster_burst",
    "cluster_rate",
    "group_gap",
    "silence_quantile",
    "late_part",
    "horizon_min",
    "silence_short",
    "silence_long",
    "horizon_part_word",
    "horizon_part_block",
    "horizon_part_long",
    "reserve_word",
    "reserve_block",
    "reserve_time",
    "reserve_silence",
    "rate_cap",
    "drain",
    "prior_silence",
    "prior_tokens",
    "rate_first",
    "rate_memory",
    "rate_trust",
    "rate_trust_groups",
    "deadline_margin",
    "max_queue_bytes",
    "max_event_bytes",
    "max_choices",
    "max_reasoning_tokens",
    "think_tags",
    "starts_inside",
    "think_reopens",
    "think_copies",
    "max_silence",
    "over_budget",
    "cluster_min_tokens",
    "cluster_min_gap",
    "cluster_group_gap",
];

/// The choices by number.
const CHOICES: [(&str, &[&str]); 5] = [
    ("unit", &["block", "word", "whole"]),
    ("pace", &["adaptive", "fixed", "off"]),
    ("segment", &["semantic", "off", "sentences"]),
    ("think_tags", &["common", "all", "off"]),
    ("over_budget", &["raise", "event"]),
];
