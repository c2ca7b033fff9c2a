/*
 * Every function that takes a handle, by number, with arguments that are fine: for the tests of
 * what holds for all of them. Which was called is said through `called`; what it gave is a status
 * (or a number that is not negative). 1 stands for "there are no more". `_new()`, `_free()` and
 * `_error()` are not among them. make_others() makes the handles that some of these take besides.
 */
#ifndef CALLS_H
#define CALLS_H

#include "check.h"

#define NO_MORE 1
#define CALL(number, name, arguments) \
    case number:                      \
        *called = #name;              \
        return name arguments

static decluster_budget *a_budget;
static decluster_totals *some_totals;
static decluster_rewriter *a_rewriter;
static decluster_ledger *a_ledger;

static inline void make_others(void) {
    SAME(decluster_budget_new(1000, &a_budget), 0);
    SAME(decluster_totals_new(&some_totals), 0);
    SAME(decluster_rewriter_new(NULL, 0, 0, 0, &a_rewriter), 0);
    SAME(decluster_ledger_new(&a_ledger), 0);
}

static inline void free_others(void) {
    decluster_budget_free(a_budget);
    decluster_totals_free(some_totals);
    decluster_rewriter_free(a_rewriter);
    decluster_ledger_free(a_ledger);
}

static inline int32_t call_config(decluster_config *config, int number, const char **called) {
    uint64_t value;
    switch (number) {
        CALL(0, decluster_config_set, (config, DECLUSTER_PARAMETER_RATE, 100));
        CALL(1, decluster_config_get, (config, DECLUSTER_PARAMETER_RATE, &value));
        CALL(2, decluster_config_preset, (config, "steady"));
        CALL(3, decluster_config_profile, (config, "codex-low-latency"));
        CALL(4, decluster_config_set_text, (config, "rate", "100"));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_engine(decluster_engine *engine, int number, const char **called) {
    decluster_output out;
    decluster_stats stats;
    decluster_clusters clusters;
    switch (number) {
        CALL(0, decluster_engine_push, (engine, 0, DECLUSTER_KIND_OUTPUT, 0, "x", 1, 0));
        CALL(1, decluster_engine_mark, (engine, 0, 7, 0));
        CALL(2, decluster_engine_end_block, (engine, 0));
        CALL(3, decluster_engine_begin_attempt, (engine, 0));
        CALL(4, decluster_engine_finish, (engine, 0));
        CALL(5, decluster_engine_flush, (engine));
        CALL(6, decluster_engine_cancel, (engine, DECLUSTER_CANCEL_FLUSH));
        CALL(7, decluster_engine_poll, (engine, 0, &out, sizeof out));
        CALL(8, decluster_engine_wants_input, (engine));
        CALL(9, decluster_engine_stats, (engine, &stats, sizeof stats));
        CALL(10, decluster_engine_clusters, (engine, 0, &clusters, sizeof clusters));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_rewriter(decluster_rewriter *rewriter, int number,
                                    const char **called) {
    decluster_output out;
    decluster_stats stats;
    decluster_tokens tokens;
    decluster_clusters clusters;
    const char *json;
    size_t length;
    switch (number) {
        CALL(0, decluster_rewriter_push, (rewriter, 0, ": x\n\n", 5));
        CALL(1, decluster_rewriter_push_line, (rewriter, 0, ": x", 3));
        CALL(2, decluster_rewriter_push_event, (rewriter, 0, "x", 1, "{}", 2));
        CALL(3, decluster_rewriter_finish, (rewriter, 0));
        CALL(4, decluster_rewriter_flush, (rewriter));
        CALL(5, decluster_rewriter_stop_pacing, (rewriter));
        CALL(6, decluster_rewriter_cancel, (rewriter, DECLUSTER_CANCEL_FLUSH));
        CALL(7, decluster_rewriter_poll, (rewriter, 0, &out, sizeof out));
        CALL(8, decluster_rewriter_wants_input, (rewriter));
        CALL(9, decluster_rewriter_stats, (rewriter, &stats, sizeof stats));
        CALL(10, decluster_rewriter_dialect, (rewriter));
        CALL(11, decluster_rewriter_answer, (rewriter, &json, &length));
        CALL(12, decluster_rewriter_tokens, (rewriter, &tokens, sizeof tokens));
        CALL(13, decluster_rewriter_push_item, (rewriter, 0, ": x\n", 4));
        CALL(14, decluster_rewriter_framing, (rewriter));
        CALL(15, decluster_rewriter_share_budget, (rewriter, a_budget));
        CALL(16, decluster_rewriter_clusters, (rewriter, 0, &clusters, sizeof clusters));
        CALL(17, decluster_totals_add, (some_totals, rewriter));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_segmenter(decluster_segmenter *segmenter, int number,
                                     const char **called) {
    decluster_output out;
    const char *text;
    size_t length;
    switch (number) {
        CALL(0, decluster_segmenter_push, (segmenter, "x", 1));
        CALL(1, decluster_segmenter_finish, (segmenter));
        CALL(2, decluster_segmenter_flush, (segmenter));
        CALL(3, decluster_segmenter_poll, (segmenter, &out, sizeof out));
        CALL(4, decluster_segmenter_pending, (segmenter, &text, &length));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_sse(decluster_sse *sse, int number, const char **called) {
    decluster_output out;
    switch (number) {
        CALL(0, decluster_sse_push, (sse, "x", 1));
        CALL(1, decluster_sse_finish, (sse));
        CALL(2, decluster_sse_poll, (sse, &out, sizeof out));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_budget(decluster_budget *budget, int number, const char **called) {
    uint64_t used;
    switch (number) {
        CALL(0, decluster_budget_used, (budget, &used));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_totals(decluster_totals *totals, int number, const char **called) {
    static char text[DECLUSTER_TOTALS_TEXT_MAX];
    size_t length;
    switch (number) {
        CALL(0, decluster_totals_text, (totals, text, sizeof text, &length));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_ledger(decluster_ledger *ledger, int number, const char **called) {
    static const char prices[] = "[models.m]\nprompt = 1\noutput = 2\n";
    decluster_tokens tokens;
    const char *json;
    size_t length;
    memset(&tokens, 0, sizeof tokens);
    switch (number) {
        CALL(0, decluster_ledger_set_prices, (ledger, prices, sizeof prices - 1, NULL, NULL));
        CALL(1, decluster_ledger_add, (ledger, "m", "k", "{}", 2, 0, 0, &json, &length));
        CALL(2, decluster_ledger_add_tokens,
             (ledger, "m", NULL, &tokens, sizeof tokens, 0, &json, &length));
        CALL(3, decluster_ledger_add_rewriter,
             (ledger, a_rewriter, NULL, NULL, 1, &json, &length));
        CALL(4, decluster_ledger_merge, (ledger, a_ledger));
        CALL(5, decluster_ledger_json, (ledger, &json, &length));
    default:
        return NO_MORE;
    }
}

static inline int32_t call_body(decluster_body *body, int number, const char **called) {
    static const char bytes[] = "{\"usage\":{}}";
    const char *json;
    size_t length;
    switch (number) {
        CALL(0, decluster_body_read, (body, bytes, sizeof bytes - 1, &json, &length));
    default:
        return NO_MORE;
    }
}

#endif
