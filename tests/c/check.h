/*
 * What the test programs share: checks that go on after a failure, and a journal of outputs.
 *
 * A program calls RUN() for each of its tests and returns done(). It is C99 and C++11.
 */
#ifndef CHECK_H
#define CHECK_H

#include <decluster.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define SECOND 1000000000u

static int check_failures;
static const char *check_running;

#define CHECK(condition) check_that(!!(condition), __FILE__, __LINE__, #condition)
#define SAME(found, expected) \
    check_same((long long)(found), (long long)(expected), __FILE__, __LINE__, #found)
#define SAME_TEXT(found, length, expected) \
    check_text((found), (length), (expected), __FILE__, __LINE__, #found)
/* The message says all of these words, which are parted by a '|'. */
#define SAYS(message, words) check_says((message), (words), __FILE__, __LINE__)
#define RUN(test) (check_running = #test, test())

static inline int check_that(int holds, const char *file, int line, const char *what) {
    if (!holds) {
        check_failures++;
        fprintf(stderr, "%s:%d: %s: not so: %s\n", file, line, check_running, what);
    }
    return holds;
}

static inline void check_same(long long found, long long expected, const char *file, int line,
                              const char *what) {
    if (found != expected) {
        check_failures++;
        fprintf(stderr, "%s:%d: %s: %s is %lld, not %lld\n", file, line, check_running, what,
                found, expected);
    }
}

static inline void check_text(const char *found, size_t length, const char *expected,
                              const char *file, int line, const char *what) {
    if (length != strlen(expected) || (length > 0 && memcmp(found, expected, length) != 0)) {
        check_failures++;
        fprintf(stderr, "%s:%d: %s: %s is \"%.*s\", not \"%s\"\n", file, line, check_running, what,
                (int)length, length > 0 ? found : "", expected);
    }
}

static inline void check_says(const char *message, const char *words, const char *file, int line) {
    while (*words) {
        char word[120];
        size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (strstr(message, word) == NULL) {
            check_failures++;
            fprintf(stderr, "%s:%d: %s: \"%s\" does not say \"%s\"\n", file, line, check_running,
                    message, word);
        }
        words += length + (words[length] == '|');
    }
}

/* What the program returns. */
static inline int done(void) {
    if (check_failures > 0) fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures > 0;
}

/* Text that grows. */
struct journal {
    char *text;
    size_t length;
    size_t room;
};

static inline void journal_put(struct journal *journal, const char *bytes, size_t length) {
    if (journal->length + length + 1 > journal->room) {
        journal->room = 2 * (journal->length + length + 1);
        journal->text = (char *)realloc(journal->text, journal->room);
        if (journal->text == NULL) abort();
    }
    if (length > 0) memcpy(journal->text + journal->length, bytes, length);
    journal->length += length;
    journal->text[journal->length] = 0;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline void journal_say(struct journal *journal, const char *format, ...) {
    char line[500];
    va_list rest;
    va_start(rest, format);
    vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    journal_put(journal, line, strlen(line));
}

static inline void journal_free(struct journal *journal) {
    free(journal->text);
    memset(journal, 0, sizeof *journal);
}

/* All that an output says, on one line. */
static inline void journal_output(struct journal *journal, uint64_t now,
                                  const decluster_output *out) {
    typedef unsigned long long number;
    journal_say(journal, "%llu: type %u wants %u kind %u index %u part %u boundary %u ends %u ",
                (number)now, out->type, out->wants_input, out->kind, out->index, out->part,
                out->boundary, out->ends_block);
    journal_say(journal, "tokens %u seq %llu block %llu origin %llu arrived %llu at %llu ",
                out->tokens, (number)out->seq, (number)out->block, (number)out->origin,
                (number)out->arrived_ns, (number)out->at_ns);
    journal_say(journal, "number %llu done %llu retry %lld changed %u terminated %u verdict %u ",
                (number)out->number, (number)out->done, (long long)out->retry_ms, out->changed,
                out->terminated, out->verdict);
    journal_put(journal, "\"", 1);
    journal_put(journal, out->text, out->text_length);
    journal_put(journal, "\" name \"", 8);
    journal_put(journal, out->name, out->name_length);
    journal_put(journal, "\" id \"", 6);
    journal_put(journal, out->id, out->id_length);
    journal_put(journal, "\"\n", 2);
}

static inline void journal_stats(struct journal *journal, const decluster_stats *stats) {
    typedef unsigned long long number;
    journal_say(journal, "deltas %llu pieces %llu blocks %llu cuts %llu hurried %llu ",
                (number)stats->deltas, (number)stats->pieces, (number)stats->blocks,
                (number)stats->cuts, (number)stats->hurried);
    journal_say(journal, "tokens_in %llu tokens_out %llu bytes_in %llu bytes_out %llu ",
                (number)stats->tokens_in, (number)stats->tokens_out, (number)stats->bytes_in,
                (number)stats->bytes_out);
    journal_say(journal, "queued %llu max_delay %llu rate %llu\n", (number)stats->queued_bytes,
                (number)stats->max_delay_ns, (number)stats->rate);
}

static inline void check_journals(const struct journal *found, const struct journal *expected) {
    size_t at = 0;
    if (found->length == expected->length &&
        (found->length == 0 || memcmp(found->text, expected->text, found->length) == 0)) {
        return;
    }
    while (at < found->length && at < expected->length && found->text[at] == expected->text[at]) {
        at++;
    }
    while (at > 0 && expected->text[at - 1] != '\n') at--;
    check_failures++;
    fprintf(stderr, "%s: outputs differ:\n%.*s\ninstead of\n%.*s\n", check_running,
            (int)strcspn(found->text + at, "\n"), found->text + at,
            (int)strcspn(expected->text + at, "\n"), expected->text + at);
}

/* No steps of a test take more outputs than this: one that does not end fails. */
#define MANY 100000

#endif
