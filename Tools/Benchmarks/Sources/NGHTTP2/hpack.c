// libnghttp2's HPACK: heads from a file, encoded or decoded one after the other with one table.

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "nghttp2rows.h"
#include "owned.h"

enum { most_heads = 1024, file_capacity = 1 << 20, block_capacity = 16384, table_size = 4096 };

struct head {
    nghttp2_nv fields[most_fields];
    size_t field_count;
    unsigned char block[block_capacity];
    size_t block_length;
};

static char text[file_capacity];
static struct head heads[most_heads];
static int head_count;

/// Reads lines of the form "name: value", with an empty line behind each head.
static void read_heads(void) {
    FILE *file = fopen(measure_text("file"), "re");
    if (!file) measure_fail(measure_text("file"));
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        if (end == line) {
            if (heads[head_count].field_count > 0) head_count++;
            if (head_count == most_heads) measure_stop("too many heads", 1);
            continue;
        }
        char *value = strstr(line + 1, ": ");
        struct head *head = &heads[head_count];
        if (!value || value > end || head->field_count == most_fields) measure_stop("a line is not a field", 1);
        head->fields[head->field_count++] = (nghttp2_nv){
            .name = (uint8_t *)line, .namelen = (size_t)(value - line),
            .value = (uint8_t *)value + 2, .valuelen = (size_t)(end - value - 2)};
    }
}

static void encode(nghttp2_hd_deflater *deflater, struct head *head) {
    ssize_t length = nghttp2_hd_deflate_hd(deflater, head->block, sizeof head->block, head->fields, head->field_count);
    if (length < 0) measure_stop(nghttp2_strerror((int)length), 1);
    head->block_length = (size_t)length;
}

static void encode_all(void) {
    nghttp2_hd_deflater *deflater;
    if (nghttp2_hd_deflate_new(&deflater, table_size)) measure_stop("no deflater", 1);
    for (int i = 0; i < head_count; i++) encode(deflater, &heads[i]);
    nghttp2_hd_deflate_del(deflater);
}

static double block_bytes(void) {
    double bytes = 0;
    for (int i = 0; i < head_count; i++) bytes += (double)heads[i].block_length;
    return bytes;
}

void encode_row(void) {
    read_heads();
    long long count = measure_number("count");
    measure_begin();
    nghttp2_hd_deflater *deflater = NULL;
    for (long long i = 0; i < count; i++) {
        int index = (int)(i % head_count);
        if (index == 0) {
            if (deflater) nghttp2_hd_deflate_del(deflater);
            if (nghttp2_hd_deflate_new(&deflater, table_size)) measure_stop("no deflater", 1);
        }
        encode(deflater, &heads[index]);
    }
    measure_note("blocks", block_bytes());
    measure_end((double)count, 0);
}

static size_t decode(nghttp2_hd_inflater *inflater, const struct head *head, int owns) {
    size_t fields = 0, left = head->block_length;
    const uint8_t *input = head->block;
    if (owns) begin_owned();
    for (;;) {
        nghttp2_nv field;
        int flags = 0;
        ssize_t read = nghttp2_hd_inflate_hd2(inflater, &field, &flags, input, left, 1);
        if (read < 0) measure_stop(nghttp2_strerror((int)read), 1);
        input += read;
        left -= (size_t)read;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            if (owns) add_owned(field.name, field.namelen, field.value, field.valuelen);
            fields++;
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL) break;
    }
    nghttp2_hd_inflate_end_headers(inflater);
    if (owns) free(make_owned());
    return fields;
}

static void decode_often(int owns) {
    read_heads();
    encode_all();
    long long count = measure_number("count");
    double fields = 0;
    measure_begin();
    nghttp2_hd_inflater *inflater = NULL;
    for (long long i = 0; i < count; i++) {
        int index = (int)(i % head_count);
        if (index == 0) {
            if (inflater) nghttp2_hd_inflate_del(inflater);
            if (nghttp2_hd_inflate_new(&inflater)) measure_stop("no inflater", 1);
        }
        fields += (double)decode(inflater, &heads[index], owns);
    }
    measure_note("fields", fields);
    measure_end((double)count, 0);
}

void decode_row(void) { decode_often(0); }
void decode_owned_row(void) { decode_often(1); }

/// The heads of an exchange without sessions, as in the rows of sessions.c: both encoded, decoded and kept, and two copies of the body.
void exchange_heads_row(void) {
    static char body[1024], output[1024], target[1024];
    long long count = measure_number("count");
    nghttp2_hd_deflater *deflaters[2];
    nghttp2_hd_inflater *inflaters[2];
    size_t fields = 0;
    for (int i = 0; i < 2; i++) {
        if (nghttp2_hd_deflate_new(&deflaters[i], table_size)) measure_stop("no deflater", 1);
        if (nghttp2_hd_inflate_new(&inflaters[i])) measure_stop("no inflater", 1);
        memcpy(heads[i].fields, exchange_fields[i], sizeof exchange_fields[i]);
        heads[i].field_count = 6;
    }
    measure_begin();
    for (long long n = 0; n < count; n++) {
        for (int i = 0; i < 2; i++) {
            encode(deflaters[i], &heads[i]);
            fields += decode(inflaters[i], &heads[i], 1);
        }
        memcpy(output, body, sizeof output);
        __asm__ volatile("" : : "r"(output) : "memory");
        memcpy(target, output, sizeof target);
        __asm__ volatile("" : : "r"(target) : "memory");
    }
    if (fields != (size_t)count * 12) measure_stop("a head is not complete", 1);
    measure_end((double)count, (double)count * 1024);
}
