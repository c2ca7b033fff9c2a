/*
 * A panic inside the library, which the hook of the tests brings about, stops at its border: the
 * call says PANIC, the handle is POISONED from then on and can be freed, and all else goes on.
 */
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

static void a_config_panics_once_and_is_poisoned(void) { PANICS(config, make_config); }

static void an_engine_panics_once_and_is_poisoned(void) { PANICS(engine, make_engine); }

static void a_rewriter_panics_once_and_is_poisoned(void) { PANICS(rewriter, make_rewriter); }

static void a_segmenter_panics_once_and_is_poisoned(void) { PANICS(segmenter, make_segmenter); }

static void a_decoder_panics_once_and_is_poisoned(void) { PANICS(sse, make_sse); }

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
    RUN(a_config_panics_once_and_is_poisoned);
    RUN(an_engine_panics_once_and_is_poisoned);
    RUN(a_rewriter_panics_once_and_is_poisoned);
    RUN(a_segmenter_panics_once_and_is_poisoned);
    RUN(a_decoder_panics_once_and_is_poisoned);
    RUN(what_panics_while_it_is_made_is_not_there);
    RUN(a_panic_writes_no_output);
    RUN(nothing_can_be_made_with_a_poisoned_config);
    RUN(a_panic_while_it_is_freed_does_no_harm);
    RUN(text_that_was_given_out_outlives_the_panic);
    return done();
}
