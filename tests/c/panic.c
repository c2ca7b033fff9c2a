/*
 * A panic inside the library, which the hook of the tests brings about, stops at its border: the
 * call says PANIC, the handle is POISONED from then on and can be freed, and all else goes on.
 */
#include <pthread.h>

#include "calls.h"

#ifdef __cplusplus
extern "C"
#endif
/* The next call of this thread panics. Not in what is installed. */
void decluster_test_panic(void);

/* A test for one kind of handle: of each of its functions that it panics, and that all are refused
 * from then on. */
#define PANICS(kind, make)                                                                 \
    do {                                                                                   \
        const char *called = "", *refused = "";                                            \
        int panicking, number;                                                             \
        for (panicking = 0;; panicking++) {                                                \
            decluster_##kind *handle = NULL, *other = NULL;                                \
            int32_t status;                                                                \
            SAME(make(&handle), 0);                                                        \
            SAME(make(&other), 0);                                                         \
            decluster_test_panic();                                                        \
            status = call_##kind(handle, panicking, &called);                              \
            if (status == NO_MORE) {                                                       \
                /* It was not called, so the hook waits for this one. */                   \
                SAME(call_##kind(handle, 0, &called), DECLUSTER_ERROR_PANIC);              \
                decluster_##kind##_free(handle);                                           \
                decluster_##kind##_free(other);                                            \
                break;                                                                     \
            }                                                                              \
            if (!CHECK(status == DECLUSTER_ERROR_PANIC)) fprintf(stderr, "%s\n", called);  \
            SAYS(decluster_##kind##_error(handle), "panicked|.rs:|as the test asked for"); \
            for (number = 0;; number++) {                                                  \
                status = call_##kind(handle, number, &refused);                            \
                if (status == NO_MORE) break;                                              \
                if (!CHECK(status == DECLUSTER_ERROR_POISONED)) {                          \
                    fprintf(stderr, "%s after %s\n", refused, called);                     \
                }                                                                          \
            }                                                                              \
            SAYS(decluster_##kind##_error(handle), "panicked|.rs:|as the test asked for"); \
            CHECK(call_##kind(other, 0, &refused) == DECLUSTER_OK);                        \
            decluster_##kind##_free(handle);                                               \
            decluster_##kind##_free(other);                                                \
        }                                                                                  \
    } while (0)

static int32_t make_config(decluster_config **config) { return decluster_config_new(config); }

static int32_t make_engine(decluster_engine **engine) {
    int32_t status = decluster_engine_new(NULL, 0, engine);
    if (status == 0) {
        SAME(decluster_engine_push(*engine, 0, DECLUSTER_KIND_OUTPUT, 0, "Some text", 9, 0), 0);
    }
    return status;
}

static int32_t make_rewriter(decluster_rewriter **rewriter) {
    return decluster_rewriter_new(NULL, 0, DECLUSTER_MODE_STREAM, 0, rewriter);
}

static int32_t make_segmenter(decluster_segmenter **segmenter) {
    return decluster_segmenter_new(NULL, segmenter);
}

static int32_t make_sse(decluster_sse **sse) { return decluster_sse_new(NULL, sse); }

static int32_t make_budget(decluster_budget **budget) { return decluster_budget_new(9, budget); }

static int32_t make_totals(decluster_totals **totals) { return decluster_totals_new(totals); }

static int32_t make_ledger(decluster_ledger **ledger) { return decluster_ledger_new(ledger); }

static int32_t make_body(decluster_body **body) { return decluster_body_new(body); }

static void a_config_panics_once_and_is_poisoned(void) { PANICS(config, make_config); }

static void an_engine_panics_once_and_is_poisoned(void) { PANICS(engine, make_engine); }

static void a_rewriter_panics_once_and_is_poisoned(void) { PANICS(rewriter, make_rewriter); }

static void a_segmenter_panics_once_and_is_poisoned(void) { PANICS(segmenter, make_segmenter); }

static void a_decoder_panics_once_and_is_poisoned(void) { PANICS(sse, make_sse); }

static void a_budget_panics_once_and_is_poisoned(void) { PANICS(budget, make_budget); }

static void totals_panic_once_and_are_poisoned(void) { PANICS(totals, make_totals); }

static void a_ledger_panics_once_and_is_poisoned(void) { PANICS(ledger, make_ledger); }

static void a_body_panics_once_and_is_poisoned(void) { PANICS(body, make_body); }

#define PANICS_NEW(kind, make)                                            \
    do {                                                                  \
        char place;                                                       \
        decluster_##kind *nobody = (decluster_##kind *)(void *)&place;    \
        decluster_##kind *handle = nobody;                                \
        decluster_test_panic();                                           \
        SAME(make(&handle), DECLUSTER_ERROR_PANIC);                       \
        CHECK(handle == nobody);                                          \
        SAME(make(&handle), 0);                                           \
        decluster_##kind##_free(handle);                                  \
    } while (0)

static void what_panics_while_it_is_made_is_not_there(void) {
    PANICS_NEW(config, make_config);
    PANICS_NEW(engine, make_engine);
    PANICS_NEW(rewriter, make_rewriter);
    PANICS_NEW(segmenter, make_segmenter);
    PANICS_NEW(sse, make_sse);
    PANICS_NEW(budget, make_budget);
    PANICS_NEW(totals, make_totals);
    PANICS_NEW(ledger, make_ledger);
    PANICS_NEW(body, make_body);
}

static void a_panic_writes_no_output(void) {
    decluster_engine *engine;
    decluster_output out, same;
    decluster_stats stats, same_stats;
    memset(&out, 0xa5, sizeof out);
    memset(&same, 0xa5, sizeof same);
    memset(&stats, 0xa5, sizeof stats);
    memset(&same_stats, 0xa5, sizeof same_stats);
    SAME(make_engine(&engine), 0);
    decluster_test_panic();
    SAME(decluster_engine_poll(engine, 0, &out, sizeof out), DECLUSTER_ERROR_PANIC);
    SAME(decluster_engine_poll(engine, 0, &out, sizeof out), DECLUSTER_ERROR_POISONED);
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), DECLUSTER_ERROR_POISONED);
    CHECK(memcmp(&out, &same, sizeof out) == 0);
    CHECK(memcmp(&stats, &same_stats, sizeof stats) == 0);
    decluster_engine_free(engine);
}

/* A call that changes nothing keeps what was given out, even if it panics: also the message of an
 * earlier call, beside which that of the panic stands. */
#define LOOK_PANICS(kind, make, failing, looking)                     \
    do {                                                              \
        decluster_##kind *handle = NULL;                              \
        const char *before, *after;                                   \
        char copy[200];                                               \
        SAME(make(&handle), 0);                                       \
        CHECK((failing) != DECLUSTER_OK);                             \
        before = decluster_##kind##_error(handle);                    \
        snprintf(copy, sizeof copy, "%s", before);                    \
        CHECK(strlen(copy) > 5);                                      \
        decluster_test_panic();                                       \
        SAME((looking), DECLUSTER_ERROR_PANIC);                       \
        after = decluster_##kind##_error(handle);                     \
        SAYS(after, "panicked|.rs:|as the test asked for");           \
        SAME_TEXT(before, strlen(before), copy);                      \
        SAME((looking), DECLUSTER_ERROR_POISONED);                    \
        SAME((failing), DECLUSTER_ERROR_POISONED);                    \
        CHECK(decluster_##kind##_error(handle) == after);             \
        SAYS(after, "panicked|.rs:|as the test asked for");           \
        SAME_TEXT(before, strlen(before), copy);                      \
        decluster_##kind##_free(handle);                              \
    } while (0)

static void a_panic_while_it_is_looked_at_leaves_the_message_before_it(void) {
    decluster_output out;
    decluster_stats stats;
    decluster_tokens tokens;
    decluster_clusters clusters;
    uint64_t value = 77;
    const char *text = NULL;
    size_t length = 77;
    memset(&stats, 0xa5, sizeof stats);
    memset(&tokens, 0xa5, sizeof tokens);
    memset(&clusters, 0xa5, sizeof clusters);
#define FAILS(kind) decluster_##kind##_poll(handle, 0, &out, 1)
    LOOK_PANICS(config, make_config, decluster_config_set_text(handle, "rate", "0"),
                decluster_config_get(handle, 0, &value));
    LOOK_PANICS(engine, make_engine, FAILS(engine), decluster_engine_wants_input(handle));
    LOOK_PANICS(engine, make_engine, FAILS(engine),
                decluster_engine_stats(handle, &stats, sizeof stats));
    LOOK_PANICS(rewriter, make_rewriter, FAILS(rewriter),
                decluster_rewriter_wants_input(handle));
    LOOK_PANICS(rewriter, make_rewriter, FAILS(rewriter),
                decluster_rewriter_stats(handle, &stats, sizeof stats));
    LOOK_PANICS(rewriter, make_rewriter, FAILS(rewriter), decluster_rewriter_dialect(handle));
    LOOK_PANICS(rewriter, make_rewriter, FAILS(rewriter), decluster_rewriter_framing(handle));
    LOOK_PANICS(rewriter, make_rewriter, FAILS(rewriter),
                decluster_rewriter_tokens(handle, &tokens, sizeof tokens));
    LOOK_PANICS(engine, make_engine, FAILS(engine),
                decluster_engine_clusters(handle, 0, &clusters, sizeof clusters));
    LOOK_PANICS(rewriter, make_rewriter, FAILS(rewriter),
                decluster_rewriter_clusters(handle, 1, &clusters, sizeof clusters));
    LOOK_PANICS(segmenter, make_segmenter, decluster_segmenter_poll(handle, &out, 1),
                decluster_segmenter_pending(handle, &text, &length));
    CHECK(value == 77 && text == NULL && length == 77);
    CHECK(stats.deltas == 0xa5a5a5a5a5a5a5a5u);
    CHECK(tokens.input == (int64_t)0xa5a5a5a5a5a5a5a5u);
    CHECK(clusters.events == 0xa5a5a5a5a5a5a5a5u);
}

/* ---- Several threads that look at one handle ---- */

#define LOOKERS 8

struct looked_at {
    decluster_config *config;
    /* Held until all threads are there. */
    pthread_mutex_t gate;
    const char *before;
};

/* Looks until it is refused, having asked for a panic on the way; gives whether all was as it
 * should be. */
static void *look(void *given) {
    struct looked_at *at = (struct looked_at *)given;
    uint64_t value;
    int32_t status = 0;
    int turn;
    pthread_mutex_lock(&at->gate);
    pthread_mutex_unlock(&at->gate);
    for (turn = 0; turn < 200 && status == 0; turn++) {
        if (turn == 100) decluster_test_panic();
        status = decluster_config_get(at->config, DECLUSTER_PARAMETER_RATE, &value);
    }
    if (status != DECLUSTER_ERROR_PANIC && status != DECLUSTER_ERROR_POISONED) return NULL;
    if (strstr(decluster_config_error(at->config), "as the test asked for") == NULL) return NULL;
    return strstr(at->before, "rate = 0 ") != NULL ? given : NULL;
}

static void a_panic_beside_others_who_look_poisons_it_for_all(void) {
    int round;
    for (round = 0; round < 20; round++) {
        struct looked_at at = {NULL, PTHREAD_MUTEX_INITIALIZER, NULL};
        pthread_t threads[LOOKERS];
        int thread;
        SAME(decluster_config_new(&at.config), 0);
        SAME(decluster_config_set_text(at.config, "rate", "0"), DECLUSTER_ERROR_OUT_OF_BOUNDS);
        at.before = decluster_config_error(at.config);
        pthread_mutex_lock(&at.gate);
        for (thread = 0; thread < LOOKERS; thread++) {
            SAME(pthread_create(&threads[thread], NULL, look, &at), 0);
        }
        pthread_mutex_unlock(&at.gate);
        for (thread = 0; thread < LOOKERS; thread++) {
            void *done = NULL;
            SAME(pthread_join(threads[thread], &done), 0);
            CHECK(done == &at);
        }
        SAME(decluster_config_set_text(at.config, "rate", "1"), DECLUSTER_ERROR_POISONED);
        decluster_config_free(at.config);
    }
}

/* ---- Without a handle ---- */

static void a_panic_over_a_parameter_is_told_and_poisons_nothing(void) {
    decluster_parameter_info info, same;
    const char *name;
    memset(&info, 0xa5, sizeof info);
    memset(&same, 0xa5, sizeof same);
    decluster_test_panic();
    SAME(decluster_parameter_find("rate"), DECLUSTER_ERROR_PANIC);
    SAME(decluster_parameter_find("rate"), DECLUSTER_PARAMETER_RATE);
    decluster_test_panic();
    SAME(decluster_parameter_describe(0, &info, sizeof info), DECLUSTER_ERROR_PANIC);
    CHECK(memcmp(&info, &same, sizeof info) == 0);
    SAME(decluster_parameter_describe(0, &info, sizeof info), 0);
    SAME_TEXT(info.name, strlen(info.name), "unit");
    decluster_test_panic();
    CHECK(decluster_parameter_choice(0, 1) == NULL);
    name = decluster_parameter_choice(0, 1);
    if (CHECK(name != NULL)) SAME_TEXT(name, strlen(name), "word");
}

static void a_panic_over_a_copy_is_told_and_writes_nothing(void) {
    char room[4] = "abc";
    decluster_test_panic();
    SAME(decluster_copy("xyz", 3, room, sizeof room), DECLUSTER_ERROR_PANIC);
    SAME_TEXT(room, strlen(room), "abc");
    SAME(decluster_copy("xyz", 3, room, sizeof room), 0);
    SAME_TEXT(room, strlen(room), "xyz");
}

static void nothing_can_be_made_with_a_poisoned_config(void) {
    decluster_config *config;
    decluster_engine *engine;
    decluster_rewriter *rewriter;
    decluster_segmenter *segmenter;
    decluster_sse *sse;
    SAME(decluster_config_new(&config), 0);
    decluster_test_panic();
    SAME(decluster_config_preset(config, "steady"), DECLUSTER_ERROR_PANIC);
    SAME(decluster_engine_new(config, 0, &engine), DECLUSTER_ERROR_POISONED);
    SAME(decluster_rewriter_new(config, 0, 0, 0, &rewriter), DECLUSTER_ERROR_POISONED);
    SAME(decluster_segmenter_new(config, &segmenter), DECLUSTER_ERROR_POISONED);
    SAME(decluster_sse_new(config, &sse), DECLUSTER_ERROR_POISONED);
    decluster_config_free(config);
}

/* What a poisoned handle would have told another one is refused, and that goes on. */
static void nothing_is_taken_from_a_poisoned_handle(void) {
    decluster_budget *budget;
    decluster_totals *totals;
    decluster_ledger *ledger, *other;
    decluster_rewriter *rewriter, *poisoned;
    const char *called;
    SAME(make_budget(&budget), 0);
    SAME(make_totals(&totals), 0);
    SAME(make_ledger(&ledger), 0);
    SAME(make_ledger(&other), 0);
    SAME(make_rewriter(&rewriter), 0);
    SAME(make_rewriter(&poisoned), 0);
    decluster_test_panic();
    SAME(call_budget(budget, 0, &called), DECLUSTER_ERROR_PANIC);
    decluster_test_panic();
    SAME(call_totals(totals, 0, &called), DECLUSTER_ERROR_PANIC);
    decluster_test_panic();
    SAME(call_ledger(other, 0, &called), DECLUSTER_ERROR_PANIC);
    decluster_test_panic();
    SAME(call_rewriter(poisoned, 0, &called), DECLUSTER_ERROR_PANIC);
    SAME(decluster_rewriter_share_budget(rewriter, budget), DECLUSTER_ERROR_POISONED);
    SAYS(decluster_rewriter_error(rewriter), "budget: |earlier call panicked");
    SAME(decluster_totals_add(totals, rewriter), DECLUSTER_ERROR_POISONED);
    SAYS(decluster_rewriter_error(rewriter), "totals: ");
    SAME(decluster_ledger_merge(ledger, other), DECLUSTER_ERROR_POISONED);
    SAYS(decluster_ledger_error(ledger), "other: ");
    SAME(decluster_ledger_add_rewriter(ledger, poisoned, NULL, NULL, 0, NULL, NULL),
         DECLUSTER_ERROR_POISONED);
    SAYS(decluster_ledger_error(ledger), "rewriter: ");
    SAME(decluster_rewriter_share_budget(rewriter, a_budget), 0);
    SAME(decluster_totals_add(some_totals, rewriter), 0);
    SAME(decluster_ledger_merge(ledger, a_ledger), 0);
    SAME(decluster_ledger_add_rewriter(ledger, rewriter, NULL, NULL, 0, NULL, NULL), 0);
    decluster_budget_free(budget);
    decluster_totals_free(totals);
    decluster_ledger_free(ledger);
    decluster_ledger_free(other);
    decluster_rewriter_free(rewriter);
    decluster_rewriter_free(poisoned);
}

static void a_panic_while_it_is_freed_does_no_harm(void) {
    decluster_engine *engine;
    SAME(make_engine(&engine), 0);
    decluster_test_panic();
    decluster_engine_free(engine);
    SAME(make_engine(&engine), 0);
    decluster_engine_free(engine);
}

static void text_that_was_given_out_outlives_the_panic(void) {
    decluster_engine *engine;
    decluster_output out;
    decluster_stats stats;
    SAME(decluster_engine_new(NULL, 0, &engine), 0);
    SAME(decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 0, "A word or two.\n", 15, 0), 0);
    SAME(decluster_engine_finish(engine, 0), 0);
    SAME(decluster_engine_poll(engine, SECOND, &out, sizeof out), 0);
    SAME_TEXT(out.text, out.text_length, "A word or two.\n");
    decluster_test_panic();
    SAME(decluster_engine_stats(engine, &stats, sizeof stats), DECLUSTER_ERROR_PANIC);
    SAME_TEXT(out.text, out.text_length, "A word or two.\n");
    decluster_engine_free(engine);
}

int main(void) {
    make_others();
    RUN(a_config_panics_once_and_is_poisoned);
    RUN(an_engine_panics_once_and_is_poisoned);
    RUN(a_rewriter_panics_once_and_is_poisoned);
    RUN(a_segmenter_panics_once_and_is_poisoned);
    RUN(a_decoder_panics_once_and_is_poisoned);
    RUN(a_budget_panics_once_and_is_poisoned);
    RUN(totals_panic_once_and_are_poisoned);
    RUN(a_ledger_panics_once_and_is_poisoned);
    RUN(a_body_panics_once_and_is_poisoned);
    RUN(what_panics_while_it_is_made_is_not_there);
    RUN(a_panic_writes_no_output);
    RUN(a_panic_while_it_is_looked_at_leaves_the_message_before_it);
    RUN(a_panic_beside_others_who_look_poisons_it_for_all);
    RUN(a_panic_over_a_parameter_is_told_and_poisons_nothing);
    RUN(a_panic_over_a_copy_is_told_and_writes_nothing);
    RUN(nothing_can_be_made_with_a_poisoned_config);
    RUN(nothing_is_taken_from_a_poisoned_handle);
    RUN(a_panic_while_it_is_freed_does_no_harm);
    RUN(text_that_was_given_out_outlives_the_panic);
    free_others();
    return done();
}
