/*
 * The numbers of the binary interface: they stand here once more, so that a change of the header is
 * noticed. A number that is added to the header is added here; one that is here never changes.
 */
#include "check.h"

/* Every enumerator, but for the parameters. */
#define NUMBERS(X)                                    \
    X(DECLUSTER_OK, 0)                                \
    X(DECLUSTER_ERROR_NULL, -1)                       \
    X(DECLUSTER_ERROR_BAD_ARGUMENT, -2)               \
    X(DECLUSTER_ERROR_UNKNOWN_PARAMETER, -3)          \
    X(DECLUSTER_ERROR_OUT_OF_BOUNDS, -4)              \
    X(DECLUSTER_ERROR_UNKNOWN_NAME, -5)               \
    X(DECLUSTER_ERROR_TOO_SMALL, -6)                  \
    X(DECLUSTER_ERROR_BAD_UTF8, -7)                   \
    X(DECLUSTER_ERROR_FULL, -8)                       \
    X(DECLUSTER_ERROR_TOO_LARGE, -9)                  \
    X(DECLUSTER_ERROR_TOO_MANY_CHOICES, -10)          \
    X(DECLUSTER_ERROR_FINISHED, -11)                  \
    X(DECLUSTER_ERROR_MIXED, -12)                     \
    X(DECLUSTER_ERROR_CONFLICT, -13)                  \
    X(DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED, -14) \
    X(DECLUSTER_ERROR_BUSY, -15)                      \
    X(DECLUSTER_ERROR_PANIC, -16)                     \
    X(DECLUSTER_ERROR_POISONED, -17)                  \
    X(DECLUSTER_ERROR_STALLED, -18)                   \
    X(DECLUSTER_ERROR_OUT_OF_TURN, -19)               \
    X(DECLUSTER_ERROR_UNREADABLE, -20)                \
    X(DECLUSTER_ERROR_LEDGER_FULL, -21)               \
    X(DECLUSTER_MEASURE_NANOSECONDS, 0)               \
    X(DECLUSTER_MEASURE_TOKENS, 1)                    \
    X(DECLUSTER_MEASURE_TOKENS_PER_SECOND, 2)         \
    X(DECLUSTER_MEASURE_MILLITOKENS, 3)               \
    X(DECLUSTER_MEASURE_THOUSANDTHS, 4)               \
    X(DECLUSTER_MEASURE_BYTES, 5)                     \
    X(DECLUSTER_MEASURE_COUNT, 6)                     \
    X(DECLUSTER_MEASURE_CHOICE, 7)                    \
    X(DECLUSTER_MEASURE_SWITCH, 8)                    \
    X(DECLUSTER_OUTPUT_NEED_INPUT, 0)                 \
    X(DECLUSTER_OUTPUT_WAIT, 1)                       \
    X(DECLUSTER_OUTPUT_FINISHED, 2)                   \
    X(DECLUSTER_OUTPUT_PIECE, 3)                      \
    X(DECLUSTER_OUTPUT_MARK, 4)                       \
    X(DECLUSTER_OUTPUT_RESTARTED, 5)                  \
    X(DECLUSTER_OUTPUT_RECLASSIFIED, 6)               \
    X(DECLUSTER_OUTPUT_BYTES, 7)                      \
    X(DECLUSTER_OUTPUT_OBJECT, 8)                     \
    X(DECLUSTER_OUTPUT_EVENT, 9)                      \
    X(DECLUSTER_OUTPUT_COMMENT, 10)                   \
    X(DECLUSTER_OUTPUT_BLOCK, 11)                     \
    X(DECLUSTER_OUTPUT_BUDGET_EXCEEDED, 12)           \
    X(DECLUSTER_KIND_REASONING, 0)                    \
    X(DECLUSTER_KIND_OUTPUT, 1)                       \
    X(DECLUSTER_BOUNDARY_PARAGRAPH, 0)                \
    X(DECLUSTER_BOUNDARY_LINE, 1)                     \
    X(DECLUSTER_BOUNDARY_SENTENCE, 2)                 \
    X(DECLUSTER_BOUNDARY_CLAUSE, 3)                   \
    X(DECLUSTER_BOUNDARY_WORD, 4)                     \
    X(DECLUSTER_BOUNDARY_GRAPHEME, 5)                 \
    X(DECLUSTER_VERDICT_NONE, 0)                      \
    X(DECLUSTER_VERDICT_COMPLETE, 1)                  \
    X(DECLUSTER_VERDICT_FAILED, 2)                    \
    X(DECLUSTER_VERDICT_TRUNCATED, 3)                 \
    X(DECLUSTER_STAGE_BEFORE, 0)                      \
    X(DECLUSTER_STAGE_AFTER, 1)                       \
    X(DECLUSTER_CANCEL_FLUSH, 0)                      \
    X(DECLUSTER_CANCEL_DROP, 1)                       \
    X(DECLUSTER_DIALECT_UNKNOWN, 0)                   \
    X(DECLUSTER_DIALECT_OPENAI_CHAT, 1)               \
    X(DECLUSTER_DIALECT_OPENAI_RESPONSES, 2)          \
    X(DECLUSTER_DIALECT_ANTHROPIC, 3)                 \
    X(DECLUSTER_DIALECT_GEMINI, 4)                    \
    X(DECLUSTER_DIALECT_OLLAMA, 5)                    \
    X(DECLUSTER_DIALECT_MISTRAL, 6)                   \
    X(DECLUSTER_DIALECT_COHERE, 7)                    \
    X(DECLUSTER_DIALECT_BEDROCK_CONVERSE, 8)          \
    X(DECLUSTER_DIALECT_INCIDENT, 9)                  \
    X(DECLUSTER_MODE_STREAM, 0)                       \
    X(DECLUSTER_MODE_PIECES, 1)                       \
    X(DECLUSTER_MODE_PIECES_AND_EVENTS, 2)            \
    X(DECLUSTER_FRAMING_UNKNOWN, 0)                   \
    X(DECLUSTER_FRAMING_LINES, 1)                     \
    X(DECLUSTER_FRAMING_LINES_WITH_ENDS, 2)           \
    X(DECLUSTER_FRAMING_BYTES, 3)                     \
    X(DECLUSTER_UNIT_BLOCK, 0)                        \
    X(DECLUSTER_UNIT_WORD, 1)                         \
    X(DECLUSTER_UNIT_WHOLE, 2)                        \
    X(DECLUSTER_PACE_ADAPTIVE, 0)                     \
    X(DECLUSTER_PACE_FIXED, 1)                        \
    X(DECLUSTER_PACE_OFF, 2)                          \
    X(DECLUSTER_SEGMENT_SEMANTIC, 0)                  \
    X(DECLUSTER_SEGMENT_OFF, 1)                       \
    X(DECLUSTER_SEGMENT_SENTENCES, 2)                 \
    X(DECLUSTER_THINK_TAGS_COMMON, 0)                 \
    X(DECLUSTER_THINK_TAGS_ALL, 1)                    \
    X(DECLUSTER_THINK_TAGS_OFF, 2)                    \
    X(DECLUSTER_OVER_BUDGET_RAISE, 0)                 \
    X(DECLUSTER_OVER_BUDGET_EVENT, 1)

/* Parameter, its name, its number, what it counts. */
#define PARAMETERS(X)                                          \
    X(UNIT, unit, 0, CHOICE)                                   \
    X(PACE, pace, 1, CHOICE)                                   \
    X(SEGMENT, segment, 2, CHOICE)                             \
    X(TARGET, target, 3, MILLITOKENS)                          \
    X(MAX_DELAY, max_delay, 4, NANOSECONDS)                    \
    X(FIRST_HOLD, first_hold, 5, NANOSECONDS)                  \
    X(MAX_TAIL, max_tail, 6, NANOSECONDS)                      \
    X(MAX_GAP, max_gap, 7, NANOSECONDS)                        \
    X(WORD_GAP, word_gap, 8, NANOSECONDS)                      \
    X(CUT_PART, cut_part, 9, THOUSANDTHS)                      \
    X(GRAPHEME_HOLD, grapheme_hold, 10, NANOSECONDS)           \
    X(RATE, rate, 11, TOKENS_PER_SECOND)                       \
    X(BURST, burst, 12, TOKENS)                                \
    X(MAX_RATE, max_rate, 13, TOKENS_PER_SECOND)               \
    X(QUANTUM, quantum, 14, NANOSECONDS)                       \
    X(PIECE_MAX, piece_max, 15, MILLITOKENS)                   \
    X(CLUSTER_BURST, cluster_burst, 16, MILLITOKENS)           \
    X(CLUSTER_RATE, cluster_rate, 17, THOUSANDTHS)             \
    X(GROUP_GAP, group_gap, 18, NANOSECONDS)                   \
    X(SILENCE_QUANTILE, silence_quantile, 19, THOUSANDTHS)     \
    X(LATE_PART, late_part, 20, THOUSANDTHS)                   \
    X(HORIZON_MIN, horizon_min, 21, NANOSECONDS)               \
    X(SILENCE_SHORT, silence_short, 22, NANOSECONDS)           \
    X(SILENCE_LONG, silence_long, 23, NANOSECONDS)             \
    X(HORIZON_PART_WORD, horizon_part_word, 24, THOUSANDTHS)   \
    X(HORIZON_PART_BLOCK, horizon_part_block, 25, THOUSANDTHS) \
    X(HORIZON_PART_LONG, horizon_part_long, 26, THOUSANDTHS)   \
    X(RESERVE_WORD, reserve_word, 27, MILLITOKENS)             \
    X(RESERVE_BLOCK, reserve_block, 28, MILLITOKENS)           \
    X(RESERVE_TIME, reserve_time, 29, NANOSECONDS)             \
    X(RESERVE_SILENCE, reserve_silence, 30, NANOSECONDS)       \
    X(RATE_CAP, rate_cap, 31, THOUSANDTHS)                     \
    X(DRAIN, drain, 32, THOUSANDTHS)                           \
    X(PRIOR_SILENCE, prior_silence, 33, NANOSECONDS)           \
    X(PRIOR_TOKENS, prior_tokens, 34, MILLITOKENS)             \
    X(RATE_FIRST, rate_first, 35, TOKENS_PER_SECOND)           \
    X(RATE_MEMORY, rate_memory, 36, NANOSECONDS)               \
    X(RATE_TRUST, rate_trust, 37, NANOSECONDS)                 \
    X(RATE_TRUST_GROUPS, rate_trust_groups, 38, COUNT)         \
    X(DEADLINE_MARGIN, deadline_margin, 39, NANOSECONDS)       \
    X(MAX_QUEUE_BYTES, max_queue_bytes, 40, BYTES)             \
    X(MAX_EVENT_BYTES, max_event_bytes, 41, BYTES)             \
    X(MAX_CHOICES, max_choices, 42, COUNT)                     \
    X(MAX_REASONING_TOKENS, max_reasoning_tokens, 43, TOKENS)  \
    X(THINK_TAGS, think_tags, 44, CHOICE)                      \
    X(STARTS_INSIDE, starts_inside, 45, SWITCH)                \
    X(THINK_REOPENS, think_reopens, 46, SWITCH)                \
    X(THINK_COPIES, think_copies, 47, SWITCH)                  \
    X(MAX_SILENCE, max_silence, 48, NANOSECONDS)               \
    X(OVER_BUDGET, over_budget, 49, CHOICE)                    \
    X(CLUSTER_MIN_TOKENS, cluster_min_tokens, 50, TOKENS)      \
    X(CLUSTER_MIN_GAP, cluster_min_gap, 51, NANOSECONDS)       \
    X(CLUSTER_GROUP_GAP, cluster_group_gap, 52, NANOSECONDS)

/* Parameter, a choice of it by name, its number. */
#define CHOICES(X)           \
    X(UNIT, block, 0)        \
    X(UNIT, word, 1)         \
    X(UNIT, whole, 2)        \
    X(PACE, adaptive, 0)     \
    X(PACE, fixed, 1)        \
    X(PACE, off, 2)          \
    X(SEGMENT, semantic, 0)  \
    X(SEGMENT, off, 1)       \
    X(SEGMENT, sentences, 2) \
    X(THINK_TAGS, common, 0) \
    X(THINK_TAGS, all, 1)    \
    X(THINK_TAGS, off, 2)    \
    X(OVER_BUDGET, raise, 0) \
    X(OVER_BUDGET, event, 1)

/* Struct, field, the byte where it stands, its size: everywhere. */
#define FIELDS(X)                                  \
    X(decluster_output, type, 0, 4)                \
    X(decluster_output, wants_input, 4, 4)         \
    X(decluster_output, kind, 8, 4)                \
    X(decluster_output, index, 12, 4)              \
    X(decluster_output, part, 16, 4)               \
    X(decluster_output, boundary, 20, 4)           \
    X(decluster_output, ends_block, 24, 4)         \
    X(decluster_output, tokens, 28, 4)             \
    X(decluster_output, seq, 32, 8)                \
    X(decluster_output, block, 40, 8)              \
    X(decluster_output, origin, 48, 8)             \
    X(decluster_output, arrived_ns, 56, 8)         \
    X(decluster_output, at_ns, 64, 8)              \
    X(decluster_output, number, 72, 8)             \
    X(decluster_output, done, 80, 8)               \
    X(decluster_output, retry_ms, 88, 8)           \
    X(decluster_output, changed, 96, 4)            \
    X(decluster_output, terminated, 100, 4)        \
    X(decluster_output, verdict, 104, 4)           \
    X(decluster_output, reserved, 108, 4)          \
    X(decluster_stats, deltas, 0, 8)               \
    X(decluster_stats, pieces, 8, 8)               \
    X(decluster_stats, blocks, 16, 8)              \
    X(decluster_stats, cuts, 24, 8)                \
    X(decluster_stats, hurried, 32, 8)             \
    X(decluster_stats, tokens_in, 40, 8)           \
    X(decluster_stats, tokens_out, 48, 8)          \
    X(decluster_stats, bytes_in, 56, 8)            \
    X(decluster_stats, bytes_out, 64, 8)           \
    X(decluster_stats, queued_bytes, 72, 8)        \
    X(decluster_stats, max_delay_ns, 80, 8)        \
    X(decluster_stats, rate, 88, 8)                \
    X(decluster_stats, reserved_words, 96, 32)     \
    X(decluster_tokens, input, 0, 8)               \
    X(decluster_tokens, cached_input, 8, 8)        \
    X(decluster_tokens, cache_write, 16, 8)        \
    X(decluster_tokens, output, 24, 8)             \
    X(decluster_tokens, reasoning, 32, 8)          \
    X(decluster_tokens, visible, 40, 8)            \
    X(decluster_tokens, cost_picodollars, 48, 8)   \
    X(decluster_tokens, reserved_words, 56, 24)    \
    X(decluster_clusters, events, 0, 8)            \
    X(decluster_clusters, events_per_hour, 8, 8)   \
    X(decluster_clusters, groups, 16, 8)           \
    X(decluster_clusters, tokens, 24, 8)           \
    X(decluster_clusters, streams, 32, 8)          \
    X(decluster_clusters, watched_ns, 40, 8)       \
    X(decluster_clusters, size_p50, 48, 8)         \
    X(decluster_clusters, size_p95, 56, 8)         \
    X(decluster_clusters, size_max, 64, 8)         \
    X(decluster_clusters, size_sum, 72, 8)         \
    X(decluster_clusters, gap_p50_ms, 80, 8)       \
    X(decluster_clusters, gap_p95_ms, 88, 8)       \
    X(decluster_clusters, gap_max_ms, 96, 8)       \
    X(decluster_clusters, gap_sum_ms, 104, 8)      \
    X(decluster_clusters, reserved_words, 112, 16) \
    X(decluster_parameter_info, min, 0, 8)         \
    X(decluster_parameter_info, max, 8, 8)         \
    X(decluster_parameter_info, initial, 16, 8)    \
    X(decluster_parameter_info, measure, 24, 4)    \
    X(decluster_parameter_info, reserved, 28, 4)

/* The same, where pointers and sizes have 64 bits. */
#define WIDE_FIELDS(X)                           \
    X(decluster_output, text, 112, 8)            \
    X(decluster_output, text_length, 120, 8)     \
    X(decluster_output, name, 128, 8)            \
    X(decluster_output, name_length, 136, 8)     \
    X(decluster_output, id, 144, 8)              \
    X(decluster_output, id_length, 152, 8)       \
    X(decluster_output, reserved_words, 160, 32) \
    X(decluster_parameter_info, name, 32, 8)     \
    X(decluster_parameter_info, doc, 40, 8)      \
    X(decluster_parameter_info, reserved_words, 48, 16)

/* The enums, by the names without `enum`. */
#define ENUMS(X)                                                  \
    X(decluster_status, DECLUSTER_ERROR_LEDGER_FULL)              \
    X(decluster_measure, DECLUSTER_MEASURE_SWITCH)                \
    X(decluster_output_type, DECLUSTER_OUTPUT_BUDGET_EXCEEDED)    \
    X(decluster_kind, DECLUSTER_KIND_OUTPUT)                      \
    X(decluster_boundary, DECLUSTER_BOUNDARY_GRAPHEME)            \
    X(decluster_verdict, DECLUSTER_VERDICT_TRUNCATED)             \
    X(decluster_stage, DECLUSTER_STAGE_AFTER)                     \
    X(decluster_cancel, DECLUSTER_CANCEL_DROP)                    \
    X(decluster_dialect, DECLUSTER_DIALECT_INCIDENT)              \
    X(decluster_mode, DECLUSTER_MODE_PIECES_AND_EVENTS)           \
    X(decluster_framing, DECLUSTER_FRAMING_BYTES)                 \
    X(decluster_parameter, DECLUSTER_PARAMETER_CLUSTER_GROUP_GAP) \
    X(decluster_unit, DECLUSTER_UNIT_WHOLE)                       \
    X(decluster_pace, DECLUSTER_PACE_OFF)                         \
    X(decluster_segment, DECLUSTER_SEGMENT_SENTENCES)             \
    X(decluster_think_tags, DECLUSTER_THINK_TAGS_OFF)             \
    X(decluster_over_budget, DECLUSTER_OVER_BUDGET_EVENT)

/* What can be known at compile time does not compile otherwise. */
#define FIXED(name, holds) typedef char name##_is_fixed[(holds) ? 1 : -1];
#define FIXED_NUMBER(name, number) FIXED(name, (name) == (number))
#define FIXED_PARAMETER(name, text, number, measure) \
    FIXED(PARAMETER_##name, DECLUSTER_PARAMETER_##name == (number))
#define FIXED_FIELD(type, field, at, size)                \
    FIXED(type##_##field, offsetof(type, field) == (at) && \
                              sizeof(((type *)0)->field) == (size))

#define FIXED_ENUM(type, last) FIXED(enum_##type, sizeof(type) == 4)

NUMBERS(FIXED_NUMBER)
ENUMS(FIXED_ENUM)
PARAMETERS(FIXED_PARAMETER)
FIELDS(FIXED_FIELD)
FIXED(stats_size, sizeof(decluster_stats) == 128)
FIXED(tokens_size, sizeof(decluster_tokens) == 80)
FIXED(clusters_size, sizeof(decluster_clusters) == 128)
FIXED(totals_text_max, DECLUSTER_TOTALS_TEXT_MAX == 32768)
FIXED(abi_version, DECLUSTER_ABI_VERSION == 0)
#if UINTPTR_MAX == 0xffffffffffffffffu
WIDE_FIELDS(FIXED_FIELD)
FIXED(output_size, sizeof(decluster_output) == 192)
FIXED(info_size, sizeof(decluster_parameter_info) == 64)
#endif

static void every_number_is_what_it_was(void) {
#define CHECK_NUMBER(name, number) SAME(name, number);
    NUMBERS(CHECK_NUMBER)
#define CHECK_FIELD(type, field, at, size) SAME(offsetof(type, field), at);
    FIELDS(CHECK_FIELD)
}

static void every_enum_has_a_name_of_its_own(void) {
#define CHECK_ENUM(type, last) \
    {                          \
        type held = last;      \
        SAME(held, last);      \
    }
    ENUMS(CHECK_ENUM)
}

#if DECLUSTER_VERSION_MAJOR < 0 || DECLUSTER_VERSION_MINOR < 0 || DECLUSTER_VERSION_PATCH < 0
#error "the preprocessor can compare versions"
#endif

static void the_library_has_the_header_s_version(void) {
    static const char version[] = DECLUSTER_VERSION;
    char numbers[40];
    SAME(decluster_abi_version(), DECLUSTER_ABI_VERSION);
    SAME_TEXT(decluster_version(), strlen(decluster_version()), version);
    snprintf(numbers, sizeof numbers, "%d.%d.%d", DECLUSTER_VERSION_MAJOR, DECLUSTER_VERSION_MINOR,
             DECLUSTER_VERSION_PATCH);
    /* What may follow is that it is no release yet. */
    SAME_TEXT(version, strcspn(version, "-+"), numbers);
}

static void every_status_has_a_text_of_its_own(void) {
    int32_t status, other;
    for (status = 0; status >= DECLUSTER_ERROR_LEDGER_FULL; status--) {
        CHECK(strlen(decluster_status_text(status)) > 3);
        for (other = 0; other > status; other--) {
            CHECK(strcmp(decluster_status_text(status), decluster_status_text(other)) != 0);
        }
    }
    SAME_TEXT(decluster_status_text(1), strlen(decluster_status_text(1)),
              "no status of this library");
    CHECK(strcmp(decluster_status_text(-22), decluster_status_text(1)) == 0);
    CHECK(strcmp(decluster_status_text(INT32_MIN), decluster_status_text(1)) == 0);
}

static void faults_are_what_a_stream_is_to_blame_for(void) {
    int32_t status;
    for (status = -30; status <= 10; status++) {
        SAME(decluster_status_is_fault(status),
             status == DECLUSTER_ERROR_TOO_LARGE || status == DECLUSTER_ERROR_TOO_MANY_CHOICES ||
                 status == DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED ||
                 status == DECLUSTER_ERROR_STALLED);
    }
    SAME(decluster_status_is_fault(INT32_MIN), 0);
    SAME(decluster_status_is_fault(INT32_MAX), 0);
}

static void check_parameter(uint32_t parameter, const char *name, int number, uint32_t measure) {
    decluster_parameter_info info;
    decluster_config *config;
    uint64_t value = 0;
    char text[40];
    memset(&info, 0xa5, sizeof info);
    SAME(parameter, number);
    SAME(decluster_parameter_find(name), number);
    SAME(decluster_parameter_describe(parameter, &info, sizeof info), 0);
    SAME_TEXT(info.name, strlen(info.name), name);
    SAME(info.measure, measure);
    SAME(info.reserved, 0);
    CHECK(strlen(info.doc) > 10);
    CHECK(info.min <= info.initial && info.initial <= info.max);

    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_get(config, parameter, &value), 0);
    CHECK(value == info.initial);
    SAME(decluster_config_set(config, parameter, info.max), 0);
    SAME(decluster_config_get(config, parameter, &value), 0);
    CHECK(value == info.max);
    SAME(decluster_config_set(config, parameter, info.max + 1), DECLUSTER_ERROR_OUT_OF_BOUNDS);
    if (info.min > 0) {
        SAME(decluster_config_set(config, parameter, info.min - 1),
             DECLUSTER_ERROR_OUT_OF_BOUNDS);
    }
    SAME(decluster_config_get(config, parameter, &value), 0);
    CHECK(value == info.max);
    SAME(decluster_config_set(config, parameter, info.min), 0);
    SAME(decluster_config_get(config, parameter, &value), 0);
    CHECK(value == info.min);
    snprintf(text, sizeof text, "%llu", (unsigned long long)info.max);
    SAME(decluster_config_set_text(config, name, text), 0);
    SAME(decluster_config_get(config, parameter, &value), 0);
    CHECK(value == info.max);
    snprintf(text, sizeof text, "%llu", (unsigned long long)info.max + 1);
    SAME(decluster_config_set_text(config, name, text), DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAME(decluster_config_set_text(config, name, "1ns"),
         measure != DECLUSTER_MEASURE_NANOSECONDS ? DECLUSTER_ERROR_BAD_ARGUMENT
         : info.min <= 1                          ? DECLUSTER_OK
                                                  : DECLUSTER_ERROR_OUT_OF_BOUNDS);
    decluster_config_free(config);
}

static void every_parameter_is_what_the_header_says(void) {
    uint32_t count = 0;
#define CHECK_PARAMETER(name, text, number, measure)                                   \
    check_parameter(DECLUSTER_PARAMETER_##name, #text, number, DECLUSTER_MEASURE_##measure); \
    count++;
    PARAMETERS(CHECK_PARAMETER)
    SAME(decluster_parameter_count(), count);
}

/* By its name it is set, too, from whatever was set before. */
static void check_choice(uint32_t parameter, const char *name, uint64_t number) {
    const char *found = decluster_parameter_choice(parameter, number);
    decluster_parameter_info info;
    decluster_config *config;
    uint64_t value = 77;
    if (CHECK(found != NULL)) SAME_TEXT(found, strlen(found), name);
    SAME(decluster_parameter_describe(parameter, &info, sizeof info), 0);
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, parameter, (number + 1) % (info.max + 1)), 0);
    SAME(decluster_config_set_text(config, info.name, name), 0);
    SAME(decluster_config_get(config, parameter, &value), 0);
    SAME(value, number);
    decluster_config_free(config);
}

static void every_choice_has_the_name_of_its_enumerator(void) {
#define CHECK_CHOICE(parameter, name, number) \
    check_choice(DECLUSTER_PARAMETER_##parameter, #name, number);
    CHOICES(CHECK_CHOICE)
}

static void a_choice_has_a_name_up_to_its_greatest_value_and_other_parameters_have_none(void) {
    uint32_t parameter;
    for (parameter = 0; parameter < decluster_parameter_count(); parameter++) {
        decluster_parameter_info info;
        uint64_t choice;
        SAME(decluster_parameter_describe(parameter, &info, sizeof info), 0);
        for (choice = 0; choice < 5; choice++) {
            int named = decluster_parameter_choice(parameter, choice) != NULL;
            SAME(named, info.measure == DECLUSTER_MEASURE_CHOICE && choice <= info.max);
        }
        CHECK(decluster_parameter_choice(parameter, UINT64_MAX) == NULL);
    }
}

int main(void) {
    RUN(every_number_is_what_it_was);
    RUN(every_enum_has_a_name_of_its_own);
    RUN(the_library_has_the_header_s_version);
    RUN(every_status_has_a_text_of_its_own);
    RUN(faults_are_what_a_stream_is_to_blame_for);
    RUN(every_parameter_is_what_the_header_says);
    RUN(every_choice_has_the_name_of_its_enumerator);
    RUN(a_choice_has_a_name_up_to_its_greatest_value_and_other_parameters_have_none);
    return done();
}
