#include "vectors.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const KINDS[] = {"reasoning", "output", NULL};
const char *const BOUNDARIES[] = {
    "paragraph", "line", "sentence", "clause", "word", "grapheme", NULL,
};

void fail(const struct lines *at, const char *message, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "%s:%lu: ", at->name, at->number);
    va_start(arguments, message);
    vfprintf(stderr, message, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void *grown(void *old, size_t size)
{
    void *larger = realloc(old, size);
    if (!larger) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return larger;
}

void append(struct bytes *bytes, const char *more, size_t length)
{
    if (length > bytes->room - bytes->length) {
        bytes->room = 2 * (bytes->length + length);
        bytes->at = grown(bytes->at, bytes->room);
    }
    if (length > 0) {
        memcpy(bytes->at + bytes->length, more, length);
        bytes->length += length;
    }
}

int next_line(struct lines *lines)
{
    int c;
    lines->length = 0;
    while ((c = getc(lines->file)) != EOF) {
        if (lines->length + 1 >= lines->room) {
            lines->room = 2 * lines->room + 256;
            lines->text = grown(lines->text, lines->room);
        }
        if (c == '\n') break;
        lines->text[lines->length++] = (char)c;
    }
    if (c == EOF && lines->length == 0) return 0;
    lines->text[lines->length] = 0;
    lines->number++;
    return 1;
}

char *next_word(struct lines *at, char **rest)
{
    char *word = *rest, *blank;
    if (!*word) fail(at, "the line ends too early");
    blank = strchr(word, ' ');
    if (blank) {
        *blank = 0;
        *rest = blank + 1;
    } else {
        *rest = word + strlen(word);
    }
    return word;
}

uint64_t next_number(struct lines *at, char **rest)
{
    char *word = next_word(at, rest), *end;
    uint64_t number = strtoull(word, &end, 10);
    if (!isdigit((unsigned char)*word) || *end) fail(at, "\"%s\" is no number", word);
    return number;
}

static int hex(char digit)
{
    static const char DIGITS[] = "0123456789abcdef";
    const char *found = digit ? strchr(DIGITS, digit) : NULL;
    return found ? (int)(found - DIGITS) : -1;
}

char *next_text(struct lines *at, char **rest, size_t *length)
{
    char *text = *rest, *from = text + 1, *to = text;
    char *end = at->text + at->length - 1;
    if (*text != '"' || end <= text || *end != '"') fail(at, "a text stands between quotes");
    while (from < end) {
        if (*from != '\\') {
            *to++ = *from++;
        } else if (from[1] == 'n' || from[1] == 'r' || from[1] == '\\') {
            *to++ = from[1] == 'n' ? '\n' : from[1] == 'r' ? '\r' : '\\';
            from += 2;
        } else if (from[1] == 'x' && hex(from[2]) >= 0 && hex(from[3]) >= 0) {
            *to++ = (char)(16 * hex(from[2]) + hex(from[3]));
            from += 4;
        } else {
            fail(at, "there is no escape \\%c", from[1]);
        }
    }
    *rest = end + 1;
    *length = (size_t)(to - text);
    return text;
}

int set(struct lines *at, decluster_config *config, const char *first, char *rest)
{
    decluster_status status;
    if (!strcmp(first, "preset")) {
        status = decluster_config_preset(config, rest);
    } else if (!strcmp(first, "profile")) {
        status = decluster_config_profile(config, rest);
    } else if (!strcmp(first, "set")) {
        const char *name = next_word(at, &rest);
        int32_t parameter = decluster_parameter_find(name);
        if (parameter < 0) fail(at, "%s: %s", name, decluster_status_text(parameter));
        status = decluster_config_set(config, (uint32_t)parameter, next_number(at, &rest));
    } else {
        return 0;
    }
    must(at, status, decluster_config_error(config));
    return 1;
}

decluster_config *new_config(const struct lines *at)
{
    decluster_config *config;
    must(at, decluster_config_new(&config), "no config was made");
    return config;
}

void must(const struct lines *at, decluster_status status, const char *error)
{
    if (status) fail(at, "%s (%s)", error, decluster_status_text(status));
}

uint32_t find(const struct lines *at, const char *const *names, const char *name)
{
    uint32_t number = 0;
    while (names[number] && strcmp(names[number], name)) number++;
    if (!names[number]) fail(at, "\"%s\" is not known", name);
    return number;
}

const char *name_of(const struct lines *at, const char *const *names, uint32_t number)
{
    uint32_t count = 0;
    while (names[count]) count++;
    if (number >= count) fail(at, "number %lu has no name", (unsigned long)number);
    return names[number];
}
