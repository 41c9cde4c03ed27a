// Round trips of one byte, and idle connections.

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floors.h"
#include "measure.h"

void ping_row(void) {
    int connection = measure_connect((int)measure_number("port"));
    long long rounds = measure_number("count");
    char byte = 1;
    measure_begin();
    for (long long i = 0; i < rounds; i++) {
        if (write(connection, &byte, 1) != 1 || read(connection, &byte, 1) != 1) measure_fail("ping");
    }
    measure_end((double)rounds, 0);
}

/// Tries to read, and waits in epoll if there is nothing yet: the lower bound for engines with an event loop.
void ping_epoll_row(void) {
    int connection = measure_connect((int)measure_number("port"));
    long long rounds = measure_number("count");
    int queue = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    epoll_ctl(queue, EPOLL_CTL_ADD, connection, &event);
    char byte = 1;
    measure_begin();
    for (long long i = 0; i < rounds; i++) {
        if (send(connection, &byte, 1, MSG_DONTWAIT) != 1) measure_fail("send");
        while (recv(connection, &byte, 1, MSG_DONTWAIT) != 1) epoll_wait(queue, &event, 1, -1);
    }
    measure_end((double)rounds, 0);
}

/// Many connections on one thread.
void ping_many_row(void) {
    int port = (int)measure_number("port");
    int connections = (int)measure_number("connections");
    long long each = measure_number("count") / connections;
    struct peer {
        int descriptor;
        long long left;
    } *peers = calloc((size_t)connections, sizeof *peers);
    if (!peers) measure_fail("calloc");
    int queue = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < connections; i++) {
        peers[i] = (struct peer){.descriptor = measure_connect(port), .left = each};
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &peers[i]};
        epoll_ctl(queue, EPOLL_CTL_ADD, peers[i].descriptor, &event);
    }
    char byte = 1;
    measure_begin();
    for (int i = 0; i < connections; i++) {
        if (send(peers[i].descriptor, &byte, 1, 0) != 1) measure_fail("send");
    }
    for (int active = connections; active > 0;) {
        struct epoll_event events[64];
        int count = epoll_wait(queue, events, 64, -1);
        for (int i = 0; i < count; i++) {
            struct peer *peer = events[i].data.ptr;
            if (recv(peer->descriptor, &byte, 1, MSG_DONTWAIT) != 1) continue;
            if (--peer->left == 0)
                active--;
            else if (send(peer->descriptor, &byte, 1, 0) != 1)
                measure_fail("send");
        }
    }
    measure_end((double)(each * connections), 0);
}

void idle_row(void) {
    int port = (int)measure_number("port");
    long long connections = measure_number("connections");
    int queue = epoll_create1(EPOLL_CLOEXEC);
    long before = measure_private_bytes();
    measure_begin();
    for (long long i = 0; i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLET};
        epoll_ctl(queue, EPOLL_CTL_ADD, measure_connect(port), &event);
    }
    measure_note("memory", (double)(measure_private_bytes() - before));
    measure_end((double)connections, 0);
}
