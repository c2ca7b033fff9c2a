/* What an event stream decoder does. */
#include "check.h"

static decluster_sse *sse_with(uint64_t max_event_bytes) {
    decluster_config *config;
    decluster_sse *sse = NULL;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_EVENT_BYTES, max_event_bytes), 0);
    SAME(decluster_sse_new(config, &sse), 0);
    decluster_config_free(config);
    return sse;
}

static void push(decluster_sse *sse, const char *bytes) {
    SAME(decluster_sse_push(sse, bytes, strlen(bytes)), 0);
}

static decluster_output polled(decluster_sse *sse) {
    decluster_output out;
    memset(&out, 0xa5, sizeof out);
    SAME(decluster_sse_poll(sse, &out, sizeof out), 0);
    return out;
}

/* What there is, a line each; gives what comes after it. */
static uint32_t take(decluster_sse *sse, struct journal *journal) {
    decluster_output out;
    while ((out = polled(sse)).type >= DECLUSTER_OUTPUT_EVENT) journal_output(journal, 0, &out);
    return out.type;
}

static const char BYTES[] =
    "\xef\xbb\xbf: a comment\r\n: and more\r\n\r\ndata: one\n\n"
    "event: two\nid: 7\ndata: two\ndata\r\n"
    "data:  lines\rretry: 1500\n\n: with data\ndata: \xe2\x82\xac\n\nid\ndata:3\r\n\r\n"
    "retry: soon\ndata: [DONE]\n\nnothing: known\n\ndata: cut";

static void events_do_not_depend_on_how_the_bytes_were_cut(void) {
    struct journal whole = {NULL, 0, 0};
    size_t cut;
    decluster_sse *sse = sse_with(1024);
    SAME(decluster_sse_push(sse, BYTES, sizeof BYTES - 1), 0);
    SAME(decluster_sse_finish(sse), 0);
    SAME(take(sse, &whole), DECLUSTER_OUTPUT_FINISHED);
    decluster_sse_free(sse);
    CHECK(whole.length > 1000);
    for (cut = 0; cut < sizeof BYTES; cut++) {
        struct journal journal = {NULL, 0, 0};
        size_t at;
        sse = sse_with(1024);
        /* The last time byte by byte. */
        for (at = 0; at < sizeof BYTES - 1 && cut == sizeof BYTES - 1; at++) {
            SAME(decluster_sse_push(sse, BYTES + at, 1), 0);
            SAME(take(sse, &journal), DECLUSTER_OUTPUT_NEED_INPUT);
        }
        if (cut < sizeof BYTES - 1) {
            SAME(decluster_sse_push(sse, BYTES, cut), 0);
            SAME(take(sse, &journal), DECLUSTER_OUTPUT_NEED_INPUT);
            SAME(decluster_sse_push(sse, BYTES + cut, sizeof BYTES - 1 - cut), 0);
        }
        SAME(take(sse, &journal), DECLUSTER_OUTPUT_NEED_INPUT);
        SAME(decluster_sse_finish(sse), 0);
        SAME(take(sse, &journal), DECLUSTER_OUTPUT_FINISHED);
        /* What is wanted of a source that has ended is another matter. */
        for (at = 0; at + 7 < whole.length; at++) {
            if (memcmp(whole.text + at, "wants ", 6) == 0) whole.text[at + 6] = '-';
        }
        for (at = 0; at + 7 < journal.length; at++) {
            if (memcmp(journal.text + at, "wants ", 6) == 0) journal.text[at + 6] = '-';
        }
        check_journals(&journal, &whole);
        journal_free(&journal);
        decluster_sse_free(sse);
    }
    journal_free(&whole);
}

static void an_event_says_all_of_itself(void) {
    decluster_sse *sse = sse_with(1024);
    decluster_output out, nothing;
    memset(&nothing, 0, sizeof nothing);
    push(sse, "id: 7\nevent: delta\nretry: 1500\ndata: one\ndata: two\n\ndata: three\n\n");
    out = polled(sse);
    SAME(out.type, DECLUSTER_OUTPUT_EVENT);
    SAME_TEXT(out.name, out.name_length, "delta");
    SAME_TEXT(out.text, out.text_length, "one\ntwo");
    SAME_TEXT(out.id, out.id_length, "7");
    SAME(out.retry_ms, 1500);
    SAME(out.terminated, 1);
    SAME(out.wants_input, 1);
    out.type = out.wants_input = out.terminated = 0;
    out.retry_ms = 0;
    out.text = out.name = out.id = NULL;
    out.text_length = out.name_length = out.id_length = 0;
    CHECK(memcmp(&out, &nothing, sizeof out) == 0);
    out = polled(sse);
    SAME_TEXT(out.name, out.name_length, "message");
    SAME_TEXT(out.text, out.text_length, "three");
    /* Both stay in force. */
    SAME_TEXT(out.id, out.id_length, "7");
    SAME(out.retry_ms, 1500);
    out = polled(sse);
    SAME(out.type, DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(out.wants_input, 1);
    SAME_TEXT(out.id, out.id_length, "7");
    SAME(out.retry_ms, 1500);
    out.type = out.wants_input = 0;
    out.retry_ms = 0;
    out.id = NULL;
    out.id_length = 0;
    CHECK(memcmp(&out, &nothing, sizeof out) == 0);
    decluster_sse_free(sse);
}

/* Says what to send when the stream is asked for again. */
static void check_in_force(decluster_sse *sse, uint32_t type, const char *id, int64_t retry_ms) {
    decluster_output out = polled(sse);
    SAME(out.type, type);
    SAME_TEXT(out.id, out.id_length, id);
    SAME(out.retry_ms, retry_ms);
}

static void every_output_says_what_is_in_force(void) {
    decluster_sse *sse = sse_with(1024);
    check_in_force(sse, DECLUSTER_OUTPUT_NEED_INPUT, "", -1);
    push(sse, ": hello\n\ndata: none yet\n\n");
    check_in_force(sse, DECLUSTER_OUTPUT_COMMENT, "", -1);
    check_in_force(sse, DECLUSTER_OUTPUT_EVENT, "", -1);
    check_in_force(sse, DECLUSTER_OUTPUT_NEED_INPUT, "", -1);
    push(sse, "id: 1\ndata: x\n\n: ping\n\nretry: 0\ndata: y\n\n");
    check_in_force(sse, DECLUSTER_OUTPUT_EVENT, "1", -1);
    check_in_force(sse, DECLUSTER_OUTPUT_COMMENT, "1", -1);
    check_in_force(sse, DECLUSTER_OUTPUT_EVENT, "1", 0);
    /* Blocks without data are no events, and count. */
    push(sse, "id: 2\n\n");
    check_in_force(sse, DECLUSTER_OUTPUT_NEED_INPUT, "2", 0);
    push(sse, "retry: 1500\n\n");
    check_in_force(sse, DECLUSTER_OUTPUT_NEED_INPUT, "2", 1500);
    push(sse, "event: e\nid: 3\nretry: 9\n\n: ping\n\n");
    check_in_force(sse, DECLUSTER_OUTPUT_COMMENT, "3", 9);
    /* What is none changes nothing; an empty id does. */
    push(sse, "retry: soon\ndata: z\n\nid\nretry\n\n");
    check_in_force(sse, DECLUSTER_OUTPUT_EVENT, "3", 9);
    check_in_force(sse, DECLUSTER_OUTPUT_NEED_INPUT, "", 9);
    SAME(decluster_sse_push(sse, "id: 4\n\nid: a\0b\ndata: z\n\n", 25), 0);
    check_in_force(sse, DECLUSTER_OUTPUT_EVENT, "4", 9);
    SAME(decluster_sse_finish(sse), 0);
    check_in_force(sse, DECLUSTER_OUTPUT_FINISHED, "4", 9);
    check_in_force(sse, DECLUSTER_OUTPUT_FINISHED, "4", 9);
    decluster_sse_free(sse);
}

static void an_id_counts_once_its_blank_line_has_come(void) {
    decluster_sse *sse = sse_with(1024);
    push(sse, "id: 1\ndata: whole\n\nid: 2\nretry: 5\ndata: cut\nretry: 77");
    check_in_force(sse, DECLUSTER_OUTPUT_EVENT, "1", -1);
    SAME(decluster_sse_finish(sse), 0);
    /* The standard drops it. A number that may have been cut is none. */
    check_in_force(sse, DECLUSTER_OUTPUT_EVENT, "1", 5);
    check_in_force(sse, DECLUSTER_OUTPUT_FINISHED, "1", 5);
    decluster_sse_free(sse);
}

static void a_time_that_is_none_is_not_stated(void) {
    static const char *const times[] = {"", "-1", "1.5", " 5", "5s"};
    size_t at;
    for (at = 0; at < sizeof times / sizeof *times; at++) {
        decluster_sse *sse = sse_with(1024);
        push(sse, "retry:");
        push(sse, at == 3 ? " " : "");
        push(sse, times[at]);
        push(sse, "\ndata: x\n\n");
        SAME(polled(sse).retry_ms, -1);
        decluster_sse_free(sse);
    }
}

static void a_time_that_does_not_fit_is_the_largest_that_does(void) {
    static const char *const times[] = {"9223372036854775808", "99999999999999999999"};
    size_t at;
    for (at = 0; at < sizeof times / sizeof *times; at++) {
        decluster_sse *sse = sse_with(1024);
        push(sse, "retry: ");
        push(sse, times[at]);
        push(sse, "\ndata: x\n\n");
        SAME(polled(sse).retry_ms, INT64_MAX);
        decluster_sse_free(sse);
    }
}

static void comments_come_as_they_were_without_line_ends(void) {
    decluster_sse *sse = sse_with(1024);
    decluster_output out;
    push(sse, ": one\n:two\r\n\ndata: x\n: inside\n\n");
    out = polled(sse);
    SAME(out.type, DECLUSTER_OUTPUT_COMMENT);
    SAME_TEXT(out.text, out.text_length, ": one");
    SAME(out.name_length + out.id_length, 0);
    out = polled(sse);
    SAME(out.type, DECLUSTER_OUTPUT_COMMENT);
    SAME_TEXT(out.text, out.text_length, ":two");
    /* One that stands inside an event is no output of its own. */
    SAME(polled(sse).type, DECLUSTER_OUTPUT_EVENT);
    SAME(polled(sse).type, DECLUSTER_OUTPUT_NEED_INPUT);
    decluster_sse_free(sse);
}

/* However its line ends, and whatever ended the line before. */
static void a_comment_has_no_line_end_and_no_byte_order_mark(void) {
    static const char *const ends[] = {"\n", "\r", "\r\n", ""};
    static const char *const texts[] = {":", ":\xe2\x82\xac ", ": \xef\xbb\xbf", ": a: b\t"};
    size_t before, after, text;
    int marked;
    for (before = 0; before < 4; before++) {
        for (after = 0; after < 4; after++) {
            for (text = 0; text < 4; text++) {
                for (marked = 0; marked < 2; marked++) {
                    decluster_sse *sse = sse_with(1024);
                    decluster_output out;
                    if (marked) push(sse, "\xef\xbb\xbf");
                    push(sse, ends[before]);
                    push(sse, ends[before]);
                    push(sse, texts[text]);
                    push(sse, ends[after]);
                    SAME(decluster_sse_finish(sse), 0);
                    out = polled(sse);
                    SAME(out.type, DECLUSTER_OUTPUT_COMMENT);
                    SAME_TEXT(out.text, out.text_length, texts[text]);
                    SAME(polled(sse).type, DECLUSTER_OUTPUT_FINISHED);
                    decluster_sse_free(sse);
                }
            }
        }
    }
}

/* Such lines may hold a comment: it comes with them. */
static void a_comment_in_a_block_without_data_comes_with_its_lines(void) {
    decluster_sse *sse = sse_with(1024);
    decluster_output out;
    push(sse, "event: e\r\n: one\r\n: two\r\n\r\nevent: e\n\n");
    out = polled(sse);
    SAME(out.type, DECLUSTER_OUTPUT_COMMENT);
    SAME_TEXT(out.text, out.text_length, "event: e\r\n: one\r\n: two");
    SAME(polled(sse).type, DECLUSTER_OUTPUT_NEED_INPUT);
    decluster_sse_free(sse);
}

static void an_event_without_its_blank_line_is_told_apart(void) {
    decluster_sse *sse = sse_with(1024);
    decluster_output out;
    push(sse, "data: whole\n\ndata: cut");
    SAME(polled(sse).terminated, 1);
    SAME(polled(sse).type, DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(decluster_sse_finish(sse), 0);
    out = polled(sse);
    SAME_TEXT(out.text, out.text_length, "cut");
    SAME(out.terminated, 0);
    SAME(out.wants_input, 0);
    out = polled(sse);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    SAME(out.wants_input, 0);
    decluster_sse_free(sse);
}

static void what_is_not_utf_8_is_replaced_and_a_nul_is_kept(void) {
    decluster_sse *sse = sse_with(1024);
    decluster_output out;
    SAME(decluster_sse_push(sse, "data: a\xff\0b\n\n", 13), 0);
    out = polled(sse);
    SAME(out.text_length, 6);
    CHECK(memcmp(out.text, "a\xef\xbf\xbd\0b", 6) == 0);
    decluster_sse_free(sse);
}

static void what_is_too_large_is_told_once_behind_what_came_before(void) {
    decluster_sse *sse = sse_with(1024);
    decluster_output out, same;
    char large[1100];
    memset(large, 'x', sizeof large);
    push(sse, "data: before\n\ndata: ");
    SAME(decluster_sse_push(sse, large, sizeof large), 0);
    out = polled(sse);
    SAME_TEXT(out.text, out.text_length, "before");
    memset(&out, 0xa5, sizeof out);
    same = out;
    SAME(decluster_sse_poll(sse, &out, sizeof out), DECLUSTER_ERROR_TOO_LARGE);
    SAYS(decluster_sse_error(sse), "1024|14");
    CHECK(memcmp(&out, &same, sizeof out) == 0);
    SAME(polled(sse).type, DECLUSTER_OUTPUT_FINISHED);
    SAME(decluster_sse_push(sse, "data: after\n\n", 13), DECLUSTER_ERROR_FINISHED);
    SAME(decluster_sse_finish(sse), 0);
    SAME(polled(sse).type, DECLUSTER_OUTPUT_FINISHED);
    decluster_sse_free(sse);
}

/* Around the bound, whether the end of an event comes with it, later or not at all: a decoder
 * that says that it is full has something to give or says TOO_LARGE, and it takes more when it
 * says so. */
static void a_decoder_is_never_stuck_at_its_bound(void) {
    static const char *const ends[] = {"", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "\n: c\n\n"};
    char bytes[1100];
    size_t length, end;
    int first, before = check_failures;
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "data: ", 6);
    for (length = 1000; length < 1060 && check_failures == before; length++) {
        for (end = 0; end < sizeof ends / sizeof *ends; end++) {
            for (first = 0; first < 2; first++) {
                decluster_sse *sse = sse_with(1024);
                decluster_output out;
                int status, polls = 0;
                if (first) push(sse, "data: first\n\n");
                SAME(decluster_sse_push(sse, bytes, length), 0);
                if (decluster_sse_push(sse, ends[end], strlen(ends[end]))) {
                    SAYS(decluster_sse_error(sse), "max_event_bytes = 1024");
                }
                do {
                    status = decluster_sse_poll(sse, &out, sizeof out);
                } while (!status && out.type == DECLUSTER_OUTPUT_EVENT && polls++ < 10);
                if (status) {
                    SAME(status, DECLUSTER_ERROR_TOO_LARGE);
                    CHECK(length + strlen(ends[end]) > 1024);
                } else {
                    SAME(out.type, DECLUSTER_OUTPUT_NEED_INPUT);
                    SAME(out.wants_input, 1);
                    SAME(decluster_sse_push(sse, "\n", 1), 0);
                }
                decluster_sse_free(sse);
            }
        }
    }
}

static void an_event_stays_until_a_call_that_may_change_it(void) {
    char bytes[] = "event: e\nid: i\ndata: d\n\n";
    decluster_sse *sse = sse_with(1024);
    decluster_output out;
    push(sse, bytes);
    memset(bytes, '?', sizeof bytes - 1);
    out = polled(sse);
    SAME(decluster_sse_error(sse)[0], 0);
    SAME_TEXT(out.name, out.name_length, "e");
    SAME_TEXT(out.id, out.id_length, "i");
    SAME_TEXT(out.text, out.text_length, "d");
    decluster_sse_free(sse);
}

int main(void) {
    RUN(events_do_not_depend_on_how_the_bytes_were_cut);
    RUN(an_event_says_all_of_itself);
    RUN(every_output_says_what_is_in_force);
    RUN(an_id_counts_once_its_blank_line_has_come);
    RUN(a_time_that_is_none_is_not_stated);
    RUN(a_time_that_does_not_fit_is_the_largest_that_does);
    RUN(comments_come_as_they_were_without_line_ends);
    RUN(a_comment_has_no_line_end_and_no_byte_order_mark);
    RUN(a_comment_in_a_block_without_data_comes_with_its_lines);
    RUN(an_event_without_its_blank_line_is_told_apart);
    RUN(what_is_not_utf_8_is_replaced_and_a_nul_is_kept);
    RUN(what_is_too_large_is_told_once_behind_what_came_before);
    RUN(a_decoder_is_never_stuck_at_its_bound);
    RUN(an_event_stays_until_a_call_that_may_change_it);
    return done();
}
