// libnghttp2 over OpenSSL on a blocking socket: GETs on one connection, several at once, and a download.

#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "nghttp2rows.h"

enum { stream_window = 4 << 20, connection_window = 16 << 20, output_capacity = 128 * 1024, input_capacity = 64 * 1024 };

static SSL *connection;
static nghttp2_session *session;
static const char *path;
static long long wanted, sent, done;
static double bytes;

static void fail(const char *reason) {
    ERR_print_errors_fp(stderr);
    measure_fail(reason);
}

/// Connects, and completes the handshake with HTTP/2.
static void open_connection(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) fail("SSL_CTX_new");
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, input_capacity);
    if (!SSL_CTX_load_verify_locations(context, measure_text("ca"), NULL)) fail("ca=");
    connection = SSL_new(context);
    if (!connection || !SSL_set_fd(connection, measure_connect((int)measure_number("port"))) ||
        !SSL_set_tlsext_host_name(connection, "localhost") || !SSL_set1_host(connection, "localhost") ||
        SSL_set_alpn_protos(connection, (const unsigned char *)"\x02h2", 3))
        fail("SSL_new");
    if (SSL_connect(connection) != 1) fail("SSL_connect");
}

static void write_bytes(const uint8_t *data, size_t count) {
    if (SSL_write(connection, data, (int)count) != (int)count) fail("SSL_write");
}

/// Writes all output of the session at once.
static void flush(void) {
    static uint8_t output[output_capacity];
    size_t length = 0;
    for (;;) {
        const uint8_t *data;
        ssize_t count = nghttp2_session_mem_send(session, &data);
        if (count < 0) measure_stop(nghttp2_strerror((int)count), 1);
        if (count == 0) break;
        if (length + (size_t)count > sizeof output) {
            write_bytes(output, length);
            length = 0;
        }
        memcpy(output + length, data, (size_t)count);
        length += (size_t)count;
    }
    if (length > 0) write_bytes(output, length);
}

static void send_request(void) {
#define FIELD(name, value) \
    { (uint8_t *)name, (uint8_t *)value, sizeof name - 1, strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE }
    nghttp2_nv fields[] = {
        FIELD(":method", "GET"), FIELD(":scheme", "https"), FIELD(":authority", "localhost"), FIELD(":path", path)};
    if (nghttp2_submit_request(session, NULL, fields, 4, NULL, NULL) < 0) measure_stop("a request was refused", 1);
    sent++;
}

static int on_close(nghttp2_session *unused, int32_t stream, uint32_t code, void *context) {
    (void)unused, (void)stream, (void)context;
    if (code) measure_stop("a stream failed", 1);
    done++;
    if (sent < wanted) send_request();
    return 0;
}

static int on_data(nghttp2_session *unused, uint8_t flags, int32_t stream, const uint8_t *data, size_t length, void *context) {
    (void)unused, (void)flags, (void)stream, (void)data, (void)context;
    bytes += (double)length;
    return 0;
}

static int on_field(
    nghttp2_session *unused, const nghttp2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *context) {
    (void)unused, (void)frame, (void)name, (void)name_length, (void)value, (void)flags, (void)context;
    if (name_length == 7 && value_length == 3 && memcmp(value, "200", 3)) measure_stop("the status is not 200", 1);
    return 0;
}

static void open_session(void) {
    path = measure_text("path");
    open_connection();
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks)) measure_stop("no callbacks", 1);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
    if (nghttp2_session_client_new(&session, callbacks, NULL)) measure_stop("no session", 1);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, connection_window);
}

/// Sends requests, some at once, and reads their responses. Returns the number of reads.
static double get_often(long long count, long long at_once) {
    static uint8_t input[input_capacity];
    double reads = 0;
    wanted = count;
    sent = done = 0;
    bytes = 0;
    while (sent < at_once && sent < wanted) send_request();
    while (done < wanted) {
        flush();
        int received = SSL_read(connection, input, sizeof input);
        if (received <= 0) fail("SSL_read");
        reads++;
        if (nghttp2_session_mem_recv(session, input, (size_t)received) != received) measure_stop("invalid frames", 1);
    }
    flush();
    return reads;
}

void requests_row(void) {
    long long count = measure_number("count"), at_once = measure_number("connections");
    open_session();
    get_often(at_once, at_once); // the server's settings have arrived
    measure_begin();
    get_often(count, at_once);
    measure_end((double)count, bytes);
}

void read_row(void) {
    open_session();
    measure_begin();
    double reads = get_often(1, 1);
    measure_end(reads, bytes);
}
