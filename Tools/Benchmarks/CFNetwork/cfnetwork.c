// CFNetwork in C, installed by Scripts/install --cfnetwork: rows of the same program as its users write.

#include <CFNetwork/CFNetwork.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

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
        {"read", read_row}, {"events", events_row}, {"byte", byte_row}, {"message", message_row}, {"stream", stream_row}, {NULL, NULL},
    };
    return measure_main(count, words, rows);
}
