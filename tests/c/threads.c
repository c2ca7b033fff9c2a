/* Handles and threads: one at a time on a handle, any number beside each other. */
#include <pthread.h>
#include <sched.h>

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

static void *push_ledger(void *ledger) {
    const char *json;
    size_t length;
    decluster_status status;
    status = decluster_ledger_json((decluster_ledger *)ledger, &json, &length);
    return status == DECLUSTER_OK ? ledger : NULL;
}

static int is_busy_ledger(void *ledger) {
    const char *message = decluster_ledger_error((decluster_ledger *)ledger);
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

/* One with as much to tell as there may be. */
static int32_t make_long_ledger(decluster_ledger **ledger) {
    int32_t status = decluster_ledger_new(ledger);
    int at;
    for (at = 0; at < 9000 && status == 0; at++) {
        char key[20];
        snprintf(key, sizeof key, "%d", at);
        status = decluster_ledger_add(*ledger, NULL, key, "{}", 2, 0, 0, NULL, NULL);
    }
    return status;
}

static void a_ledger_is_busy_while_another_thread_is_in_it(void) {
    BUSY(ledger, make_long_ledger(&handle));
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

/* ---- One config for all ---- */

#define MAKERS 8

/* What threads share here: a config that one of them may change. */
struct shared {
    decluster_config *config;
    /* Held until all threads are there, so that they begin at once. */
    pthread_mutex_t gate;
    /* What an engine gives that was made before the setting, and after. */
    struct journal schedules[2];
    pthread_mutex_t lock;
    int readers;
};

static void wait_for(struct shared *shared) {
    pthread_mutex_lock(&shared->gate);
    pthread_mutex_unlock(&shared->gate);
}

static void *make_all(void *given) {
    struct shared *shared = (struct shared *)given;
    int turn;
    wait_for(shared);
    for (turn = 0; turn < 100; turn++) {
        decluster_engine *engine = NULL;
        decluster_rewriter *rewriter = NULL;
        decluster_segmenter *segmenter = NULL;
        decluster_sse *sse = NULL;
        int made = !decluster_engine_new(shared->config, 0, &engine) &&
                   !decluster_rewriter_new(shared->config, 0, 0, 0, &rewriter) &&
                   !decluster_segmenter_new(shared->config, &segmenter) &&
                   !decluster_sse_new(shared->config, &sse) &&
                   !decluster_sse_push(sse, "data: x\n\n", 9);
        decluster_engine_free(engine);
        decluster_rewriter_free(rewriter);
        decluster_segmenter_free(segmenter);
        decluster_sse_free(sse);
        if (!made) return NULL;
    }
    return given;
}

static void *look_at_all(void *given) {
    struct shared *shared = (struct shared *)given;
    int turn;
    wait_for(shared);
    for (turn = 0; turn < 1000; turn++) {
        uint64_t value = 0;
        if (decluster_config_get(shared->config, DECLUSTER_PARAMETER_RATE, &value) ||
            value != 321 || decluster_config_get(shared->config, UINT32_MAX, &value) !=
                                DECLUSTER_ERROR_UNKNOWN_PARAMETER ||
            strstr(decluster_config_error(shared->config), "rate = 0 ") == NULL) {
            return NULL;
        }
    }
    return given;
}

static void many_threads_use_one_config_and_none_is_told_busy(void) {
    struct shared shared = {NULL, PTHREAD_MUTEX_INITIALIZER, {{NULL, 0, 0}, {NULL, 0, 0}},
                            PTHREAD_MUTEX_INITIALIZER, 0};
    pthread_t threads[MAKERS + 1];
    int at;
    SAME(decluster_config_new(&shared.config), 0);
    SAME(decluster_config_set(shared.config, DECLUSTER_PARAMETER_RATE, 321), 0);
    SAME(decluster_config_set(shared.config, DECLUSTER_PARAMETER_RATE, 0),
         DECLUSTER_ERROR_OUT_OF_BOUNDS);
    pthread_mutex_lock(&shared.gate);
    for (at = 0; at <= MAKERS; at++) {
        SAME(pthread_create(&threads[at], NULL, at < MAKERS ? make_all : look_at_all, &shared), 0);
    }
    pthread_mutex_unlock(&shared.gate);
    for (at = 0; at <= MAKERS; at++) {
        void *done = NULL;
        SAME(pthread_join(threads[at], &done), 0);
        CHECK(done == &shared);
    }
    SAYS(decluster_config_error(shared.config), "rate = 0 ");
    decluster_config_free(shared.config);
}

/* What an engine gives of one text, to its end. */
static int run_engine(decluster_engine *engine, struct journal *journal) {
    uint64_t now = 0;
    size_t at;
    int turn;
    decluster_output out;
    for (at = 0; at < 4; at++) {
        if (decluster_engine_push(engine, 0, DECLUSTER_KIND_OUTPUT, 0, SENTENCES[at],
                                  strlen(SENTENCES[at]), 0)) {
            return 0;
        }
    }
    for (turn = 0; turn < 1000; turn++) {
        if (decluster_engine_poll(engine, now, &out, sizeof out)) return 0;
        journal_output(journal, now, &out);
        if (out.type == DECLUSTER_OUTPUT_NEED_INPUT) return 1;
        if (out.type == DECLUSTER_OUTPUT_WAIT) now = out.at_ns;
    }
    return 0;
}

static const char *const PRESETS[] = {"steady", "snappy"};

static int is_either(const struct journal *found, const struct journal *schedules) {
    int at, same = 0;
    for (at = 0; at < 2; at++) {
        same |= found->length == schedules[at].length &&
                memcmp(found->text, schedules[at].text, found->length) == 0;
    }
    return same;
}

/* A preset sets all parameters, an engine is made of all of them: half of one preset with half of
 * the other would give neither's schedule. */
static void *make_while_it_changes(void *given) {
    struct shared *shared = (struct shared *)given;
    void *result = given;
    int turn, made;
    wait_for(shared);
    for (turn = made = 0; made < 100 && turn < 1000 * MANY && result; turn++) {
        struct journal journal = {NULL, 0, 0};
        decluster_engine *engine = NULL;
        decluster_status status = decluster_engine_new(shared->config, 0, &engine);
        if (status == DECLUSTER_ERROR_BUSY && engine == NULL) {
            sched_yield();
            continue;
        }
        made++;
        if (status || !run_engine(engine, &journal) || !is_either(&journal, shared->schedules)) {
            result = NULL;
        }
        journal_free(&journal);
        decluster_engine_free(engine);
    }
    pthread_mutex_lock(&shared->lock);
    shared->readers--;
    pthread_mutex_unlock(&shared->lock);
    return made == 100 ? result : NULL;
}

static int are_there_readers(struct shared *shared) {
    int readers;
    pthread_mutex_lock(&shared->lock);
    readers = shared->readers;
    pthread_mutex_unlock(&shared->lock);
    return readers > 0;
}

static void what_is_set_while_others_read_is_set_whole_or_not_at_all(void) {
    struct shared shared = {NULL, PTHREAD_MUTEX_INITIALIZER, {{NULL, 0, 0}, {NULL, 0, 0}},
                            PTHREAD_MUTEX_INITIALIZER, 3};
    pthread_t threads[3];
    decluster_engine *engine;
    int at, set = 0, wrong = 0;
    SAME(decluster_config_new(&shared.config), 0);
    for (at = 0; at < 2; at++) {
        SAME(decluster_config_preset(shared.config, PRESETS[at]), 0);
        SAME(decluster_engine_new(shared.config, 0, &engine), 0);
        CHECK(run_engine(engine, &shared.schedules[at]));
        decluster_engine_free(engine);
    }
    /* They differ, else nothing is shown. */
    CHECK(strcmp(shared.schedules[0].text, shared.schedules[1].text) != 0);
    pthread_mutex_lock(&shared.gate);
    for (at = 0; at < 3; at++) {
        SAME(pthread_create(&threads[at], NULL, make_while_it_changes, &shared), 0);
    }
    pthread_mutex_unlock(&shared.gate);
    while (are_there_readers(&shared)) {
        decluster_status status = decluster_config_preset(shared.config, PRESETS[set % 2]);
        if (status == DECLUSTER_OK) {
            set++;
        } else if (status == DECLUSTER_ERROR_BUSY) {
            sched_yield();
        } else {
            wrong++;
        }
    }
    for (at = 0; at < 3; at++) {
        void *done = NULL;
        SAME(pthread_join(threads[at], &done), 0);
        CHECK(done == &shared);
    }
    CHECK(set > 1);
    SAME(wrong, 0);
    journal_free(&shared.schedules[0]);
    journal_free(&shared.schedules[1]);
    decluster_config_free(shared.config);
}

int main(void) {
    /* First, so that the library is first used by several threads at once. */
    RUN(handles_do_not_disturb_each_other);
    RUN(many_threads_use_one_config_and_none_is_told_busy);
    RUN(what_is_set_while_others_read_is_set_whole_or_not_at_all);
    RUN(a_handle_may_go_from_thread_to_thread);
    make_long_text();
    make_others();
    RUN(an_engine_is_busy_while_another_thread_is_in_it);
    RUN(a_rewriter_is_busy_while_another_thread_is_in_it);
    RUN(a_segmenter_is_busy_while_another_thread_is_in_it);
    RUN(a_decoder_is_busy_while_another_thread_is_in_it);
    RUN(a_ledger_is_busy_while_another_thread_is_in_it);
    free_others();
    free(long_text);
    return done();
}
