// The plain TCP peers: send (sends a number of bytes, then closes), sink (reads to the end, then sends one byte), echo, and
// hold (keeps connections until the client closes them). Loopback only. Binds a free port and prints it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

enum { chunk_size = 256 * 1024 };

static char chunk[chunk_size];

static void send_bytes(int connection) {
    long long left = measure_number("bytes");
    while (left > 0) {
        ssize_t count = write(connection, chunk, left < chunk_size ? (size_t)left : chunk_size);
        if (count <= 0) return;
        left -= count;
    }
}

static void sink_bytes(int connection) {
    char *buffer = malloc(chunk_size);
    if (!buffer) return;
    ssize_t count;
    do count = read(connection, buffer, chunk_size);
    while (count > 0);
    if (count == 0 && write(connection, "k", 1) != 1) perror("sink");
    free(buffer);
}

static void echo_bytes(int connection) {
    char buffer[64 * 1024];
    ssize_t count;
    while ((count = read(connection, buffer, sizeof buffer)) > 0) {
        for (ssize_t sent = 0; sent < count;) {
            ssize_t more = write(connection, buffer + sent, (size_t)(count - sent));
            if (more <= 0) return;
            sent += more;
        }
    }
}

static int listen_on_loopback(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 4096) != 0) measure_fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void (*serve)(int connection);

static void *serve_connection(void *argument) {
    int connection = (int)(intptr_t)argument;
    serve(connection);
    close(connection);
    return NULL;
}

static void serve_each_on_a_thread(void (*body)(int connection)) {
    serve = body;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int listener = listen_on_loopback();
    for (;;) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0) measure_fail("accept");
        int on = 1;
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t thread;
        if (pthread_create(&thread, &detached, serve_connection, (void *)(intptr_t)connection) != 0) close(connection);
    }
}

static void send_row(void) { serve_each_on_a_thread(send_bytes); }
static void sink_row(void) { serve_each_on_a_thread(sink_bytes); }
static void echo_row(void) { serve_each_on_a_thread(echo_bytes); }

static void hold_row(void) {
    int listener = listen_on_loopback();
    int queue = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(queue, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event events[64];
        int count = epoll_wait(queue, events, 64, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd != listener) {
                close(events[i].data.fd); // closed by the client, which never sends anything else here
                continue;
            }
            int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            if (connection < 0) measure_fail("accept");
            event = (struct epoll_event){.events = EPOLLIN | EPOLLRDHUP, .data.fd = connection};
            epoll_ctl(queue, EPOLL_CTL_ADD, connection, &event);
        }
    }
}

int main(int count, char **words) {
    static const struct measure_row rows[] = {
        {"send", send_row}, {"sink", sink_row}, {"echo", echo_row}, {"hold", hold_row}, {NULL, NULL},
    };
    memset(chunk, 'x', sizeof chunk);
    return measure_main(count, words, rows);
}
