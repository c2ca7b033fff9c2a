/* Handles and threads: one at a time on a handle, any number beside each other. */
#include <pthread.h>

#include "calls.h"

/* ---- One at a time ---- */

/* A text that keeps a handle busy for a while: lines, since they make the most work. */
#define LONG_TEXT ((size_t)4 << 20)
static char *long_text;

static void make_long_text(void) {
    static const char line[] = "A line of some words, as they come.\n";
    size_t at;
    long_text = (char *)malloc(LONG_TEXT);
    if (long_text == NULL) abort();
    for (at = 0; at < LONG_TEXT; at++) long_text[at] = line[at % (sizeof line - 1)];
}

/* For each kind of handle: a call that takes long, and whether one is going on. */
static void *push_engine(void *engine) {
    decluster_status status = decluster_engine_push((decluster_engine *)engine, 0, 0, 0, long_text,
                                                    LONG_TEXT, 0);
    return status == DECLUSTER_OK ? engine : NULL;
}

static int is_busy_engine(void *engine) {
    return decluster_engine_wants_input((decluster_engine *)engine) == DECLUSTER_ERROR_BUSY;
}

static void *push_rewriter(void *rewriter) {
    decluster_status status;
    status = decluster_rewriter_push((decluster_rewriter *)rewriter, 0, long_text, LONG_TEXT);
    return status == DECLUSTER_OK ? rewriter : NULL;
}

static int is_busy_rewriter(void *rewriter) {
    return decluster_rewriter_dialect((decluster_rewriter *)rewriter) == DECLUSTER_ERROR_BUSY;
}

static void *push_segmenter(void *segmenter) {
    decluster_status status;
    status = decluster_segmenter_push((decluster_segmenter *)segmenter, long_text, LONG_TEXT);
    return status == DECLUSTER_OK ? segmenter : NULL;
}

static int is_busy_segmenter(void *segmenter) {
    const char *text;
    size_t length;
    return decluster_segmenter_pending((decluster_segmenter *)segmenter, &text, &length) ==
           DECLUSTER_ERROR_BUSY;
}

/* A block of very many lines is decoded by the poll. */
static void *push_sse(void *sse) {
    decluster_output out;
    decluster_status status = decluster_sse_poll((decluster_sse *)sse, &out, sizeof out);
    return status == DECLUSTER_OK && out.type == DECLUSTER_OUTPUT_NEED_INPUT ? sse : NULL;
}

static int is_busy_sse(void *sse) {
    const char *message = decluster_sse_error((decluster_sse *)sse);
    return strcmp(message, decluster_status_text(DECLUSTER_ERROR_BUSY)) == 0;
}

struct job {
    void *(*act)(void *);
    void *handle;
    pthread_mutex_t lock;
    int over;
};

static void *do_job(void *given) {
    struct job *job = (struct job *)given;
    void *done = job->act(job->handle);
    pthread_mutex_lock(&job->lock);
    job->over = 1;
    pthread_mutex_unlock(&job->lock);
    return done;
}

static int is_over(struct job *job) {
    int over;
    pthread_mutex_lock(&job->lock);
    over = job->over;
    pthread_mutex_unlock(&job->lock);
    return over;
}

/* Calls every function while another thread is in a long call: all say BUSY and do nothing, so
 * that the call goes on and ends well. The other thread may be through before, if this one had
 * to wait for the processor: then once more, with a new handle. */
#define BUSY(kind, make)                                                                     \
    do {                                                                                     \
        int round, all = 0;                                                                  \
        for (round = 0; round < 200 && !all; round++) {                                      \
            decluster_##kind *handle = NULL;                                                 \
            struct job job = {push_##kind, NULL, PTHREAD_MUTEX_INITIALIZER, 0};              \
            pthread_t thread;                                                                \
            void *done = NULL;                                                               \
            const char *called = "", *message = "";                                          \
            int number, busy = 0;                                                            \
            SAME(make, 0);                                                                   \
            job.handle = handle;                                                             \
            SAME(pthread_create(&thread, NULL, do_job, &job), 0);                            \
            while (!is_busy_##kind(handle) && !is_over(&job)) continue;                      \
            for (number = 0;; number++) {                                                    \
                int32_t status = call_##kind(handle, number, &called);                       \
                if (status == NO_MORE) break;                                                \
                if (status != DECLUSTER_ERROR_BUSY) break;                                   \
                busy++;                                                                      \
            }                                                                                \
            message = decluster_##kind##_error(handle);                                      \
            all = busy > 2 && call_##kind(NULL, busy, &called) == NO_MORE && message[0] != 0; \
            SAME(pthread_join(thread, &done), 0);                                            \
            if (all) {                                                                       \
                SAYS(message, "another thread");                                             \
                CHECK(done == handle);                                                       \
            }                                                                                \
            decluster_##kind##_free(handle);                                                 \
        }                                                                                    \
        CHECK(all);                                                                          \
    } while (0)

static decluster_config *large_config(void) {
    decluster_config *config;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_QUEUE_BYTES, 1 << 30), 0);
    return config;
}

static void an_engine_is_busy_while_another_thread_is_in_it(void) {
    decluster_config *config = large_config();
    BUSY(engine, decluster_engine_new(config, 0, &handle));
    decluster_config_free(config);
}

static void a_rewriter_is_busy_while_another_thread_is_in_it(void) {
    decluster_config *config = large_config();
    BUSY(rewriter, decluster_rewriter_new(config, 0, 0, 0, &handle));
    decluster_config_free(config);
}

static void a_segmenter_is_busy_while_another_thread_is_in_it(void) {
    decluster_config *config = large_config();
    BUSY(segmenter, decluster_segmenter_new(config, &handle));
    decluster_config_free(config);
}

static int32_t make_long_sse(const decluster_config *config, decluster_sse **sse) {
    int32_t status = decluster_sse_new(config, sse);
    return status ? status : decluster_sse_push(*sse, long_text, LONG_TEXT);
}

static void a_decoder_is_busy_while_another_thread_is_in_it(void) {
    decluster_config *config = large_config();
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_EVENT_BYTES, 1 << 30), 0);
    BUSY(sse, make_long_sse(config, &handle));
    decluster_config_free(config);
}

/* ---- From thread to thread ---- */

/* An engine that is used by turns. */
struct relay {
    decluster_engine *engine;
    struct journal *journal;
    uint64_t now;
};

static const char *const SENTENCES[] = {
    "The first thread says this. ",
    "The second goes on: it takes up what it was given, ",
    "and hands it on; so does the third.\n",
    "Then all of it has been said.",
};

static void *push_one(void *given) {
    struct relay *relay = (struct relay *)given;
    static const uint64_t step = 100 * MS;
    const char *text = SENTENCES[relay->now / step % 4];
    decluster_output out;
    int turn;
    uint64_t now = relay->now;
    size_t length = strlen(text);
    if (decluster_engine_push(relay->engine, now, DECLUSTER_KIND_OUTPUT, 0, text, length, 0)) {
        return NULL;
    }
    for (turn = 0; turn < 1000; turn++) {
        if (decluster_engine_poll(relay->engine, now, &out, sizeof out)) return NULL;
        journal_output(relay->journal, now, &out);
        if (out.type == DECLUSTER_OUTPUT_NEED_INPUT) break;
        if (out.type == DECLUSTER_OUTPUT_WAIT) {
            if (out.at_ns > relay->now + step) break;
            now = out.at_ns;
        }
    }
    relay->now += step;
    return given;
}

/* Twenty texts, each from a thread of its own, or all from this one. */
static void run_relay(int threads, struct journal *journal) {
    struct relay relay = {NULL, NULL, 0};
    int turn;
    relay.journal = journal;
    SAME(decluster_engine_new(NULL, 0, &relay.engine), 0);
    for (turn = 0; turn < 20; turn++) {
        void *done = NULL;
        if (threads) {
            pthread_t thread;
            SAME(pthread_create(&thread, NULL, push_one, &relay), 0);
            SAME(pthread_join(thread, &done), 0);
        } else {
            done = push_one(&relay);
        }
        CHECK(done == &relay);
    }
    decluster_engine_free(relay.engine);
}

static void a_handle_may_go_from_thread_to_thread(void) {
    struct journal one = {NULL, 0, 0}, many = {NULL, 0, 0};
    run_relay(0, &one);
    run_relay(1, &many);
    CHECK(one.length > 2000);
    check_journals(&many, &one);
    journal_free(&one);
    journal_free(&many);
}

/* ---- Beside each other ---- */

static void *stream(void *given) {
    struct journal *journal = (struct journal *)given;
    decluster_config *config = NULL;
    decluster_rewriter *rewriter = NULL;
    decluster_segmenter *segmenter = NULL;
    decluster_output out;
    int turn, polls;
    uint64_t now = 0;
    char event[200];
    if (decluster_config_new(&config) || decluster_config_preset(config, "snappy") ||
        decluster_rewriter_new(config, 0, DECLUSTER_MODE_STREAM, 0, &rewriter) ||
        decluster_segmenter_new(config, &segmenter)) {
        return NULL;
    }
    for (turn = 0; turn < 200; turn++, now += 50 * MS) {
        const char *text = SENTENCES[turn % 3 == 2 ? 3 : turn % 3];
        snprintf(event, sizeof event,
                 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", text);
        if (decluster_rewriter_push(rewriter, now, event, strlen(event)) ||
            decluster_segmenter_push(segmenter, text, strlen(text))) {
            return NULL;
        }
        /* A refusal in one thread is not seen in the other. */
        if (decluster_segmenter_push(segmenter, NULL, (size_t)turn + 1) != DECLUSTER_ERROR_NULL) {
            return NULL;
        }
        for (polls = 0; polls < 100; polls++) {
            if (decluster_rewriter_poll(rewriter, now, &out, sizeof out)) return NULL;
            journal_output(journal, now, &out);
            if (out.type != DECLUSTER_OUTPUT_BYTES) break;
        }
        for (polls = 0; polls < 100; polls++) {
            if (decluster_segmenter_poll(segmenter, &out, sizeof out)) return NULL;
            journal_output(journal, now, &out);
            if (out.type != DECLUSTER_OUTPUT_BLOCK) break;
        }
        journal_say(journal, "%s\n", decluster_parameter_choice(0, (uint64_t)turn % 3));
    }
    decluster_rewriter_free(rewriter);
    decluster_segmenter_free(segmenter);
    decluster_config_free(config);
    return given;
}

#define STREAMS 4

static void handles_do_not_disturb_each_other(void) {
    struct journal alone = {NULL, 0, 0}, beside[STREAMS];
    pthread_t threads[STREAMS];
    int at;
    memset(beside, 0, sizeof beside);
    for (at = 0; at < STREAMS; at++) {
        SAME(pthread_create(&threads[at], NULL, stream, &beside[at]), 0);
    }
    for (at = 0; at < STREAMS; at++) {
        void *done = NULL;
        SAME(pthread_join(threads[at], &done), 0);
        CHECK(done == &beside[at]);
    }
    CHECK(stream(&alone) == &alone);
    CHECK(alone.length > 20000);
    for (at = 0; at < STREAMS; at++) {
        check_journals(&beside[at], &alone);
        journal_free(&beside[at]);
    }
    journal_free(&alone);
}

int main(void) {
#ifdef THREAD_SANITIZER
    /* Rust's `OnceLock`, which holds the names, comes compiled, so that the sanitizer does not
     * see how it orders what it does. */
    CHECK(decluster_parameter_choice(0, 0) != NULL);
#endif
    /* First, so that the library is first used by several threads at once. */
    RUN(handles_do_not_disturb_each_other);
    RUN(a_handle_may_go_from_thread_to_thread);
    make_long_text();
    RUN(an_engine_is_busy_while_another_thread_is_in_it);
    RUN(a_rewriter_is_busy_while_another_thread_is_in_it);
    RUN(a_segmenter_is_busy_while_another_thread_is_in_it);
    RUN(a_decoder_is_busy_while_another_thread_is_in_it);
    free(long_text);
    return done();
}
