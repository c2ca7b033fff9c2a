/*
 * Plays a vector of the rewriter (tests/vectors/README.md):
 *
 *     rewrite <VECTOR           prints the vector anew: its lines, and what comes out now
 *     rewrite answer <VECTOR    prints what the stream amounts to, as JSON
 */

#include "vectors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const DIALECTS[] = {
    "-",      "openai-chat", "openai-responses", "anthropic",        "gemini",
    "ollama", "mistral",     "cohere",           "bedrock-converse", "incident",
    NULL,
};
static const char *const MODES[] = {"stream", "pieces", "pieces_and_events", NULL};
static const char *const VERDICTS[] = {"-", "complete", "failed", "truncated", NULL};
static const char *const CANCELS[] = {"flush", "drop", NULL};

struct play {
    decluster_config *config;
    decluster_rewriter *rewriter;
    uint32_t dialect;
    uint32_t mode;
    uint64_t due; /* When something is; UINT64_MAX if only input brings more. */
    int finished;
    int quiet;
    struct bytes line; /* The line as it was, before it is cut into words. */
};

static void print_text(const char *text, size_t length)
{
    putchar('"');
    for (size_t n = 0; n < length; n++) {
        unsigned char byte = (unsigned char)text[n];
        if (byte == '\\') {
            fputs("\\\\", stdout);
        } else if (byte == '\n') {
            fputs("\\n", stdout);
        } else if (byte == '\r') {
            fputs("\\r", stdout);
        } else if (byte >= ' ' && byte <= '~') {
            putchar(byte);
        } else {
            printf("\\x%02x", byte);
        }
    }
    putchar('"');
}

/* Prints a fault of the stream; ends the program if it is one of the caller's. */
static void print_fault(const struct lines *at, const struct play *play, uint64_t now,
                        decluster_status status)
{
    const char *name = NULL;
    if (status == DECLUSTER_ERROR_TOO_LARGE) name = "too_large";
    if (status == DECLUSTER_ERROR_TOO_MANY_CHOICES) name = "too_many_choices";
    if (status == DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED) name = "reasoning_budget_exceeded";
    if (!name) must(at, status, decluster_rewriter_error(play->rewriter));
    if (!play->quiet) printf("< fault %" PRIu64 " %s\n", now, name);
}

static void print_output(const struct lines *at, const struct play *play, uint64_t now,
                         const decluster_output *out)
{
    switch (out->type) {
    case DECLUSTER_OUTPUT_BYTES:
        printf("< bytes %" PRIu64 " ", now);
        print_text(out->text, out->text_length);
        break;
    case DECLUSTER_OUTPUT_OBJECT:
        printf("< object %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64 " ", now, out->number,
               out->changed, out->done);
        print_text(out->name, out->name_length);
        putchar(' ');
        print_text(out->text, out->text_length);
        break;
    case DECLUSTER_OUTPUT_PIECE:
        printf("< piece %" PRIu64 " %s %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %s %" PRIu32
               " %" PRIu32 " %" PRIu64 " %" PRIu64 " ",
               now, name_of(at, KINDS, out->kind), out->index, out->seq, out->block, out->part,
               name_of(at, BOUNDARIES, out->boundary), out->ends_block, out->tokens, out->origin,
               out->arrived_ns);
        print_text(out->text, out->text_length);
        break;
    case DECLUSTER_OUTPUT_EVENT:
        printf("< event %" PRIu64 " ", now);
        print_text(out->name, out->name_length);
        putchar(' ');
        print_text(out->text, out->text_length);
        break;
    case DECLUSTER_OUTPUT_RESTARTED:
        printf("< restarted %" PRIu64 " %" PRIu64, now, out->number);
        break;
    case DECLUSTER_OUTPUT_RECLASSIFIED:
        printf("< reclassified %" PRIu64 " %" PRIu32, now, out->index);
        break;
    case DECLUSTER_OUTPUT_FINISHED: {
        int32_t dialect = decluster_rewriter_dialect(play->rewriter);
        if (dialect < 0) fail(at, "%s", decluster_status_text(dialect));
        printf("< finished %" PRIu64 " %s %s", now, name_of(at, DIALECTS, (uint32_t)dialect),
               name_of(at, VERDICTS, out->verdict));
        break;
    }
    default:
        fail(at, "output %" PRIu32 " does not come from a rewriter", out->type);
    }
    putchar('\n');
}

/* Takes all that is due now. */
static void take(const struct lines *at, struct play *play, uint64_t now)
{
    play->due = UINT64_MAX;
    while (!play->finished) {
        decluster_output out;
        decluster_status status =
            decluster_rewriter_poll(play->rewriter, now, &out, sizeof out);
        if (status) {
            print_fault(at, play, now, status);
            continue;
        }
        if (out.type == DECLUSTER_OUTPUT_NEED_INPUT) return;
        if (out.type == DECLUSTER_OUTPUT_WAIT) {
            if (out.at_ns <= now) fail(at, "a wait until %" PRIu64 " is none", out.at_ns);
            play->due = out.at_ns;
            return;
        }
        play->finished = out.type == DECLUSTER_OUTPUT_FINISHED;
        if (!play->quiet) print_output(at, play, now, &out);
    }
}

static decluster_status make_call(struct lines *at, const struct play *play, const char *name,
                                  uint64_t now, char *rest)
{
    decluster_rewriter *rewriter = play->rewriter;
    size_t length, data_length;
    const char *text, *data;
    if (!strcmp(name, "push")) {
        text = next_text(at, &rest, &length);
        return decluster_rewriter_push(rewriter, now, text, length);
    }
    if (!strcmp(name, "push_line")) {
        text = next_text(at, &rest, &length);
        return decluster_rewriter_push_line(rewriter, now, text, length);
    }
    if (!strcmp(name, "push_event")) {
        text = next_word(at, &rest);
        length = strcmp(text, "-") ? strlen(text) : 0;
        data = next_text(at, &rest, &data_length);
        return decluster_rewriter_push_event(rewriter, now, text, length, data, data_length);
    }
    if (!strcmp(name, "flush")) return decluster_rewriter_flush(rewriter);
    if (!strcmp(name, "stop_pacing")) return decluster_rewriter_stop_pacing(rewriter);
    if (!strcmp(name, "finish")) return decluster_rewriter_finish(rewriter, now);
    if (strcmp(name, "cancel")) fail(at, "there is no call %s", name);
    return decluster_rewriter_cancel(rewriter, find(at, CANCELS, next_word(at, &rest)));
}

static void call(struct lines *at, struct play *play, char *rest)
{
    const char *name;
    uint64_t now;
    decluster_status status;
    play->line.length = 0;
    append(&play->line, at->text, at->length + 1);
    name = next_word(at, &rest);
    now = next_number(at, &rest);
    if (!play->rewriter) {
        status = decluster_rewriter_new(play->config, play->dialect, play->mode, now,
                                        &play->rewriter);
        must(at, status, "no rewriter was made");
        play->due = UINT64_MAX;
    }
    while (play->due < now) take(at, play, play->due);
    if (!play->quiet) puts(play->line.at);
    status = make_call(at, play, name, now, rest);
    if (status) print_fault(at, play, now, status);
    take(at, play, now);
}

static void setting(struct lines *at, struct play *play, char *rest)
{
    const char *first;
    if (!play->quiet) puts(at->text);
    if (rest[0] == '#') return;
    first = next_word(at, &rest);
    if (!strcmp(first, "dialect")) {
        play->dialect = find(at, DIALECTS, rest);
    } else if (!strcmp(first, "mode")) {
        play->mode = find(at, MODES, rest);
    } else if (!set(at, play->config, first, rest)) {
        fail(at, "\"%s\" is no kind of line", first);
    }
}

int main(int count, char **arguments)
{
    struct lines lines = {0};
    struct play play = {0};
    play.quiet = count == 2 && !strcmp(arguments[1], "answer");
    if (count > 1 && !play.quiet) {
        fputs("usage: rewrite [answer] <VECTOR\n", stderr);
        return 2;
    }
    lines.name = "vector";
    lines.file = stdin;
    play.config = new_config(&lines);
    while (next_line(&lines)) {
        char *rest = lines.text;
        if (!strncmp(rest, "> ", 2)) {
            call(&lines, &play, rest + 2);
        } else if (strncmp(rest, "< ", 2)) {
            setting(&lines, &play, rest);
        }
    }
    if (!play.rewriter) fail(&lines, "there is no call");
    while (play.due < UINT64_MAX) take(&lines, &play, play.due);
    if (!play.finished) fail(&lines, "it did not finish");
    if (play.quiet) {
        const char *json;
        size_t length;
        must(&lines, decluster_rewriter_answer(play.rewriter, &json, &length),
             decluster_rewriter_error(play.rewriter));
        fwrite(json, 1, length, stdout);
        putchar('\n');
    }
    decluster_rewriter_free(play.rewriter);
    decluster_config_free(play.config);
    free(play.line.at);
    free(lines.text);
    return 0;
}
