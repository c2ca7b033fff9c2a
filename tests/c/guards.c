/* What watches over streams, on clocks that the tests turn: budgets, silences, clusters, sums. */
#include <pthread.h>
#include <sched.h>

#include "check.h"

#define DATA(json) "data: " json "\n\n"
#define THOUGHT(text) \
    DATA("{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"" text "\"}}]}")
#define CHAT(text) DATA("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}")
#define DONE "data: [DONE]\n\n"

static decluster_rewriter *rewriter_with(const char *name, const char *value, uint32_t mode) {
    decluster_config *config;
    decluster_rewriter *rewriter;
    SAME(decluster_config_new(&config), 0);
    if (name) SAME(decluster_config_set_text(config, name, value), 0);
    SAME(decluster_rewriter_new(config, 0, mode, 0, &rewriter), 0);
    decluster_config_free(config);
    return rewriter;
}

static void push(decluster_rewriter *rewriter, uint64_t now, const char *bytes) {
    SAME(decluster_rewriter_push(rewriter, now, bytes, strlen(bytes)), 0);
}

/* Polls until there is nothing before `until`, or a call fails; gives the status, and in `last`
 * what came last but for waits. */
static int32_t take(decluster_rewriter *rewriter, uint64_t *now, uint64_t until,
                    struct journal *journal, decluster_output *last) {
    int turn;
    for (turn = 0; turn < MANY; turn++) {
        int32_t status = decluster_rewriter_poll(rewriter, *now, last, sizeof *last);
        if (status) return status;
        if (last->type == DECLUSTER_OUTPUT_NEED_INPUT || last->type == DECLUSTER_OUTPUT_FINISHED) {
            return status;
        }
        if (last->type == DECLUSTER_OUTPUT_WAIT) {
            if (last->at_ns > until) return status;
            *now = last->at_ns;
        } else if (journal) {
            journal_put(journal, last->text, last->text_length);
        }
    }
    CHECK(!"it came to an end");
    return 0;
}

/* The answer says all of these words. */
static void check_answer(decluster_rewriter *rewriter, const char *words) {
    struct journal copy = {NULL, 0, 0};
    const char *json = NULL;
    size_t length = 0;
    SAME(decluster_rewriter_answer(rewriter, &json, &length), 0);
    journal_put(&copy, json, length);
    SAYS(copy.text, words);
    journal_free(&copy);
}

static uint64_t used_of(const decluster_budget *budget) {
    uint64_t used = 77;
    SAME(decluster_budget_used(budget, &used), 0);
    return used;
}

/* ---- Budgets ---- */

static void a_budget_is_used_up_by_all_who_share_it(void) {
    decluster_budget *budget;
    decluster_rewriter *first = rewriter_with(NULL, NULL, DECLUSTER_MODE_PIECES);
    decluster_rewriter *second = rewriter_with(NULL, NULL, DECLUSTER_MODE_PIECES);
    struct journal journal = {NULL, 0, 0};
    decluster_output last;
    uint64_t now = 0, used;
    char numbers[80];
    SAME(decluster_budget_new(12, &budget), 0);
    SAME(used_of(budget), 0);
    SAME(decluster_rewriter_share_budget(first, budget), 0);
    SAME(decluster_rewriter_share_budget(second, budget), 0);
    push(first, 0, THOUGHT("A thought of a few words, and then a few more of them.\\n"));
    SAME(take(first, &now, SECOND, NULL, &last), 0);
    used = used_of(budget);
    CHECK(used >= 12 && used < 30);
    push(second, 0, THOUGHT("Another one, of the other stream.\\n") CHAT("Nothing"));
    now = 0;
    SAME(take(second, &now, SECOND, &journal, &last), DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED);
    SAYS(decluster_rewriter_error(second), "shared reasoning budget exceeded: about|limit is 12");
    SAME(journal.length, 0);
    /* Of all of its streams, and as it was. */
    SAME(used_of(budget), used);
    snprintf(numbers, sizeof numbers,
             "\"exceeded\":{\"used\":%u,\"limit\":12,\"source\":\"estimate\",\"shared\":true},",
             (unsigned)used);
    check_answer(second, numbers);
    check_answer(first, "\"exceeded\":null,");
    decluster_rewriter_free(first);
    decluster_rewriter_free(second);
    decluster_budget_free(budget);
}

static void a_budget_lives_as_long_as_it_is_shared(void) {
    decluster_budget *budget;
    decluster_rewriter *rewriter = rewriter_with(NULL, NULL, DECLUSTER_MODE_PIECES);
    decluster_output last;
    uint64_t now = 0;
    SAME(decluster_budget_new(0, &budget), 0);
    SAME(decluster_rewriter_share_budget(rewriter, budget), 0);
    decluster_budget_free(budget);
    push(rewriter, 0, THOUGHT("A thought.\\n"));
    SAME(take(rewriter, &now, SECOND, NULL, &last), DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED);
    decluster_rewriter_free(rewriter);
}

static void the_second_budget_takes_the_place_of_the_first(void) {
    decluster_budget *first, *second;
    decluster_rewriter *rewriter = rewriter_with(NULL, NULL, DECLUSTER_MODE_PIECES);
    decluster_output last;
    uint64_t now = 0;
    SAME(decluster_budget_new(0, &first), 0);
    SAME(decluster_budget_new(1000, &second), 0);
    SAME(decluster_rewriter_share_budget(rewriter, first), 0);
    SAME(decluster_rewriter_share_budget(rewriter, second), 0);
    push(rewriter, 0, THOUGHT("A thought.\\n"));
    SAME(take(rewriter, &now, SECOND, NULL, &last), 0);
    SAME(used_of(first), 0);
    CHECK(used_of(second) > 0);
    decluster_rewriter_free(rewriter);
    decluster_budget_free(first);
    decluster_budget_free(second);
}

static void what_exceeds_may_be_told_as_an_event(void) {
    decluster_budget *budget;
    decluster_rewriter *rewriter =
        rewriter_with("over_budget", "event", DECLUSTER_MODE_PIECES_AND_EVENTS);
    struct journal journal = {NULL, 0, 0};
    decluster_output last;
    uint64_t now = 0;
    SAME(decluster_budget_new(0, &budget), 0);
    SAME(decluster_rewriter_share_budget(rewriter, budget), 0);
    push(rewriter, 0, THOUGHT("A thought.\\n"));
    SAME(decluster_rewriter_poll(rewriter, 0, &last, sizeof last), 0);
    /* The event that came and holds no text of its own goes first. */
    while (last.type == DECLUSTER_OUTPUT_EVENT) {
        SAME(decluster_rewriter_poll(rewriter, 0, &last, sizeof last), 0);
    }
    SAME(last.type, DECLUSTER_OUTPUT_BUDGET_EXCEEDED);
    SAME(last.number, 0);
    SAME_TEXT(last.name, last.name_length, "budget_exceeded");
    SAME_TEXT(last.text, last.text_length,
              "{\"used\":0,\"limit\":0,\"source\":\"estimate\",\"shared\":true}");
    check_answer(rewriter, "\"exceeded\":{\"used\":0,\"limit\":0,");
    SAME(take(rewriter, &now, SECOND, &journal, &last), 0);
    SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
    SAME(last.verdict, DECLUSTER_VERDICT_NONE);
    SAME(journal.length, 0);
    decluster_rewriter_free(rewriter);
    decluster_budget_free(budget);
}

/* A stream that reasons until it is stopped. */
struct spender {
    decluster_budget *budget;
    pthread_mutex_t *gate;
    /* What it gave out, by its own count. */
    uint64_t tokens;
    uint32_t largest;
};

static void *spend(void *given) {
    struct spender *spender = (struct spender *)given;
    decluster_rewriter *rewriter = NULL;
    decluster_output out;
    uint64_t now = 0, used;
    int turn;
    static const char thought[] = THOUGHT("A thought of a few words. ");
    if (decluster_rewriter_new(NULL, 0, DECLUSTER_MODE_PIECES, 0, &rewriter) ||
        decluster_rewriter_share_budget(rewriter, spender->budget)) {
        return NULL;
    }
    pthread_mutex_lock(spender->gate);
    pthread_mutex_unlock(spender->gate);
    for (turn = 0; turn < MANY; turn++) {
        decluster_status status = decluster_rewriter_poll(rewriter, now, &out, sizeof out);
        if (decluster_budget_used(spender->budget, &used)) break;
        if (status == DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED) {
            decluster_rewriter_free(rewriter);
            return given;
        }
        if (status) break;
        if (out.type == DECLUSTER_OUTPUT_PIECE) {
            spender->tokens += out.tokens;
            if (out.tokens > spender->largest) spender->largest = out.tokens;
            sched_yield();
        }
        if (out.type == DECLUSTER_OUTPUT_WAIT) now = out.at_ns;
        if (out.type == DECLUSTER_OUTPUT_NEED_INPUT &&
            decluster_rewriter_push(rewriter, now, thought, sizeof thought - 1)) {
            break;
        }
    }
    decluster_rewriter_free(rewriter);
    return NULL;
}

#define SPENDERS 4

static void threads_exceed_a_budget_by_one_piece_at_the_most(void) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct spender spenders[SPENDERS];
    pthread_t threads[SPENDERS];
    decluster_budget *budget;
    uint64_t sum = 0, used;
    uint32_t largest = 0;
    int at;
    SAME(decluster_budget_new(2000, &budget), 0);
    memset(spenders, 0, sizeof spenders);
    pthread_mutex_lock(&gate);
    for (at = 0; at < SPENDERS; at++) {
        spenders[at].budget = budget;
        spenders[at].gate = &gate;
        SAME(pthread_create(&threads[at], NULL, spend, &spenders[at]), 0);
    }
    pthread_mutex_unlock(&gate);
    for (at = 0; at < SPENDERS; at++) {
        void *done = NULL;
        SAME(pthread_join(threads[at], &done), 0);
        CHECK(done == &spenders[at]);
        sum += spenders[at].tokens;
        if (spenders[at].largest > largest) largest = spenders[at].largest;
    }
    used = used_of(budget);
    CHECK(used >= 2000 && used < 2000 + largest + SPENDERS);
    /* Each piece rounds for itself. */
    CHECK(sum + sum / 4 > used && used + used / 4 > sum);
    decluster_budget_free(budget);
}

/* ---- Silences ---- */

static void a_silence_ends_the_stream_behind_what_had_come(void) {
    decluster_rewriter *rewriter = rewriter_with("max_silence", "10s", DECLUSTER_MODE_PIECES);
    struct journal journal = {NULL, 0, 0};
    decluster_output last;
    uint64_t now = SECOND;
    push(rewriter, now, CHAT("It goes on.\\n"));
    SAME(take(rewriter, &now, 5 * (uint64_t)SECOND, &journal, &last), 0);
    SAME(last.type, DECLUSTER_OUTPUT_WAIT);
    SAME(last.at_ns, 11 * (uint64_t)SECOND);
    /* A sign of life is none of progress. */
    now = 6 * (uint64_t)SECOND;
    push(rewriter, now, ": ping\n\n");
    check_answer(rewriter, "\"stalled_ns\":null,");
    SAME(take(rewriter, &now, UINT64_MAX, &journal, &last), DECLUSTER_ERROR_STALLED);
    SAME(now, 11 * (uint64_t)SECOND);
    SAYS(decluster_rewriter_error(rewriter), "10");
    check_answer(rewriter, "\"stalled_ns\":10000000000,");
    SAYS(journal.text, "It goes on.");
    SAME(decluster_rewriter_push(rewriter, now, DONE, 1), DECLUSTER_ERROR_FINISHED);
    SAME(take(rewriter, &now, UINT64_MAX, &journal, &last), 0);
    SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
    journal_free(&journal);
    decluster_rewriter_free(rewriter);
}

/* ---- Clusters ---- */

/* The published log: 67 tokens of reasoning at once, 1.4 s of nothing, 81, then 12 of output. */
static decluster_rewriter *incident(void) {
    static const struct {
        uint64_t at;
        const char *event;
    } log[] = {
        {0, DATA("{\"type\":\"response.reasoning.delta\",\"delta_tokens\":67}")},
        {1400 * (uint64_t)MS, DATA("{\"type\":\"response.reasoning.delta\",\"delta_tokens\":81}")},
        {1405 * (uint64_t)MS, DATA("{\"type\":\"response.output.delta\",\"delta_tokens\":12}")},
        {1410 * (uint64_t)MS, DATA("{\"type\":\"response.completed\"}")},
    };
    decluster_rewriter *rewriter = rewriter_with(NULL, NULL, DECLUSTER_MODE_STREAM);
    decluster_output last;
    uint64_t now = 0;
    size_t at;
    for (at = 0; at < sizeof log / sizeof *log; at++) {
        SAME(take(rewriter, &now, log[at].at, NULL, &last), 0);
        now = log[at].at;
        push(rewriter, now, log[at].event);
    }
    SAME(decluster_rewriter_finish(rewriter, now), 0);
    SAME(take(rewriter, &now, UINT64_MAX, NULL, &last), 0);
    SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
    return rewriter;
}

static void the_incident_has_two_clusters_and_the_reader_sees_none(void) {
    decluster_rewriter *rewriter = incident();
    decluster_clusters before, after;
    memset(&before, 0xa5, sizeof before);
    memset(&after, 0xa5, sizeof after);
    SAME(decluster_rewriter_clusters(rewriter, DECLUSTER_STAGE_BEFORE, &before, sizeof before), 0);
    SAME(before.events, 2);
    SAME(before.groups, 2);
    SAME(before.streams, 1);
    SAME(before.tokens, 160);
    SAME(before.watched_ns, 1405 * (uint64_t)MS);
    /* 2 in 1.405 s. */
    SAME(before.events_per_hour, 5124555);
    SAME(before.size_p50, 67);
    SAME(before.size_p95, 93);
    SAME(before.size_max, 93);
    SAME(before.size_sum, 160);
    SAME(before.gap_max_ms, 1400);
    SAME(before.gap_sum_ms, 1400);
    CHECK(before.gap_p50_ms >= 1400 && before.gap_p50_ms <= 1414);
    SAME(before.gap_p95_ms, before.gap_p50_ms);
    SAME(before.reserved_words[0], 0);
    SAME(before.reserved_words[1], 0);
    SAME(decluster_rewriter_clusters(rewriter, DECLUSTER_STAGE_AFTER, &after, sizeof after), 0);
    SAME(after.events, 0);
    SAME(after.events_per_hour, 0);
    SAME(after.tokens, 160);
    SAME(after.size_sum, 160);
    CHECK(after.groups > 4 && after.size_max < 40 && after.gap_max_ms < 1400);
    decluster_rewriter_free(rewriter);
}

static void an_engine_counts_by_the_rule_that_it_was_given(void) {
    decluster_config *config;
    decluster_engine *engine;
    decluster_clusters clusters;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set_text(config, "cluster_min_tokens", "10"), 0);
    SAME(decluster_config_set_text(config, "cluster_min_gap", "200ms"), 0);
    SAME(decluster_engine_new(config, 0, &engine), 0);
    decluster_config_free(config);
    SAME(decluster_engine_clusters(engine, DECLUSTER_STAGE_BEFORE, &clusters, sizeof clusters), 0);
    SAME(clusters.streams, 0);
    SAME(clusters.size_max, 0);
    SAME(clusters.events_per_hour, 0);
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 0, NULL, 0, 10), 0);
    SAME(decluster_engine_push(engine, 250 * MS, DECLUSTER_KIND_OUTPUT, 0, NULL, 0, 10), 0);
    SAME(decluster_engine_clusters(engine, DECLUSTER_STAGE_BEFORE, &clusters, sizeof clusters), 0);
    SAME(clusters.events, 2);
    SAME(clusters.gap_sum_ms, 250);
    SAME(decluster_engine_clusters(engine, DECLUSTER_STAGE_AFTER, &clusters, sizeof clusters), 0);
    SAME(clusters.tokens, 0);
    decluster_engine_free(engine);
}

/* ---- Totals ---- */

static char text[DECLUSTER_TOTALS_TEXT_MAX + 1];

static void check_totals(const decluster_totals *totals, const char *words) {
    size_t length = 0;
    SAME(decluster_totals_text(totals, text, sizeof text - 1, &length), 0);
    CHECK(length > 1000 && length < sizeof text);
    text[length] = 0;
    SAYS(text, words);
}

static void totals_add_up_streams_that_are_over(void) {
    decluster_totals *totals;
    decluster_rewriter *rewriter;
    size_t length = 0;
    SAME(decluster_totals_new(&totals), 0);
    check_totals(totals, "decluster_streams_total{verdict=\"complete\"} 0\n|"
                         "decluster_cluster_events_total{stage=\"before\"} 0\n");
    rewriter = incident();
    check_totals(totals, "decluster_streams_total{verdict=\"complete\"} 0\n");
    SAME(decluster_totals_add(totals, rewriter), 0);
    /* Each counts once. */
    SAME(decluster_totals_add(totals, rewriter), 0);
    decluster_rewriter_free(rewriter);
    check_totals(totals, "decluster_streams_total{verdict=\"complete\"} 1\n|"
                         "decluster_tokens_total{stage=\"in\"} 160\n|"
                         "decluster_cluster_events_total{stage=\"before\"} 2\n|"
                         "decluster_cluster_events_total{stage=\"after\"} 0\n|"
                         "decluster_group_tokens_bucket{stage=\"before\",le=\"80\"} 1\n|"
                         "decluster_group_tokens_sum{stage=\"before\"} 160\n|"
                         "decluster_gap_seconds_sum{stage=\"before\"} 1.4\n");
    /* One that is given up. */
    rewriter = rewriter_with(NULL, NULL, DECLUSTER_MODE_STREAM);
    push(rewriter, 0, CHAT("It is cut"));
    SAME(decluster_totals_add(totals, rewriter), 0);
    decluster_rewriter_free(rewriter);
    check_totals(totals, "{verdict=\"complete\"} 1\n|{verdict=\"none\"} 1\n");
    /* Just enough room. */
    SAME(decluster_totals_text(totals, text, sizeof text, &length), 0);
    text[length] = '#';
    SAME(decluster_totals_text(totals, text, length, &length), 0);
    SAME(text[length], '#');
    SAME(text[length - 1], '\n');
    decluster_totals_free(totals);
}

static void a_stream_over_its_budget_is_counted_whether_that_is_a_fault_or_an_event(void) {
    static const char *const ways[] = {"raise", "event"};
    decluster_totals *totals;
    int way;
    SAME(decluster_totals_new(&totals), 0);
    for (way = 0; way < 2; way++) {
        decluster_rewriter *rewriter =
            rewriter_with("over_budget", ways[way], DECLUSTER_MODE_PIECES);
        decluster_budget *budget;
        decluster_output last;
        uint64_t now = 0;
        SAME(decluster_budget_new(0, &budget), 0);
        SAME(decluster_rewriter_share_budget(rewriter, budget), 0);
        decluster_budget_free(budget);
        push(rewriter, 0, THOUGHT("A thought.\\n"));
        SAME(take(rewriter, &now, SECOND, NULL, &last),
             way == 0 ? DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED : DECLUSTER_OK);
        SAME(decluster_totals_add(totals, rewriter), 0);
        decluster_rewriter_free(rewriter);
    }
    check_totals(totals, "decluster_reasoning_budget_exceeded_total 2\n");
    decluster_totals_free(totals);
}

#define ADDERS 4
#define ADDED 200

/* Adds, and now and then reads. */
static void *add_to(void *given) {
    static const char event[] = CHAT("Words.") DONE;
    const decluster_totals *totals = (const decluster_totals *)given;
    char *room = (char *)malloc(DECLUSTER_TOTALS_TEXT_MAX);
    void *result = given;
    int turn;
    for (turn = 0; turn < ADDED && room; turn++) {
        decluster_rewriter *rewriter = NULL;
        decluster_output last;
        size_t length;
        if (decluster_rewriter_new(NULL, 0, DECLUSTER_MODE_STREAM, 0, &rewriter) ||
            decluster_rewriter_push(rewriter, 0, event, sizeof event - 1) ||
            decluster_rewriter_cancel(rewriter, DECLUSTER_CANCEL_FLUSH)) {
            result = NULL;
        }
        do {
            if (decluster_rewriter_poll(rewriter, 0, &last, sizeof last)) result = NULL;
        } while (result && last.type != DECLUSTER_OUTPUT_FINISHED);
        if (decluster_totals_add(totals, rewriter)) result = NULL;
        if (decluster_totals_text(totals, room, DECLUSTER_TOTALS_TEXT_MAX, &length)) result = NULL;
        decluster_rewriter_free(rewriter);
    }
    free(room);
    return result;
}

static void any_number_of_threads_add_to_totals_and_none_is_told_busy(void) {
    decluster_totals *totals;
    pthread_t threads[ADDERS];
    int at;
    SAME(decluster_totals_new(&totals), 0);
    for (at = 0; at < ADDERS; at++) SAME(pthread_create(&threads[at], NULL, add_to, totals), 0);
    for (at = 0; at < ADDERS; at++) {
        void *done = NULL;
        SAME(pthread_join(threads[at], &done), 0);
        CHECK(done == totals);
    }
    check_totals(totals, "decluster_streams_total{verdict=\"complete\"} 800\n");
    decluster_totals_free(totals);
}

int main(void) {
    RUN(a_budget_is_used_up_by_all_who_share_it);
    RUN(a_budget_lives_as_long_as_it_is_shared);
    RUN(the_second_budget_takes_the_place_of_the_first);
    RUN(what_exceeds_may_be_told_as_an_event);
    RUN(threads_exceed_a_budget_by_one_piece_at_the_most);
    RUN(a_silence_ends_the_stream_behind_what_had_come);
    RUN(the_incident_has_two_clusters_and_the_reader_sees_none);
    RUN(an_engine_counts_by_the_rule_that_it_was_given);
    RUN(totals_add_up_streams_that_are_over);
    RUN(a_stream_over_its_budget_is_counted_whether_that_is_a_fault_or_an_event);
    RUN(any_number_of_threads_add_to_totals_and_none_is_told_busy);
    return done();
}
