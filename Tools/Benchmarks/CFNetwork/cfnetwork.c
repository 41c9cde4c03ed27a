// CFNetwork in C, installed by Scripts/install --cfnetwork: rows of the same program as its users write.

#include <CFNetwork/CFNetwork.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "measure.h"

static UInt8 *buffer;
static CFIndex bufferSize;
static double bytes, reads;

static CFReadStreamRef connected(void) {
    CFReadStreamRef stream;
    bufferSize = (CFIndex)measure_number("buffer");
    buffer = malloc((size_t)bufferSize);
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), (UInt32)measure_number("port"), &stream, NULL);
    return stream;
}

static void finish(CFReadStreamRef stream, CFIndex count) {
    if (count < 0) measure_stop("the stream failed", 1);
    CFReadStreamClose(stream);
    CFRelease(stream);
}

static void read_row(void) {
    CFIndex count;
    CFReadStreamRef stream = connected();
    measure_begin();
    CFReadStreamOpen(stream);
    while ((count = CFReadStreamRead(stream, buffer, bufferSize)) > 0) {
        bytes += (double)count;
        reads++;
    }
    finish(stream, count);
    measure_end(reads, bytes);
}

static void event(CFReadStreamRef stream, CFStreamEventType type, void *info) {
    if (type == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, buffer, bufferSize);
        if (count > 0) bytes += (double)count;
        reads++;
    } else if (type == kCFStreamEventEndEncountered || type == kCFStreamEventErrorOccurred) {
        *(CFIndex *)info = type == kCFStreamEventErrorOccurred ? -1 : 0;
        CFRunLoopStop(CFRunLoopGetCurrent());
    }
}

static void events_row(void) {
    CFIndex result = 0;
    CFReadStreamRef stream = connected();
    CFStreamClientContext context = {0, &result, NULL, NULL, NULL};
    measure_begin();
    CFReadStreamSetClient(
        stream, kCFStreamEventHasBytesAvailable | kCFStreamEventEndEncountered | kCFStreamEventErrorOccurred, event, &context);
    CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFReadStreamOpen(stream);
    CFRunLoopRun();
    finish(stream, result);
    measure_end(reads, bytes);
}

// The lower bound of "events": a version-1 source, whose port on Linux is a descriptor that the run loop adds to its epoll set. The
// run loop reads eight bytes from a port, so the port is another epoll descriptor.

enum { reads_per_turn = 16 };
static struct {
    int connection, epoll;
} floor_;

static struct epoll_event floor_edges = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};

static int floor_port(void *unused) {
    (void)unused;
    return floor_.epoll;
}

static void read_turn(void *unused) {
    (void)unused;
    struct epoll_event edge;
    epoll_wait(floor_.epoll, &edge, 1, 0);
    for (int turn = 0; turn < reads_per_turn; turn++) {
        ssize_t count = recv(floor_.connection, buffer, (size_t)bufferSize, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) {
            CFRunLoopStop(CFRunLoopGetCurrent());
            return;
        }
        bytes += (double)count;
        reads++;
    }
    epoll_ctl(floor_.epoll, EPOLL_CTL_MOD, floor_.connection, &floor_edges); // reports again what is left
}

static void source_row(void) {
    bufferSize = (CFIndex)measure_number("buffer");
    buffer = malloc((size_t)bufferSize);
    floor_.epoll = epoll_create1(EPOLL_CLOEXEC);
    CFRunLoopSourceContext1 context = {.version = 1, .getPort = floor_port, .perform = read_turn};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    measure_begin();
    floor_.connection = measure_connect((int)measure_number("port"));
    epoll_ctl(floor_.epoll, EPOLL_CTL_ADD, floor_.connection, &floor_edges);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRunLoopRun();
    measure_end(reads, bytes);
}

/// Single bytes of a response whose body has arrived.
static void byte_row(void) {
    long long count = measure_number("count");
    CFStringRef text = CFStringCreateWithFormat(
        NULL, NULL, CFSTR("http://127.0.0.1:%lld%s"), measure_number("port"), measure_text("path"));
    CFURLRef url = CFURLCreateWithString(NULL, text, NULL);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    double read = 0;
    while (read < (double)count) {
        UInt8 byte;
        CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
        CFReadStreamOpen(stream);
        if (CFReadStreamRead(stream, &byte, 1) != 1) measure_stop("the load failed", 1);
        if (read == 0) measure_begin();
        while (CFReadStreamRead(stream, &byte, 1) == 1) read++;
        CFReadStreamClose(stream);
        CFRelease(stream);
    }
    measure_end(read, 0);
}

static CFURLRef copyURL(void) { return CFURLCreateWithString(NULL, CFSTR("http://127.0.0.1:8000/a"), NULL); }

static void message_row(void) {
    long long count = measure_number("count");
    CFURLRef url = copyURL();
    measure_begin();
    for (long long index = 0; index < count; index++) CFRelease(CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1));
    measure_end((double)count, 0);
}

static void stream_row(void) {
    long long count = measure_number("count");
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), copyURL(), kCFHTTPVersion1_1);
    CFReadStreamRef *kept = calloc((size_t)count, sizeof *kept);
    CFRelease(CFReadStreamCreateForHTTPRequest(NULL, request));
    size_t before = mallinfo2().uordblks;
    measure_begin();
    for (long long index = 0; index < count; index++) kept[index] = CFReadStreamCreateForHTTPRequest(NULL, request);
    measure_note("memory", (double)(mallinfo2().uordblks - before));
    for (long long index = 0; index < count; index++) CFRelease(kept[index]);
    measure_end((double)count, 0);
}

int main(int count, char **words) {
    static const struct measure_row rows[] = {
        {"read", read_row}, {"events", events_row}, {"source", source_row}, {"byte", byte_row}, {"message", message_row}, {"stream", stream_row}, {NULL, NULL},
    };
    return measure_main(count, words, rows);
}
