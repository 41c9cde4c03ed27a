// Bulk data over one connection.

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "floors.h"
#include "measure.h"

static char *buffer_of(size_t size) {
    char *buffer = malloc(size);
    if (!buffer) measure_fail("malloc");
    return memset(buffer, 1, size);
}

void read_row(void) {
    int port = (int)measure_number("port");
    size_t size = (size_t)measure_number("buffer");
    char *buffer = buffer_of(size);
    double bytes = 0, reads = 0;
    ssize_t count;
    measure_begin();
    int connection = measure_connect(port);
    while ((count = read(connection, buffer, size)) > 0) {
        bytes += (double)count;
        reads++;
    }
    if (count < 0) measure_fail("read");
    close(connection);
    measure_end(reads, bytes);
}

/// The sink sends one byte when it has read everything; without waiting for it, data in the kernel's buffers would not count.
static void wait_for_sink(int connection) {
    char byte;
    shutdown(connection, SHUT_WR);
    if (read(connection, &byte, 1) != 1) measure_fail("the sink's answer");
    close(connection);
}

void write_row(void) {
    int port = (int)measure_number("port");
    size_t size = (size_t)measure_number("buffer");
    long long left = measure_number("bytes");
    double bytes = (double)left, writes = 0;
    char *buffer = buffer_of(size);
    measure_begin();
    int connection = measure_connect(port);
    while (left > 0) {
        ssize_t count = write(connection, buffer, left < (long long)size ? (size_t)left : size);
        if (count < 0) measure_fail("write");
        left -= count;
        writes++;
    }
    wait_for_sink(connection);
    measure_end(writes, bytes);
}

/// Writes up to 16 buffers in one call that does not block, like a writer with a queue.
void writev_row(void) {
    enum { most_buffers = 16 };
    int port = (int)measure_number("port");
    size_t size = (size_t)measure_number("buffer");
    long long left = measure_number("bytes");
    double bytes = (double)left, writes = 0;
    char *buffer = buffer_of(size);
    measure_begin();
    int connection = measure_connect(port);
    while (left > 0) {
        struct iovec pieces[most_buffers];
        struct msghdr message = {.msg_iov = pieces};
        for (long long rest = left; rest > 0 && message.msg_iovlen < most_buffers; message.msg_iovlen++) {
            size_t piece = rest < (long long)size ? (size_t)rest : size;
            pieces[message.msg_iovlen] = (struct iovec){.iov_base = buffer, .iov_len = piece};
            rest -= (long long)piece;
        }
        ssize_t count = sendmsg(connection, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0) {
            if (errno != EAGAIN) measure_fail("sendmsg");
            struct pollfd writable = {.fd = connection, .events = POLLOUT};
            poll(&writable, 1, -1);
            continue;
        }
        left -= count;
        writes++;
    }
    wait_for_sink(connection);
    measure_end(writes, bytes);
}
