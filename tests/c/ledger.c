/* What answers cost, in figures that were computed by hand; responses that were not streamed. */
#include "check.h"

static const char TABLE[] =
    "[models.fast]\nprompt = 0.25\ncached = 0.05\noutput = 2\nreasoning = 1.5\n"
    "aliases = [\"fast-1\"]\n";

static decluster_ledger *ledger_of(const char *prices, const char *currency, const char *rate) {
    decluster_ledger *ledger;
    SAME(decluster_ledger_new(&ledger), 0);
    if (prices) {
        SAME(decluster_ledger_set_prices(ledger, prices, strlen(prices), currency, rate), 0);
        SAME_TEXT(decluster_ledger_error(ledger), strlen(decluster_ledger_error(ledger)), "");
    }
    return ledger;
}

static int32_t add(decluster_ledger *ledger, const char *model, const char *key,
                   const char *usage, uint32_t keep) {
    return decluster_ledger_add(ledger, model, key, usage, usage ? strlen(usage) : 0, 0, keep,
                                NULL, NULL);
}

/* The JSON says all of these words. */
static void check_json(decluster_ledger *ledger, const char *words) {
    struct journal copy = {NULL, 0, 0};
    const char *json = NULL;
    size_t length = 0;
    SAME(decluster_ledger_json(ledger, &json, &length), 0);
    journal_put(&copy, json, length);
    SAYS(copy.text, words);
    journal_free(&copy);
}

#define USAGE "{\"prompt_tokens\":1000,\"prompt_tokens_details\":{\"cached_tokens\":400}," \
              "\"completion_tokens\":300,\"completion_tokens_details\":" \
              "{\"reasoning_tokens\":200},\"total_tokens\":1300}"

static void an_answer_costs_what_is_computed_by_hand(void) {
    decluster_ledger *ledger = ledger_of(TABLE, NULL, NULL);
    const char *cost = NULL;
    size_t length = 0;
    /* By the million: 600 x 0.25, 400 x 0.05, 200 x 1.5, 100 x 2. */
    SAME(decluster_ledger_add(ledger, "fast", "search", USAGE, strlen(USAGE), 1, 0, &cost,
                              &length),
         0);
    SAME_TEXT(cost, length,
              "{\"prompt\":\"0.00015\",\"cached\":\"0.00002\",\"cache_write\":\"0\","
              "\"reasoning\":\"0.0003\",\"output\":\"0.0002\",\"total\":\"0.00067\","
              "\"currency\":\"USD\"}");
    SAME(add(ledger, "fast-1", "mail", USAGE, 0), 0);
    check_json(ledger, "{\"currency\":\"USD\",\"total\":{\"model\":null,\"key\":null,"
                       "\"streams\":2,\"unreported\":0,\"unpriced\":0,\"tokens\":{\"input\":2000,"
                       "\"cached_input\":800,\"cache_write\":null,\"output\":600,"
                       "\"reasoning\":400,\"visible\":200,\"cost_picodollars\":null},"
                       "|\"total\":\"0.00134\",\"currency\":\"USD\"}");
    /* The alias is the model that it stands for. */
    check_json(ledger, "\"models\":[{\"model\":\"fast\",\"key\":null,\"streams\":2,|"
                       "\"keys\":[{\"model\":null,\"key\":\"mail\",\"streams\":1,|"
                       "\"rows\":[{\"model\":\"fast\",\"key\":\"mail\",\"streams\":1,");
    decluster_ledger_free(ledger);
}

static void costs_may_be_in_another_currency(void) {
    decluster_ledger *ledger = ledger_of(decluster_prices_examples(), "CNY", "7.1");
    const char *cost = NULL, *usage = "{\"prompt_tokens\":1000,\"completion_tokens\":500}";
    struct journal copy = {NULL, 0, 0};
    size_t length = 0;
    /* 1000 x 3 + 500 x 8 by the million are 0.007 dollars. */
    SAME(decluster_ledger_add(ledger, "gpt-4.1", NULL, usage, strlen(usage), 0, 0, &cost, &length),
         0);
    journal_put(&copy, cost, length);
    SAYS(copy.text, "\"total\":\"0.0497\",\"currency\":\"CNY\"");
    journal_free(&copy);
    decluster_ledger_free(ledger);
}

static void an_answer_without_usage_or_price_is_told_apart(void) {
    decluster_ledger *ledger = ledger_of(TABLE, NULL, NULL);
    const char *cost = NULL;
    size_t length = 0;
    SAME(decluster_ledger_add(ledger, "fast", NULL, NULL, 0, 0, 0, &cost, &length), 0);
    SAME_TEXT(cost, length, "null");
    SAME(add(ledger, "slow", NULL, USAGE, 0), DECLUSTER_ERROR_UNKNOWN_NAME);
    SAYS(decluster_ledger_error(ledger), "slow|fast");
    SAME(add(ledger, NULL, NULL, USAGE, 0), DECLUSTER_ERROR_UNKNOWN_NAME);
    SAYS(decluster_ledger_error(ledger), "no model was named");
    check_json(ledger, "\"streams\":1,\"unreported\":1,\"unpriced\":0,");
    SAME(decluster_ledger_add(ledger, "slow", NULL, USAGE, strlen(USAGE), 0, 1, &cost, &length),
         0);
    SAME_TEXT(cost, length, "null");
    check_json(ledger, "\"streams\":2,\"unreported\":1,\"unpriced\":1,|\"total\":\"0\"");
    decluster_ledger_free(ledger);
}

static void without_prices_tokens_are_counted(void) {
    decluster_ledger *ledger = ledger_of(NULL, NULL, NULL);
    SAME(add(ledger, "whatever", "", USAGE, 0), 0);
    check_json(ledger, "{\"currency\":null,|\"input\":1000,|\"cost\":null|\"key\":\"\"");
    decluster_ledger_free(ledger);
}

static void whether_reasoning_came_tells_what_a_count_of_0_means(void) {
    static const char usage[] = "{\"prompt_tokens\":10,\"completion_tokens\":20,"
                                "\"completion_tokens_details\":{\"reasoning_tokens\":0}}";
    uint32_t came;
    for (came = 0; came < 2; came++) {
        decluster_ledger *ledger = ledger_of(NULL, NULL, NULL);
        SAME(decluster_ledger_add(ledger, NULL, NULL, usage, sizeof usage - 1, came, 0, NULL,
                                  NULL),
             0);
        check_json(ledger, came ? "\"reasoning\":null," : "\"reasoning\":0,");
        decluster_ledger_free(ledger);
    }
}

static void counts_are_added_as_they_are(void) {
    decluster_ledger *ledger = ledger_of(TABLE, NULL, NULL);
    decluster_tokens tokens = {1000, 400, -1, 300, 200, 100, -1, {0, 0, 0}};
    const char *cost = NULL;
    struct journal copy = {NULL, 0, 0};
    size_t length = 0;
    SAME(decluster_ledger_add_tokens(ledger, "fast", NULL, &tokens, sizeof tokens, 0, &cost,
                                     &length),
         0);
    journal_put(&copy, cost, length);
    SAYS(copy.text, "\"total\":\"0.00067\"");
    journal_free(&copy);
    check_json(ledger, "\"cache_write\":null,\"output\":300,");
    memset(&tokens, 0xff, sizeof tokens);
    SAME(decluster_ledger_add_tokens(ledger, "fast", NULL, &tokens, sizeof tokens, 0, NULL, NULL),
         0);
    check_json(ledger, "\"streams\":2,\"unreported\":1,");
    decluster_ledger_free(ledger);
}

static void a_stream_is_entered_with_its_model_and_usage(void) {
    static const char stream[] =
        "data: {\"model\":\"fast-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},"
        "\"finish_reason\":\"stop\"}]}\n\n"
        "data: {\"model\":\"fast-1\",\"choices\":[],\"usage\":" USAGE "}\n\ndata: [DONE]\n\n";
    decluster_ledger *ledger = ledger_of(TABLE, NULL, NULL);
    decluster_rewriter *rewriter;
    const char *json = NULL;
    struct journal copy = {NULL, 0, 0};
    size_t length = 0;
    SAME(decluster_rewriter_new(NULL, 0, DECLUSTER_MODE_STREAM, 0, &rewriter), 0);
    SAME(decluster_rewriter_push(rewriter, 0, stream, sizeof stream - 1), 0);
    SAME(decluster_rewriter_finish(rewriter, 0), 0);
    SAME(decluster_rewriter_answer(rewriter, &json, &length), 0);
    journal_put(&copy, json, length);
    SAYS(copy.text, "\"model\":\"fast-1\"");
    SAME(decluster_ledger_add_rewriter(ledger, rewriter, NULL, "a", 0, &json, &length), 0);
    journal_put(&copy, json, length);
    SAYS(copy.text, "\"total\":\"0.00067\"");
    /* Under the caller's own name for the model, too. */
    SAME(decluster_ledger_add_rewriter(ledger, rewriter, "slow", "a", 0, NULL, NULL),
         DECLUSTER_ERROR_UNKNOWN_NAME);
    SAME(decluster_ledger_add_rewriter(ledger, rewriter, "slow", "a", 1, NULL, NULL), 0);
    check_json(ledger, "\"streams\":2,|\"unpriced\":1,|\"model\":\"fast\",\"key\":\"a\",|"
                       "\"model\":\"slow\",\"key\":\"a\",");
    journal_free(&copy);
    decluster_rewriter_free(rewriter);
    decluster_ledger_free(ledger);
}

static void a_ledger_takes_in_another_at_its_own_prices(void) {
    decluster_ledger *ledger = ledger_of(TABLE, NULL, NULL), *other = ledger_of(NULL, NULL, NULL);
    SAME(add(ledger, "fast", "a", USAGE, 0), 0);
    SAME(add(other, "fast-1", "a", USAGE, 0), 0);
    SAME(add(other, "slow", "b", USAGE, 0), 0);
    SAME(decluster_ledger_merge(ledger, other), 0);
    check_json(ledger, "\"streams\":3,\"unreported\":0,\"unpriced\":1,|\"total\":\"0.00134\"");
    check_json(other, "\"streams\":2,|\"cost\":null");
    decluster_ledger_free(other);
    decluster_ledger_free(ledger);
}

static void a_ledger_has_as_many_pairs_as_it_may(void) {
    decluster_ledger *ledger = ledger_of(NULL, NULL, NULL), *other = ledger_of(NULL, NULL, NULL);
    char key[20];
    int at;
    for (at = 0; at < 10000; at++) {
        snprintf(key, sizeof key, "%d", at);
        SAME(add(ledger, NULL, key, USAGE, 0), 0);
    }
    SAME(add(ledger, NULL, "one more", USAGE, 1), DECLUSTER_ERROR_LEDGER_FULL);
    SAYS(decluster_ledger_error(ledger), "10000 pairs");
    SAME(add(ledger, NULL, "7", USAGE, 0), 0);
    SAME(add(other, NULL, "8", USAGE, 0), 0);
    SAME(decluster_ledger_merge(ledger, other), 0);
    SAME(add(other, NULL, "one more", USAGE, 0), 0);
    SAME(decluster_ledger_merge(ledger, other), DECLUSTER_ERROR_LEDGER_FULL);
    check_json(ledger, "\"streams\":10002,");
    decluster_ledger_free(other);
    decluster_ledger_free(ledger);
}

/* ---- Responses ---- */

static void a_response_is_read_whole(void) {
    static const char response[] =
        "{\"model\": \"m\", \"message\": {\"thinking\": \"Hm.\", \"content\": \"Yes.\"}, "
        "\"done\": true, \"done_reason\": \"stop\", \"prompt_eval_count\": 12, "
        "\"eval_count\": 9}";
    static const char error[] = "{\"error\": {\"message\": \"no\"}}";
    decluster_body *body;
    const char *json = NULL;
    size_t length = 0;
    SAME(decluster_body_new(&body), 0);
    SAME(decluster_body_read(body, response, sizeof response - 1, &json, &length), 0);
    SAME_TEXT(json, length,
              "{\"dialect\":\"ollama\",\"model\":\"m\",\"input\":12,\"cached_input\":null,"
              "\"cache_write\":null,\"output\":9,\"reasoning\":null,\"visible\":null,"
              "\"cost_picodollars\":null,\"raw\":{\"prompt_eval_count\":12,\"eval_count\":9},"
              "\"reasoning_text\":\"Hm.\",\"output_text\":\"Yes.\",\"encrypted\":[],"
              "\"finish\":\"stop\",\"error\":null}");
    SAME(decluster_body_read(body, error, sizeof error - 1, &json, &length), 0);
    SAME_TEXT(json, length,
              "{\"dialect\":null,\"model\":null,\"input\":null,\"cached_input\":null,"
              "\"cache_write\":null,\"output\":null,\"reasoning\":null,\"visible\":null,"
              "\"cost_picodollars\":null,\"raw\":null,\"reasoning_text\":\"\","
              "\"output_text\":\"\",\"encrypted\":[],\"finish\":null,"
              "\"error\":{\"message\": \"no\"}}");
    decluster_body_free(body);
}

static void reasoning_that_only_the_provider_can_read_is_given(void) {
    static const char response[] =
        "{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\","
        "\"encrypted_content\":\"gAAA\",\"summary\":[]}],\"usage\":{\"input_tokens\":5,"
        "\"output_tokens\":70,\"output_tokens_details\":{\"reasoning_tokens\":64}}}";
    decluster_body *body;
    const char *json = NULL;
    struct journal copy = {NULL, 0, 0};
    size_t length = 0;
    SAME(decluster_body_new(&body), 0);
    SAME(decluster_body_read(body, response, sizeof response - 1, &json, &length), 0);
    journal_put(&copy, json, length);
    SAYS(copy.text, "\"encrypted\":[\"gAAA\"]|\"reasoning\":64,\"visible\":6,");
    journal_free(&copy);
    decluster_body_free(body);
}

int main(void) {
    RUN(an_answer_costs_what_is_computed_by_hand);
    RUN(costs_may_be_in_another_currency);
    RUN(an_answer_without_usage_or_price_is_told_apart);
    RUN(without_prices_tokens_are_counted);
    RUN(whether_reasoning_came_tells_what_a_count_of_0_means);
    RUN(counts_are_added_as_they_are);
    RUN(a_stream_is_entered_with_its_model_and_usage);
    RUN(a_ledger_takes_in_another_at_its_own_prices);
    RUN(a_ledger_has_as_many_pairs_as_it_may);
    RUN(a_response_is_read_whole);
    RUN(reasoning_that_only_the_provider_can_read_is_given);
    return done();
}
