/* What an engine does, on a clock that the test turns. */
#include "check.h"

#define TREMA "\xc3\xa4"

static decluster_engine *engine_of(const decluster_config *config) {
    decluster_engine *engine = NULL;
    SAME(decluster_engine_new(config, 0, &engine), 0);
    return engine;
}

/* An engine with one parameter set. */
static decluster_engine *engine_with(uint32_t parameter, uint64_t value) {
    decluster_config *config;
    decluster_engine *engine;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, parameter, value), 0);
    engine = engine_of(config);
    decluster_config_free(config);
    return engine;
}

static void push(decluster_engine *engine, uint64_t now, const char *text) {
    SAME(decluster_engine_push(engine, now, DECLUSTER_KIND_OUTPUT, 0, text, strlen(text), 0), 0);
}

static decluster_output polled(decluster_engine *engine, uint64_t now) {
    decluster_output out;
    memset(&out, 0xa5, sizeof out);
    SAME(decluster_engine_poll(engine, now, &out, sizeof out), 0);
    return out;
}

/* Polls until nothing is left to wait for; the clock leaps to what is next. Collects the text,
 * and what else comes as `<type number>`; gives the time at its end. */
static uint64_t take(decluster_engine *engine, uint64_t now, struct journal *text) {
    int turn;
    for (turn = 0; turn < MANY; turn++) {
        decluster_output out = polled(engine, now);
        switch (out.type) {
        case DECLUSTER_OUTPUT_NEED_INPUT:
        case DECLUSTER_OUTPUT_FINISHED:
            return now;
        case DECLUSTER_OUTPUT_WAIT:
            CHECK(out.at_ns > now);
            now = out.at_ns;
            break;
        case DECLUSTER_OUTPUT_PIECE:
            journal_put(text, out.text, out.text_length);
            break;
        default:
            journal_say(text, "<%u %u>", out.type, (unsigned)out.number);
        }
    }
    CHECK(!"it came to an end");
    return now;
}

static void text_comes_out_as_it_came_in(void) {
    static const char words[] = "A NUL \0 is a character, " TREMA " is one, too. No text is lost.";
    decluster_engine *engine = engine_of(NULL);
    struct journal text = {NULL, 0, 0};
    size_t length = sizeof words - 1;
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 0, words, length, 0), 0);
    SAME(decluster_engine_finish(engine, 0), 0);
    take(engine, 0, &text);
    CHECK(text.length == length && memcmp(text.text, words, length) == 0);
    journal_free(&text);
    decluster_engine_free(engine);
}

static void a_piece_says_all_of_itself(void) {
    decluster_engine *engine = engine_with(DECLUSTER_PARAMETER_UNIT, DECLUSTER_UNIT_WHOLE);
    decluster_output out;
    SAME(decluster_engine_push(engine, 5, DECLUSTER_KIND_REASONING, 3, "One. ", 5, 0), 0);
    SAME(decluster_engine_push(engine, 7, DECLUSTER_KIND_OUTPUT, 3, "Two.\n\n", 6, 0), 0);
    SAME(decluster_engine_finish(engine, 9), 0);
    out = polled(engine, SECOND);
    SAME(out.type, DECLUSTER_OUTPUT_PIECE);
    SAME_TEXT(out.text, out.text_length, "One. ");
    SAME(out.kind, DECLUSTER_KIND_REASONING);
    SAME(out.index, 3);
    SAME(out.part, 0);
    SAME(out.boundary, DECLUSTER_BOUNDARY_SENTENCE);
    SAME(out.ends_block, 1);
    CHECK(out.tokens > 0);
    SAME(out.seq, 0);
    SAME(out.block, 0);
    SAME(out.origin, 0);
    SAME(out.arrived_ns, 5);
    SAME(out.wants_input, 0);
    out = polled(engine, SECOND);
    SAME_TEXT(out.text, out.text_length, "Two.\n\n");
    SAME(out.kind, DECLUSTER_KIND_OUTPUT);
    SAME(out.boundary, DECLUSTER_BOUNDARY_PARAGRAPH);
    SAME(out.seq, 1);
    SAME(out.block, 1);
    SAME(out.origin, 1);
    SAME(out.arrived_ns, 7);
    SAME(polled(engine, SECOND).type, DECLUSTER_OUTPUT_FINISHED);
    decluster_engine_free(engine);
}

/* Fields that a type does not list. */
static void check_rest_is_zero(decluster_output out) {
    decluster_output nothing, rest = out;
    memset(&nothing, 0, sizeof nothing);
    rest.type = rest.wants_input = 0;
    switch (out.type) {
    case DECLUSTER_OUTPUT_WAIT:
        rest.at_ns = 0;
        break;
    case DECLUSTER_OUTPUT_PIECE:
        rest.text = NULL;
        rest.text_length = 0;
        rest.kind = rest.index = rest.part = rest.boundary = rest.ends_block = rest.tokens = 0;
        rest.seq = rest.block = rest.origin = rest.arrived_ns = 0;
        break;
    case DECLUSTER_OUTPUT_MARK:
    case DECLUSTER_OUTPUT_RESTARTED:
        rest.number = 0;
        break;
    default:
        break;
    }
    CHECK(memcmp(&rest, &nothing, sizeof rest) == 0);
}

static void fields_that_a_type_does_not_list_are_0(void) {
    decluster_engine *engine = engine_of(NULL);
    unsigned seen = 0;
    int turn;
    uint64_t now = 0;
    push(engine, 5, "A few words. And m");
    SAME(decluster_engine_mark(engine, 5, 77, 0), 0);
    SAME(decluster_engine_begin_attempt(engine, 5), 0);
    for (turn = 0; turn < 100; turn++) {
        decluster_output out = polled(engine, now);
        check_rest_is_zero(out);
        seen |= 1u << out.type;
        if (out.type == DECLUSTER_OUTPUT_NEED_INPUT) SAME(decluster_engine_finish(engine, now), 0);
        if (out.type == DECLUSTER_OUTPUT_WAIT) now = out.at_ns;
        if (out.type == DECLUSTER_OUTPUT_FINISHED) break;
    }
    /* Need input, wait, finished, piece, mark, restarted. */
    SAME(seen, 0x3f);
    decluster_engine_free(engine);
}

static void a_wait_is_kept_until_it_is_over(void) {
    decluster_engine *engine = engine_of(NULL);
    decluster_output wait, out;
    push(engine, 0, "The first leaves at once. The second is held back a little, as is its rest");
    do {
        wait = polled(engine, 0);
    } while (wait.type == DECLUSTER_OUTPUT_PIECE);
    SAME(wait.type, DECLUSTER_OUTPUT_WAIT);
    CHECK(wait.at_ns > 0 && wait.at_ns <= 1500 * (uint64_t)MS);
    out = polled(engine, wait.at_ns / 2);
    SAME(out.type, DECLUSTER_OUTPUT_WAIT);
    CHECK(out.at_ns == wait.at_ns);
    out = polled(engine, wait.at_ns - 1);
    SAME(out.type, DECLUSTER_OUTPUT_WAIT);
    CHECK(out.at_ns == wait.at_ns);
    SAME(polled(engine, wait.at_ns).type, DECLUSTER_OUTPUT_PIECE);
    decluster_engine_free(engine);
}

static void a_clock_that_runs_backwards_stands_still(void) {
    decluster_engine *engine = NULL;
    decluster_output out;
    SAME(decluster_engine_new(NULL, 5 * (uint64_t)SECOND, &engine), 0);
    push(engine, 1, "A sentence.\n");
    SAME(decluster_engine_finish(engine, 0), 0);
    out = polled(engine, 0);
    if (out.type == DECLUSTER_OUTPUT_WAIT) {
        CHECK(out.at_ns >= 5 * (uint64_t)SECOND);
        out = polled(engine, out.at_ns);
    }
    SAME(out.type, DECLUSTER_OUTPUT_PIECE);
    CHECK(out.arrived_ns == 5 * (uint64_t)SECOND);
    decluster_engine_free(engine);
}

static void a_clock_may_begin_and_end_anywhere(void) {
    decluster_engine *engine = NULL;
    struct journal text = {NULL, 0, 0};
    SAME(decluster_engine_new(NULL, UINT64_MAX - 10, &engine), 0);
    push(engine, UINT64_MAX - 5, "It ends here. It must not be lost, though");
    SAME(decluster_engine_mark(engine, UINT64_MAX, 4, 1), 0);
    SAME(decluster_engine_finish(engine, UINT64_MAX), 0);
    take(engine, UINT64_MAX, &text);
    SAME_TEXT(text.text, text.length, "It ends here. It must not be lost, though<4 4>");
    journal_free(&text);
    decluster_engine_free(engine);
}

static void a_mark_comes_back_behind_the_text_before_it(void) {
    decluster_engine *engine = engine_of(NULL);
    struct journal text = {NULL, 0, 0};
    push(engine, 0, "Some text without an end");
    SAME(decluster_engine_mark(engine, 0, 1, 0), 0);
    SAME(decluster_engine_mark(engine, 0, 0, 0), 0);
    push(engine, 0, ", and more. ");
    SAME(decluster_engine_mark(engine, 0, 9, 1), 0);
    SAME(decluster_engine_finish(engine, 0), 0);
    take(engine, 0, &text);
    SAME_TEXT(text.text, text.length, "Some text without an end<4 1><4 0>, and more. <4 9>");
    journal_free(&text);
    decluster_engine_free(engine);
}

/* When the mark behind some text comes. */
static uint64_t time_of_mark(uint64_t max_tail, uint32_t hurry) {
    static const char words[] = "Much text came before it: it takes more than a moment to read all "
                                "of this, since a reader reads one word after the other, and since "
                                "it was sent all at once. So it is held, for a while, as ever.";
    decluster_engine *engine = engine_with(DECLUSTER_PARAMETER_MAX_TAIL, max_tail);
    uint64_t now = 0;
    int turn;
    push(engine, 0, words);
    SAME(decluster_engine_mark(engine, 0, UINT64_MAX, hurry), 0);
    for (turn = 0; turn < MANY; turn++) {
        decluster_output out = polled(engine, now);
        if (out.type == DECLUSTER_OUTPUT_WAIT) now = out.at_ns;
        if (out.type == DECLUSTER_OUTPUT_MARK) {
            CHECK(out.number == UINT64_MAX);
            break;
        }
    }
    CHECK(turn < MANY);
    decluster_engine_free(engine);
    return now;
}

static void a_mark_in_a_hurry_comes_within_the_tail(void) {
    CHECK(time_of_mark(100 * MS, 1) <= 100 * MS);
    CHECK(time_of_mark(100 * MS, UINT32_MAX) <= 100 * MS);
    CHECK(time_of_mark(100 * MS, 0) > 100 * MS);
    CHECK(time_of_mark(0, 1) == 0);
}

static void a_block_ends_where_it_is_told_to(void) {
    decluster_engine *engine = engine_of(NULL);
    decluster_output out;
    push(engine, 0, "It has no ");
    SAME(decluster_engine_end_block(engine, 0), 0);
    push(engine, 0, "end.");
    SAME(decluster_engine_flush(engine), 0);
    out = polled(engine, 0);
    SAME_TEXT(out.text, out.text_length, "It has no ");
    SAME(out.ends_block, 1);
    SAME(out.block, 0);
    SAME(decluster_engine_finish(engine, 0), 0);
    out = polled(engine, SECOND);
    SAME_TEXT(out.text, out.text_length, "end.");
    SAME(out.block, 1);
    SAME(out.part, 0);
    SAME(decluster_engine_end_block(engine, SECOND), 0);
    SAME(polled(engine, SECOND).type, DECLUSTER_OUTPUT_FINISHED);
    decluster_engine_free(engine);
}

static void an_attempt_is_told_in_its_place(void) {
    decluster_engine *engine = engine_of(NULL);
    struct journal text = {NULL, 0, 0};
    push(engine, 0, "The first tr");
    SAME(decluster_engine_begin_attempt(engine, 0), 0);
    push(engine, 0, "The second. ");
    SAME(decluster_engine_begin_attempt(engine, 0), 0);
    push(engine, 0, "The third.");
    SAME(decluster_engine_finish(engine, 0), 0);
    take(engine, 0, &text);
    /* The first attempt, which nothing tells of, is number 1. */
    SAME_TEXT(text.text, text.length, "The first tr<5 2>The second. <5 3>The third.");
    journal_free(&text);
    decluster_engine_free(engine);
}

static void a_flush_lets_out_what_is_queued_and_no_more(void) {
    decluster_engine *engine = engine_of(NULL);
    decluster_output out;
    size_t length = 0;
    push(engine, 0, "This is flushed. So is this sentence, which is longer, and the beginning of ");
    SAME(decluster_engine_flush(engine), 0);
    while ((out = polled(engine, 0)).type == DECLUSTER_OUTPUT_PIECE) length += out.text_length;
    /* The last character may still grow. */
    SAME(length, 75);
    SAME(out.type, DECLUSTER_OUTPUT_WAIT);
    CHECK(out.at_ns <= 100 * MS);
    push(engine, 0, "what came later. It is not due yet, at least not all of it. This is not. ");
    while ((out = polled(engine, 0)).type == DECLUSTER_OUTPUT_PIECE) length += out.text_length;
    CHECK(length >= 76 && length < 76 + 60);
    SAME(out.type, DECLUSTER_OUTPUT_WAIT);
    CHECK(out.at_ns > 100 * MS);
    decluster_engine_free(engine);
}

static void what_is_cancelled_leaves_at_once_or_never(void) {
    uint32_t how;
    for (how = DECLUSTER_CANCEL_FLUSH; how <= DECLUSTER_CANCEL_DROP; how++) {
        decluster_engine *engine = engine_of(NULL);
        struct journal text = {NULL, 0, 0};
        push(engine, 0, "Some text, and a mark. Then m");
        SAME(decluster_engine_mark(engine, 0, 3, 0), 0);
        SAME(decluster_engine_cancel(engine, how), 0);
        SAME(decluster_engine_wants_input(engine), 0);
        SAME(take(engine, 0, &text), 0);
        if (how == DECLUSTER_CANCEL_FLUSH) {
            SAME_TEXT(text.text, text.length, "Some text, and a mark. Then m<4 3>");
        } else {
            SAME(text.length, 0);
        }
        SAME(polled(engine, 0).type, DECLUSTER_OUTPUT_FINISHED);
        SAME(decluster_engine_flush(engine), 0);
        SAME(decluster_engine_cancel(engine, how), 0);
        SAME(polled(engine, 0).type, DECLUSTER_OUTPUT_FINISHED);
        journal_free(&text);
        decluster_engine_free(engine);
    }
}

static void what_was_flushed_may_still_be_dropped(void) {
    decluster_engine *engine = engine_of(NULL);
    push(engine, 0, "Some text. ");
    SAME(decluster_engine_finish(engine, 0), 0);
    SAME(decluster_engine_cancel(engine, DECLUSTER_CANCEL_FLUSH), 0);
    SAME(decluster_engine_cancel(engine, DECLUSTER_CANCEL_DROP), 0);
    SAME(polled(engine, 0).type, DECLUSTER_OUTPUT_FINISHED);
    decluster_engine_free(engine);
}

static void it_wants_input_below_half_of_its_bound_and_again_below_a_quarter(void) {
    decluster_engine *engine = engine_with(DECLUSTER_PARAMETER_MAX_QUEUE_BYTES, 65536);
    decluster_stats stats;
    decluster_output out;
    int turn;
    memset(&stats, 0, sizeof stats);
    for (turn = 0; turn < 1000 && decluster_engine_wants_input(engine) == 1; turn++) {
        SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
        CHECK(stats.queued_bytes < 32768);
        push(engine, 0, "A sentence of fifty bytes, counted with its end.\n");
    }
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
    CHECK(stats.queued_bytes >= 32768);
    SAME(decluster_engine_flush(engine), 0);
    for (turn = 0; turn < 1000 && decluster_engine_wants_input(engine) == 0; turn++) {
        SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
        CHECK(stats.queued_bytes >= 16384);
        out = polled(engine, 0);
        SAME(out.wants_input, decluster_engine_wants_input(engine));
    }
    SAME(decluster_engine_wants_input(engine), 1);
    SAME(decluster_engine_finish(engine, 0), 0);
    SAME(decluster_engine_wants_input(engine), 0);
    decluster_engine_free(engine);
}

static void it_wants_input_when_nothing_can_leave_without_it(void) {
    static const char words[] = "words without an end ";
    decluster_config *config;
    decluster_engine *engine;
    decluster_status status = DECLUSTER_OK;
    decluster_output out;
    int turn, full = 0, before = check_failures;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_UNIT, DECLUSTER_UNIT_WHOLE), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_SEGMENT, DECLUSTER_SEGMENT_SENTENCES),
         0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_QUEUE_BYTES, 65536), 0);
    engine = engine_of(config);
    decluster_config_free(config);
    /* Polled whenever it is full, it takes any amount of it. */
    for (turn = 0; turn < 20000; turn++) {
        status = decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 0, words,
                                       sizeof words - 1, 0);
        if (status == DECLUSTER_ERROR_FULL) {
            uint64_t now = 0;
            int polls = 0, pieces = 0;
            full++;
            do {
                out = polled(engine, now);
                if (out.type == DECLUSTER_OUTPUT_WAIT) now = out.at_ns;
                pieces += out.type == DECLUSTER_OUTPUT_PIECE;
            } while (out.type != DECLUSTER_OUTPUT_NEED_INPUT && polls++ < 1000);
            CHECK(pieces > 0);
            SAME(decluster_engine_wants_input(engine), 1);
        } else {
            SAME(status, DECLUSTER_OK);
        }
        if (check_failures > before) break;
    }
    CHECK(full > 0);
    decluster_engine_free(engine);
}

static void counts_are_paced_where_there_is_no_text(void) {
    decluster_engine *engine = engine_of(NULL);
    unsigned tokens = 0;
    uint64_t now = 0;
    int turn;
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_REASONING, 0, NULL, 0, 0), 0);
    SAME(polled(engine, 0).type, DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_REASONING, 0, NULL, 0, 400), 0);
    SAME(decluster_engine_finish(engine, 0), 0);
    for (turn = 0; turn < MANY; turn++) {
        decluster_output out = polled(engine, now);
        if (out.type == DECLUSTER_OUTPUT_FINISHED) break;
        if (out.type == DECLUSTER_OUTPUT_WAIT) {
            now = out.at_ns;
        } else {
            SAME(out.type, DECLUSTER_OUTPUT_PIECE);
            SAME(out.text_length, 0);
            tokens += out.tokens;
        }
    }
    SAME(tokens, 400);
    CHECK(now > 0 && now <= 300 * MS);
    decluster_engine_free(engine);
}

static void the_counters_say_what_went_through(void) {
    decluster_engine *engine = engine_of(NULL);
    struct journal text = {NULL, 0, 0};
    decluster_stats stats;
    memset(&stats, 0xa5, sizeof stats);
    push(engine, 0, "One sentence. ");
    push(engine, 0, "Another one is here.\n");
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
    SAME(stats.deltas, 2);
    SAME(stats.bytes_in, 35);
    SAME(stats.bytes_out, 0);
    CHECK(stats.queued_bytes >= 35);
    CHECK(stats.tokens_in > 5 && stats.tokens_in < 20);
    SAME(decluster_engine_finish(engine, 0), 0);
    take(engine, 0, &text);
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
    SAME(stats.bytes_out, 35);
    SAME(stats.blocks, 2);
    CHECK(stats.pieces >= 2);
    SAME(stats.queued_bytes, 0);
    CHECK(stats.max_delay_ns <= 300 * MS);
    SAME(stats.reserved_words[0] | stats.reserved_words[1], 0);
    SAME(stats.reserved_words[2] | stats.reserved_words[3], 0);
    journal_free(&text);
    decluster_engine_free(engine);
}

static void a_struct_of_a_later_version_may_be_larger(void) {
    decluster_engine *engine = engine_of(NULL);
    struct {
        decluster_output known;
        char later[64];
    } out;
    struct {
        decluster_stats known;
        char later[64];
    } stats;
    memset(&out, 0xa5, sizeof out);
    memset(&stats, 0xa5, sizeof stats);
    SAME(decluster_engine_poll(engine, 0, &out.known, sizeof out), 0);
    SAME(decluster_engine_stats(engine, &stats.known, sizeof stats), 0);
    SAME(out.known.type, DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(out.later[0], (char)0xa5);
    SAME(stats.later[0], (char)0xa5);
    decluster_engine_free(engine);
}

static void outputs_need_not_be_aligned(void) {
    char room[sizeof(decluster_output) + 2], handle[sizeof(void *) + 1];
    char counters[sizeof(decluster_stats) + 1];
    decluster_engine *engine;
    decluster_output out;
    decluster_stats stats;
    void *place = handle + 1;
    SAME(decluster_engine_new(NULL, 0, (decluster_engine **)place), 0);
    memcpy(&engine, place, sizeof engine);
    push(engine, 0, "All of it.\n");
    SAME(decluster_engine_finish(engine, 0), 0);
    room[0] = room[sizeof room - 1] = 0x5a;
    place = room + 1;
    SAME(decluster_engine_poll(engine, SECOND, (decluster_output *)place, sizeof out), 0);
    memcpy(&out, place, sizeof out);
    SAME(out.type, DECLUSTER_OUTPUT_PIECE);
    SAME_TEXT(out.text, out.text_length, "All of it.\n");
    CHECK(room[0] == 0x5a && room[sizeof room - 1] == 0x5a);
    place = counters + 1;
    SAME(decluster_engine_stats(engine, (decluster_stats *)place, sizeof stats), 0);
    memcpy(&stats, place, sizeof stats);
    SAME(stats.bytes_out, 11);
    decluster_engine_free(engine);
}

static void text_stays_until_a_call_that_may_change_it(void) {
    decluster_engine *engine = engine_of(NULL);
    decluster_output out;
    decluster_stats stats;
    push(engine, 0, "Look at this. And at this.\n");
    SAME(decluster_engine_finish(engine, 0), 0);
    out = polled(engine, SECOND);
    SAME(decluster_engine_wants_input(engine), 0);
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
    SAME(decluster_engine_stats(engine, &stats, 0), DECLUSTER_ERROR_TOO_SMALL);
    CHECK(decluster_engine_error(engine)[0] == 0);
    SAME_TEXT(out.text, out.text_length, "Look at this.");
    decluster_engine_free(engine);
}

static void a_message_stays_over_calls_that_succeed_and_over_looking(void) {
    decluster_engine *engine = engine_of(NULL);
    decluster_stats stats;
    const char *message;
    SAME(decluster_engine_cancel(engine, 5), DECLUSTER_ERROR_BAD_ARGUMENT);
    message = decluster_engine_error(engine);
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), 0);
    SAYS(message, "how = 5");
    push(engine, 0, "x");
    SAYS(decluster_engine_error(engine), "how = 5");
    decluster_engine_free(engine);
}

static void what_was_pushed_may_be_overwritten(void) {
    decluster_engine *engine = engine_of(NULL);
    struct journal text = {NULL, 0, 0};
    char words[] = "These words are copied.";
    push(engine, 0, words);
    memset(words, '?', sizeof words - 1);
    SAME(decluster_engine_finish(engine, 0), 0);
    take(engine, 0, &text);
    SAME_TEXT(text.text, text.length, "These words are copied.");
    journal_free(&text);
    decluster_engine_free(engine);
}

/* ---- Settings ---- */

/* How much of three lines leaves at once. */
static size_t at_once(decluster_engine *engine) {
    decluster_output out;
    size_t length = 0;
    push(engine, 0, "The first line is here.\nThe second is, too.\nAnd so is the third.\nM");
    while ((out = polled(engine, 0)).type == DECLUSTER_OUTPUT_PIECE) length += out.text_length;
    return length;
}

static void an_engine_keeps_the_settings_that_it_was_made_with(void) {
    decluster_config *config;
    decluster_engine *engine, *later;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_PACE, DECLUSTER_PACE_OFF), 0);
    engine = engine_of(config);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_PACE, DECLUSTER_PACE_ADAPTIVE), 0);
    later = engine_of(config);
    decluster_config_free(config);
    SAME(at_once(engine), 65);
    CHECK(at_once(later) < 65);
    decluster_engine_free(engine);
    decluster_engine_free(later);
}

static uint64_t value_of(const decluster_config *config, uint32_t parameter) {
    uint64_t value = 0;
    SAME(decluster_config_get(config, parameter, &value), 0);
    return value;
}

static void settings_are_taken_from_text(void) {
    static const struct {
        const char *name, *text;
        uint64_t value;
    } settings[] = {
        {"max_delay", "800ms", 800 * MS},
        {"max_delay", "900000us", 900 * MS},
        {"max_delay", "2s", 2 * (uint64_t)SECOND},
        {"max_delay", "100000000ns", 100 * MS},
        {"max_delay", "700000000", 700 * MS},
        {"max_delay", "60s", 60 * (uint64_t)SECOND},
        {"first_hold", "0s", 0},
        {"first_hold", "0045ms", 45 * MS},
        {"rate", "100", 100},
        {"cut_part", "0", 0},
        {"max_queue_bytes", "1073741824", 1073741824},
        {"unit", "word", DECLUSTER_UNIT_WORD},
        {"unit", "0", DECLUSTER_UNIT_BLOCK},
        {"pace", "off", DECLUSTER_PACE_OFF},
        {"segment", "off", DECLUSTER_SEGMENT_OFF},
        {"think_tags", "all", DECLUSTER_THINK_TAGS_ALL},
        {"think_copies", "1", 1},
    };
    decluster_config *config;
    size_t at;
    SAME(decluster_config_new(&config), 0);
    for (at = 0; at < sizeof settings / sizeof *settings; at++) {
        uint32_t parameter = (uint32_t)decluster_parameter_find(settings[at].name);
        SAME(decluster_config_set_text(config, settings[at].name, settings[at].text), 0);
        SAME(value_of(config, parameter), settings[at].value);
    }
    SAME(decluster_config_error(config)[0], 0);
    /* Each has set its own parameter and no other. */
    SAME(value_of(config, DECLUSTER_PARAMETER_MAX_DELAY), 60 * (uint64_t)SECOND);
    SAME(value_of(config, DECLUSTER_PARAMETER_RATE), 100);
    SAME(value_of(config, DECLUSTER_PARAMETER_MAX_GAP), 240 * MS);
    decluster_config_free(config);
}

static void a_preset_forgets_what_was_set_before(void) {
    decluster_config *config, *defaults;
    uint32_t parameter, differ = 0;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_new(&defaults), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_RATE, 77), 0);
    SAME(decluster_config_preset(config, "steady"), 0);
    SAME(value_of(config, DECLUSTER_PARAMETER_RATE), 240);
    for (parameter = 0; parameter < decluster_parameter_count(); parameter++) {
        differ += value_of(config, parameter) != value_of(defaults, parameter);
    }
    CHECK(differ > 0);
    SAME(decluster_config_preset(config, "snappy"), 0);
    SAME(decluster_config_preset(config, "balanced"), 0);
    for (parameter = 0; parameter < decluster_parameter_count(); parameter++) {
        CHECK(value_of(config, parameter) == value_of(defaults, parameter));
    }
    decluster_config_free(config);
    decluster_config_free(defaults);
}

static void a_profile_is_settings_under_a_name(void) {
    decluster_config *config;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_FIRST_HOLD, 1), 0);
    SAME(decluster_config_profile(config, "codex-low-latency"), 0);
    SAME(value_of(config, DECLUSTER_PARAMETER_FIRST_HOLD), 45 * MS);
    decluster_config_free(config);
}

int main(void) {
    RUN(text_comes_out_as_it_came_in);
    RUN(a_piece_says_all_of_itself);
    RUN(fields_that_a_type_does_not_list_are_0);
    RUN(a_wait_is_kept_until_it_is_over);
    RUN(a_clock_that_runs_backwards_stands_still);
    RUN(a_clock_may_begin_and_end_anywhere);
    RUN(a_mark_comes_back_behind_the_text_before_it);
    RUN(a_mark_in_a_hurry_comes_within_the_tail);
    RUN(a_block_ends_where_it_is_told_to);
    RUN(an_attempt_is_told_in_its_place);
    RUN(a_flush_lets_out_what_is_queued_and_no_more);
    RUN(what_is_cancelled_leaves_at_once_or_never);
    RUN(what_was_flushed_may_still_be_dropped);
    RUN(it_wants_input_below_half_of_its_bound_and_again_below_a_quarter);
    RUN(it_wants_input_when_nothing_can_leave_without_it);
    RUN(counts_are_paced_where_there_is_no_text);
    RUN(the_counters_say_what_went_through);
    RUN(a_struct_of_a_later_version_may_be_larger);
    RUN(outputs_need_not_be_aligned);
    RUN(text_stays_until_a_call_that_may_change_it);
    RUN(a_message_stays_over_calls_that_succeed_and_over_looking);
    RUN(what_was_pushed_may_be_overwritten);
    RUN(an_engine_keeps_the_settings_that_it_was_made_with);
    RUN(settings_are_taken_from_text);
    RUN(a_preset_forgets_what_was_set_before);
    RUN(a_profile_is_settings_under_a_name);
    return done();
}
