/* What a rewriter does, on a clock that the test turns. */
#include "check.h"

#define CHAT(content) "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" content "\"}}]}"
#define THOUGHT(text) "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"" text "\"}}]}"
#define STOP "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"
#define DATA(json) "data: " json "\n\n"
#define DONE "data: [DONE]\n\n"

static decluster_config *config_with(uint32_t parameter, uint64_t value) {
    decluster_config *config = NULL;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, parameter, value), 0);
    return config;
}

/* Frees the config. */
static decluster_rewriter *rewriter_of(decluster_config *config, uint32_t dialect, uint32_t mode) {
    decluster_rewriter *rewriter = NULL;
    SAME(decluster_rewriter_new(config, dialect, mode, 0, &rewriter), 0);
    decluster_config_free(config);
    return rewriter;
}

static void push(decluster_rewriter *rewriter, uint64_t now, const char *bytes) {
    SAME(decluster_rewriter_push(rewriter, now, bytes, strlen(bytes)), 0);
}

static void push_event(decluster_rewriter *rewriter, const char *name, const char *data) {
    SAME(decluster_rewriter_push_event(rewriter, 0, name, strlen(name), data, strlen(data)), 0);
}

static decluster_output polled(decluster_rewriter *rewriter, uint64_t now) {
    decluster_output out;
    memset(&out, 0xa5, sizeof out);
    SAME(decluster_rewriter_poll(rewriter, now, &out, sizeof out), 0);
    return out;
}

/* Polls until there is nothing to wait for, or a call fails; the clock leaps to what is next.
 * Collects text and data, what is not bytes with its type before it. Gives the status; `last` is
 * what came last. */
static int32_t take(decluster_rewriter *rewriter, uint64_t *now, struct journal *journal,
                    decluster_output *last) {
    int turn;
    for (turn = 0; turn < MANY; turn++) {
        int32_t status = decluster_rewriter_poll(rewriter, *now, last, sizeof *last);
        if (status) return status;
        switch (last->type) {
        case DECLUSTER_OUTPUT_NEED_INPUT:
        case DECLUSTER_OUTPUT_FINISHED:
            return status;
        case DECLUSTER_OUTPUT_WAIT:
            CHECK(last->at_ns > *now);
            *now = last->at_ns;
            continue;
        case DECLUSTER_OUTPUT_BYTES:
        case DECLUSTER_OUTPUT_PIECE:
            break;
        case DECLUSTER_OUTPUT_RESTARTED:
        case DECLUSTER_OUTPUT_RECLASSIFIED:
            journal_say(journal, "<%u %u>", last->type, (unsigned)last->number);
            break;
        default:
            journal_say(journal, "<%u ", last->type);
            journal_put(journal, last->name, last->name_length);
            journal_say(journal, ">");
        }
        journal_put(journal, last->text, last->text_length);
    }
    CHECK(!"it came to an end");
    return 0;
}

/* All of it. */
static void check_all(decluster_rewriter *rewriter, const char *expected, uint32_t verdict) {
    struct journal journal = {NULL, 0, 0};
    decluster_output last;
    uint64_t now = 0;
    SAME(decluster_rewriter_finish(rewriter, 0), 0);
    SAME(take(rewriter, &now, &journal, &last), 0);
    SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
    SAME(last.verdict, verdict);
    SAME(last.wants_input, 0);
    SAME_TEXT(journal.text, journal.length, expected);
    journal_free(&journal);
}

static void events_are_cut_and_joined_where_sentences_end(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    push(rewriter, 0, DATA(CHAT("The first sentence is here.\\nThe se")) DATA(CHAT("cond")));
    push(rewriter, 0, DATA(STOP) DONE);
    check_all(rewriter,
              DATA(CHAT("The first sentence is here.\\n")) DATA(CHAT("The second")) DATA(STOP) DONE,
              DECLUSTER_VERDICT_COMPLETE);
    decluster_rewriter_free(rewriter);
}

static void a_stream_may_be_cut_anywhere(void) {
    static const char bytes[] = DATA(CHAT("One sentence is here.\\nAnother")) ": x\n\n" DONE;
    struct journal whole = {NULL, 0, 0};
    size_t cut;
    for (cut = 0; cut < sizeof bytes; cut++) {
        decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
        struct journal journal = {NULL, 0, 0};
        decluster_output last;
        uint64_t now = 0;
        SAME(decluster_rewriter_push(rewriter, 0, bytes, cut), 0);
        SAME(decluster_rewriter_push(rewriter, 0, bytes + cut, sizeof bytes - 1 - cut), 0);
        SAME(decluster_rewriter_finish(rewriter, 0), 0);
        SAME(take(rewriter, &now, &journal, &last), 0);
        if (cut == 0) {
            SAYS(journal.text, "One sentence is here.\\n\"|\"Another\"|: x|[DONE]");
            journal_put(&whole, journal.text, journal.length);
        }
        check_journals(&journal, &whole);
        journal_free(&journal);
        decluster_rewriter_free(rewriter);
    }
    journal_free(&whole);
}

static void lines_are_taken_with_and_without_their_ends(void) {
    static const char *const ends[] = {"", "\n", "\r\n"};
    size_t end;
    for (end = 0; end < 3; end++) {
        int blank;
        for (blank = 0; blank < 2; blank++) {
            static const char *const lines[] = {"data: " CHAT("A line.\\n"), "data: [DONE]"};
            decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
            size_t at;
            for (at = 0; at < 2; at++) {
                char line[200];
                snprintf(line, sizeof line, "%s%s", lines[at], ends[end]);
                SAME(decluster_rewriter_push_line(rewriter, 0, line, strlen(line)), 0);
                if (blank) {
                    size_t length = strlen(ends[end]);
                    SAME(decluster_rewriter_push_line(rewriter, 0, ends[end], length), 0);
                }
            }
            check_all(rewriter, "A line.\n", DECLUSTER_VERDICT_COMPLETE);
            decluster_rewriter_free(rewriter);
        }
    }
}

static void lines_may_be_followed_by_bytes(void) {
    static const char line[] = "data: " CHAT("A line, ");
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    SAME(decluster_rewriter_push_line(rewriter, 0, line, sizeof line - 1), 0);
    push(rewriter, 0, "\n" DATA(CHAT("then bytes.")) DONE);
    check_all(rewriter, "A line, then bytes.", DECLUSTER_VERDICT_COMPLETE);
    decluster_rewriter_free(rewriter);
}

static void push_item(decluster_rewriter *rewriter, const char *item) {
    SAME(decluster_rewriter_push_item(rewriter, 0, item, strlen(item)), 0);
}

static void items_are_told_from_the_first_of_them(void) {
    static const struct {
        const char *items[7];
        uint32_t framing;
        /* How many items are held back before it is told. */
        int held;
        const char *out;
    } sources[] = {
        {{"data: " CHAT("A line.\\n"), "", "data: [DONE]", ""},
         DECLUSTER_FRAMING_LINES,
         1,
         DATA(CHAT("A line.\\n")) DONE},
        {{"", "", "data: " CHAT("A line.\\n"), "", "data: [DONE]", ""},
         DECLUSTER_FRAMING_LINES,
         3,
         "\n\n" DATA(CHAT("A line.\\n")) DONE},
        {{"data: " CHAT("A line.\\n") "\n", "\n", "data: [DONE]\n", "\n"},
         DECLUSTER_FRAMING_LINES_WITH_ENDS,
         0,
         DATA(CHAT("A line.\\n")) DONE},
        {{DATA(CHAT("A line.\\n")), "dat", "a: [DONE]\n", "\n"},
         DECLUSTER_FRAMING_BYTES,
         0,
         DATA(CHAT("A line.\\n")) DONE},
        {{"data: " CHAT("A line.\\n"), "\n\ndata: [DONE]\n\n"},
         DECLUSTER_FRAMING_BYTES,
         1,
         DATA(CHAT("A line.\\n")) DONE},
    };
    size_t source;
    for (source = 0; source < sizeof sources / sizeof *sources; source++) {
        decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
        int at;
        for (at = 0; sources[source].items[at] != NULL; at++) {
            push_item(rewriter, sources[source].items[at]);
            if (at < sources[source].held) {
                SAME(decluster_rewriter_framing(rewriter), DECLUSTER_FRAMING_UNKNOWN);
                SAME(polled(rewriter, 0).type, DECLUSTER_OUTPUT_NEED_INPUT);
            } else {
                SAME(decluster_rewriter_framing(rewriter), sources[source].framing);
            }
            SAME(decluster_rewriter_wants_input(rewriter), 1);
        }
        check_all(rewriter, sources[source].out, DECLUSTER_VERDICT_COMPLETE);
        SAME(decluster_rewriter_framing(rewriter), sources[source].framing);
        decluster_rewriter_free(rewriter);
    }
}

static void an_only_item_goes_in_when_the_stream_is_finished(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    push_item(rewriter, "data: " CHAT("A line.\\n"));
    SAME(polled(rewriter, 0).type, DECLUSTER_OUTPUT_NEED_INPUT);
    check_all(rewriter, "data: " CHAT("A line.\\n") "\n", DECLUSTER_VERDICT_TRUNCATED);
    SAME(decluster_rewriter_framing(rewriter), DECLUSTER_FRAMING_LINES);
    decluster_rewriter_free(rewriter);

    rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    push_item(rewriter, "data: {\"cut");
    check_all(rewriter, "data: {\"cut", DECLUSTER_VERDICT_TRUNCATED);
    SAME(decluster_rewriter_framing(rewriter), DECLUSTER_FRAMING_BYTES);
    decluster_rewriter_free(rewriter);

    rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    check_all(rewriter, "", DECLUSTER_VERDICT_TRUNCATED);
    SAME(decluster_rewriter_framing(rewriter), DECLUSTER_FRAMING_UNKNOWN);
    decluster_rewriter_free(rewriter);
}

static void an_item_that_is_held_back_when_the_stream_is_cancelled_leaves_at_once_or_never(void) {
    uint32_t how;
    for (how = DECLUSTER_CANCEL_FLUSH; how <= DECLUSTER_CANCEL_DROP; how++) {
        decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
        struct journal journal = {NULL, 0, 0};
        decluster_output last;
        uint64_t now = SECOND;
        push_item(rewriter, "data: " CHAT("This is cancelled. So is this: it is "));
        SAME(decluster_rewriter_cancel(rewriter, how), 0);
        SAME(take(rewriter, &now, &journal, &last), 0);
        SAME(now, SECOND);
        SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
        SAME_TEXT(journal.text, journal.length,
                  how == DECLUSTER_CANCEL_FLUSH ? "This is cancelled. So is this: it is " : "");
        journal_free(&journal);
        decluster_rewriter_free(rewriter);
    }
}

static void pieces_are_the_text_alone(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    push(rewriter, 0, ": x\n\n" DATA(CHAT("A NUL \\u0000, a line.\\n")) DATA(STOP) DONE);
    SAME(decluster_rewriter_flush(rewriter), 0);
    {
        decluster_output out = polled(rewriter, 0);
        SAME(out.type, DECLUSTER_OUTPUT_PIECE);
        SAME(out.kind, DECLUSTER_KIND_OUTPUT);
        SAME(out.text_length, 17);
        CHECK(memcmp(out.text, "A NUL \0, a line.\n", 17) == 0);
        SAME(out.name_length, 0);
    }
    check_all(rewriter, "", DECLUSTER_VERDICT_COMPLETE);
    decluster_rewriter_free(rewriter);
}

static void events_that_are_not_text_come_between_the_pieces(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES_AND_EVENTS);
    push(rewriter, 0, DATA(CHAT("All of it.\\n")) DATA(STOP) DONE);
    check_all(rewriter, "All of it.\n<9 message>" STOP "<9 message>[DONE]",
              DECLUSTER_VERDICT_COMPLETE);
    decluster_rewriter_free(rewriter);
}

static void output_that_was_reasoning_is_told(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES_AND_EVENTS);
    push(rewriter, 0, DATA(CHAT("This was a thought.\\n</think>And this is not.\\n")) DONE);
    check_all(rewriter, "This was a thought.\n<6 0>And this is not.\n<9 message>[DONE]",
              DECLUSTER_VERDICT_COMPLETE);
    decluster_rewriter_free(rewriter);
}

static void objects_have_the_numbers_of_the_events_that_were_pushed(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    decluster_output out;
    push_event(rewriter, "", CHAT("It is the first.\\nAnd the"));
    push_event(rewriter, "x", CHAT(" rest"));
    push_event(rewriter, "", STOP);
    SAME(decluster_rewriter_cancel(rewriter, DECLUSTER_CANCEL_FLUSH), 0);

    out = polled(rewriter, 0);
    SAME(out.type, DECLUSTER_OUTPUT_OBJECT);
    SAME_TEXT(out.text, out.text_length, CHAT("It is the first.\\n"));
    SAME_TEXT(out.name, out.name_length, "message");
    SAME(out.number, 0);
    SAME(out.changed, 1);
    SAME(out.done, 0);
    out = polled(rewriter, 0);
    SAME_TEXT(out.text, out.text_length, CHAT("And the"));
    SAME(out.number, 0);
    SAME(out.changed, 1);
    SAME(out.done, 1);
    out = polled(rewriter, 0);
    SAME_TEXT(out.text, out.text_length, CHAT(" rest"));
    SAME_TEXT(out.name, out.name_length, "x");
    SAME(out.number, 1);
    SAME(out.changed, 0);
    SAME(out.done, 2);
    out = polled(rewriter, 0);
    SAME_TEXT(out.text, out.text_length, STOP);
    SAME(out.number, 2);
    SAME(out.changed, 0);
    SAME(out.done, 3);
    out = polled(rewriter, 0);
    SAME(out.type, DECLUSTER_OUTPUT_FINISHED);
    SAME(out.verdict, DECLUSTER_VERDICT_COMPLETE);
    decluster_rewriter_free(rewriter);
}

static void objects_that_are_joined_come_as_the_last_of_them(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    decluster_output out;
    push_event(rewriter, "", CHAT("One "));
    push_event(rewriter, "", CHAT("sentence.\\n"));
    SAME(decluster_rewriter_finish(rewriter, 0), 0);
    out = polled(rewriter, SECOND);
    SAME_TEXT(out.text, out.text_length, CHAT("One sentence.\\n"));
    SAME(out.number, 1);
    SAME(out.changed, 1);
    SAME(out.done, 2);
    decluster_rewriter_free(rewriter);
}

static void a_flush_lets_out_what_is_queued(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    struct journal journal = {NULL, 0, 0};
    decluster_output last;
    push(rewriter, 0, DATA(CHAT("The first is here. The second is.\\nThe third is, too.\\n")));
    SAME(decluster_rewriter_flush(rewriter), 0);
    while ((last = polled(rewriter, 0)).type == DECLUSTER_OUTPUT_PIECE) {
        journal_put(&journal, last.text, last.text_length);
    }
    SAME_TEXT(journal.text, journal.length,
              "The first is here. The second is.\nThe third is, too.\n");
    push(rewriter, 0, DATA(CHAT("What comes later is paced. As it was before.\\nLike this.\\n")));
    do {
        last = polled(rewriter, 0);
    } while (last.type == DECLUSTER_OUTPUT_PIECE);
    SAME(last.type, DECLUSTER_OUTPUT_WAIT);
    journal_free(&journal);
    decluster_rewriter_free(rewriter);
}

static void pacing_stops_for_good(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    int turn;
    SAME(decluster_rewriter_stop_pacing(rewriter), 0);
    for (turn = 0; turn < 3; turn++) {
        struct journal journal = {NULL, 0, 0};
        decluster_output last;
        push(rewriter, 0, DATA(CHAT("This is not paced. Nor is this.\\nNor is this line.\\n")));
        while ((last = polled(rewriter, 0)).type == DECLUSTER_OUTPUT_PIECE) {
            journal_put(&journal, last.text, last.text_length);
        }
        SAME(last.type, DECLUSTER_OUTPUT_NEED_INPUT);
        SAME_TEXT(journal.text, journal.length,
                  "This is not paced. Nor is this.\nNor is this line.\n");
        journal_free(&journal);
    }
    decluster_rewriter_free(rewriter);
}

static void what_is_cancelled_leaves_at_once_or_never(void) {
    uint32_t how;
    for (how = DECLUSTER_CANCEL_FLUSH; how <= DECLUSTER_CANCEL_DROP; how++) {
        decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
        struct journal journal = {NULL, 0, 0};
        decluster_output last;
        uint64_t now = 0;
        push(rewriter, 0, DATA(CHAT("This is cancelled. So is this: it is ")) "data: {\"cut");
        SAME(decluster_rewriter_cancel(rewriter, how), 0);
        SAME(decluster_rewriter_wants_input(rewriter), 0);
        SAME(take(rewriter, &now, &journal, &last), 0);
        SAME(now, 0);
        SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
        if (how == DECLUSTER_CANCEL_FLUSH) {
            SAME_TEXT(journal.text, journal.length, "This is cancelled. So is this: it is ");
            SAME(last.verdict, DECLUSTER_VERDICT_TRUNCATED);
        } else {
            SAME(journal.length, 0);
        }
        journal_free(&journal);
        decluster_rewriter_free(rewriter);
    }
}

static void a_stream_that_failed_or_was_cut_says_so(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    push(rewriter, 0, DATA(CHAT("It goes on")) DATA("{\"error\":{\"message\":\"no\"}}"));
    check_all(rewriter, "It goes on", DECLUSTER_VERDICT_FAILED);
    decluster_rewriter_free(rewriter);

    rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    push(rewriter, 0, DATA(CHAT("It goes on")));
    check_all(rewriter, "It goes on", DECLUSTER_VERDICT_TRUNCATED);
    decluster_rewriter_free(rewriter);

    rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    push(rewriter, 0, DATA("{\"something\":\"else\"}"));
    check_all(rewriter, DATA("{\"something\":\"else\"}"), DECLUSTER_VERDICT_NONE);
    decluster_rewriter_free(rewriter);
}

static void a_dialect_is_told_from_the_first_event_or_given(void) {
    static const struct {
        uint32_t dialect;
        const char *bytes;
    } streams[] = {
        {DECLUSTER_DIALECT_OPENAI_CHAT, DATA(CHAT("x"))},
        {DECLUSTER_DIALECT_ANTHROPIC,
         "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n"},
        {DECLUSTER_DIALECT_OPENAI_RESPONSES,
         "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n"},
        {DECLUSTER_DIALECT_OLLAMA,
         "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"x\"},"
         "\"done\":false}\n"},
    };
    size_t at;
    uint32_t given;
    for (at = 0; at < sizeof streams / sizeof *streams; at++) {
        decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
        SAME(decluster_rewriter_dialect(rewriter), DECLUSTER_DIALECT_UNKNOWN);
        push(rewriter, 0, streams[at].bytes);
        SAME(decluster_rewriter_dialect(rewriter), streams[at].dialect);
        decluster_rewriter_free(rewriter);
    }
    for (given = 1; given <= DECLUSTER_DIALECT_INCIDENT; given++) {
        decluster_rewriter *rewriter = rewriter_of(NULL, given, DECLUSTER_MODE_STREAM);
        SAME(decluster_rewriter_dialect(rewriter), given);
        decluster_rewriter_free(rewriter);
    }
}

/* The answer says all of these words. */
static void check_answer(decluster_rewriter *rewriter, const char *words) {
    struct journal copy = {NULL, 0, 0};
    const char *json = NULL;
    size_t length = 0;
    SAME(decluster_rewriter_answer(rewriter, &json, &length), 0);
    journal_put(&copy, json, length);
    SAYS(copy.text, words);
    journal_free(&copy);
}

static void the_answer_is_json_of_what_is_known(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    const char *json = NULL;
    size_t length = 0;
    SAME(decluster_rewriter_answer(rewriter, &json, &length), 0);
    SAME_TEXT(json, length,
              "{\"dialect\":null,\"model\":null,\"recognised\":null,\"verdict\":null,"
              "\"reason\":null,"
              "\"finish\":null,\"tool_calls\":[],\"choices\":[],\"usage\":null,\"tokens\":null,"
              "\"reasoning_tokens\":null,\"error\":null,\"exceeded\":null,"
              "\"stalled_ns\":null,\"restarts\":0,\"events\":0,\"comments\":0,"
              "\"repairs\":0,\"malformed\":0}");
    push(rewriter, 0, ": x\n\n" DATA(CHAT("x")) DATA(STOP));
    push(rewriter, 0, DATA("{\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
                           "\"completion_tokens\":5,\"total_tokens\":8}}") DONE);
    SAME(decluster_rewriter_finish(rewriter, 0), 0);
    check_answer(rewriter, "\"verdict\":\"complete\"|\"finish\":\"stop\"|\"comments\":1");
    check_answer(rewriter, "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5,");
    check_answer(rewriter, "\"input\":3|\"output\":5|"
                           "\"choices\":[{\"index\":0,\"finish\":\"stop\"}]");
    decluster_rewriter_free(rewriter);
}

static void the_answer_says_whether_the_stream_is_one_that_is_read(void) {
    static const struct {
        const char *bytes, *before, *after;
    } streams[] = {
        {DATA(CHAT("x")), "\"recognised\":true,", "\"recognised\":true,"},
        {DATA("{\"something\":\"else\"}"), "\"recognised\":null,", "\"recognised\":false,"},
        {"", "\"recognised\":null,", "\"recognised\":null,"},
    };
    size_t at;
    for (at = 0; at < sizeof streams / sizeof *streams; at++) {
        decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
        push(rewriter, 0, streams[at].bytes);
        check_answer(rewriter, streams[at].before);
        SAME(decluster_rewriter_finish(rewriter, 0), 0);
        check_answer(rewriter, streams[at].after);
        decluster_rewriter_free(rewriter);
    }
}

static decluster_tokens tokens_of(const decluster_rewriter *rewriter) {
    decluster_tokens tokens;
    memset(&tokens, 0xa5, sizeof tokens);
    SAME(decluster_rewriter_tokens(rewriter, &tokens, sizeof tokens), 0);
    CHECK(!tokens.reserved_words[0] && !tokens.reserved_words[1] && !tokens.reserved_words[2]);
    return tokens;
}

static void what_the_answer_cost_is_told_once_the_provider_has_said_so(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    decluster_tokens tokens = tokens_of(rewriter);
    const char *json = NULL;
    size_t length = 0;
    struct journal copy = {NULL, 0, 0};
    CHECK(tokens.input == -1 && tokens.cached_input == -1 && tokens.cache_write == -1);
    CHECK(tokens.output == -1 && tokens.reasoning == -1 && tokens.visible == -1);
    CHECK(tokens.cost_picodollars == -1);
    push(rewriter, 0, DATA(CHAT("x")) DATA(STOP));
    SAME(tokens_of(rewriter).output, -1);
    push(rewriter, 0, DATA("{\"choices\":[],\"usage\":{\"prompt_tokens\":30,"
                           "\"prompt_tokens_details\":{\"cached_tokens\":11,"
                           "\"cache_write_tokens\":4},\"completion_tokens\":50,"
                           "\"completion_tokens_details\":{\"reasoning_tokens\":20},"
                           "\"total_tokens\":80,\"cost\":0.00123}}"));
    tokens = tokens_of(rewriter);
    SAME(tokens.input, 30);
    SAME(tokens.cached_input, 11);
    SAME(tokens.cache_write, 4);
    SAME(tokens.output, 50);
    SAME(tokens.reasoning, 20);
    SAME(tokens.visible, 30);
    SAME(tokens.cost_picodollars, 1230000000);
    /* The JSON has the same names, and stays while the struct is asked for. */
    SAME(decluster_rewriter_answer(rewriter, &json, &length), 0);
    journal_put(&copy, json, length);
    SAYS(copy.text, "\"tokens\":{\"input\":30,\"cached_input\":11,\"cache_write\":4,");
    SAYS(copy.text, "\"output\":50,\"reasoning\":20,\"visible\":30,");
    SAYS(copy.text, "\"cost_picodollars\":1230000000}");
    SAME(tokens_of(rewriter).input, 30);
    SAME_TEXT(json, length, copy.text);
    journal_free(&copy);
    SAME(decluster_rewriter_finish(rewriter, 0), 0);
    SAME(tokens_of(rewriter).visible, 30);
    decluster_rewriter_free(rewriter);
}

static void a_count_that_the_provider_does_not_give_is_not_0(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    decluster_tokens tokens;
    push(rewriter, 0, DATA(CHAT("x")));
    push(rewriter, 0, DATA("{\"choices\":[],\"usage\":{\"prompt_tokens\":0,"
                           "\"completion_tokens\":18446744073709551615}}"));
    tokens = tokens_of(rewriter);
    SAME(tokens.input, 0);
    /* As far as the field reaches. */
    SAME(tokens.output, INT64_MAX);
    CHECK(tokens.cached_input == -1 && tokens.cache_write == -1);
    CHECK(tokens.reasoning == -1 && tokens.visible == -1 && tokens.cost_picodollars == -1);
    decluster_rewriter_free(rewriter);
}

static void token_counts_may_have_any_place_and_a_larger_struct(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_STREAM);
    char room[1 + sizeof(decluster_tokens) + 64];
    decluster_tokens tokens;
    size_t at;
    memset(room, 0xa5, sizeof room);
    push(rewriter, 0, DATA(CHAT("x")));
    push(rewriter, 0, DATA("{\"choices\":[],\"usage\":{\"prompt_tokens\":7}}"));
    SAME(decluster_rewriter_tokens(rewriter, (decluster_tokens *)(void *)(room + 1),
                                   sizeof room - 1),
         0);
    memcpy(&tokens, room + 1, sizeof tokens);
    SAME(tokens.input, 7);
    SAME(room[0], (char)0xa5);
    for (at = 1 + sizeof tokens; at < sizeof room; at++) SAME(room[at], (char)0xa5);
    decluster_rewriter_free(rewriter);
}

static void the_answer_stays_over_looking_and_text_does_too(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    decluster_stats stats;
    decluster_output out;
    const char *json = NULL;
    size_t length = 0;
    push(rewriter, 0, DATA(CHAT("A line.\\n")));
    SAME(decluster_rewriter_answer(rewriter, &json, &length), 0);
    SAME(decluster_rewriter_stats(rewriter, &stats, sizeof stats), 0);
    SAME(decluster_rewriter_dialect(rewriter), DECLUSTER_DIALECT_OPENAI_CHAT);
    SAME(decluster_rewriter_wants_input(rewriter), 1);
    SAME(decluster_rewriter_error(rewriter)[0], 0);
    CHECK(length > 2 && json[0] == '{' && json[length - 1] == '}');
    SAME(decluster_rewriter_flush(rewriter), 0);
    out = polled(rewriter, 0);
    SAME(decluster_rewriter_stats(rewriter, &stats, sizeof stats), 0);
    SAME(stats.bytes_out, out.text_length);
    SAME(decluster_rewriter_wants_input(rewriter), 1);
    SAME_TEXT(out.text, out.text_length, "A");
    decluster_rewriter_free(rewriter);
}

static void text_is_copied_from_where_an_output_points(void) {
    decluster_rewriter *rewriter = rewriter_of(NULL, 0, DECLUSTER_MODE_PIECES);
    decluster_output out;
    char room[32];
    size_t at;
    memset(room, 0x5a, sizeof room);
    push(rewriter, 0, DATA(CHAT("A NUL \\u0000, a line.\\n")) DATA(STOP) DONE);
    SAME(decluster_rewriter_flush(rewriter), 0);
    out = polled(rewriter, 0);
    SAME(out.text_length, 17);
    SAME(decluster_copy(out.text, out.text_length, room, out.text_length), 0);
    CHECK(memcmp(room, "A NUL \0, a line.\n", 17) == 0);
    for (at = 17; at < sizeof room; at++) SAME(room[at], 0x5a);
    /* Of nothing there is nothing to copy, wherever it is. */
    SAME(decluster_copy(out.name, out.name_length, NULL, 0), 0);
    SAME(decluster_copy(NULL, 0, room, sizeof room), 0);
    SAME(room[0], 'A');
    /* The two may overlap. */
    SAME(decluster_copy(room, 6, room + 2, 6), 0);
    SAME_TEXT(room, 8, "A A NUL ");
    decluster_rewriter_free(rewriter);
}

/* ---- Faults ---- */

/* How a fault was told: by a push or by a poll, once; and what came before it. */
static void check_fault(decluster_rewriter *rewriter, int32_t pushed, int32_t fault,
                        const char *words, const char *before) {
    struct journal journal = {NULL, 0, 0};
    decluster_output last;
    uint64_t now = 0;
    int told = pushed == fault;
    CHECK(pushed == DECLUSTER_OK || pushed == fault);
    if (told) {
        SAYS(decluster_rewriter_error(rewriter), words);
        SAME(decluster_rewriter_wants_input(rewriter), 0);
        SAME(decluster_rewriter_push(rewriter, 0, DONE, 1), DECLUSTER_ERROR_FINISHED);
    }
    if (!told) {
        SAME(take(rewriter, &now, &journal, &last), fault);
        SAYS(decluster_rewriter_error(rewriter), words);
        SAME(decluster_rewriter_push(rewriter, now, DONE, 1), DECLUSTER_ERROR_FINISHED);
    }
    SAME(take(rewriter, &now, &journal, &last), 0);
    SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
    SAME_TEXT(journal.text, journal.length, before);
    SAME(decluster_rewriter_finish(rewriter, now), 0);
    SAME(decluster_rewriter_poll(rewriter, now, &last, sizeof last), 0);
    SAME(last.type, DECLUSTER_OUTPUT_FINISHED);
    journal_free(&journal);
}

static void an_event_that_is_too_large_ends_the_stream_behind_what_came_before(void) {
    int way;
    for (way = 0; way < 3; way++) {
        decluster_rewriter *rewriter =
            rewriter_of(config_with(DECLUSTER_PARAMETER_MAX_EVENT_BYTES, 1024), 0,
                        DECLUSTER_MODE_PIECES);
        char large[2000];
        int32_t status;
        memset(large, 'x', sizeof large);
        memcpy(large, "data: \"", 7);
        if (way == 2) {
            push_event(rewriter, "", CHAT("This came before. So did this, which is not at its en"));
            status = decluster_rewriter_push_event(rewriter, 0, "", 0, large + 6, sizeof large - 6);
        } else {
            push(rewriter, 0, DATA(CHAT("This came before. So did this, which is not at its en")));
            status = way == 0
                         ? decluster_rewriter_push(rewriter, 0, large, sizeof large)
                         : decluster_rewriter_push_line(rewriter, 0, large, sizeof large);
        }
        SAME(status, DECLUSTER_ERROR_TOO_LARGE);
        check_fault(rewriter, status, DECLUSTER_ERROR_TOO_LARGE, "1024",
                    "This came before. So did this, which is not at its en");
        decluster_rewriter_free(rewriter);
    }
}

static void an_item_that_was_held_back_and_is_too_large_is_told_by_what_comes_next(void) {
    int finished;
    for (finished = 0; finished < 2; finished++) {
        decluster_rewriter *rewriter =
            rewriter_of(config_with(DECLUSTER_PARAMETER_MAX_EVENT_BYTES, 1024), 0,
                        DECLUSTER_MODE_PIECES);
        char large[2000];
        int32_t status;
        memset(large, 'x', sizeof large);
        memcpy(large, "data: \"", 7);
        SAME(decluster_rewriter_push_item(rewriter, 0, large, sizeof large), 0);
        SAME(decluster_rewriter_framing(rewriter), DECLUSTER_FRAMING_UNKNOWN);
        if (finished) {
            status = decluster_rewriter_finish(rewriter, 0);
            SAME(status, DECLUSTER_OK);
        } else {
            status = decluster_rewriter_push_item(rewriter, 0, "", 0);
            SAME(status, DECLUSTER_ERROR_TOO_LARGE);
        }
        check_fault(rewriter, status, DECLUSTER_ERROR_TOO_LARGE, "1024", "");
        SAME(decluster_rewriter_push_item(rewriter, 0, "x", 1), DECLUSTER_ERROR_FINISHED);
        decluster_rewriter_free(rewriter);
    }
}

static void too_many_choices_end_the_stream_behind_what_came_before(void) {
    decluster_rewriter *rewriter = rewriter_of(config_with(DECLUSTER_PARAMETER_MAX_CHOICES, 1), 0,
                                               DECLUSTER_MODE_PIECES);
    static const char other[] =
        DATA("{\"choices\":[{\"index\":7,\"delta\":{\"content\":\"no\"}}]}") DATA(CHAT("nor this"));
    int32_t status;
    push(rewriter, 0, DATA(CHAT("This came before")));
    status = decluster_rewriter_push(rewriter, 0, other, sizeof other - 1);
    SAME(status, DECLUSTER_ERROR_TOO_MANY_CHOICES);
    check_fault(rewriter, status, DECLUSTER_ERROR_TOO_MANY_CHOICES, "7", "This came before");
    decluster_rewriter_free(rewriter);

    /* Of a stream the event passes as it is. */
    rewriter = rewriter_of(config_with(DECLUSTER_PARAMETER_MAX_CHOICES, 1), 0,
                           DECLUSTER_MODE_STREAM);
    SAME(decluster_rewriter_stop_pacing(rewriter), 0);
    push(rewriter, 0, DATA(CHAT("Before\\n")));
    SAME(decluster_rewriter_push(rewriter, 0, other, sizeof other - 1), 0);
    check_all(rewriter,
              DATA(CHAT("Before\\n"))
                  DATA("{\"choices\":[{\"index\":7,\"delta\":{\"content\":\"no\"}}]}")
                      DATA(CHAT("nor this")),
              DECLUSTER_VERDICT_TRUNCATED);
    decluster_rewriter_free(rewriter);
}

static void reasoning_over_the_budget_ends_the_stream_behind_what_is_within_it(void) {
    decluster_rewriter *rewriter =
        rewriter_of(config_with(DECLUSTER_PARAMETER_MAX_REASONING_TOKENS, 12), 0,
                    DECLUSTER_MODE_PIECES);
    struct journal journal = {NULL, 0, 0};
    decluster_output last, before;
    uint64_t now = 0;
    int32_t status = 0;
    push(rewriter, 0, DATA(THOUGHT("A thought of a few words.\\n")));
    push(rewriter, 0, DATA(THOUGHT("A second one, also of a few words.\\n")));
    push(rewriter, 0, DATA(THOUGHT("A third one, which is over it.\\n")) DATA(CHAT("Nothing")));
    check_answer(rewriter, "\"exceeded\":null,");
    do {
        memset(&last, 0xa5, sizeof last);
        before = last;
        status = decluster_rewriter_poll(rewriter, now, &last, sizeof last);
        if (status) break;
        if (last.type == DECLUSTER_OUTPUT_WAIT) now = last.at_ns;
        if (last.type == DECLUSTER_OUTPUT_PIECE) {
            SAME(last.kind, DECLUSTER_KIND_REASONING);
            journal_put(&journal, last.text, last.text_length);
        }
    } while (last.type == DECLUSTER_OUTPUT_WAIT || last.type == DECLUSTER_OUTPUT_PIECE);
    SAME(status, DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED);
    CHECK(memcmp(&last, &before, sizeof last) == 0);
    SAYS(decluster_rewriter_error(rewriter), "12");
    {
        /* The same numbers as in the message, to be read without it. */
        char numbers[100];
        unsigned used = 0, limit = 0;
        sscanf(decluster_rewriter_error(rewriter),
               "reasoning budget exceeded: about %u tokens, the limit is %u", &used, &limit);
        CHECK(used > 12 && used < 40);
        SAME(limit, 12);
        snprintf(numbers, sizeof numbers,
                 "\"exceeded\":{\"used\":%u,\"limit\":%u,\"source\":\"estimate\","
                 "\"shared\":false},",
                 used, limit);
        check_answer(rewriter, numbers);
    }
    SAYS(journal.text, "A thought of a few words.\n|A second one");
    CHECK(strstr(journal.text, "A third") == NULL);
    SAME(decluster_rewriter_wants_input(rewriter), 0);
    SAME(decluster_rewriter_push(rewriter, now, DONE, 1), DECLUSTER_ERROR_FINISHED);
    SAME(polled(rewriter, now).type, DECLUSTER_OUTPUT_FINISHED);
    SAME(polled(rewriter, now).type, DECLUSTER_OUTPUT_FINISHED);
    journal_free(&journal);
    decluster_rewriter_free(rewriter);
}

static void a_fault_that_shows_while_it_is_behind_is_told_by_a_poll(void) {
    /* The queue is full, so that the event that is too large is not decoded until there is room. */
    decluster_config *config = config_with(DECLUSTER_PARAMETER_MAX_EVENT_BYTES, 1024);
    decluster_rewriter *rewriter;
    char large[2000];
    struct journal before = {NULL, 0, 0};
    int32_t status;
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_MAX_QUEUE_BYTES, 65536), 0);
    rewriter = rewriter_of(config, 0, DECLUSTER_MODE_PIECES);
    memset(large, 'x', sizeof large);
    memcpy(large, "data: \"", 7);
    while (decluster_rewriter_wants_input(rewriter) == 1 && before.length < 1000000) {
        push(rewriter, 0, DATA(CHAT("A line of some words, to be queued.\\n")));
        journal_say(&before, "A line of some words, to be queued.\n");
    }
    CHECK(before.length > 5000);
    status = decluster_rewriter_push(rewriter, 0, large, sizeof large);
    SAME(status, DECLUSTER_OK);
    check_fault(rewriter, status, DECLUSTER_ERROR_TOO_LARGE, "1024", before.text);
    journal_free(&before);
    decluster_rewriter_free(rewriter);
}

int main(void) {
    RUN(events_are_cut_and_joined_where_sentences_end);
    RUN(a_stream_may_be_cut_anywhere);
    RUN(lines_are_taken_with_and_without_their_ends);
    RUN(lines_may_be_followed_by_bytes);
    RUN(items_are_told_from_the_first_of_them);
    RUN(an_only_item_goes_in_when_the_stream_is_finished);
    RUN(an_item_that_is_held_back_when_the_stream_is_cancelled_leaves_at_once_or_never);
    RUN(pieces_are_the_text_alone);
    RUN(events_that_are_not_text_come_between_the_pieces);
    RUN(output_that_was_reasoning_is_told);
    RUN(objects_have_the_numbers_of_the_events_that_were_pushed);
    RUN(objects_that_are_joined_come_as_the_last_of_them);
    RUN(a_flush_lets_out_what_is_queued);
    RUN(pacing_stops_for_good);
    RUN(what_is_cancelled_leaves_at_once_or_never);
    RUN(a_stream_that_failed_or_was_cut_says_so);
    RUN(a_dialect_is_told_from_the_first_event_or_given);
    RUN(the_answer_is_json_of_what_is_known);
    RUN(the_answer_says_whether_the_stream_is_one_that_is_read);
    RUN(what_the_answer_cost_is_told_once_the_provider_has_said_so);
    RUN(a_count_that_the_provider_does_not_give_is_not_0);
    RUN(token_counts_may_have_any_place_and_a_larger_struct);
    RUN(the_answer_stays_over_looking_and_text_does_too);
    RUN(text_is_copied_from_where_an_output_points);
    RUN(an_event_that_is_too_large_ends_the_stream_behind_what_came_before);
    RUN(an_item_that_was_held_back_and_is_too_large_is_told_by_what_comes_next);
    RUN(too_many_choices_end_the_stream_behind_what_came_before);
    RUN(reasoning_over_the_budget_ends_the_stream_behind_what_is_within_it);
    RUN(a_fault_that_shows_while_it_is_behind_is_told_by_a_poll);
    return done();
}
