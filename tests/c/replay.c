/*
 * Replays the vectors of the engine (tests/vectors/README.md):
 *
 *     replay calls FILE...                   compares all that comes out with the files
 *     replay schedules TOKENS <TRACES        prints a line for each piece of each trace
 *
 * A schedule is printed as its trace and unit, its lines, and an empty line.
 */

#include "vectors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An engine, its clock, and what must come out of it. */
struct replay {
    decluster_engine *engine;
    uint64_t now;
    struct bytes texts[2][4]; /* What went in, by kind and choice. */
    size_t out[2][4];         /* How much of it came out. */
};

enum { CHOICES = 4 };

static decluster_output poll(const struct lines *at, struct replay *replay)
{
    decluster_output out;
    must(at, decluster_engine_poll(replay->engine, replay->now, &out, sizeof out),
         decluster_engine_error(replay->engine));
    return out;
}

/* The sizes are in the file, the text is what went in. */
static void check_text(const struct lines *at, struct replay *replay, const decluster_output *piece)
{
    struct bytes *in;
    size_t *done;
    if (piece->kind > 1 || piece->index >= CHOICES) fail(at, "a piece of no text that went in");
    in = &replay->texts[piece->kind][piece->index];
    done = &replay->out[piece->kind][piece->index];
    if (piece->text_length > in->length - *done ||
        (piece->text_length > 0 && memcmp(piece->text, in->at + *done, piece->text_length))) {
        fail(at, "\"%.*s\" is not the text that went in", (int)piece->text_length, piece->text);
    }
    *done += piece->text_length;
}

static void expect(struct lines *at, struct replay *replay)
{
    char line[512];
    uint64_t now;
    decluster_output out;
    if (!replay->engine) fail(at, "an output before the first call");
    out = poll(at, replay);
    if (out.type == DECLUSTER_OUTPUT_WAIT) {
        replay->now = out.at_ns;
        out = poll(at, replay);
    }
    now = replay->now;
    switch (out.type) {
    case DECLUSTER_OUTPUT_PIECE:
        check_text(at, replay, &out);
        snprintf(line, sizeof line,
                 "< piece %" PRIu64 " %zu %s %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu32
                 " %s %" PRIu32 " %" PRIu32 " %" PRIu64,
                 now, out.text_length, name_of(at, KINDS, out.kind), out.index, out.seq, out.block,
                 out.part, name_of(at, BOUNDARIES, out.boundary), out.ends_block, out.tokens,
                 out.origin);
        break;
    case DECLUSTER_OUTPUT_MARK:
        snprintf(line, sizeof line, "< mark %" PRIu64 " %" PRIu64, now, out.number);
        break;
    case DECLUSTER_OUTPUT_RESTARTED:
        snprintf(line, sizeof line, "< restarted %" PRIu64 " %" PRIu64, now, out.number);
        break;
    case DECLUSTER_OUTPUT_FINISHED:
        snprintf(line, sizeof line, "< finished %" PRIu64, now);
        break;
    default:
        snprintf(line, sizeof line, "output %" PRIu32 " at %" PRIu64, out.type, now);
    }
    if (strcmp(line, at->text)) fail(at, "\"%s\" instead of \"%s\"", line, at->text);
}

static void push(struct lines *at, struct replay *replay, char *rest)
{
    uint32_t kind = find(at, KINDS, next_word(at, &rest));
    uint32_t index = (uint32_t)next_number(at, &rest);
    uint32_t tokens = 0;
    size_t length;
    char *text;
    if (rest[0] == '-') {
        next_word(at, &rest);
    } else {
        tokens = (uint32_t)next_number(at, &rest);
    }
    text = next_text(at, &rest, &length);
    if (index >= CHOICES) fail(at, "this program has room for %d choices", CHOICES);
    append(&replay->texts[kind][index], text, length);
    must(at, decluster_engine_push(replay->engine, replay->now, kind, index, text, length, tokens),
         decluster_engine_error(replay->engine));
}

static void call(struct lines *at, struct replay *replay, const decluster_config *config,
                 char *rest)
{
    const char *name = next_word(at, &rest);
    uint64_t time = next_number(at, &rest);
    decluster_status status = DECLUSTER_OK;
    if (!replay->engine) {
        must(at, decluster_engine_new(config, time, &replay->engine), "no engine was made");
    } else {
        decluster_output out = poll(at, replay);
        int waits = out.type == DECLUSTER_OUTPUT_WAIT && out.at_ns >= time;
        if (!waits && out.type != DECLUSTER_OUTPUT_NEED_INPUT) {
            fail(at, "output %" PRIu32 " at %" PRIu64 " is not in the file", out.type, replay->now);
        }
    }
    replay->now = time;
    if (!strcmp(name, "push")) {
        push(at, replay, rest);
    } else if (!strcmp(name, "mark")) {
        uint64_t number = next_number(at, &rest);
        uint32_t hurry = (uint32_t)next_number(at, &rest);
        status = decluster_engine_mark(replay->engine, time, number, hurry);
    } else if (!strcmp(name, "end_block")) {
        status = decluster_engine_end_block(replay->engine, time);
    } else if (!strcmp(name, "begin_attempt")) {
        status = decluster_engine_begin_attempt(replay->engine, time);
    } else if (!strcmp(name, "flush")) {
        status = decluster_engine_flush(replay->engine);
    } else if (!strcmp(name, "finish")) {
        status = decluster_engine_finish(replay->engine, time);
    } else {
        fail(at, "there is no call %s", name);
    }
    must(at, status, decluster_engine_error(replay->engine));
}

static void open_lines(struct lines *lines, const char *name)
{
    lines->name = name;
    lines->file = fopen(name, "rb");
    if (!lines->file) fail(lines, "the file cannot be opened");
}

static void replay_calls(const char *name)
{
    struct lines lines = {0};
    struct replay replay = {0};
    decluster_config *config;
    int finished = 0;
    open_lines(&lines, name);
    config = new_config(&lines);
    while (next_line(&lines)) {
        char *rest = lines.text;
        if (rest[0] == '#') continue;
        finished = !strncmp(rest, "< finished ", 11);
        if (rest[0] == '<') {
            expect(&lines, &replay);
        } else {
            const char *first = next_word(&lines, &rest);
            if (!strcmp(first, ">")) {
                call(&lines, &replay, config, rest);
            } else if (!set(&lines, config, first, rest)) {
                fail(&lines, "\"%s\" is no kind of line", first);
            }
        }
    }
    if (!finished) fail(&lines, "the last line is not that it finished");
    for (int kind = 0; kind < 2; kind++) {
        for (int choice = 0; choice < CHOICES; choice++) {
            size_t left = replay.texts[kind][choice].length - replay.out[kind][choice];
            if (left) fail(&lines, "%zu bytes of text did not come out", left);
            free(replay.texts[kind][choice].at);
        }
    }
    decluster_engine_free(replay.engine);
    decluster_config_free(config);
    fclose(lines.file);
    free(lines.text);
}

/* One pass over the text that is laid under every trace. */
struct tokens {
    struct bytes text;
    size_t *starts; /* One more than there are tokens. */
    size_t count;
};

static struct tokens read_tokens(const char *name)
{
    struct lines lines = {0};
    struct tokens tokens = {{NULL, 0, 0}, NULL, 0};
    struct bytes starts = {NULL, 0, 0};
    const size_t first = 0;
    open_lines(&lines, name);
    append(&starts, (const char *)&first, sizeof first);
    while (next_line(&lines)) {
        char *rest = lines.text;
        size_t length;
        char *text = next_text(&lines, &rest, &length);
        append(&tokens.text, text, length);
        append(&starts, (const char *)&tokens.text.length, sizeof tokens.text.length);
        tokens.count++;
    }
    if (tokens.count == 0) fail(&lines, "there are no tokens");
    tokens.starts = (size_t *)(void *)starts.at;
    fclose(lines.file);
    free(lines.text);
    return tokens;
}

/* Prints what is due before `until`, and checks that the text goes on where it stopped. */
static void print_due(const struct lines *at, struct replay *replay, const struct tokens *tokens,
                      uint64_t until, size_t *done)
{
    for (;;) {
        decluster_output out = poll(at, replay);
        if (out.type == DECLUSTER_OUTPUT_WAIT && out.at_ns < until) {
            replay->now = out.at_ns;
        } else if (out.type == DECLUSTER_OUTPUT_PIECE) {
            for (size_t n = 0; n < out.text_length; n++) {
                if (out.text[n] != tokens->text.at[(*done)++ % tokens->text.length]) {
                    fail(at, "the text that came out is not that which went in");
                }
            }
            printf("%" PRIu64 " %zu %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", replay->now,
                   out.text_length, out.tokens, out.block, out.part);
        } else if (out.type == DECLUSTER_OUTPUT_WAIT || out.type == DECLUSTER_OUTPUT_NEED_INPUT ||
                   out.type == DECLUSTER_OUTPUT_FINISHED) {
            return;
        } else {
            fail(at, "output %" PRIu32 " has no place in a schedule", out.type);
        }
    }
}

static void play_trace(struct lines *at, char *rest, const decluster_config *config,
                       const struct tokens *tokens, struct bytes *text)
{
    struct replay replay = {0};
    size_t place = 0, in = 0, out = 0;
    must(at, decluster_engine_new(config, 0, &replay.engine), "no engine was made");
    while (*rest) {
        char *end;
        uint64_t time = strtoull(rest, &end, 10), count;
        if (*end != ':') fail(at, "an arrival is TIME:TOKENS, not %.20s", rest);
        count = strtoull(end + 1, &end, 10);
        rest = *end == ' ' ? end + 1 : end;
        if (place > 0) print_due(at, &replay, tokens, time, &out);
        text->length = 0;
        for (; count > 0; count--, place++) {
            size_t token = place % tokens->count;
            size_t start = tokens->starts[token];
            append(text, tokens->text.at + start, tokens->starts[token + 1] - start);
        }
        in += text->length;
        replay.now = time;
        must(at,
             decluster_engine_push(replay.engine, time, DECLUSTER_KIND_REASONING, 0, text->at,
                                   text->length, 0),
             decluster_engine_error(replay.engine));
    }
    must(at, decluster_engine_finish(replay.engine, replay.now),
         decluster_engine_error(replay.engine));
    print_due(at, &replay, tokens, UINT64_MAX, &out);
    if (in != out) fail(at, "%zu bytes went in, %zu came out", in, out);
    decluster_engine_free(replay.engine);
}

static void play_schedules(const char *name)
{
    static const char *const UNITS[] = {"word", "block"};
    struct tokens tokens = read_tokens(name);
    struct lines lines = {0};
    struct bytes text = {NULL, 0, 0};
    decluster_config *config;
    lines.name = "traces";
    lines.file = stdin;
    config = new_config(&lines);
    while (next_line(&lines)) {
        char *rest = lines.text;
        const char *trace = next_word(&lines, &rest);
        for (size_t n = 0; n < sizeof UNITS / sizeof UNITS[0]; n++) {
            const char *choice;
            uint64_t unit = 0;
            while ((choice = decluster_parameter_choice(DECLUSTER_PARAMETER_UNIT, unit)) &&
                   strcmp(choice, UNITS[n])) {
                unit++;
            }
            must(&lines, decluster_config_set(config, DECLUSTER_PARAMETER_UNIT, unit),
                 decluster_config_error(config));
            printf("%s %s\n", trace, UNITS[n]);
            play_trace(&lines, rest, config, &tokens, &text);
            putchar('\n');
        }
    }
    decluster_config_free(config);
    free(text.at);
    free(tokens.text.at);
    free(tokens.starts);
    free(lines.text);
}

int main(int count, char **arguments)
{
    if (count > 2 && !strcmp(arguments[1], "calls")) {
        for (int n = 2; n < count; n++) replay_calls(arguments[n]);
    } else if (count == 3 && !strcmp(arguments[1], "schedules")) {
        play_schedules(arguments[2]);
    } else {
        fputs("usage: replay calls FILE... | replay schedules TOKENS <TRACES\n", stderr);
        return 2;
    }
    return 0;
}
