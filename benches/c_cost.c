/*
 * What benches/c_cost.rs measures through the C library: `c_cost engine|words|rewriter FILE` plays
 * FILE, cut into deltas of four bytes (the rewriter: into lines), in bursts of forty with silences
 * between them, on a clock that leaps.
 */

#include <decluster.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURST 40
#define SILENCE 1200000000u

static void fail(const char *what) {
    fprintf(stderr, "c_cost: %s\n", what);
    exit(1);
}

static void check(int32_t status) {
    if (status != DECLUSTER_OK) fail(decluster_status_text(status));
}

/* The end of the delta that begins at `at`: four bytes, and the rest of a character. */
static size_t end_of(const char *text, size_t length, size_t at) {
    size_t end = at + 4 < length ? at + 4 : length;
    while (end < length && ((unsigned char)text[end] & 0xc0) == 0x80) end++;
    return end;
}

/* What is counted: callgrind knows it by its name. */
__attribute__((noinline, noclone)) uint64_t play_engine(decluster_engine *engine,
                                                        const char *text, size_t length) {
    decluster_output out;
    uint64_t now = 0, next = 0, shown = 0;
    size_t at = 0;
    for (;;) {
        for (int i = 0; now == next && i < BURST && at < length; i++) {
            size_t end = end_of(text, length, at);
            check(decluster_engine_push(engine, now, DECLUSTER_KIND_OUTPUT, 0, text + at,
                                        end - at, 0));
            at = end;
        }
        if (now == next) {
            next = now + SILENCE;
            if (at == length) check(decluster_engine_finish(engine, now));
        }
        do {
            check(decluster_engine_poll(engine, now, &out, sizeof out));
            if (out.type == DECLUSTER_OUTPUT_PIECE) shown += out.text_length;
        } while (out.type == DECLUSTER_OUTPUT_PIECE);
        if (out.type == DECLUSTER_OUTPUT_FINISHED) return shown;
        now = out.type == DECLUSTER_OUTPUT_WAIT && out.at_ns < next ? out.at_ns : next;
    }
}

/* The same with events, each on a line of FILE. */
__attribute__((noinline, noclone)) uint64_t play_rewriter(decluster_rewriter *rewriter,
                                                          const char *text, size_t length) {
    decluster_output out;
    uint64_t now = 0, next = 0, shown = 0;
    size_t at = 0;
    for (;;) {
        for (int i = 0; now == next && i < BURST && at < length; i++) {
            const char *end = memchr(text + at, '\n', length - at);
            size_t size = end ? (size_t)(end - text) + 1 - at : length - at;
            check(decluster_rewriter_push(rewriter, now, text + at, size));
            at += size;
        }
        if (now == next) {
            next = now + SILENCE;
            if (at == length) check(decluster_rewriter_finish(rewriter, now));
        }
        do {
            check(decluster_rewriter_poll(rewriter, now, &out, sizeof out));
            if (out.type == DECLUSTER_OUTPUT_BYTES) shown += out.text_length;
        } while (out.type == DECLUSTER_OUTPUT_BYTES);
        if (out.type == DECLUSTER_OUTPUT_FINISHED) return shown;
        now = out.type == DECLUSTER_OUTPUT_WAIT && out.at_ns < next ? out.at_ns : next;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) fail("usage: c_cost engine|words|rewriter FILE");
    FILE *file = fopen(argv[2], "rb");
    if (!file) fail("FILE cannot be opened");
    static char text[1 << 24];
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    decluster_config *config;
    check(decluster_config_new(&config));
    uint64_t shown;
    if (strcmp(argv[1], "rewriter") == 0) {
        decluster_rewriter *rewriter;
        check(decluster_rewriter_new(config, 0, DECLUSTER_MODE_STREAM, 0, &rewriter));
        shown = play_rewriter(rewriter, text, length);
        decluster_rewriter_free(rewriter);
    } else {
        decluster_engine *engine;
        if (strcmp(argv[1], "words") == 0) {
            check(decluster_config_set(config, DECLUSTER_PARAMETER_UNIT, DECLUSTER_UNIT_WORD));
        }
        check(decluster_engine_new(config, 0, &engine));
        shown = play_engine(engine, text, length);
        decluster_engine_free(engine);
    }
    decluster_config_free(config);
    printf("%llu\n", (unsigned long long)shown);
    return 0;
}
