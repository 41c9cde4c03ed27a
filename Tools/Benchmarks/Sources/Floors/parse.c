// A strict HTTP/1.1 head parser that only records the positions of the parts, and a serializer that only copies: the lower
// bounds for parsers and serializers. On x86, values are scanned 16 bytes at a time with SSE2, not with the SSE4.2 string
// instructions, which are no faster for fields of this size and which valgrind does not support.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floors.h"
#include "measure.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { most_fields = 64, message_capacity = 64 * 1024 };

struct slice {
    const char *start;
    size_t length;
};

struct head {
    struct slice method, target, reason;
    int minor_version, status;
    size_t field_count;
    struct {
        struct slice name, value;
    } fields[most_fields];
};

/// RFC 9110 section 5.6.2: the characters of a token.
static unsigned char is_token[256];

static void make_token_table(void) {
    for (int c = '0'; c <= '9'; c++) is_token[c] = 1;
    for (int c = 'a'; c <= 'z'; c++) is_token[c] = is_token[c - 'a' + 'A'] = 1;
    for (const char *c = "!#$%&'*+-.^_`|~"; *c; c++) is_token[(unsigned char)*c] = 1;
}

/// The first byte from `p` on that is at most `last_refused`, or DEL, except tab; `end` if there is no such byte.
static inline const char *find_control(const char *p, const char *end, unsigned char last_refused) {
#ifdef __SSE2__
    const __m128i refused = _mm_set1_epi8((char)last_refused), tab = _mm_set1_epi8('\t'), del = _mm_set1_epi8(0x7f);
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, refused), bytes);
        low = _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(bytes, tab), low), _mm_cmpeq_epi8(bytes, del));
        int mask = _mm_movemask_epi8(low);
        if (mask) return p + __builtin_ctz((unsigned)mask);
    }
#endif
    for (; p < end; p++) {
        unsigned char byte = (unsigned char)*p;
        if ((byte <= last_refused && byte != '\t') || byte == 0x7f) return p;
    }
    return end;
}

static inline const char *parse_token(const char *p, const char *end, struct slice *token) {
    const char *start = p;
    while (p < end && is_token[(unsigned char)*p]) p++;
    *token = (struct slice){start, (size_t)(p - start)};
    return p == start ? NULL : p;
}

/// `HTTP/1.` and a digit.
static inline const char *parse_version(const char *p, const char *end, int *minor) {
    if (end - p < 8 || memcmp(p, "HTTP/1.", 7) != 0 || p[7] < '0' || p[7] > '9') return NULL;
    *minor = p[7] - '0';
    return p + 8;
}

static inline const char *parse_line_end(const char *p, const char *end) {
    return end - p >= 2 && p[0] == '\r' && p[1] == '\n' ? p + 2 : NULL;
}

static inline const char *parse_fields(const char *p, const char *end, struct head *head) {
    for (head->field_count = 0; p < end && *p != '\r'; head->field_count++) {
        if (head->field_count == most_fields) return NULL;
        struct slice *name = &head->fields[head->field_count].name, *value = &head->fields[head->field_count].value;
        p = parse_token(p, end, name);
        if (!p || p == end || *p++ != ':') return NULL;
        while (p < end && (*p == ' ' || *p == '\t')) p++;
        const char *start = p;
        p = find_control(p, end, 0x1f);
        const char *last = p;
        while (last > start && (last[-1] == ' ' || last[-1] == '\t')) last--;
        *value = (struct slice){start, (size_t)(last - start)};
        p = parse_line_end(p, end);
        if (!p) return NULL;
    }
    return parse_line_end(p, end);
}

static const char *parse_request(const char *p, const char *end, struct head *head) {
    p = parse_token(p, end, &head->method);
    if (!p || p == end || *p++ != ' ') return NULL;
    const char *target = p;
    p = find_control(p, end, ' ');
    head->target = (struct slice){target, (size_t)(p - target)};
    if (p == target || p == end || *p++ != ' ') return NULL;
    p = parse_version(p, end, &head->minor_version);
    if (p) p = parse_line_end(p, end);
    return p ? parse_fields(p, end, head) : NULL;
}

static const char *parse_response(const char *p, const char *end, struct head *head) {
    p = parse_version(p, end, &head->minor_version);
    if (!p || end - p < 5 || *p++ != ' ') return NULL;
    head->status = 0;
    for (int i = 0; i < 3; i++, p++) {
        if (*p < '0' || *p > '9') return NULL;
        head->status = head->status * 10 + (*p - '0');
    }
    if (*p++ != ' ') return NULL;
    const char *reason = p;
    p = find_control(p, end, 0x1f);
    head->reason = (struct slice){reason, (size_t)(p - reason)};
    p = parse_line_end(p, end);
    return p ? parse_fields(p, end, head) : NULL;
}

static void parse_often(const char *(*parse)(const char *, const char *, struct head *)) {
    static char message[message_capacity];
    static struct head head;
    long long count = measure_number("count");
    FILE *file = fopen(measure_text("file"), "re");
    if (!file) measure_fail(measure_text("file"));
    size_t length = fread(message, 1, sizeof message, file);
    fclose(file);
    make_token_table();
    double fields = 0;
    measure_begin();
    for (long long i = 0; i < count; i++) {
        if (parse(message, message + length, &head) != message + length) measure_stop("the message is refused", 1);
        __asm__ volatile("" : : "r"(&head) : "memory"); // marks the result as used
        fields += (double)head.field_count;
    }
    measure_note("fields", fields);
    measure_end((double)count, (double)length * (double)count);
}

void parse_request_row(void) { parse_often(parse_request); }
void parse_response_row(void) { parse_often(parse_response); }

static inline char *copy(char *to, const char *text, size_t length) {
    memcpy(to, text, length);
    return to + length;
}

void serialize_row(void) {
    enum { fields = 10, text_capacity = 64 };
    static char names[fields][text_capacity], values[fields][text_capacity], output[4096];
    static const char start[] = "GET /images/2010/03/a-typical-path.jpg HTTP/1.1\r\n";
    size_t name_lengths[fields], value_lengths[fields];
    for (int i = 0; i < fields; i++) {
        name_lengths[i] = (size_t)snprintf(names[i], text_capacity, "X-Header-Name-%d", i);
        value_lengths[i] = (size_t)snprintf(values[i], text_capacity, "some typical header value number %d", i);
    }
    long long count = measure_number("count");
    double bytes = 0;
    measure_begin();
    for (long long i = 0; i < count; i++) {
        char *p = copy(output, start, sizeof start - 1);
        for (int field = 0; field < fields; field++) {
            p = copy(p, names[field], name_lengths[field]);
            p = copy(p, ": ", 2);
            p = copy(p, values[field], value_lengths[field]);
            p = copy(p, "\r\n", 2);
        }
        p = copy(p, "\r\n", 2);
        __asm__ volatile("" : : "r"(output) : "memory");
        bytes += (double)(p - output);
    }
    measure_end((double)count, bytes);
}
