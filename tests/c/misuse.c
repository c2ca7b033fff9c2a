/*
 * Every function, used wrongly in every way that can be told: it gives the documented status, says
 * what was wrong, writes nothing and changes nothing.
 *
 * That nothing changes is shown by a twin: a handle that is used in the same way but for the misuse
 * gives the same, byte for byte. Each misuse is printed as it was called, by which the test knows
 * that no function was left out.
 */
#include "calls.h"

/* Of no use to anyone: a call that takes it in would be seen. */
#define NEVER UINT64_MAX
#define TREMA "\xc3\xa4"

#define MISUSE(call, status) (printf("%s\n", #call), SAME((call), (status)))

/* An output that is written to is seen. */
static decluster_output untouched, out;
static decluster_stats untouched_stats, stats;
static decluster_tokens untouched_tokens, tokens;
static decluster_clusters untouched_clusters, clusters;
static const char *untouched_pointer, *pointer;
static size_t untouched_length, length;
static uint64_t untouched_value, value;

static void fill(void) {
    memset(&untouched, 0xa5, sizeof untouched);
    memset(&out, 0xa5, sizeof out);
    memset(&untouched_stats, 0xa5, sizeof untouched_stats);
    memset(&stats, 0xa5, sizeof stats);
    memset(&untouched_tokens, 0xa5, sizeof untouched_tokens);
    memset(&tokens, 0xa5, sizeof tokens);
    memset(&untouched_clusters, 0xa5, sizeof untouched_clusters);
    memset(&clusters, 0xa5, sizeof clusters);
    untouched_pointer = pointer = "nothing";
    untouched_length = length = 77;
    untouched_value = value = 77;
}

static void check_untouched(void) {
    CHECK(memcmp(&out, &untouched, sizeof out) == 0);
    CHECK(memcmp(&stats, &untouched_stats, sizeof stats) == 0);
    CHECK(memcmp(&tokens, &untouched_tokens, sizeof tokens) == 0);
    CHECK(memcmp(&clusters, &untouched_clusters, sizeof clusters) == 0);
    CHECK(pointer == untouched_pointer);
    CHECK(length == untouched_length);
    CHECK(value == untouched_value);
}

#define CHECK_NULL(call)                                                   \
    for (number = 0; call(NULL, number, &called) != NO_MORE; number++) {  \
        SAME(call(NULL, number, &called), DECLUSTER_ERROR_NULL);          \
        printf("%s(NULL, ...)\n", called);                                \
    }

static void without_a_handle_every_call_says_null(void) {
    const char *called = "";
    int number;
    CHECK_NULL(call_config)
    CHECK_NULL(call_engine)
    CHECK_NULL(call_rewriter)
    CHECK_NULL(call_segmenter)
    CHECK_NULL(call_sse)
    CHECK_NULL(call_budget)
    CHECK_NULL(call_totals)
    CHECK_NULL(call_ledger)
    CHECK_NULL(call_body)
}

#define MISUSE_FREE(function) (printf("%s(NULL)\n", #function), function(NULL))
#define MISUSE_ERROR(function) (printf("%s(NULL)\n", #function), SAYS(function(NULL), "NULL"))

static void nothing_is_freed_and_nothing_has_no_error(void) {
    MISUSE_FREE(decluster_config_free);
    MISUSE_FREE(decluster_engine_free);
    MISUSE_FREE(decluster_rewriter_free);
    MISUSE_FREE(decluster_segmenter_free);
    MISUSE_FREE(decluster_sse_free);
    MISUSE_FREE(decluster_budget_free);
    MISUSE_FREE(decluster_totals_free);
    MISUSE_FREE(decluster_ledger_free);
    MISUSE_FREE(decluster_body_free);
    MISUSE_ERROR(decluster_config_error);
    MISUSE_ERROR(decluster_engine_error);
    MISUSE_ERROR(decluster_rewriter_error);
    MISUSE_ERROR(decluster_segmenter_error);
    MISUSE_ERROR(decluster_sse_error);
    MISUSE_ERROR(decluster_budget_error);
    MISUSE_ERROR(decluster_totals_error);
    MISUSE_ERROR(decluster_ledger_error);
    MISUSE_ERROR(decluster_body_error);
}

static void a_status_that_is_none_has_a_text_and_is_no_fault(void) {
    printf("decluster_status_text(-22)\n");
    SAYS(decluster_status_text(-22), "no status");
    SAYS(decluster_status_text(INT32_MAX), "no status");
    MISUSE(decluster_status_is_fault(-22), 0);
    MISUSE(decluster_status_is_fault(9), 0);
}

static void what_does_not_fit_is_not_copied(void) {
    char room[4] = "abc", same[4] = "abc";
    MISUSE(decluster_copy(NULL, 3, room, sizeof room), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_copy("xyz", 3, NULL, 3), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_copy("xyz", 3, room, 2), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_copy("xyz", 3, room, 0), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_copy("xyz", SIZE_MAX, room, SIZE_MAX), DECLUSTER_ERROR_BAD_ARGUMENT);
    CHECK(memcmp(room, same, sizeof room) == 0);
}

static void what_is_no_parameter_is_not_described(void) {
    decluster_parameter_info info, same;
    memset(&info, 0xa5, sizeof info);
    memset(&same, 0xa5, sizeof same);
    MISUSE(decluster_parameter_find(NULL), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_parameter_find(""), DECLUSTER_ERROR_UNKNOWN_NAME);
    MISUSE(decluster_parameter_find("Unit"), DECLUSTER_ERROR_UNKNOWN_NAME);
    MISUSE(decluster_parameter_find("\xff"), DECLUSTER_ERROR_UNKNOWN_NAME);
    MISUSE(decluster_parameter_describe(0, NULL, sizeof info), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_parameter_describe(0, &info, sizeof info - 1), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_parameter_describe(0, &info, 0), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_parameter_describe(53, &info, sizeof info),
           DECLUSTER_ERROR_UNKNOWN_PARAMETER);
    MISUSE(decluster_parameter_describe(UINT32_MAX, &info, sizeof info),
           DECLUSTER_ERROR_UNKNOWN_PARAMETER);
    CHECK(memcmp(&info, &same, sizeof info) == 0);
    printf("decluster_parameter_choice(53, 0)\n");
    CHECK(decluster_parameter_choice(53, 0) == NULL);
    CHECK(decluster_parameter_choice(UINT32_MAX, 0) == NULL);
    CHECK(decluster_parameter_choice(DECLUSTER_PARAMETER_UNIT, 3) == NULL);
    CHECK(decluster_parameter_choice(DECLUSTER_PARAMETER_UNIT, NEVER) == NULL);
    CHECK(decluster_parameter_choice(DECLUSTER_PARAMETER_RATE, 0) == NULL);
}

/* All that is wrong with settings as text. The rate was set before, all else is as it was made. */
static void misuse_texts(decluster_config *config) {
    /* No numbers. */
    static const char *const numbers[] = {
        "",     "-1",      "+1",   " 1",   "1 ",    "1.5", "1e3",  "0x10",
        "1_0",  "1,0",     "ten",  "\xff", "1\xff", "ms",  "1s",   "1ms",
        "true", "default",
    };
    /* No times; what is in no unit is nanoseconds. */
    static const char *const times[] = {
        "",        "ms",      "s",     "1 s",    "1.5s",  "-1s", "+1s", " 1s", "1s ", "1S",
        "1m",      "1h",      "1min",  "1sec",   "1mss",  "1sms", "s1", "1s1", "ns1", "1\xc2\xb5s",
    };
    size_t at;
    MISUSE(decluster_config_set_text(config, NULL, "1"), DECLUSTER_ERROR_NULL);
    SAYS(decluster_config_error(config), "name is NULL");
    MISUSE(decluster_config_set_text(config, "rate", NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_config_error(config), "value is NULL");
    MISUSE(decluster_config_set_text(config, "rat", "1"), DECLUSTER_ERROR_UNKNOWN_NAME);
    SAYS(decluster_config_error(config), "\"rat\"|unit|max_delay|think_copies");
    MISUSE(decluster_config_set_text(config, "", "1"), DECLUSTER_ERROR_UNKNOWN_NAME);
    MISUSE(decluster_config_set_text(config, "rate\xff", "1"), DECLUSTER_ERROR_UNKNOWN_NAME);
    MISUSE(decluster_config_set_text(config, "Rate", "no number"), DECLUSTER_ERROR_UNKNOWN_NAME);
    for (at = 0; at < sizeof numbers / sizeof *numbers; at++) {
        MISUSE(decluster_config_set_text(config, "rate", numbers[at]),
               DECLUSTER_ERROR_BAD_ARGUMENT);
        SAYS(decluster_config_error(config), "rate = \"|no number");
        MISUSE(decluster_config_set_text(config, "unit", numbers[at]),
               DECLUSTER_ERROR_BAD_ARGUMENT);
        SAYS(decluster_config_error(config), "unit = \"|none of: block word whole");
        MISUSE(decluster_config_set_text(config, "think_copies", numbers[at]),
               DECLUSTER_ERROR_BAD_ARGUMENT);
    }
    for (at = 0; at < sizeof times / sizeof *times; at++) {
        MISUSE(decluster_config_set_text(config, "max_delay", times[at]),
               DECLUSTER_ERROR_BAD_ARGUMENT);
        SAYS(decluster_config_error(config), "max_delay = \"|ns, us, ms or s");
    }
    /* More than can be written in 64 bits is out of bounds like anything else. */
    MISUSE(decluster_config_set_text(config, "rate", "18446744073709551616"),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "rate = |out of bounds: 1 to 1000000 tokens per second");
    MISUSE(decluster_config_set_text(config, "unit", "99999999999999999999"),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    MISUSE(decluster_config_set_text(config, "max_delay", "18446744073709551616ns"),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    MISUSE(decluster_config_set_text(config, "max_delay", "18446744074s"),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    MISUSE(decluster_config_set_text(config, "unit", "Block"), DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_config_set_text(config, "pace", "word"), DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_config_error(config), "pace = \"word\"|none of: adaptive fixed off");
    MISUSE(decluster_config_set_text(config, "unit", "3"), DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "unit = 3|0 to 2");
    MISUSE(decluster_config_set_text(config, "rate", "0"), DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "rate = 0|1 to 1000000 tokens per second");
    MISUSE(decluster_config_set_text(config, "max_delay", "800"), DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "max_delay = 800|100000000 to 60000000000 nanoseconds");
    MISUSE(decluster_config_set_text(config, "max_delay", "61s"), DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "max_delay = 61000000000");
}

static void a_config_stays_as_it_is(void) {
    decluster_config *config;
    uint32_t number;
    MISUSE(decluster_config_new(NULL), DECLUSTER_ERROR_NULL);
    SAME(decluster_config_new(&config), 0);
    SAME_TEXT(decluster_config_error(config), strlen(decluster_config_error(config)), "");
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_RATE, 321), 0);
    fill();

    MISUSE(decluster_config_set(config, 53, 0), DECLUSTER_ERROR_UNKNOWN_PARAMETER);
    SAYS(decluster_config_error(config), "53|0 to 52");
    MISUSE(decluster_config_set(config, UINT32_MAX, 0), DECLUSTER_ERROR_UNKNOWN_PARAMETER);
    SAYS(decluster_config_error(config), "4294967295");
    MISUSE(decluster_config_set(config, DECLUSTER_PARAMETER_RATE, 0),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "rate = 0|1 to 1000000 tokens per second");
    MISUSE(decluster_config_set(config, DECLUSTER_PARAMETER_UNIT, 3),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAME_TEXT(decluster_config_error(config), strlen(decluster_config_error(config)),
              "unit = 3 is out of bounds: 0 to 2");
    MISUSE(decluster_config_set(config, DECLUSTER_PARAMETER_CUT_PART, 1001),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "cut_part = 1001|0 to 1000 thousandths");
    MISUSE(decluster_config_set(config, DECLUSTER_PARAMETER_TARGET, 12),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "target = 12|4000 to 64000 thousandths of a token");
    MISUSE(decluster_config_set(config, DECLUSTER_PARAMETER_BURST, 0),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "burst = 0|1 to 1000000 tokens");
    MISUSE(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_EVENT_BYTES, 1023),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "max_event_bytes = 1023|1024 to 1073741824 bytes");
    MISUSE(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_DELAY, NEVER),
           DECLUSTER_ERROR_OUT_OF_BOUNDS);
    SAYS(decluster_config_error(config), "max_delay = 18446744073709551615|nanoseconds");
    misuse_texts(config);
    MISUSE(decluster_config_preset(config, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_config_error(config), "name is NULL");
    MISUSE(decluster_config_preset(config, "quick"), DECLUSTER_ERROR_UNKNOWN_NAME);
    SAYS(decluster_config_error(config), "quick|balanced|steady|snappy");
    MISUSE(decluster_config_preset(config, "steady\xff"), DECLUSTER_ERROR_UNKNOWN_NAME);
    MISUSE(decluster_config_profile(config, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_config_error(config), "name is NULL");
    MISUSE(decluster_config_profile(config, "steady"), DECLUSTER_ERROR_UNKNOWN_NAME);
    SAYS(decluster_config_error(config), "steady|codex-low-latency");

    /* What takes it with `const` leaves even the message as it was. */
    MISUSE(decluster_config_get(config, 53, &value), DECLUSTER_ERROR_UNKNOWN_PARAMETER);
    MISUSE(decluster_config_get(config, DECLUSTER_PARAMETER_RATE, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_config_error(config), "steady|codex-low-latency");

    check_untouched();
    for (number = 0; number < decluster_parameter_count(); number++) {
        decluster_parameter_info info;
        SAME(decluster_parameter_describe(number, &info, sizeof info), 0);
        SAME(decluster_config_get(config, number, &value), 0);
        SAME(value, number == DECLUSTER_PARAMETER_RATE ? 321 : info.initial);
    }
    decluster_config_free(config);
}

static decluster_config *small_config(void) {
    decluster_config *config;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_QUEUE_BYTES, 65536), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_EVENT_BYTES, 1024), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_CHOICES, 2), 0);
    return config;
}

/* More than one event may have, in words. */
static const char *large_text(void) {
    static char text[1026];
    size_t at;
    for (at = 0; at < 1025; at++) text[at] = at % 5 == 4 ? ' ' : 'w';
    return text;
}

/* What came with misuses in between is what came without, and is not nothing. */
static void check_without(struct journal *misused, struct journal *used, size_t least) {
    CHECK(used->length > least);
    check_journals(misused, used);
    journal_free(misused);
    journal_free(used);
}

static void check_goes_on(void (*use)(int misused, struct journal *)) {
    struct journal misused = {NULL, 0, 0}, used = {NULL, 0, 0};
    use(1, &misused);
    use(0, &used);
    check_without(&misused, &used, 1000);
}

/* ---- The engine ---- */

/* All that is refused while it takes input. The time that a refused call states must not pass. */
static void misuse_engine(decluster_engine *engine) {
    fill();
    MISUSE(decluster_engine_push(engine, NEVER, 2, 0, "x", 1, 0), DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_engine_error(engine), "kind = 2|0 to 1");
    MISUSE(decluster_engine_push(engine, NEVER, UINT32_MAX, 0, "x", 1, 0),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, NULL, 1, 0),
           DECLUSTER_ERROR_NULL);
    SAYS(decluster_engine_error(engine), "text is NULL");
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, "x", SIZE_MAX, 0),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_engine_error(engine), "length|18446744073709551615");
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, "ab\xff" "c", 4, 0),
           DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_engine_error(engine), "text|byte 2|0xff");
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, "ab" TREMA, 3, 0),
           DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_engine_error(engine), "text ends inside|byte 2");
    /* A surrogate, which is not UTF-8. */
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, "\xed\xa0\x80", 3, 0),
           DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_engine_error(engine), "byte 0|0xed");
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, large_text(), 1025, 0),
           DECLUSTER_ERROR_TOO_LARGE);
    SAYS(decluster_engine_error(engine), "1025|1024");
    MISUSE(decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 9, "x", 1, 0),
           DECLUSTER_ERROR_TOO_MANY_CHOICES);
    SAYS(decluster_engine_error(engine), "9");
    MISUSE(decluster_engine_cancel(engine, 2), DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_engine_error(engine), "how = 2|0 to 1");
    MISUSE(decluster_engine_poll(engine, NEVER, NULL, sizeof out), DECLUSTER_ERROR_NULL);
    SAYS(decluster_engine_error(engine), "output is NULL");
    MISUSE(decluster_engine_poll(engine, NEVER, &out, sizeof out - 1), DECLUSTER_ERROR_TOO_SMALL);
    SAYS(decluster_engine_error(engine), "191|192");
    MISUSE(decluster_engine_stats(engine, NULL, sizeof stats), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_engine_stats(engine, &stats, sizeof stats - 1), DECLUSTER_ERROR_TOO_SMALL);
    SAYS(decluster_engine_error(engine), "191|192");
    MISUSE(decluster_engine_clusters(engine, 2, &clusters, sizeof clusters),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_engine_clusters(engine, 0, NULL, sizeof clusters), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_engine_clusters(engine, 1, &clusters, 127), DECLUSTER_ERROR_TOO_SMALL);
    check_untouched();
}

static void misuse_finished_engine(decluster_engine *engine) {
    fill();
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, "x", 1, 0),
           DECLUSTER_ERROR_FINISHED);
    SAYS(decluster_engine_error(engine), "finished");
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, "", 0, 0),
           DECLUSTER_ERROR_FINISHED);
    MISUSE(decluster_engine_mark(engine, NEVER, 1, 1), DECLUSTER_ERROR_FINISHED);
    MISUSE(decluster_engine_begin_attempt(engine, NEVER), DECLUSTER_ERROR_FINISHED);
    MISUSE(decluster_engine_cancel(engine, UINT32_MAX), DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_engine_poll(engine, NEVER, &out, 0), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_engine_stats(engine, &stats, 0), DECLUSTER_ERROR_TOO_SMALL);
    check_untouched();
    MISUSE(decluster_engine_finish(engine, 0), DECLUSTER_OK);
}

/* Polls what is due up to a time. */
static void take_engine(decluster_engine *engine, uint64_t until, struct journal *journal,
                        int misused) {
    uint64_t now = 0;
    int turn;
    for (turn = 0; turn < MANY; turn++) {
        SAME(decluster_engine_poll(engine, now, &out, sizeof out), 0);
        journal_output(journal, now, &out);
        if (misused && out.type == DECLUSTER_OUTPUT_PIECE && turn % 4 == 0) misuse_engine(engine);
        if (out.type == DECLUSTER_OUTPUT_NEED_INPUT || out.type == DECLUSTER_OUTPUT_FINISHED) {
            return;
        }
        if (out.type == DECLUSTER_OUTPUT_WAIT) {
            if (out.at_ns > until) return;
            now = out.at_ns;
        }
    }
    CHECK(!"it came to an end");
}

static void use_engine(int misused, uint32_t how, struct journal *journal) {
    static const char text[] = "The rate is learned as it goes, so that nothing stalls. "
                               "A longer silence needs more of what is held back; then it flows "
                               "on, word by word if need be.\n\nAnother paragraph begins";
    decluster_config *config = small_config();
    decluster_engine *engine;
    uint64_t now = 0;
    size_t at;
    SAME(decluster_engine_new(config, 0, &engine), 0);
    decluster_config_free(config);
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_REASONING, 0, "Hm. ", 4, 0), 0);
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_REASONING, 1, "Well, ", 6, 0), 0);
    for (at = 0; at + 8 <= sizeof text; at += 8, now += 40 * MS) {
        if (misused) misuse_engine(engine);
        SAME(decluster_engine_push(engine, now, DECLUSTER_KIND_OUTPUT, 0, text + at, 8, 0), 0);
        if (at % 32 == 0) SAME(decluster_engine_mark(engine, now, at, at % 64 == 0), 0);
        take_engine(engine, now, journal, misused);
    }
    SAME(decluster_engine_begin_attempt(engine, now), 0);
    SAME(decluster_engine_push(engine, now, DECLUSTER_KIND_OUTPUT, 1, text, sizeof text - 1, 3), 0);
    take_engine(engine, now, journal, misused);
    if (misused) misuse_engine(engine);
    if (how == 2) {
        SAME(decluster_engine_finish(engine, now), 0);
    } else {
        SAME(decluster_engine_cancel(engine, how), 0);
    }
    if (misused) misuse_finished_engine(engine);
    take_engine(engine, UINT64_MAX, journal, 0);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    if (misused) misuse_finished_engine(engine);
    SAME(decluster_engine_poll(engine, now, &out, sizeof out), 0);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
    journal_stats(journal, &stats);
    decluster_engine_free(engine);
}

static void an_engine_goes_on_as_if_nothing_had_been_misused(void) {
    uint32_t how;
    for (how = 0; how < 3; how++) {
        struct journal misused = {NULL, 0, 0}, used = {NULL, 0, 0};
        use_engine(1, how, &misused);
        use_engine(0, how, &used);
        check_without(&misused, &used, 2000);
    }
}

static void a_full_engine_takes_nothing_in(void) {
    decluster_config *config = small_config();
    decluster_engine *engine;
    decluster_stats before;
    int pushes = 0;
    decluster_status status;
    SAME(decluster_engine_new(config, 0, &engine), 0);
    decluster_config_free(config);
    do {
        status = decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 0, large_text(), 1024, 0);
    } while (status == DECLUSTER_OK && ++pushes < 100);
    CHECK(pushes > 30 && pushes < 64);
    SAME(decluster_engine_stats(engine, &before, sizeof before), 0);
    MISUSE(decluster_engine_push(engine, NEVER, DECLUSTER_KIND_OUTPUT, 0, large_text(), 1024, 0),
           DECLUSTER_ERROR_FULL);
    SAYS(decluster_engine_error(engine), "1024 bytes do not fit|max_queue_bytes = 65536|poll");
    do {
        status = decluster_engine_mark(engine, 0, 1, 0);
    } while (status == DECLUSTER_OK && ++pushes < 10000);
    MISUSE(decluster_engine_mark(engine, NEVER, 2, 1), DECLUSTER_ERROR_FULL);
    SAYS(decluster_engine_error(engine), "bytes are queued of max_queue_bytes = 65536|poll");
    MISUSE(decluster_engine_begin_attempt(engine, NEVER), DECLUSTER_ERROR_FULL);
    SAME(decluster_engine_wants_input(engine), 0);
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
    CHECK(stats.deltas == before.deltas && stats.bytes_in == before.bytes_in);
    /* The text leaves first; what comes then is the first mark, and there is room again. */
    SAME(decluster_engine_flush(engine), 0);
    for (out.at_ns = 0; out.type != DECLUSTER_OUTPUT_MARK && pushes < 20000; pushes++) {
        SAME(decluster_engine_poll(engine, out.at_ns, &out, sizeof out), 0);
    }
    SAME(out.type, DECLUSTER_OUTPUT_MARK);
    SAME(out.number, 1);
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 0, large_text(), 1024, 0), 0);
    decluster_engine_free(engine);
}

static void an_engine_is_not_made_of_nothing(void) {
    decluster_engine *engine = (decluster_engine *)&out;
    MISUSE(decluster_engine_new(NULL, 0, NULL), DECLUSTER_ERROR_NULL);
    CHECK(engine == (decluster_engine *)&out);
}

/* ---- The rewriter ---- */

#define DELTA(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"

/* How a stream comes. */
enum way { BY_BYTES, BY_EVENTS, BY_ITEMS };

static void misuse_rewriter(decluster_rewriter *rewriter, enum way way) {
    fill();
    MISUSE(decluster_rewriter_push(rewriter, NEVER, NULL, 3), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "bytes is NULL");
    MISUSE(decluster_rewriter_push(rewriter, NEVER, "x", SIZE_MAX), DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_rewriter_error(rewriter), "bytes");
    MISUSE(decluster_rewriter_push_line(rewriter, NEVER, NULL, 3), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "line is NULL");
    MISUSE(decluster_rewriter_push_item(rewriter, NEVER, NULL, 3), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "item is NULL");
    MISUSE(decluster_rewriter_push_item(rewriter, NEVER, "x", SIZE_MAX),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_rewriter_error(rewriter), "item");
    MISUSE(decluster_rewriter_push_event(rewriter, NEVER, NULL, 1, "{}", 2), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "name is NULL");
    MISUSE(decluster_rewriter_push_event(rewriter, NEVER, NULL, 0, NULL, 2), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "data is NULL");
    MISUSE(decluster_rewriter_push_event(rewriter, NEVER, "a\xff", 2, "{}", 2),
           DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_rewriter_error(rewriter), "name|byte 1|0xff");
    MISUSE(decluster_rewriter_push_event(rewriter, NEVER, "a", 1, "{\"" TREMA, 3),
           DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_rewriter_error(rewriter), "data ends inside|byte 2");
    if (way != BY_BYTES) {
        MISUSE(decluster_rewriter_push(rewriter, NEVER, "data: {}\n\n", 10),
               DECLUSTER_ERROR_MIXED);
        MISUSE(decluster_rewriter_push_line(rewriter, NEVER, "data: {}", 8),
               DECLUSTER_ERROR_MIXED);
        SAYS(decluster_rewriter_error(rewriter), "event|bytes");
    }
    if (way != BY_EVENTS) {
        MISUSE(decluster_rewriter_push_event(rewriter, NEVER, "", 0, "{}", 2),
               DECLUSTER_ERROR_MIXED);
        SAYS(decluster_rewriter_error(rewriter), "event|bytes");
    }
    if (way != BY_ITEMS) {
        MISUSE(decluster_rewriter_push_item(rewriter, NEVER, "data: {}", 8),
               DECLUSTER_ERROR_MIXED);
        SAYS(decluster_rewriter_error(rewriter), "items|bytes");
    }
    MISUSE(decluster_rewriter_cancel(rewriter, 2), DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_rewriter_error(rewriter), "how = 2|0 to 1");
    MISUSE(decluster_rewriter_poll(rewriter, NEVER, NULL, sizeof out), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_rewriter_poll(rewriter, NEVER, &out, 8), DECLUSTER_ERROR_TOO_SMALL);
    SAYS(decluster_rewriter_error(rewriter), "8|192");
    MISUSE(decluster_rewriter_answer(rewriter, NULL, &length), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "json is NULL");
    MISUSE(decluster_rewriter_answer(rewriter, &pointer, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "length is NULL");
    MISUSE(decluster_rewriter_share_budget(rewriter, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "budget is NULL");
    MISUSE(decluster_rewriter_share_budget(rewriter, a_budget), DECLUSTER_ERROR_OUT_OF_TURN);
    SAYS(decluster_rewriter_error(rewriter), "before the first push");
    MISUSE(decluster_totals_add(NULL, rewriter), DECLUSTER_ERROR_NULL);
    SAYS(decluster_rewriter_error(rewriter), "totals is NULL");
    MISUSE(decluster_rewriter_answer(rewriter, &pointer, NULL), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_rewriter_stats(rewriter, NULL, sizeof stats), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_rewriter_stats(rewriter, &stats, 127), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_rewriter_tokens(rewriter, NULL, sizeof tokens), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_rewriter_tokens(rewriter, &tokens, 79), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_rewriter_tokens(rewriter, &tokens, 0), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_rewriter_clusters(rewriter, 2, &clusters, sizeof clusters),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_rewriter_clusters(rewriter, 0, NULL, sizeof clusters), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_rewriter_clusters(rewriter, 1, &clusters, 0), DECLUSTER_ERROR_TOO_SMALL);
    SAYS(decluster_rewriter_error(rewriter), "length is NULL");
    check_untouched();
}

static void misuse_finished_rewriter(decluster_rewriter *rewriter) {
    fill();
    MISUSE(decluster_rewriter_push(rewriter, NEVER, "x", 1), DECLUSTER_ERROR_FINISHED);
    SAYS(decluster_rewriter_error(rewriter), "finished");
    MISUSE(decluster_rewriter_push_line(rewriter, NEVER, "x", 1), DECLUSTER_ERROR_FINISHED);
    MISUSE(decluster_rewriter_push_item(rewriter, NEVER, "x", 1), DECLUSTER_ERROR_FINISHED);
    SAYS(decluster_rewriter_error(rewriter), "finished");
    MISUSE(decluster_rewriter_push_event(rewriter, NEVER, "", 0, "{}", 2),
           DECLUSTER_ERROR_FINISHED);
    MISUSE(decluster_rewriter_poll(rewriter, NEVER, &out, 0), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_rewriter_cancel(rewriter, 7), DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_rewriter_share_budget(rewriter, a_budget), DECLUSTER_ERROR_FINISHED);
    check_untouched();
    MISUSE(decluster_rewriter_finish(rewriter, 0), DECLUSTER_OK);
}

static void take_rewriter(decluster_rewriter *rewriter, uint64_t until, struct journal *journal) {
    uint64_t now = 0;
    int turn;
    for (turn = 0; turn < MANY; turn++) {
        SAME(decluster_rewriter_poll(rewriter, now, &out, sizeof out), 0);
        journal_output(journal, now, &out);
        if (out.type == DECLUSTER_OUTPUT_NEED_INPUT || out.type == DECLUSTER_OUTPUT_FINISHED) {
            return;
        }
        if (out.type == DECLUSTER_OUTPUT_WAIT) {
            if (out.at_ns > until) return;
            now = out.at_ns;
        }
    }
    CHECK(!"it came to an end");
}

static void use_rewriter(int misused, enum way way, uint32_t how, struct journal *journal) {
    static const char event[] = "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\""
                                "It is learned, as ever. Then it goes on: slowly, \"}}]}";
    static const char bytes[] = DELTA("It is learned, as ever. Then it goes on: slowly, ");
    decluster_config *config = small_config();
    decluster_rewriter *rewriter;
    uint64_t now = 0;
    int turn;
    SAME(decluster_rewriter_new(config, 0, DECLUSTER_MODE_STREAM, 0, &rewriter), 0);
    decluster_config_free(config);
    for (turn = 0; turn < 8; turn++, now += 150 * MS) {
        if (way == BY_EVENTS) {
            SAME(decluster_rewriter_push_event(rewriter, now, NULL, 0, event, sizeof event - 1),
                 0);
        } else if (way == BY_ITEMS) {
            /* A line and its empty line. The first is held back, and each is told after. */
            SAME(decluster_rewriter_push_item(rewriter, now, bytes, sizeof bytes - 3), 0);
            if (misused) misuse_rewriter(rewriter, way);
            SAME(decluster_rewriter_push_item(rewriter, now, NULL, 0), 0);
        } else if (turn % 2) {
            /* Cut inside an event. */
            SAME(decluster_rewriter_push(rewriter, now, bytes, 20), 0);
            if (misused) misuse_rewriter(rewriter, way);
            SAME(decluster_rewriter_push(rewriter, now, bytes + 20, sizeof bytes - 21), 0);
        } else {
            SAME(decluster_rewriter_push(rewriter, now, bytes, sizeof bytes - 1), 0);
        }
        if (misused) misuse_rewriter(rewriter, way);
        take_rewriter(rewriter, now, journal);
        if (misused) misuse_rewriter(rewriter, way);
    }
    if (how == 2) {
        SAME(decluster_rewriter_finish(rewriter, now), 0);
    } else {
        SAME(decluster_rewriter_cancel(rewriter, how), 0);
    }
    if (misused) misuse_finished_rewriter(rewriter);
    take_rewriter(rewriter, UINT64_MAX, journal);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    if (misused) misuse_finished_rewriter(rewriter);
    SAME(decluster_rewriter_poll(rewriter, now, &out, sizeof out), 0);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    SAME(decluster_rewriter_stats(rewriter, &stats, sizeof stats), 0);
    journal_stats(journal, &stats);
    SAME(decluster_rewriter_answer(rewriter, &pointer, &length), 0);
    journal_put(journal, pointer, length);
    decluster_rewriter_free(rewriter);
}

static void a_rewriter_goes_on_as_if_nothing_had_been_misused(void) {
    static const enum way ways[] = {BY_BYTES, BY_EVENTS, BY_ITEMS};
    uint32_t how;
    int way;
    for (way = 0; way < 3; way++) {
        for (how = 0; how < 3; how++) {
            struct journal misused = {NULL, 0, 0}, used = {NULL, 0, 0};
            use_rewriter(1, ways[way], how, &misused);
            use_rewriter(0, ways[way], how, &used);
            check_without(&misused, &used, 2000);
        }
    }
}

static void a_full_rewriter_takes_nothing_in(void) {
    decluster_config *config = small_config();
    decluster_rewriter *rewriter;
    decluster_status status;
    char event[600];
    size_t event_length;
    uint64_t before;
    int pushes = 0, out_of = 0;
    snprintf(event, sizeof event,
             "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%.400s\"}}]}", large_text());
    event_length = strlen(event);
    SAME(decluster_rewriter_new(config, 0, DECLUSTER_MODE_PIECES, 0, &rewriter), 0);
    decluster_config_free(config);
    do {
        status = decluster_rewriter_push_event(rewriter, 0, "", 0, event, event_length);
    } while (status == DECLUSTER_OK && ++pushes < 1000);
    CHECK(pushes > 100 && pushes < 1000);
    SAME(decluster_rewriter_stats(rewriter, &stats, sizeof stats), 0);
    before = stats.deltas;
    MISUSE(decluster_rewriter_push_event(rewriter, NEVER, "", 0, event, event_length),
           DECLUSTER_ERROR_FULL);
    SAYS(decluster_rewriter_error(rewriter), "65536");
    SAME(decluster_rewriter_wants_input(rewriter), 0);
    SAME(decluster_rewriter_stats(rewriter, &stats, sizeof stats), 0);
    SAME(stats.deltas, before);
    SAME(decluster_rewriter_cancel(rewriter, DECLUSTER_CANCEL_FLUSH), 0);
    do {
        SAME(decluster_rewriter_poll(rewriter, 0, &out, sizeof out), 0);
        if (out.type == DECLUSTER_OUTPUT_PIECE) out_of += (int)out.text_length;
    } while (out.type == DECLUSTER_OUTPUT_PIECE);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    SAME(out_of, 400 * pushes);
    decluster_rewriter_free(rewriter);
}

static void a_full_rewriter_takes_no_bytes_or_lines_in(void) {
    decluster_config *config = small_config();
    decluster_rewriter *rewriter;
    decluster_status status;
    char event[600];
    size_t event_length;
    int by_lines;
    snprintf(event, sizeof event,
             "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%.400s\"}}]}\n\n",
             large_text());
    event_length = strlen(event);
    for (by_lines = 0; by_lines < 2; by_lines++) {
        int pushes = 0, events = 0;
        size_t bytes = 0;
        SAME(decluster_rewriter_new(config, 0, DECLUSTER_MODE_STREAM, 0, &rewriter), 0);
        do {
            if (by_lines) {
                status = decluster_rewriter_push_line(rewriter, 0, event, event_length - 1);
                if (status == DECLUSTER_OK) {
                    status = decluster_rewriter_push_line(rewriter, 0, "", 0);
                }
            } else {
                status = decluster_rewriter_push(rewriter, 0, event, event_length);
            }
        } while (status == DECLUSTER_OK && ++pushes < 1000);
        CHECK(pushes > 50 && pushes < 1000);
        if (by_lines) {
            MISUSE(decluster_rewriter_push_line(rewriter, NEVER, event, event_length - 1),
                   DECLUSTER_ERROR_FULL);
        } else {
            MISUSE(decluster_rewriter_push(rewriter, NEVER, event, event_length),
                   DECLUSTER_ERROR_FULL);
        }
        SAYS(decluster_rewriter_error(rewriter), "65536");
        SAME(decluster_rewriter_cancel(rewriter, DECLUSTER_CANCEL_FLUSH), 0);
        do {
            SAME(decluster_rewriter_poll(rewriter, 0, &out, sizeof out), 0);
            bytes += out.text_length;
            events += out.type == DECLUSTER_OUTPUT_BYTES;
        } while (out.type == DECLUSTER_OUTPUT_BYTES && events < MANY);
        SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
        CHECK(bytes >= 400 * (size_t)pushes);
        decluster_rewriter_free(rewriter);
    }
    decluster_config_free(config);
}

static void a_full_rewriter_takes_no_item_in_and_loses_none_that_it_held(void) {
    /* JSON texts in a row: the first item does not tell whether it is a line, and fills the
     * queue. */
    static const char text[] = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\","
                               "\"content\":\"It fills up. \"},\"done\":false}";
    static const char rest[] = "{\"model\":\"m\",";
    decluster_config *config = small_config();
    decluster_rewriter *rewriter;
    struct journal first = {NULL, 0, 0};
    size_t bytes = 0;
    int turn;
    while (first.length < 300000) journal_put(&first, text, sizeof text - 1);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_SEGMENT, DECLUSTER_SEGMENT_OFF), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_PACE, DECLUSTER_PACE_OFF), 0);
    SAME(decluster_rewriter_new(config, 0, DECLUSTER_MODE_STREAM, 0, &rewriter), 0);
    SAME(decluster_rewriter_push_item(rewriter, 0, first.text, first.length), 0);
    SAME(decluster_rewriter_framing(rewriter), DECLUSTER_FRAMING_UNKNOWN);
    for (turn = 0; turn < 2; turn++) {
        MISUSE(decluster_rewriter_push_item(rewriter, 0, rest, sizeof rest - 1),
               DECLUSTER_ERROR_FULL);
        SAYS(decluster_rewriter_error(rewriter), "65536");
        SAME(decluster_rewriter_framing(rewriter), DECLUSTER_FRAMING_BYTES);
    }
    for (turn = 0; turn < MANY; turn++) {
        SAME(decluster_rewriter_poll(rewriter, 0, &out, sizeof out), 0);
        if (out.type != DECLUSTER_OUTPUT_BYTES) break;
        bytes += out.text_length;
    }
    SAME(out.type, DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(bytes, first.length);
    SAME(decluster_rewriter_push_item(rewriter, 0, rest, sizeof rest - 1), 0);
    SAME(decluster_rewriter_finish(rewriter, 0), 0);
    SAME(decluster_rewriter_poll(rewriter, 0, &out, sizeof out), 0);
    SAME_TEXT(out.text, out.text_length, rest);
    decluster_rewriter_free(rewriter);
    decluster_config_free(config);
    journal_free(&first);
}

static void a_rewriter_is_not_made_of_what_does_not_fit(void) {
    decluster_rewriter *nobody = (decluster_rewriter *)&out, *rewriter = nobody;
    decluster_config *config = small_config();
    MISUSE(decluster_rewriter_new(NULL, 0, 0, 0, NULL), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_rewriter_new(NULL, 10, 0, 0, &rewriter), DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_rewriter_new(NULL, 0, 3, 0, &rewriter), DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_rewriter_new(NULL, 0, UINT32_MAX, 0, &rewriter),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_UNIT, DECLUSTER_UNIT_WHOLE), 0);
    MISUSE(decluster_rewriter_new(config, 0, DECLUSTER_MODE_STREAM, 0, &rewriter),
           DECLUSTER_ERROR_CONFLICT);
    CHECK(rewriter == nobody);
    SAME(decluster_rewriter_new(config, 0, DECLUSTER_MODE_PIECES, 0, &rewriter), 0);
    decluster_rewriter_free(rewriter);
    decluster_config_free(config);
}

/* ---- The segmenter ---- */

static void misuse_segmenter(decluster_segmenter *segmenter) {
    fill();
    MISUSE(decluster_segmenter_push(segmenter, NULL, 1), DECLUSTER_ERROR_NULL);
    SAYS(decluster_segmenter_error(segmenter), "text is NULL");
    MISUSE(decluster_segmenter_push(segmenter, "x", SIZE_MAX), DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_segmenter_push(segmenter, "abc\x80", 4), DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_segmenter_error(segmenter), "text|byte 3|0x80");
    MISUSE(decluster_segmenter_push(segmenter, "abc" TREMA, 4), DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_segmenter_error(segmenter), "text ends inside|byte 3");
    MISUSE(decluster_segmenter_push(segmenter, large_text(), 1025), DECLUSTER_ERROR_TOO_LARGE);
    SAYS(decluster_segmenter_error(segmenter), "1025|max_event_bytes = 1024");
    MISUSE(decluster_segmenter_poll(segmenter, NULL, sizeof out), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_segmenter_poll(segmenter, &out, sizeof out - 1), DECLUSTER_ERROR_TOO_SMALL);
    SAYS(decluster_segmenter_error(segmenter), "191|192");
    MISUSE(decluster_segmenter_pending(segmenter, NULL, &length), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_segmenter_pending(segmenter, &pointer, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_segmenter_error(segmenter), "191|192");
    check_untouched();
}

static void use_segmenter(int misused, struct journal *journal) {
    static const char text[] = "One sentence stands here. Another, which is longer, follows it "
                               "at once; and then a third one.\n\n- an item\n- and the last";
    decluster_config *config = small_config();
    decluster_segmenter *segmenter;
    size_t at;
    int turn;
    SAME(decluster_segmenter_new(config, &segmenter), 0);
    decluster_config_free(config);
    for (turn = 0; turn < 2; turn++) {
        for (at = 0; at < sizeof text - 1; at++) {
            SAME(decluster_segmenter_push(segmenter, text + at, 1), 0);
            if (misused) misuse_segmenter(segmenter);
        }
        if (turn == 0) SAME(decluster_segmenter_flush(segmenter), 0);
        SAME(decluster_segmenter_finish(segmenter), 0);
        SAME(decluster_segmenter_finish(segmenter), 0);
        do {
            if (misused) misuse_segmenter(segmenter);
            SAME(decluster_segmenter_poll(segmenter, &out, sizeof out), 0);
            journal_output(journal, 0, &out);
        } while (out.type == DECLUSTER_OUTPUT_BLOCK);
        SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
        if (misused) misuse_segmenter(segmenter);
    }
    decluster_segmenter_free(segmenter);
}

static void a_segmenter_goes_on_as_if_nothing_had_been_misused(void) {
    check_goes_on(use_segmenter);
}

static void a_full_segmenter_takes_nothing_in(void) {
    decluster_config *config = small_config();
    decluster_segmenter *segmenter;
    size_t blocks = 0, pending;
    int pushes = 0;
    SAME(decluster_segmenter_new(config, &segmenter), 0);
    decluster_config_free(config);
    while (decluster_segmenter_push(segmenter, large_text(), 1000) == 0 && pushes < 1000) pushes++;
    /* What a block takes besides its text counts, too. */
    CHECK(pushes > 40 && pushes < 50);
    MISUSE(decluster_segmenter_push(segmenter, "x", 1), DECLUSTER_ERROR_FULL);
    SAYS(decluster_segmenter_error(segmenter), "max_queue_bytes = 65536");
    SAME(decluster_segmenter_pending(segmenter, &pointer, &pending), 0);
    for (;;) {
        SAME(decluster_segmenter_poll(segmenter, &out, sizeof out), 0);
        if (out.type != DECLUSTER_OUTPUT_BLOCK) break;
        blocks += out.text_length;
    }
    SAME(out.type, DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(out.wants_input, 1);
    SAME(blocks + pending, 1000 * pushes);
    SAME(decluster_segmenter_push(segmenter, "x", 1), 0);
    decluster_segmenter_free(segmenter);
}

static void a_segmenter_is_not_made_of_what_does_not_fit(void) {
    decluster_segmenter *nobody = (decluster_segmenter *)&out, *segmenter = nobody;
    decluster_config *config = small_config();
    MISUSE(decluster_segmenter_new(NULL, NULL), DECLUSTER_ERROR_NULL);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_SEGMENT, DECLUSTER_SEGMENT_OFF), 0);
    MISUSE(decluster_segmenter_new(config, &segmenter), DECLUSTER_ERROR_CONFLICT);
    CHECK(segmenter == nobody);
    decluster_config_free(config);
}

/* ---- The event stream decoder ---- */

static void misuse_sse(decluster_sse *sse) {
    fill();
    MISUSE(decluster_sse_push(sse, NULL, 1), DECLUSTER_ERROR_NULL);
    SAYS(decluster_sse_error(sse), "bytes is NULL");
    MISUSE(decluster_sse_push(sse, "x", SIZE_MAX), DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_sse_poll(sse, NULL, sizeof out), DECLUSTER_ERROR_NULL);
    SAYS(decluster_sse_error(sse), "output is NULL");
    MISUSE(decluster_sse_poll(sse, &out, sizeof out - 1), DECLUSTER_ERROR_TOO_SMALL);
    SAYS(decluster_sse_error(sse), "191|192");
    check_untouched();
}

static void use_sse(int misused, struct journal *journal) {
    static const char bytes[] = ": hello\n\nid: 1\nevent: a\ndata: one\ndata: two\n\n"
                                "retry: 10\r\ndata: three\r\n\r\ndata: not at its end";
    decluster_config *config = small_config();
    decluster_sse *sse;
    size_t at;
    SAME(decluster_sse_new(config, &sse), 0);
    decluster_config_free(config);
    for (at = 0; at <= sizeof bytes - 1; at++) {
        if (at < sizeof bytes - 1) {
            SAME(decluster_sse_push(sse, bytes + at, 1), 0);
        } else {
            SAME(decluster_sse_finish(sse), 0);
        }
        if (misused) misuse_sse(sse);
        do {
            if (misused) misuse_sse(sse);
            SAME(decluster_sse_poll(sse, &out, sizeof out), 0);
            journal_output(journal, 0, &out);
        } while (out.type == DECLUSTER_OUTPUT_EVENT || out.type == DECLUSTER_OUTPUT_COMMENT);
    }
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    fill();
    MISUSE(decluster_sse_push(sse, "x", 1), DECLUSTER_ERROR_FINISHED);
    SAYS(decluster_sse_error(sse), "finished");
    MISUSE(decluster_sse_poll(sse, &out, 0), DECLUSTER_ERROR_TOO_SMALL);
    check_untouched();
    MISUSE(decluster_sse_finish(sse), DECLUSTER_OK);
    SAME(decluster_sse_poll(sse, &out, sizeof out), 0);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    decluster_sse_free(sse);
}

static void a_decoder_goes_on_as_if_nothing_had_been_misused(void) {
    check_goes_on(use_sse);
}

static void a_full_decoder_takes_nothing_in(void) {
    decluster_config *config = small_config();
    decluster_sse *sse;
    int pushes = 0, events = 0;
    SAME(decluster_sse_new(config, &sse), 0);
    decluster_config_free(config);
    while (decluster_sse_push(sse, "data: x\n\n", 9) == 0 && pushes < 1000) pushes++;
    SAME(pushes, 1024 / 9 + 1);
    MISUSE(decluster_sse_push(sse, "data: y\n\n", 9), DECLUSTER_ERROR_FULL);
    SAYS(decluster_sse_error(sse), "1026|max_event_bytes = 1024");
    for (;;) {
        SAME(decluster_sse_poll(sse, &out, sizeof out), 0);
        if (out.type != DECLUSTER_OUTPUT_EVENT) break;
        SAME_TEXT(out.text, out.text_length, "x");
        events++;
    }
    SAME(events, pushes);
    SAME(out.type, DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(out.wants_input, 1);
    decluster_sse_free(sse);
}

static void a_decoder_is_not_made_of_nothing(void) {
    MISUSE(decluster_sse_new(NULL, NULL), DECLUSTER_ERROR_NULL);
}

/* ---- Budgets, totals, ledgers, bodies ---- */

static void what_is_read_of_a_budget_or_totals_has_a_place_and_room(void) {
    char room[8] = "abc", same[8] = "abc";
    fill();
    MISUSE(decluster_budget_new(1, NULL), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_totals_new(NULL), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_budget_used(a_budget, NULL), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_totals_text(some_totals, room, sizeof room, NULL), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_totals_text(some_totals, NULL, sizeof room, &length), DECLUSTER_ERROR_NULL);
    MISUSE(decluster_totals_text(some_totals, room, sizeof room, &length),
           DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_totals_text(some_totals, room, 0, &length), DECLUSTER_ERROR_TOO_SMALL);
    MISUSE(decluster_totals_add(some_totals, NULL), DECLUSTER_ERROR_NULL);
    check_untouched();
    CHECK(memcmp(room, same, sizeof room) == 0);
}

static const char TABLE[] = "[models.m]\nprompt = 1\noutput = 2\n";
#define USAGE "{\"prompt_tokens\":1000000,\"completion_tokens\":1}"

/* A model's name, or a key, of more than 256 bytes. */
static const char *long_name(void) {
    static char name[258];
    memset(name, 'n', 257);
    return name;
}

static void misuse_prices(decluster_ledger *ledger) {
    fill();
    MISUSE(decluster_ledger_set_prices(ledger, NULL, 5, NULL, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "prices is NULL");
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, SIZE_MAX, NULL, NULL),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_ledger_set_prices(ledger, "a = \xff", 5, NULL, NULL),
           DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_ledger_error(ledger), "prices|byte 4|0xff");
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, sizeof TABLE - 1, "CNY", NULL),
           DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "rate is NULL");
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, sizeof TABLE - 1, NULL, "7.1"),
           DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "currency is NULL");
}

static void misuse_prices_before(decluster_ledger *ledger) {
    misuse_prices(ledger);
    MISUSE(decluster_ledger_set_prices(ledger, NULL, 0, NULL, NULL), DECLUSTER_ERROR_UNREADABLE);
    SAYS(decluster_ledger_error(ledger), "models");
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, 22, NULL, NULL),
           DECLUSTER_ERROR_UNREADABLE);
    SAYS(decluster_ledger_error(ledger), "line 1|output");
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, sizeof TABLE - 1, "C\xff", "7.1"),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, sizeof TABLE - 1, "CNY", "0"),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_ledger_error(ledger), "rate is 0");
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, sizeof TABLE - 1, "CNY", "7,1"),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    check_untouched();
}

static void misuse_ledger(decluster_ledger *ledger) {
    static const char *const usages[] = {"[]", "{", "5", "null", "\"{}\"", "{}{}", "data: {}"};
    size_t at;
    misuse_prices(ledger);
    MISUSE(decluster_ledger_set_prices(ledger, TABLE, sizeof TABLE - 1, NULL, NULL),
           DECLUSTER_ERROR_OUT_OF_TURN);
    SAYS(decluster_ledger_error(ledger), "before anything is added");
    for (at = 0; at < sizeof usages / sizeof *usages; at++) {
        MISUSE(decluster_ledger_add(ledger, "m", NULL, usages[at], strlen(usages[at]), 0, 1,
                                    &pointer, &length),
               DECLUSTER_ERROR_UNREADABLE);
        SAYS(decluster_ledger_error(ledger), "usage is no JSON object");
    }
    MISUSE(decluster_ledger_add(ledger, "m", NULL, NULL, 2, 0, 1, &pointer, &length),
           DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "usage is NULL");
    MISUSE(decluster_ledger_add(ledger, "m", NULL, "{}", SIZE_MAX, 0, 1, &pointer, &length),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_ledger_add(ledger, "m", NULL, USAGE, strlen(USAGE), 0, 1, &pointer, NULL),
           DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "cost_length is NULL");
    MISUSE(decluster_ledger_add(ledger, "m\xff", NULL, USAGE, strlen(USAGE), 0, 1, &pointer,
                                &length),
           DECLUSTER_ERROR_BAD_UTF8);
    SAYS(decluster_ledger_error(ledger), "model is not UTF-8: byte 1");
    MISUSE(decluster_ledger_add(ledger, "m", "k\xc3", USAGE, strlen(USAGE), 0, 1, &pointer,
                                &length),
           DECLUSTER_ERROR_BAD_UTF8);
    MISUSE(decluster_ledger_add(ledger, "other", NULL, USAGE, strlen(USAGE), 0, 0, &pointer,
                                &length),
           DECLUSTER_ERROR_UNKNOWN_NAME);
    SAYS(decluster_ledger_error(ledger), "\"other\"|\"m\"");
    MISUSE(decluster_ledger_add(ledger, long_name(), NULL, USAGE, strlen(USAGE), 0, 1, &pointer,
                                &length),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_ledger_error(ledger), "256 bytes, not 257");
    MISUSE(decluster_ledger_add_tokens(ledger, "m", NULL, NULL, sizeof tokens, 0, &pointer,
                                       &length),
           DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "tokens is NULL");
    MISUSE(decluster_ledger_add_tokens(ledger, "m", NULL, &tokens, 79, 0, &pointer, &length),
           DECLUSTER_ERROR_TOO_SMALL);
    SAYS(decluster_ledger_error(ledger), "79|80");
    MISUSE(decluster_ledger_add_tokens(ledger, "m", long_name(), &tokens, sizeof tokens, 0,
                                       &pointer, &length),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_ledger_add_rewriter(ledger, NULL, "m", NULL, 0, &pointer, &length),
           DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "rewriter is NULL");
    MISUSE(decluster_ledger_add_rewriter(ledger, a_rewriter, NULL, NULL, 0, &pointer, &length),
           DECLUSTER_ERROR_UNKNOWN_NAME);
    SAYS(decluster_ledger_error(ledger), "no model was named");
    MISUSE(decluster_ledger_merge(ledger, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "other is NULL");
    MISUSE(decluster_ledger_merge(ledger, ledger), DECLUSTER_ERROR_BAD_ARGUMENT);
    SAYS(decluster_ledger_error(ledger), "into itself");
    MISUSE(decluster_ledger_json(ledger, NULL, &length), DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "json is NULL");
    MISUSE(decluster_ledger_json(ledger, &pointer, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_ledger_error(ledger), "length is NULL");
    check_untouched();
}

static void use_ledger(int misused, struct journal *journal) {
    decluster_ledger *ledger;
    int turn;
    SAME(decluster_ledger_new(&ledger), 0);
    if (misused) misuse_prices_before(ledger);
    SAME(decluster_ledger_set_prices(ledger, TABLE, sizeof TABLE - 1, "CNY", "7.1"), 0);
    if (misused) misuse_prices_before(ledger);
    for (turn = 0; turn < 3; turn++) {
        SAME(decluster_ledger_add(ledger, "m", turn ? "k" : NULL, USAGE, strlen(USAGE), 0, 0,
                                  &pointer, &length),
             0);
        journal_put(journal, pointer, length);
        if (misused) misuse_ledger(ledger);
    }
    SAME(decluster_ledger_json(ledger, &pointer, &length), 0);
    journal_put(journal, pointer, length);
    decluster_ledger_free(ledger);
}

static void a_ledger_goes_on_as_if_nothing_had_been_misused(void) { check_goes_on(use_ledger); }

static void a_ledger_is_not_made_of_nothing(void) {
    MISUSE(decluster_ledger_new(NULL), DECLUSTER_ERROR_NULL);
}

static void what_is_no_response_is_not_read(void) {
    static const struct {
        const char *bytes, *words;
    } wrong[] = {
        {"", "not JSON"},
        {"{\"choices\":[", "not JSON|line 1"},
        {"data: {}\n\n", "a stream of events"},
        {"[1]", "a number"},
        {"{\"something\":\"else\"}", "no known dialect"},
        {"{\"\xff\":1}", "byte 2|not UTF-8"},
    };
    decluster_body *body;
    size_t at;
    MISUSE(decluster_body_new(NULL), DECLUSTER_ERROR_NULL);
    SAME(decluster_body_new(&body), 0);
    fill();
    for (at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        MISUSE(decluster_body_read(body, wrong[at].bytes, strlen(wrong[at].bytes), &pointer,
                                   &length),
               DECLUSTER_ERROR_UNREADABLE);
        SAYS(decluster_body_error(body), wrong[at].words);
    }
    MISUSE(decluster_body_read(body, NULL, 1, &pointer, &length), DECLUSTER_ERROR_NULL);
    SAYS(decluster_body_error(body), "bytes is NULL");
    MISUSE(decluster_body_read(body, "{}", SIZE_MAX, &pointer, &length),
           DECLUSTER_ERROR_BAD_ARGUMENT);
    MISUSE(decluster_body_read(body, "{}", 2, NULL, &length), DECLUSTER_ERROR_NULL);
    SAYS(decluster_body_error(body), "json is NULL");
    MISUSE(decluster_body_read(body, "{}", 2, &pointer, NULL), DECLUSTER_ERROR_NULL);
    SAYS(decluster_body_error(body), "json_length is NULL");
    check_untouched();
    decluster_body_free(body);
}

int main(void) {
    make_others();
    RUN(without_a_handle_every_call_says_null);
    RUN(nothing_is_freed_and_nothing_has_no_error);
    RUN(a_status_that_is_none_has_a_text_and_is_no_fault);
    RUN(what_does_not_fit_is_not_copied);
    RUN(what_is_no_parameter_is_not_described);
    RUN(a_config_stays_as_it_is);
    RUN(an_engine_goes_on_as_if_nothing_had_been_misused);
    RUN(a_full_engine_takes_nothing_in);
    RUN(an_engine_is_not_made_of_nothing);
    RUN(a_rewriter_goes_on_as_if_nothing_had_been_misused);
    RUN(a_full_rewriter_takes_nothing_in);
    RUN(a_full_rewriter_takes_no_bytes_or_lines_in);
    RUN(a_full_rewriter_takes_no_item_in_and_loses_none_that_it_held);
    RUN(a_rewriter_is_not_made_of_what_does_not_fit);
    RUN(a_segmenter_goes_on_as_if_nothing_had_been_misused);
    RUN(a_full_segmenter_takes_nothing_in);
    RUN(a_segmenter_is_not_made_of_what_does_not_fit);
    RUN(a_decoder_goes_on_as_if_nothing_had_been_misused);
    RUN(a_full_decoder_takes_nothing_in);
    RUN(a_decoder_is_not_made_of_nothing);
    RUN(what_is_read_of_a_budget_or_totals_has_a_place_and_room);
    RUN(a_ledger_goes_on_as_if_nothing_had_been_misused);
    RUN(a_ledger_is_not_made_of_nothing);
    RUN(what_is_no_response_is_not_read);
    free_others();
    return done();
}
