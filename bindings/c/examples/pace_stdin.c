/*
 * pace_stdin: the stream of a provider comes in on stdin, and leaves on stdout as a steady flow.
 *
 *     curl -sN -d @request.json "$URL" | pace_stdin --set unit=word
 *
 * One thread, one poll(2) loop. What the stream amounted to is written to stderr as JSON, and how it
 * ended is the exit status:
 *
 *     0  it was complete (or of a dialect that is not known: then it has passed as it came)
 *     1  something failed here: reading, writing, the library
 *     2  the arguments are wrong
 *     3  the provider reported an error, or what came is no stream
 *     4  it broke off
 *     5  it was ended here: an event too large, too many choices, too much reasoning
 *
 * cc -std=c99 -D_POSIX_C_SOURCE=200809L pace_stdin.c $(pkg-config --cflags --libs decluster)
 */
#include <decluster.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMPLETE = 0, BROKEN = 1, USAGE = 2, FAILED = 3, TRUNCATED = 4, ENDED_HERE = 5 };

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* For poll(2): the milliseconds until `out` wants to be polled again, -1 if only input helps. */
static int wait_ms(const decluster_output *out)
{
    uint64_t time = now(), ms;

    if (out->type != DECLUSTER_OUTPUT_WAIT)
        return -1;
    if (out->at_ns <= time)
        return 0;
    /* Rounded up: a poll that is too early gives the same wait again. */
    ms = (out->at_ns - time + 999999) / 1000000;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Writes all of it, also where stdout does not block. Returns -1 if that fails. */
static int write_all(const char *bytes, size_t length)
{
    struct pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    ssize_t n;

    while (length > 0) {
        n = write(STDOUT_FILENO, bytes, length);
        if (n >= 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&out, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

static int say(const char *what, const char *why)
{
    fprintf(stderr, "pace_stdin: %s: %s\n", what, why);
    return BROKEN;
}

/* Takes in what stdin has, or its end. */
static decluster_status take(decluster_rewriter *rewriter, int *result)
{
    char bytes[16384];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

    if (n > 0)
        return decluster_rewriter_push(rewriter, now(), bytes, (size_t)n);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return DECLUSTER_OK;
    if (n < 0)
        *result = say("stdin", strerror(errno));
    return decluster_rewriter_finish(rewriter, now());
}

/* Says what the stream amounted to, as JSON: verdict, usage, tool calls, the provider's error. */
static int ended(decluster_rewriter *rewriter, uint32_t verdict)
{
    const char *json;
    size_t length;

    if (decluster_rewriter_answer(rewriter, &json, &length))
        return say("answer", decluster_rewriter_error(rewriter));
    fwrite(json, 1, length, stderr);
    fputc('\n', stderr);
    switch (verdict) {
    case DECLUSTER_VERDICT_FAILED:
        return FAILED;
    case DECLUSTER_VERDICT_TRUNCATED:
        return TRUNCATED;
    default:
        return COMPLETE;
    }
}

static int pace(decluster_rewriter *rewriter)
{
    /* Of stdout poll(2) is to tell only that nobody reads it any more. */
    struct pollfd ends[2] = {{STDIN_FILENO, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    decluster_output out;
    decluster_status status;
    int result = COMPLETE, verdict;

    for (;;) {
        status = decluster_rewriter_poll(rewriter, now(), &out, sizeof out);
        if (status == DECLUSTER_OK && out.type == DECLUSTER_OUTPUT_BYTES) {
            if (write_all(out.text, out.text_length))
                return say("stdout", strerror(errno));
        } else if (status == DECLUSTER_OK && out.type == DECLUSTER_OUTPUT_FINISHED) {
            verdict = ended(rewriter, out.verdict);
            return result == COMPLETE ? verdict : result;
        } else if (status == DECLUSTER_OK) {
            /* poll(2) passes over a descriptor below 0. Without input it waits for the time. */
            ends[0].fd = out.wants_input ? STDIN_FILENO : -1;
            ends[0].revents = ends[1].revents = 0;
            if (poll(ends, 2, wait_ms(&out)) < 0 && errno != EINTR)
                return say("poll", strerror(errno));
            if (ends[1].revents)
                return say("stdout", "nobody reads it any more");
            if (ends[0].revents)
                status = take(rewriter, &result);
        }
        if (status != DECLUSTER_OK) {
            result = say("stream", decluster_rewriter_error(rewriter));
            if (!decluster_status_is_fault(status))
                return result;
            /* Whoever writes need not go on; what came before the fault is still paced. */
            close(STDIN_FILENO);
            result = ENDED_HERE;
        }
    }
}

/* `name=value`, as decluster_config_set_text() takes them. */
static int set(decluster_config *config, const char *setting)
{
    const char *value = strchr(setting, '=');
    char name[64] = "";

    if (!value || (size_t)(value - setting) >= sizeof name)
        return say(setting, "is not NAME=VALUE");
    memcpy(name, setting, (size_t)(value - setting));
    if (decluster_config_set_text(config, name, value + 1))
        return say(setting, decluster_config_error(config));
    return 0;
}

static void help(void)
{
    decluster_parameter_info info;
    const char *choice;
    uint32_t parameter;
    uint64_t number;

    printf("pace_stdin [--preset NAME] [--set NAME=VALUE]... <stream >paced\n\nParameters:\n");
    for (parameter = 0; parameter < decluster_parameter_count(); parameter++) {
        if (decluster_parameter_describe(parameter, &info, sizeof info))
            continue;
        printf("\n  %s  ", info.name);
        if (info.measure == DECLUSTER_MEASURE_CHOICE) {
            for (number = 0; (choice = decluster_parameter_choice(parameter, number)); number++)
                printf("%s%s%s", number ? ", " : "", choice, number == info.initial ? "*" : "");
        } else {
            printf("%" PRIu64 " to %" PRIu64 ", initially %" PRIu64, info.min, info.max,
                   info.initial);
        }
        printf("\n    %s\n", info.doc);
    }
}

/* Returns 0 if the arguments are understood. */
static int settings(decluster_config *config, int count, char **words)
{
    int i;

    for (i = 1; i + 1 < count; i += 2) {
        if (!strcmp(words[i], "--set")) {
            if (set(config, words[i + 1]))
                return USAGE;
        } else if (!strcmp(words[i], "--preset")) {
            if (decluster_config_preset(config, words[i + 1])) {
                say(words[i + 1], decluster_config_error(config));
                return USAGE;
            }
        } else {
            break;
        }
    }
    if (i < count) {
        say(words[i], "is not understood; --help tells what is");
        return USAGE;
    }
    return 0;
}

int main(int count, char **words)
{
    decluster_config *config = NULL;
    decluster_rewriter *rewriter = NULL;
    decluster_status status;
    int result;

    if (count == 2 && !strcmp(words[1], "--help")) {
        help();
        return 0;
    }
    /* write(2) is to say so when nobody reads any more. */
    signal(SIGPIPE, SIG_IGN);
    status = decluster_config_new(&config);
    if (status)
        return say("settings", decluster_status_text(status));
    result = settings(config, count, words);
    if (!result) {
        status = decluster_rewriter_new(config, DECLUSTER_DIALECT_UNKNOWN, DECLUSTER_MODE_STREAM,
                                        now(), &rewriter);
        result = status ? say("rewriter", decluster_status_text(status)) : pace(rewriter);
    }
    decluster_rewriter_free(rewriter);
    decluster_config_free(config);
    return result;
}
