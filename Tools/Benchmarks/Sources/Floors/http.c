// Keep-alive GET requests with minimal HTTP: see measure_response_length.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "floors.h"
#include "measure.h"

static char request[256];
static size_t request_length;

static void make_request(void) {
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", measure_text("path"));
    if (length < 0 || (size_t)length >= sizeof request) measure_fail("path= is too long");
    request_length = (size_t)length;
}

static void send_request(int connection) {
    if (send(connection, request, request_length, 0) != (ssize_t)request_length) measure_fail("send");
}

static size_t receive_response(int connection) {
    static char buffer[64 * 1024 + 1];
    size_t have = 0, need = 0;
    do {
        ssize_t count = recv(connection, buffer + have, sizeof buffer - 1 - have, 0);
        if (count <= 0) measure_fail("recv");
        have += (size_t)count;
        buffer[have] = 0;
        if (!need) need = measure_response_length(buffer, have);
    } while (!need || have < need);
    return have;
}

void http_row(void) {
    int connection = measure_connect((int)measure_number("port"));
    long long count = measure_number("count");
    double bytes = 0;
    make_request();
    measure_begin();
    for (long long i = 0; i < count; i++) {
        send_request(connection);
        bytes += (double)receive_response(connection);
    }
    measure_end((double)count, bytes);
}

void http_many_row(void) {
    int port = (int)measure_number("port");
    int connections = (int)measure_number("connections");
    long long count = measure_number("count"), sent = 0, done = 0;
    double bytes = 0;
    make_request();
    int queue = epoll_create1(EPOLL_CLOEXEC);
    int *descriptors = calloc((size_t)connections, sizeof *descriptors);
    if (!descriptors) measure_fail("calloc");
    for (int i = 0; i < connections; i++) {
        descriptors[i] = measure_connect(port);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptors[i]};
        epoll_ctl(queue, EPOLL_CTL_ADD, descriptors[i], &event);
    }
    measure_begin();
    for (int i = 0; i < connections && sent < count; i++, sent++) send_request(descriptors[i]);
    while (done < count) {
        struct epoll_event events[64];
        int ready = epoll_wait(queue, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            bytes += (double)receive_response(events[i].data.fd);
            done++;
            if (sent < count) {
                send_request(events[i].data.fd);
                sent++;
            }
        }
    }
    measure_end((double)count, bytes);
}
