/*
 * Calls in any order with anything in them, but for pointers that lie: `random SEED CALLS`.
 * Whatever comes, a refused call writes nothing, no handle is poisoned, and a finished one gets to
 * its end in a bounded number of polls.
 */

#include <decluster.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

/* splitmix64 */
static uint64_t bits(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t end) {
    return bits() % end;
}

/* Mostly small, now and then anything. */
static uint64_t number(uint64_t usual) {
    return below(50) ? below(usual) : bits();
}

static void fail(const char *what) {
    fprintf(stderr, "random: %s\n", what);
    exit(1);
}

static uint64_t clock;

/* A clock that mostly goes on a little, sometimes leaps, and sometimes runs backwards. */
static uint64_t now(void) {
    uint64_t on = below(40) ? below(5000000u) : below(3000000000u);
    if (!below(2000)) clock = bits();
    else if (!below(200)) clock -= below(clock + (clock < UINT64_MAX)) / 1000;
    else clock = on < UINT64_MAX - clock ? clock + on : UINT64_MAX;
    return clock;
}

static const char *const BYTES[] = {
    "",
    "One thing. ",
    " and another, of 3.50 euros; then",
    "\n\n",
    "\xc3\xa9\xe7\x84\xb6\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd",
    "\xc3",
    "\xff\xfe",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"It runs out. Then it is",
    " handed out again.\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":1,\"delta\":{\"reasoning_content\":\"Let me think.\"}}]}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"delta\":\"word \"}\n\n",
    ": ping\n\n",
    "event: error\ndata: {\"error\":{\"message\":\"no\"}}\n\n",
    "data: [DONE]\n\n",
    "id: 5\nretry: 10\ndata: x\r\n\r\n",
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"parsed \"}}]}",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}\n\n",
    "<think>quoth ",
    "</think>",
    "```c\nint x;\n```\n",
};

static char large[5000];

static const char *some_bytes(size_t *length) {
    if (!below(100)) {
        *length = below(sizeof large);
        return large;
    }
    const char *bytes = BYTES[below(sizeof BYTES / sizeof *BYTES)];
    *length = strlen(bytes);
    if (!below(30)) *length = below(*length + 1);
    return below(300) ? bytes : NULL;
}

static int is_known(int32_t status) {
    return status <= DECLUSTER_OK && status >= DECLUSTER_ERROR_LEDGER_FULL &&
           status != DECLUSTER_ERROR_POISONED &&
           status != DECLUSTER_ERROR_BUSY && status != DECLUSTER_ERROR_PANIC;
}

static void check(int32_t status, const char *message) {
    if (!is_known(status)) {
        fprintf(stderr, "random: status %d: %s: %s\n", (int)status, decluster_status_text(status),
                message);
        exit(1);
    }
}

/* Copies into just enough room, or into too little. */
static void check_copy(const char *text, size_t length) {
    static char room[1 << 16];
    size_t size = below(4) ? length : below(length + 1);
    int32_t status;
    if (length >= sizeof room) return;
    room[0] = room[size] = 0x55;
    status = decluster_copy(text, length, room, size);
    if (status != (size < length ? DECLUSTER_ERROR_TOO_SMALL : DECLUSTER_OK)) {
        fail("a copy that is refused, or should be");
    }
    if (room[size] != 0x55 || (status != DECLUSTER_OK && room[0] != 0x55)) {
        fail("a copy has written where it must not");
    }
    if (status == DECLUSTER_OK && length && memcmp(room, text, length) != 0) {
        fail("a copy is not what it was copied from");
    }
}

/* Polls, and sees to it that what is refused writes nothing. */
static int32_t take(int which, void *handle, decluster_output *out) {
    static const decluster_output untouched = {.type = 77, .number = 0x5555555555555555u};
    size_t size = below(40) ? sizeof *out : below(sizeof *out + 10);
    decluster_output *to = below(200) ? out : NULL;
    int32_t status;
    *out = untouched;
    if (which == 0) status = decluster_engine_poll(handle, now(), to, size);
    else if (which == 1) status = decluster_rewriter_poll(handle, now(), to, size);
    else if (which == 2) status = decluster_segmenter_poll(handle, to, size);
    else status = decluster_sse_poll(handle, to, size);
    if (status != DECLUSTER_OK && memcmp(out, &untouched, sizeof *out) != 0) {
        fail("a refused poll has written");
    }
    if (status == DECLUSTER_OK) {
        /* Reads all of it, so that a sanitizer sees what is not there. */
        unsigned sum = 0;
        for (size_t i = 0; i < out->text_length; i++) sum += (unsigned char)out->text[i];
        for (size_t i = 0; i < out->name_length; i++) sum += (unsigned char)out->name[i];
        for (size_t i = 0; i < out->id_length; i++) sum += (unsigned char)out->id[i];
        if (sum == 1) fail("no text adds up to this");
        check_copy(out->text, out->text_length);
        if (out->type > DECLUSTER_OUTPUT_BUDGET_EXCEEDED) fail("an output of no known type");
        if (which == 3 ? out->retry_ms < -1 : out->retry_ms != 0 || out->id_length) {
            fail("a decoder alone says how to come back");
        }
    }
    return status;
}

/* Polls to the end of what was finished; gives how many faults it was told. */
static int drain(int which, void *handle) {
    decluster_output out;
    int faults = 0;
    for (long polls = 0; polls < 3000000; polls++) {
        int32_t status = take(which, handle, &out);
        faults += decluster_status_is_fault(status);
        if (status != DECLUSTER_OK) continue;
        if (out.type == DECLUSTER_OUTPUT_FINISHED) return faults;
        if (out.type == DECLUSTER_OUTPUT_WAIT && clock < out.at_ns) clock = out.at_ns;
    }
    fail("a finished handle does not get to its end");
    return faults;
}

/* Asks for the tokens, and sees to it that what is refused writes nothing. */
static int32_t tokens(const decluster_rewriter *rewriter) {
    static const decluster_tokens untouched = {.input = 0x5555};
    decluster_tokens tokens = untouched;
    size_t size = below(9) ? sizeof tokens : below(sizeof tokens + 10);
    int32_t status = decluster_rewriter_tokens(rewriter, below(20) ? &tokens : NULL, size);
    if (status != DECLUSTER_OK && memcmp(&tokens, &untouched, sizeof tokens) != 0) {
        fail("a refused call has written");
    }
    if (status == DECLUSTER_OK && (tokens.input < -1 || tokens.output < -1)) {
        fail("tokens that are none");
    }
    return status;
}

/* Settings as text: whatever is taken is within its bounds. */
static void set_text(decluster_config *config) {
    static const char *const values[] = {
        "0", "1", "2", "100", "4000", "65536", "100000", "word", "whole", "off", "fixed", "all",
        "semantic", "sentences", "1s", "300ms", "45000us", "18446744073709551615", "",
        "18446744073709551615s", "-1", "1.5", "5 ms", "\xff", "ms", "NaN", NULL,
    };
    uint32_t parameter = (uint32_t)below(decluster_parameter_count());
    decluster_parameter_info info;
    uint64_t value;
    const char *text = values[below(sizeof values / sizeof *values)];
    check(decluster_parameter_describe(parameter, &info, sizeof info), "");
    check(decluster_config_set_text(config, below(30) ? info.name : BYTES[below(9)], text),
          decluster_config_error(config));
    check(decluster_config_get(config, parameter, &value), "");
    if (value < info.min || value > info.max) fail("a value is out of its bounds");
}

static decluster_config *settings(void) {
    decluster_config *config = NULL;
    if (!below(8)) return NULL;
    check(decluster_config_new(&config), "");
    for (uint64_t i = below(6); i > 0; i--) {
        decluster_parameter_info info;
        uint32_t parameter = (uint32_t)number(decluster_parameter_count() + 1);
        uint64_t value = bits();
        if (!decluster_parameter_describe(parameter, &info, sizeof info) && below(9)) {
            value = info.min + below(info.max - info.min + 1);
            if (below(2)) value = info.min;
        }
        check(decluster_config_set(config, parameter, value), decluster_config_error(config));
    }
    for (uint64_t i = below(3); i > 0; i--) set_text(config);
    if (!below(9)) check(decluster_config_preset(config, below(2) ? "steady" : "none"), "");
    return config;
}

/* Asks how clustered it is, and sees to it that what is refused writes nothing. */
static int32_t clusters(int which, const void *handle) {
    static const decluster_clusters untouched = {.events = 0x5555};
    decluster_clusters found = untouched, *to = below(20) ? &found : NULL;
    size_t size = below(9) ? sizeof found : below(sizeof found + 10);
    uint32_t stage = (uint32_t)number(2);
    int32_t status = which == 0 ? decluster_engine_clusters(handle, stage, to, size)
                                : decluster_rewriter_clusters(handle, stage, to, size);
    if (status != DECLUSTER_OK && memcmp(&found, &untouched, sizeof found) != 0) {
        fail("a refused call has written");
    }
    if (status == DECLUSTER_OK && (found.size_sum > found.tokens || found.streams > found.groups ||
                                   found.events > found.groups || found.streams > 1)) {
        fail("clusters that do not add up");
    }
    return status;
}

/* What streams share: of all that follow. */
static decluster_budget *budget;
static decluster_totals *totals;
static decluster_ledger *ledger;

static void share_anew(void) {
    static char text[DECLUSTER_TOTALS_TEXT_MAX];
    const char *json;
    size_t length;
    if (ledger) {
        int32_t status = decluster_ledger_json(ledger, &json, &length);
        check(status, decluster_ledger_error(ledger));
        if (json[0] != '{' || json[length - 1] != '}') fail("a ledger that is no object");
        check(decluster_totals_text(totals, text, below(9) ? sizeof text : below(9), &length), "");
    }
    decluster_budget_free(budget);
    decluster_totals_free(totals);
    decluster_ledger_free(ledger);
    check(decluster_budget_new(number(500), &budget), "");
    check(decluster_totals_new(&totals), "");
    check(decluster_ledger_new(&ledger), "");
}

/* Names that end with a NUL. */
static const char *some_name(void) {
    static const char *const names[] = {"gpt-4.1", "m", "", "k", "\xff", NULL};
    return names[below(sizeof names / sizeof *names)];
}

static void ledgers(long calls) {
    decluster_body *body;
    decluster_ledger *other;
    check(decluster_body_new(&body), "");
    check(decluster_ledger_new(&other), "");
    while (calls-- > 0) {
        static const char *const untouched = "untouched";
        const char *json = untouched, *bytes;
        size_t length, json_length = 77;
        decluster_tokens tokens;
        int32_t status = DECLUSTER_OK;
        bytes = some_bytes(&length);
        switch (below(8)) {
        case 0: case 1:
            status = decluster_ledger_add(ledger, some_name(), some_name(), bytes, length,
                                          (uint32_t)below(2), (uint32_t)below(2), &json,
                                          &json_length);
            break;
        case 2:
            memset(&tokens, (int)below(256), sizeof tokens);
            tokens.input = (int64_t)number(1000);
            status = decluster_ledger_add_tokens(ledger, some_name(), some_name(), &tokens,
                                                 sizeof tokens, (uint32_t)below(2), &json,
                                                 &json_length);
            break;
        case 3:
            if (below(3)) bytes = decluster_prices_examples(), length = strlen(bytes);
            status = decluster_ledger_set_prices(ledger, bytes, length, some_name(), some_name());
            if (status == DECLUSTER_ERROR_OUT_OF_TURN && !below(5)) share_anew();
            break;
        case 4: status = decluster_ledger_merge(below(9) ? ledger : other, other); break;
        case 5: check(decluster_ledger_merge(other, ledger), decluster_ledger_error(other)); break;
        default:
            status = decluster_body_read(body, bytes, length, &json, &json_length);
            check(status, decluster_body_error(body));
            if (status == DECLUSTER_OK && json[0] != '{') fail("a response that is no object");
            break;
        }
        check(status, "");
        if (status != DECLUSTER_OK && (json != untouched || json_length != 77)) {
            fail("a refused call has written");
        }
    }
    decluster_body_free(body);
    decluster_ledger_free(other);
}

static void engine(long calls) {
    decluster_config *config = settings();
    decluster_engine *engine = NULL;
    decluster_output out;
    decluster_stats stats;
    check(decluster_engine_new(config, now(), &engine), "");
    decluster_config_free(config);
    while (calls-- > 0) {
        size_t length;
        const char *text = some_bytes(&length);
        int32_t status = DECLUSTER_OK;
        switch (below(15)) {
        case 13: status = clusters(0, engine); break;
        case 0: case 1: case 2: case 3: case 4:
            status = decluster_engine_push(engine, now(), (uint32_t)number(2), (uint32_t)number(3),
                                           text, length, (uint32_t)(below(9) ? 0 : number(100)));
            break;
        case 5: status = decluster_engine_mark(engine, now(), bits(), (uint32_t)below(2)); break;
        case 6: status = decluster_engine_end_block(engine, now()); break;
        case 7: status = below(9) ? 0 : decluster_engine_begin_attempt(engine, now()); break;
        case 8: status = decluster_engine_flush(engine); break;
        case 9: status = decluster_engine_stats(engine, &stats, sizeof stats); break;
        case 10: status = decluster_engine_wants_input(engine) < 0 ? -16 : 0; break;
        case 11: if (!below(200)) status = decluster_engine_finish(engine, now()); break;
        case 12:
            if (!below(200)) status = decluster_engine_cancel(engine, (uint32_t)number(3));
            break;
        default: status = take(0, engine, &out); break;
        }
        check(status, decluster_engine_error(engine));
    }
    check(decluster_engine_finish(engine, now()), decluster_engine_error(engine));
    drain(0, engine);
    decluster_engine_free(engine);
}

static void rewriter(long calls) {
    decluster_config *config = settings();
    decluster_rewriter *rewriter = NULL;
    decluster_output out;
    decluster_stats stats;
    uint32_t dialect = below(3) ? 0 : (uint32_t)number(10), mode = (uint32_t)number(3);
    int32_t made = decluster_rewriter_new(config, dialect, mode, now(), &rewriter);
    uint64_t way = below(5);
    check(made, "");
    decluster_config_free(config);
    if (made != DECLUSTER_OK) {
        if (rewriter) fail("a refused rewriter was given");
        return;
    }
    int faults = 0, is_push;
    if (below(2)) {
        check(decluster_rewriter_share_budget(rewriter, budget),
              decluster_rewriter_error(rewriter));
    }
    while (calls-- > 0) {
        size_t length, name_length;
        const char *bytes = some_bytes(&length), *name = some_bytes(&name_length), *json;
        int32_t status = DECLUSTER_OK;
        uint64_t which = below(13);
        is_push = which < 4;
        switch (which) {
        case 0: case 1: case 2: case 3:
            if (way == 0) status = decluster_rewriter_push_line(rewriter, now(), bytes, length);
            else if (way == 1) {
                status = decluster_rewriter_push_event(rewriter, now(), name, name_length, bytes,
                                                       length);
            } else if (way == 2) {
                status = decluster_rewriter_push_item(rewriter, now(), bytes, length);
            } else status = decluster_rewriter_push(rewriter, now(), bytes, length);
            if (!below(500)) way = below(5);
            break;
        case 4: if (!below(9)) status = decluster_rewriter_flush(rewriter); break;
        case 5: if (!below(300)) status = decluster_rewriter_stop_pacing(rewriter); break;
        case 6: status = decluster_rewriter_stats(rewriter, &stats, sizeof stats); break;
        case 7:
            status = decluster_rewriter_answer(rewriter, &json, &length);
            if (status == DECLUSTER_OK && (json[0] != '{' || json[length - 1] != '}')) {
                fail("an answer that is no object");
            }
            break;
        case 8:
            if (!below(300)) status = decluster_rewriter_cancel(rewriter, (uint32_t)number(3));
            if (decluster_rewriter_dialect(rewriter) < 0) fail("a dialect that is none");
            if (decluster_rewriter_framing(rewriter) < 0) fail("a framing that is none");
            break;
        case 9: status = tokens(rewriter); break;
        case 10: status = clusters(1, rewriter); break;
        case 11:
            if (!below(50)) status = decluster_rewriter_share_budget(rewriter, budget);
            else if (!below(300)) status = decluster_totals_add(totals, rewriter);
            break;
        default: status = take(1, rewriter, &out); break;
        }
        check(status, decluster_rewriter_error(rewriter));
        if (is_push && faults && status == DECLUSTER_OK) fail("a push is taken after a fault");
        faults += decluster_status_is_fault(status);
    }
    check(decluster_rewriter_finish(rewriter, now()), decluster_rewriter_error(rewriter));
    if (faults + drain(1, rewriter) > 1) fail("a stream has more than one fault");
    check(decluster_totals_add(totals, rewriter), decluster_rewriter_error(rewriter));
    check(decluster_ledger_add_rewriter(ledger, rewriter, some_name(), some_name(),
                                        (uint32_t)below(2), NULL, NULL),
          decluster_ledger_error(ledger));
    decluster_rewriter_free(rewriter);
}

static void segmenter(long calls) {
    decluster_config *config = settings();
    decluster_segmenter *segmenter = NULL;
    decluster_output out;
    int32_t made = decluster_segmenter_new(config, &segmenter);
    check(made, "");
    decluster_config_free(config);
    if (made != DECLUSTER_OK) return;
    while (calls-- > 0) {
        size_t length;
        const char *text = some_bytes(&length);
        int32_t status = DECLUSTER_OK;
        switch (below(8)) {
        case 0: case 1: case 2: case 3:
            status = decluster_segmenter_push(segmenter, text, length);
            break;
        case 4: if (!below(20)) status = decluster_segmenter_flush(segmenter); break;
        case 5: if (!below(90)) status = decluster_segmenter_finish(segmenter); break;
        case 6: status = decluster_segmenter_pending(segmenter, &text, &length); break;
        default: status = take(2, segmenter, &out); break;
        }
        check(status, decluster_segmenter_error(segmenter));
    }
    check(decluster_segmenter_finish(segmenter), decluster_segmenter_error(segmenter));
    drain(2, segmenter);
    decluster_segmenter_free(segmenter);
}

static void sse(long calls) {
    decluster_config *config = settings();
    decluster_sse *sse = NULL;
    decluster_output out;
    check(decluster_sse_new(config, &sse), "");
    decluster_config_free(config);
    while (calls-- > 0) {
        size_t length;
        const char *bytes = some_bytes(&length);
        int32_t status = below(3) ? decluster_sse_push(sse, bytes, length) : take(3, sse, &out);
        check(status, decluster_sse_error(sse));
    }
    check(decluster_sse_finish(sse), decluster_sse_error(sse));
    drain(3, sse);
    decluster_sse_free(sse);
}

int main(int argc, char **argv) {
    if (argc != 3) fail("usage: random SEED CALLS");
    state = strtoull(argv[1], NULL, 10);
    memset(large, 'x', sizeof large);
    share_anew();
    for (long left = strtol(argv[2], NULL, 10); left > 0;) {
        long calls = 1 + (long)below(3000);
        left -= calls;
        if (!below(4)) share_anew();
        switch (below(5)) {
        case 0: engine(calls); break;
        case 4: ledgers(calls); break;
        case 1: rewriter(calls); break;
        case 2: segmenter(calls); break;
        default: sse(calls); break;
        }
    }
    share_anew();
    decluster_budget_free(budget);
    decluster_totals_free(totals);
    decluster_ledger_free(ledger);
    return 0;
}
