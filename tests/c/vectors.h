/* What the programs that play tests/vectors share: lines, texts between quotes, settings, names. */

#ifndef VECTORS_H
#define VECTORS_H

#include <decluster.h>
#include <stdio.h>

/* A file that is read line by line. */
struct lines {
    const char *name;
    FILE *file;
    unsigned long number;
    char *text; /* The line, without its end and with a NUL. */
    size_t length;
    size_t room;
};

/* Says where and what, and ends the program. */
void fail(const struct lines *at, const char *message, ...);

/* Reads the next line; 0 at the end. */
int next_line(struct lines *lines);

/* The next word of a line, which loses it. */
char *next_word(struct lines *at, char **rest);

/* The same, as a number. */
uint64_t next_number(struct lines *at, char **rest);

/* What stands between the quotes around the rest of a line, its escapes undone. */
char *next_text(struct lines *at, char **rest, size_t *length);

/* Carries out a line `preset NAME`, `profile NAME` or `set NAME VALUE`; 0 if it is another. */
int set(struct lines *at, decluster_config *config, const char *first, char *rest);

/* Makes a config, or ends the program. */
decluster_config *new_config(const struct lines *at);

/* Ends the program if a call on a handle failed; `error` is what the handle says of it. */
void must(const struct lines *at, decluster_status status, const char *error);

/* The number of a name in a list that NULL ends. */
uint32_t find(const struct lines *at, const char *const *names, const char *name);

/* The name of a number in such a list. */
const char *name_of(const struct lines *at, const char *const *names, uint32_t number);

extern const char *const KINDS[];
extern const char *const BOUNDARIES[];

/* Bytes that grow. */
struct bytes {
    char *at;
    size_t length;
    size_t room;
};

void append(struct bytes *bytes, const char *more, size_t length);

#endif
