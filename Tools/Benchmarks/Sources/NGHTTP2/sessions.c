// libnghttp2's sessions of a client and a server, wired in memory: the cost of the protocol without sockets and TLS.

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "nghttp2rows.h"
#include "owned.h"

enum { body_length = 1024, window = 4 << 20 };

static nghttp2_session *client, *server;
static long long body_left, received, ended;

#define FIELD(name, value) \
    { (uint8_t *)name, (uint8_t *)value, sizeof name - 1, sizeof value - 1, NGHTTP2_NV_FLAG_NONE }

const nghttp2_nv exchange_fields[2][6] = {
    {FIELD(":method", "GET"), FIELD(":scheme", "https"), FIELD(":authority", "www.example.com"), FIELD(":path", "/1024"),
     FIELD("user-agent", "example/1.0"), FIELD("accept", "*/*")},
    {FIELD(":status", "200"), FIELD("server", "example/1.0"), FIELD("content-type", "application/octet-stream"),
     FIELD("content-length", "1024"), FIELD("date", "Mon, 21 Oct 2024 20:13:21 GMT"), FIELD("etag", "\"0123-4567\"")},
};

static const nghttp2_nv response_without_length[] = {
    FIELD(":status", "200"), FIELD("server", "example/1.0"), FIELD("content-type", "application/octet-stream"),
};

static ssize_t read_body(
    nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags, nghttp2_data_source *source,
    void *context) {
    (void)session, (void)stream, (void)source, (void)context;
    if ((long long)length >= body_left) {
        length = (size_t)body_left;
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    memset(buffer, 'x', length);
    body_left -= (long long)length;
    return (ssize_t)length;
}

static int on_request(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
    (void)context;
    if (frame->hd.type != NGHTTP2_HEADERS || session != server) return 0;
    nghttp2_data_provider provider = {.read_callback = read_body};
    if (body_left == 0) {
        body_left = body_length;
        return nghttp2_submit_response(session, frame->hd.stream_id, exchange_fields[1], 6, &provider);
    }
    return nghttp2_submit_response(session, frame->hd.stream_id, response_without_length, 3, &provider);
}

/// A field of the head, whose bytes the program copies to memory that the next field uses again.
static int on_field(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *context) {
    (void)session, (void)frame, (void)flags, (void)context;
    static char head[4096];
    memcpy(head, name, name_length);
    memcpy(head + name_length, value, value_length);
    __asm__ volatile("" : : "r"(head) : "memory");
    return 0;
}

static int on_data(
    nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t length, void *context) {
    (void)session, (void)flags, (void)stream, (void)context;
    static char target[65536];
    memcpy(target, data, length < sizeof target ? length : sizeof target);
    __asm__ volatile("" : : "r"(target) : "memory");
    received += (long long)length;
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *context) {
    (void)session, (void)stream, (void)context;
    if (code) measure_stop("a stream failed", 1);
    ended++;
    return 0;
}

// The same, for a program that keeps the whole head of a message until the stream ends.

static int on_head_begin(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
    (void)session, (void)frame, (void)context;
    begin_owned();
    return 0;
}

static int on_owned_field(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *context) {
    (void)session, (void)frame, (void)flags, (void)context;
    add_owned(name, name_length, value, value_length);
    return 0;
}

static int on_owned_head(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
    if (frame->hd.type == NGHTTP2_HEADERS)
        nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, make_owned());
    return on_request(session, frame, context);
}

static int on_owned_close(nghttp2_session *session, int32_t stream, uint32_t code, void *context) {
    free(nghttp2_session_get_stream_user_data(session, stream));
    return session == client ? on_close(session, stream, code, context) : 0;
}

static int owns_heads;

static nghttp2_session *make(int is_client) {
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    if (owns_heads) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_head_begin);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_owned_field);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_owned_head);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_owned_close);
    } else {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_request);
        if (is_client) nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    }
    if (is_client ? nghttp2_session_client_new(&session, callbacks, NULL) : nghttp2_session_server_new(&session, callbacks, NULL))
        measure_stop("no session", 1);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 1);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, window);
    return session;
}

/// Carries bytes both ways until none are left.
static void carry(void) {
    for (int moved = 1; moved;) {
        moved = 0;
        for (int i = 0; i < 2; i++) {
            nghttp2_session *from = i ? server : client, *to = i ? client : server;
            const uint8_t *bytes;
            ssize_t length;
            while ((length = nghttp2_session_mem_send(from, &bytes)) > 0) {
                if (nghttp2_session_mem_recv(to, bytes, (size_t)length) != length) measure_stop("bytes were refused", 1);
                moved = 1;
            }
            if (length < 0) measure_stop(nghttp2_strerror((int)length), 1);
        }
    }
}

static void begin_sessions(void) {
    client = make(1);
    server = make(0);
    carry();
}

static void exchange(void) {
    if (nghttp2_submit_request(client, NULL, exchange_fields[0], 6, NULL, NULL) < 0) measure_stop("no request", 1);
    carry();
}

static void exchange_often(void) {
    long long count = measure_number("count");
    begin_sessions();
    measure_begin();
    for (long long i = 0; i < count; i++) exchange();
    if (ended != count || received != count * body_length) measure_stop("an exchange is not complete", 1);
    measure_end((double)count, (double)received);
}

void exchange_row(void) { exchange_often(); }

void exchange_owned_row(void) {
    owns_heads = 1;
    exchange_often();
}

void data_row(void) {
    long long bytes = measure_number("bytes");
    begin_sessions();
    measure_begin();
    body_left = bytes;
    exchange();
    if (ended != 1 || received != bytes) measure_stop("the body is not complete", 1);
    measure_end(1, (double)bytes);
}
