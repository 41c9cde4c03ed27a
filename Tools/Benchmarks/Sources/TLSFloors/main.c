// TLS on a blocking socket with OpenSSL only: reading, and handshakes with or without resumption.

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

static SSL_CTX *context;
static SSL_SESSION *newest_session; // TLS 1.3 tickets arrive after the handshake, and each can be used once
static char request[256];
static int request_length;

static void fail(const char *reason) {
    ERR_print_errors_fp(stderr);
    measure_fail(reason);
}

static void prepare(void) {
    context = SSL_CTX_new(TLS_client_method());
    if (!context) fail("SSL_CTX_new");
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (!SSL_CTX_load_verify_locations(context, measure_text("ca"), NULL)) fail("ca=");
    static const char form[] = "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    request_length = snprintf(request, sizeof request, form, measure_text("path"));
    if (request_length < 0 || (size_t)request_length >= sizeof request) measure_fail("path= is too long");
}

/// Connects, completes the handshake and sends the request.
static SSL *open_session(int *descriptor) {
    *descriptor = measure_connect((int)measure_number("port"));
    SSL *session = SSL_new(context);
    if (!session || !SSL_set_fd(session, *descriptor) || !SSL_set_tlsext_host_name(session, "localhost") ||
        !SSL_set1_host(session, "localhost"))
        fail("SSL_new");
    if (newest_session) SSL_set_session(session, newest_session);
    if (SSL_connect(session) != 1) fail("SSL_connect");
    if (SSL_write(session, request, request_length) != request_length) fail("SSL_write");
    return session;
}

static void read_row(void) {
    prepare();
    size_t size = (size_t)measure_number("buffer");
    size_t read_ahead = (size_t)measure_number("read-ahead");
    if (read_ahead) {
        SSL_CTX_set_read_ahead(context, 1);
        SSL_CTX_set_default_read_buffer_len(context, read_ahead);
    }
    char *buffer = malloc(size);
    if (!buffer) measure_fail("malloc");
    memset(buffer, 1, size);
    double reads = 0, bytes = 0;
    int count, descriptor;
    measure_begin();
    SSL *session = open_session(&descriptor);
    while ((count = SSL_read(session, buffer, (int)size)) > 0) {
        reads++;
        bytes += count;
    }
    measure_end(reads, bytes);
}

static int keep_session(SSL *session, SSL_SESSION *ticket) {
    (void)session;
    SSL_SESSION_free(newest_session);
    newest_session = ticket;
    return 1;
}

static void handshakes_row(void) {
    prepare();
    long long count = measure_number("count");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    if (measure_number("resume")) SSL_CTX_sess_set_new_cb(context, keep_session);
    static char buffer[64 * 1024];
    double bytes = 0, resumed = 0;
    measure_begin();
    for (long long i = 0; i < count; i++) {
        int descriptor, received;
        SSL *session = open_session(&descriptor);
        while ((received = SSL_read(session, buffer, sizeof buffer)) > 0) bytes += received;
        resumed += SSL_session_reused(session);
        SSL_shutdown(session);
        SSL_free(session);
        close(descriptor);
    }
    measure_note("resumed", resumed);
    measure_end((double)count, bytes);
    if (resumed < (newest_session ? count - 1 : 0)) measure_stop("sessions are not resumed", 1);
}

int main(int count, char **words) {
    static const struct measure_row rows[] = {{"read", read_row}, {"handshakes", handshakes_row}, {NULL, NULL}};
    return measure_main(count, words, rows);
}
