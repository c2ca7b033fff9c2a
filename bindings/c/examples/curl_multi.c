/*
 * curl_multi: asks a provider with libcurl, and shows the text of the answer as a steady flow.
 *
 *     curl_multi --header "Authorization: Bearer $KEY" --data "$(cat request.json)" "$URL"
 *
 * One thread: curl_multi_poll() sleeps until the server sends or until text is due. The transfer is
 * paused while decluster wants no input, and closed once no more of it is needed. What the answer
 * amounted to is written to stderr as JSON; the exit status is 0 if it came to its end (or is of a
 * dialect that is not known), 1 if not, 2 if the arguments are wrong.
 *
 * cc -std=c99 -D_POSIX_C_SOURCE=200809L curl_multi.c $(pkg-config --cflags --libs decluster libcurl)
 */
#include <decluster.h>

#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct stream {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    decluster_config *config;
    decluster_rewriter *rewriter;
    int open;   /* The transfer is in `multi`. */
    int paused; /* It is to go on when input is wanted. */
    int failed; /* Something went wrong, and was said. */
};

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* For curl_multi_poll(): the milliseconds until `out` wants to be polled again. */
static int wait_ms(const decluster_output *out)
{
    uint64_t time = now(), ms;

    if (out->type != DECLUSTER_OUTPUT_WAIT)
        return INT_MAX;
    if (out->at_ns <= time)
        return 0;
    /* Rounded up: a poll that is too early gives the same wait again. */
    ms = (out->at_ns - time + 999999) / 1000000;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

static int fail(struct stream *stream, const char *what, const char *why)
{
    fprintf(stderr, "curl_multi: %s: %s\n", what, why);
    stream->failed = 1;
    return -1;
}

/* libcurl calls it with what has arrived. */
static size_t arrived(char *bytes, size_t one, size_t length, void *data)
{
    struct stream *stream = data;

    (void)one; /* It is 1, always. */
    if (decluster_rewriter_wants_input(stream->rewriter) == 0) {
        stream->paused = 1;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (decluster_rewriter_push(stream->rewriter, now(), bytes, length)) {
        fail(stream, "stream", decluster_rewriter_error(stream->rewriter));
        return 0; /* Less than came: libcurl ends the transfer. */
    }
    return length;
}

/* Nothing more is read: closes the connection, unless it was at its end. */
static void close_transfer(struct stream *stream)
{
    if (stream->open)
        curl_multi_remove_handle(stream->multi, stream->easy);
    stream->open = 0;
}

/* Lets libcurl send and receive what it can without waiting. */
static void transfer(struct stream *stream)
{
    int running, left;
    CURLMcode code = curl_multi_perform(stream->multi, &running);
    CURLMsg *message = curl_multi_info_read(stream->multi, &left);

    if (code)
        fail(stream, "transfer", curl_multi_strerror(code));
    else if (message && message->data.result && !stream->failed)
        fail(stream, "transfer", curl_easy_strerror(message->data.result));
    if (code || message) {
        close_transfer(stream);
        decluster_rewriter_finish(stream->rewriter, now());
    }
}

/* Nothing is due: sleeps until something is, or until the server has sent something. */
static int wait(struct stream *stream, const decluster_output *out)
{
    CURLMcode code = CURLM_OK;

    if (stream->paused && stream->open && out->wants_input) {
        stream->paused = 0;
        curl_easy_pause(stream->easy, CURLPAUSE_CONT); /* May call arrived() at once. */
    } else {
        code = curl_multi_poll(stream->multi, NULL, 0, wait_ms(out), NULL);
    }
    if (stream->open)
        transfer(stream);
    return code ? fail(stream, "wait", curl_multi_strerror(code)) : 0;
}

/* Says what the answer amounted to, apart from its text. Returns 0 if it came to its end. */
static int ended(struct stream *stream, uint32_t verdict)
{
    const char *json;
    size_t length;
    long status = 0;

    curl_easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 400) {
        fprintf(stderr, "curl_multi: the server's status is %ld\n", status);
        stream->failed = 1;
    }
    /* The provider's error is in it, too. */
    if (decluster_rewriter_answer(stream->rewriter, &json, &length))
        return fail(stream, "answer", decluster_rewriter_error(stream->rewriter));
    fwrite(json, 1, length, stderr);
    fputc('\n', stderr);
    return verdict == DECLUSTER_VERDICT_FAILED || verdict == DECLUSTER_VERDICT_TRUNCATED;
}

/* Reads the answer and shows its text, to the end. Returns 0 if that is the provider's end. */
static int show(struct stream *stream)
{
    decluster_output out;
    decluster_status status;
    uint32_t kind = DECLUSTER_KIND_REASONING;

    for (;;) {
        status = decluster_rewriter_poll(stream->rewriter, now(), &out, sizeof out);
        if (status != DECLUSTER_OK) {
            fail(stream, "stream", decluster_rewriter_error(stream->rewriter));
            if (!decluster_status_is_fault(status))
                return -1;
            close_transfer(stream); /* No more of it is needed. */
        } else if (out.type == DECLUSTER_OUTPUT_PIECE) {
            if (out.seq > 0 && out.kind != kind)
                fputs("\n\n", stdout); /* Between reasoning and answer. */
            kind = out.kind;
            fwrite(out.text, 1, out.text_length, stdout);
        } else if (out.type == DECLUSTER_OUTPUT_FINISHED) {
            return ended(stream, out.verdict);
        } else {
            if (fflush(stdout))
                return fail(stream, "stdout", strerror(errno));
            if (wait(stream, &out))
                return -1;
        }
    }
}

/* `name=value`, as decluster_config_set_text() takes them. */
static int set(struct stream *stream, const char *setting)
{
    const char *value = strchr(setting, '=');
    char name[64] = "";

    if (!value || (size_t)(value - setting) >= sizeof name)
        return fail(stream, setting, "is not NAME=VALUE");
    memcpy(name, setting, (size_t)(value - setting));
    if (decluster_config_set_text(stream->config, name, value + 1))
        return fail(stream, setting, decluster_config_error(stream->config));
    return 0;
}

/* Returns 0 if the arguments are understood. */
static int arguments(struct stream *stream, int count, char **words)
{
    struct curl_slist *longer;
    CURLcode code = CURLE_OK;
    int i;

    for (i = 1; i + 2 < count && !code; i += 2) {
        if (!strcmp(words[i], "--data")) {
            code = curl_easy_setopt(stream->easy, CURLOPT_COPYPOSTFIELDS, words[i + 1]);
        } else if (!strcmp(words[i], "--header")) {
            longer = curl_slist_append(stream->headers, words[i + 1]);
            if (!longer)
                return -1;
            stream->headers = longer;
        } else if (strcmp(words[i], "--set") || set(stream, words[i + 1])) {
            break;
        }
    }
    if (code || i + 1 != count) {
        fputs("curl_multi [--header LINE]... [--data TEXT] [--set NAME=VALUE]... URL\n", stderr);
        return -1;
    }
    return curl_easy_setopt(stream->easy, CURLOPT_URL, words[i]) ? -1 : 0;
}

/* Returns 0 if the transfer may begin. */
static int begin(struct stream *stream)
{
    if (decluster_rewriter_new(stream->config, DECLUSTER_DIALECT_UNKNOWN, DECLUSTER_MODE_PIECES,
                               now(), &stream->rewriter) ||
        curl_easy_setopt(stream->easy, CURLOPT_HTTPHEADER, stream->headers) ||
        curl_easy_setopt(stream->easy, CURLOPT_WRITEFUNCTION, arrived) ||
        curl_easy_setopt(stream->easy, CURLOPT_WRITEDATA, stream) ||
        curl_easy_setopt(stream->easy, CURLOPT_CONNECTTIMEOUT, 10L) ||
        curl_multi_add_handle(stream->multi, stream->easy))
        return fail(stream, "request", "it cannot be made");
    stream->open = 1;
    return 0;
}

int main(int count, char **words)
{
    struct stream stream = {0};
    int result = 1;

    signal(SIGPIPE, SIG_IGN); /* Writing is to fail when nobody reads any more. */
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return 1;
    stream.multi = curl_multi_init();
    stream.easy = curl_easy_init();
    if (!stream.multi || !stream.easy || decluster_config_new(&stream.config))
        fail(&stream, "start", "out of memory");
    else if (arguments(&stream, count, words))
        result = 2;
    else if (!begin(&stream))
        result = show(&stream) || stream.failed || fputs("\n", stdout) < 0 || fflush(stdout);
    close_transfer(&stream);
    curl_easy_cleanup(stream.easy);
    curl_multi_cleanup(stream.multi);
    curl_slist_free_all(stream.headers);
    decluster_rewriter_free(stream.rewriter);
    decluster_config_free(stream.config);
    curl_global_cleanup();
    return result;
}
