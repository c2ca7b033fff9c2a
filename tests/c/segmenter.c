/* What a segmenter does. */
#include "check.h"

#define TREMA "\xc3\xa4"

static const char WORDS[] =
    "The first sentence stands here, and it is not short. Is this the second one? It is. "
    "Then there is a rather long one, with commas, which is cut where a clause ends, if a reader "
    "would breathe there; or so one hopes.\n\n- an item\n- another " TREMA "\n\nThe end";

static decluster_segmenter *segmenter_with(uint64_t segment) {
    decluster_config *config;
    decluster_segmenter *segmenter = NULL;
    SAME(decluster_config_new(&config), 0);
    SAME(decluster_config_set(config, DECLUSTER_PARAMETER_SEGMENT, segment), 0);
    SAME(decluster_segmenter_new(config, &segmenter), 0);
    decluster_config_free(config);
    return segmenter;
}

static void push(decluster_segmenter *segmenter, const char *text) {
    SAME(decluster_segmenter_push(segmenter, text, strlen(text)), 0);
}

static decluster_output polled(decluster_segmenter *segmenter) {
    decluster_output out;
    memset(&out, 0xa5, sizeof out);
    SAME(decluster_segmenter_poll(segmenter, &out, sizeof out), 0);
    return out;
}

/* The blocks that there are, each in brackets; gives what comes after them. */
static uint32_t take(decluster_segmenter *segmenter, struct journal *blocks) {
    decluster_output out;
    while ((out = polled(segmenter)).type == DECLUSTER_OUTPUT_BLOCK) {
        journal_put(blocks, "[", 1);
        journal_put(blocks, out.text, out.text_length);
        journal_put(blocks, "]", 1);
    }
    return out.type;
}

static void blocks_do_not_depend_on_how_the_text_was_cut(void) {
    struct journal whole = {NULL, 0, 0};
    size_t step;
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SEMANTIC);
    push(segmenter, WORDS);
    SAME(decluster_segmenter_finish(segmenter), 0);
    SAME(take(segmenter, &whole), DECLUSTER_OUTPUT_FINISHED);
    decluster_segmenter_free(segmenter);
    CHECK(strstr(whole.text, "][") != NULL);
    for (step = 1; step < 20; step++) {
        struct journal blocks = {NULL, 0, 0};
        size_t at = 0, length = sizeof WORDS - 1;
        segmenter = segmenter_with(DECLUSTER_SEGMENT_SEMANTIC);
        while (at < length) {
            size_t end = at + step < length ? at + step : length;
            if ((WORDS[end] & 0xc0) == 0x80) end++;
            SAME(decluster_segmenter_push(segmenter, WORDS + at, end - at), 0);
            SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_NEED_INPUT);
            at = end;
        }
        SAME(decluster_segmenter_finish(segmenter), 0);
        SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_FINISHED);
        check_journals(&blocks, &whole);
        journal_free(&blocks);
        decluster_segmenter_free(segmenter);
    }
    journal_free(&whole);
}

static void a_block_says_what_it_is(void) {
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SENTENCES);
    decluster_output out, nothing;
    memset(&nothing, 0, sizeof nothing);
    push(segmenter, "One sentence is here. Another one\n\nThe last");
    SAME(decluster_segmenter_finish(segmenter), 0);
    out = polled(segmenter);
    SAME(out.type, DECLUSTER_OUTPUT_BLOCK);
    SAME_TEXT(out.text, out.text_length, "One sentence is here.");
    SAME(out.block, 0);
    SAME(out.boundary, DECLUSTER_BOUNDARY_SENTENCE);
    CHECK(out.tokens >= 4 && out.tokens <= 7);
    SAME(out.wants_input, 1);
    out.type = out.wants_input = out.boundary = out.tokens = 0;
    out.text = NULL;
    out.text_length = 0;
    CHECK(memcmp(&out, &nothing, sizeof out) == 0);
    out = polled(segmenter);
    SAME_TEXT(out.text, out.text_length, " Another one\n\n");
    SAME(out.block, 1);
    SAME(out.boundary, DECLUSTER_BOUNDARY_PARAGRAPH);
    out = polled(segmenter);
    SAME_TEXT(out.text, out.text_length, "The last");
    SAME(out.block, 2);
    SAME(polled(segmenter).type, DECLUSTER_OUTPUT_FINISHED);
    SAME(polled(segmenter).type, DECLUSTER_OUTPUT_FINISHED);
    decluster_segmenter_free(segmenter);
}

static void sentences_are_cut_at_sentences_and_lines_alone(void) {
    static const char text[] =
        "A long sentence, with many commas, and with clauses; it goes on, and on, and on, so that "
        "any other way to cut would have cut it, somewhere, for it is too long to show at once. "
        "A short one. ";
    struct journal sentences = {NULL, 0, 0}, semantic = {NULL, 0, 0};
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SENTENCES);
    push(segmenter, text);
    SAME(decluster_segmenter_finish(segmenter), 0);
    take(segmenter, &sentences);
    decluster_segmenter_free(segmenter);
    segmenter = segmenter_with(DECLUSTER_SEGMENT_SEMANTIC);
    push(segmenter, text);
    SAME(decluster_segmenter_finish(segmenter), 0);
    take(segmenter, &semantic);
    decluster_segmenter_free(segmenter);
    SAYS(sentences.text, "[A long|once.][ A short one.");
    CHECK(semantic.length > sentences.length);
    journal_free(&sentences);
    journal_free(&semantic);
}

static void what_is_in_no_block_yet_is_pending(void) {
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SENTENCES);
    struct journal blocks = {NULL, 0, 0};
    const char *text = NULL;
    size_t length = 1;
    decluster_output out;
    SAME(decluster_segmenter_pending(segmenter, &text, &length), 0);
    SAME(length, 0);
    push(segmenter, "It is whole. This is n");
    SAME(decluster_segmenter_pending(segmenter, &text, &length), 0);
    SAME_TEXT(text, length, " This is n");
    out = polled(segmenter);
    SAME(decluster_segmenter_pending(segmenter, &text, &length), 0);
    /* To look at it leaves what was given out. */
    SAME_TEXT(out.text, out.text_length, "It is whole.");
    SAME_TEXT(text, length, " This is n");
    SAME(decluster_segmenter_finish(segmenter), 0);
    SAME(decluster_segmenter_pending(segmenter, &text, &length), 0);
    SAME(length, 0);
    take(segmenter, &blocks);
    SAME_TEXT(blocks.text, blocks.length, "[ This is n]");
    journal_free(&blocks);
    decluster_segmenter_free(segmenter);
}

static void a_flush_gives_what_may_be_a_sentence(void) {
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SEMANTIC);
    struct journal blocks = {NULL, 0, 0};
    push(segmenter, "It may end here.");
    SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(blocks.length, 0);
    SAME(decluster_segmenter_flush(segmenter), 0);
    SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_NEED_INPUT);
    push(segmenter, " But not in the mid");
    SAME(decluster_segmenter_flush(segmenter), 0);
    SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_NEED_INPUT);
    SAME_TEXT(blocks.text, blocks.length, "[It may end here.]");
    journal_free(&blocks);
    decluster_segmenter_free(segmenter);
}

static void text_after_the_end_is_a_new_text(void) {
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SEMANTIC);
    struct journal blocks = {NULL, 0, 0};
    decluster_output out;
    push(segmenter, "The first is cut off in the mid");
    SAME(decluster_segmenter_finish(segmenter), 0);
    SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_FINISHED);
    /* Nothing is no text. */
    push(segmenter, "");
    SAME(decluster_segmenter_flush(segmenter), 0);
    SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_FINISHED);
    push(segmenter, "dle");
    SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_NEED_INPUT);
    SAME(decluster_segmenter_finish(segmenter), 0);
    out = polled(segmenter);
    SAME_TEXT(out.text, out.text_length, "dle");
    SAME(out.block, 1);
    SAME(take(segmenter, &blocks), DECLUSTER_OUTPUT_FINISHED);
    SAME_TEXT(blocks.text, blocks.length, "[The first is cut off in the mid]");
    journal_free(&blocks);
    decluster_segmenter_free(segmenter);
}

static void a_nul_is_a_character(void) {
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SEMANTIC);
    decluster_output out;
    SAME(decluster_segmenter_push(segmenter, "a\0b", 3), 0);
    SAME(decluster_segmenter_push(segmenter, NULL, 0), 0);
    SAME(decluster_segmenter_finish(segmenter), 0);
    out = polled(segmenter);
    SAME(out.text_length, 3);
    CHECK(memcmp(out.text, "a\0b", 3) == 0);
    decluster_segmenter_free(segmenter);
}

static void a_block_stays_while_more_is_pending(void) {
    char words[] = "The first block of two. The second of them";
    decluster_segmenter *segmenter = segmenter_with(DECLUSTER_SEGMENT_SENTENCES);
    decluster_output out;
    const char *text;
    size_t length;
    push(segmenter, words);
    memset(words, '?', sizeof words - 1);
    out = polled(segmenter);
    SAME(decluster_segmenter_pending(segmenter, &text, &length), 0);
    SAME(decluster_segmenter_error(segmenter)[0], 0);
    SAME_TEXT(out.text, out.text_length, "The first block of two.");
    SAME_TEXT(text, length, " The second of them");
    decluster_segmenter_free(segmenter);
}

int main(void) {
    RUN(blocks_do_not_depend_on_how_the_text_was_cut);
    RUN(a_block_says_what_it_is);
    RUN(sentences_are_cut_at_sentences_and_lines_alone);
    RUN(what_is_in_no_block_yet_is_pending);
    RUN(a_flush_gives_what_may_be_a_sentence);
    RUN(text_after_the_end_is_a_new_text);
    RUN(a_nul_is_a_character);
    RUN(a_block_stays_while_more_is_pending);
    return done();
}
