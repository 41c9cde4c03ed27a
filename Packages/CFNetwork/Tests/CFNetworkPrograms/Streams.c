#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// <dispatch/dispatch.h> is in the toolchain's folder, where the C targets of a package do not find it.
typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_semaphore_s *dispatch_semaphore_t;
extern dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
extern dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
extern uint64_t dispatch_time(uint64_t when, int64_t delta);
extern intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, uint64_t timeout);
extern intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
extern void dispatch_release(void *object);
extern void CFReadStreamSetDispatchQueue(CFReadStreamRef stream, dispatch_queue_t queue);

static void echo(struct Peer *peer, int connection) {
    (void)peer;
    char bytes[4096];
    for (ssize_t count; (count = recv(connection, bytes, sizeof bytes, 0)) > 0;) send(connection, bytes, (size_t)count, MSG_NOSIGNAL);
}

static void releasePair(CFReadStreamRef reader, CFWriteStreamRef writer) {
    CFReadStreamClose(reader);
    CFWriteStreamClose(writer);
    CFRelease(reader);
    CFRelease(writer);
}

/// Writes and reads a text through an open pair whose peer echoes; blocking.
static const char *expectEcho(CFReadStreamRef reader, CFWriteStreamRef writer) {
    UInt8 bytes[16];
    CHECK(CFWriteStreamWrite(writer, (const UInt8 *)"hello", 5) == 5);
    CFIndex count = 0;
    while (count < 5) {
        CFIndex part = CFReadStreamRead(reader, bytes + count, (CFIndex)sizeof bytes - count);
        CHECK(part > 0);
        count += part;
    }
    CHECK(count == 5 && !memcmp(bytes, "hello", 5));
    return NULL;
}

// Parity: SK-010, SK-013, SK-014, SK-023, SK-024, SK-028, SK-030, SK-032, SK-046, SK-056, SK-057, SK-058
const char *CFNetworkPairsProgram(void) {
    int before = openSockets();
    struct Peer peer;
    CHECK(PeerStart(&peer, echo) == 0);
    CFReadStreamRef reader;
    CFWriteStreamRef writer;

    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), peer.port, &reader, &writer);
    CHECK(reader != NULL && writer != NULL);
    CHECK(CFGetTypeID(reader) == CFReadStreamGetTypeID() && CFGetTypeID(writer) == CFWriteStreamGetTypeID());
    CHECK(CFReadStreamGetStatus(reader) == kCFStreamStatusNotOpen);
    UInt8 byte;
    CHECK(CFReadStreamRead(reader, &byte, 1) == -1);
    CHECK(CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
    const char *failure = expectEcho(reader, writer);
    if (failure != NULL) return failure;
    CHECK(CFReadStreamGetStatus(reader) == kCFStreamStatusOpen && CFReadStreamCopyError(reader) == NULL);
    CHECK(CFReadStreamGetError(reader).error == 0 && !CFReadStreamHasBytesAvailable(reader));
    CHECK(CFWriteStreamCanAcceptBytes(writer));
    CFDataRef handle = CFReadStreamCopyProperty(reader, kCFStreamPropertySocketNativeHandle);
    CHECK(handle != NULL && CFDataGetLength(handle) == sizeof(CFSocketNativeHandle));
    CFRelease(handle);
    CFNumberRef port = CFWriteStreamCopyProperty(writer, kCFStreamPropertySocketRemotePortNumber);
    SInt32 number = 0;
    CHECK(port != NULL && CFNumberGetValue(port, kCFNumberSInt32Type, &number) && number == peer.port);
    CFRelease(port);
    CFStringRef name = CFReadStreamCopyProperty(reader, kCFStreamPropertySocketRemoteHostName);
    CHECK(name != NULL && CFEqual(name, CFSTR("127.0.0.1")));
    CFRelease(name);
    CFStringRef description = CFCopyDescription(reader);
    CHECK(description != NULL && CFStringFind(description, CFSTR("read stream, open"), 0).location != kCFNotFound);
    CFRelease(description);
    CFReadStreamClose(reader);
    CHECK(CFReadStreamGetStatus(reader) == kCFStreamStatusClosed && CFReadStreamRead(reader, &byte, 1) == -1);
    releasePair(reader, writer);

    // The address of a socket, and one stream alone.
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(peer.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)&address, sizeof address);
    CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, data};
    CFStreamCreatePairWithPeerSocketSignature(NULL, &signature, &reader, &writer);
    CHECK(reader != NULL && writer != NULL && CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
    if ((failure = expectEcho(reader, writer)) != NULL) return failure;
    releasePair(reader, writer);
    CFStreamCreatePairWithPeerSocketSignature(NULL, &signature, NULL, &writer);
    CHECK(writer != NULL && CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)"x", 1) == 1);
    CFWriteStreamClose(writer);
    CFRelease(writer);
    signature.socketType = SOCK_DGRAM;
    CFStreamCreatePairWithPeerSocketSignature(NULL, &signature, &reader, &writer);
    CHECK(reader == NULL && writer == NULL);
    CFRelease(data);

    // A socket, which the streams close only if the property says so.
    for (int closes = 0; closes < 2; closes++) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        CFStreamCreatePairWithSocket(NULL, pair[0], &reader, &writer);
        if (closes) CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue));
        CHECK(CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
        CHECK(write(pair[1], "ab", 2) == 2);
        CHECK(CFReadStreamHasBytesAvailable(reader) && CFReadStreamRead(reader, &byte, 1) == 1 && byte == 'a');
        CHECK(CFWriteStreamWrite(writer, (const UInt8 *)"c", 1) == 1 && read(pair[1], &byte, 1) == 1 && byte == 'c');
        releasePair(reader, writer);
        CHECK(closes ? send(pair[0], "d", 1, MSG_NOSIGNAL) == -1 && errno == EBADF : send(pair[0], "d", 1, MSG_NOSIGNAL) == 1);
        if (!closes) close(pair[0]);
        close(pair[1]);
    }

    // One stream alone: closing it ends the connection, although the program still has it.
    for (int writes = 0; writes < 2; writes++) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        CFStreamCreatePairWithSocket(NULL, pair[0], writes ? NULL : &reader, writes ? &writer : NULL);
        if (writes) {
            CHECK(CFWriteStreamSetProperty(writer, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue));
            CHECK(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)"e", 1) == 1);
            CFWriteStreamClose(writer);
            CHECK(read(pair[1], &byte, 1) == 1 && byte == 'e');
        } else {
            CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue));
            CHECK(CFReadStreamOpen(reader));
            CFReadStreamClose(reader);
        }
        CHECK(recv(pair[1], &byte, 1, MSG_DONTWAIT) == 0);
        CHECK(fcntl(pair[0], F_GETFD) == -1);
        CFRelease(writes ? (CFTypeRef)writer : (CFTypeRef)reader);
        close(pair[1]);
    }

    // Arguments without streams.
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), 70000, &reader, &writer);
    CHECK(reader == NULL && writer == NULL);
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR(""), 80, &reader, NULL);
    CHECK(reader == NULL);
    CFStreamCreateBoundPair(NULL, &reader, &writer, 0);
    CHECK(reader == NULL && writer == NULL);
    CFStreamCreateBoundPair(NULL, &reader, &writer, (CFIndex)1 << 62);
    CHECK(reader == NULL && writer == NULL);
    PeerStop(&peer);
    CHECK(openSockets() == before);
    return NULL;
}

// Parity: SK-009, SK-026, SK-028, SK-030
const char *CFNetworkBoundPairProgram(void) {
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    CFStreamCreateBoundPair(NULL, &reader, &writer, 4);
    CHECK(CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
    CHECK(CFWriteStreamWrite(writer, (const UInt8 *)"abcdef", 6) == 4 && !CFWriteStreamCanAcceptBytes(writer));
    UInt8 bytes[8];
    CHECK(CFReadStreamHasBytesAvailable(reader) && CFReadStreamRead(reader, bytes, 3) == 3 && !memcmp(bytes, "abc", 3));
    CHECK(CFWriteStreamCanAcceptBytes(writer) && CFWriteStreamWrite(writer, (const UInt8 *)"ef", 2) == 2);
    CFWriteStreamClose(writer);
    CFIndex count = 0, part;
    while ((part = CFReadStreamRead(reader, bytes + count, 8 - count)) > 0) count += part;
    CHECK(part == 0 && count == 3 && !memcmp(bytes, "def", 3) && CFReadStreamGetStatus(reader) == kCFStreamStatusAtEnd);
    CHECK(CFReadStreamRead(reader, bytes, 1) == 0);
    releasePair(reader, writer);
    return NULL;
}

static const char *expectError(CFReadStreamRef reader, CFStringRef domain, CFIndex code, CFIndex streamDomain, SInt32 number) {
    UInt8 byte;
    CFReadStreamOpen(reader);
    CHECK(CFReadStreamRead(reader, &byte, 1) == -1);
    CHECK(CFReadStreamGetStatus(reader) == kCFStreamStatusError);
    CFErrorRef error = CFReadStreamCopyError(reader);
    CHECK(error != NULL && CFEqual(CFErrorGetDomain(error), domain) && CFErrorGetCode(error) == code);
    CFStringRef text = CFErrorCopyDescription(error);
    CHECK(text != NULL && CFStringGetLength(text) > 10);
    CFRelease(text);
    CFRelease(error);
    CFStreamError old = CFReadStreamGetError(reader);
    CHECK(old.domain == streamDomain && old.error == number);
    return NULL;
}

/// The number of references to an object: those of CoreFoundation on Linux are Swift's. (CFGetRetainCount does not exist there.)
extern size_t swift_retainCount(const void *object);

/// A stream that fails while it is being opened has one error, which it releases.
static const char *failsAtOnce(void) {
    CFReadStreamRef reader;
    CFStreamCreatePairWithSocket(NULL, 1 << 20, &reader, NULL); // no descriptor
    CHECK(!CFReadStreamOpen(reader));
    CFErrorRef first = CFReadStreamCopyError(reader);
    CHECK(first != NULL && swift_retainCount(first) == 2);
    // CoreFoundation asks whether the stream has opened, with its variable for the error.
    CHECK(CFReadStreamGetStatus(reader) == kCFStreamStatusError);
    CFErrorRef second = CFReadStreamCopyError(reader);
    CHECK(second == first);
    CFRelease(second);
    CFRelease(reader);
    CHECK(swift_retainCount(first) == 1);
    CFRelease(first);
    return NULL;
}

// Parity: SK-045, SK-046, SK-048, SK-049
const char *CFNetworkErrorsProgram(void) {
    int before = openSockets();
    const char *lost = failsAtOnce();
    if (lost != NULL) return lost;
    struct Peer peer;
    CHECK(PeerStart(&peer, echo) == 0);
    PeerStop(&peer); // nothing listens at its port
    CFReadStreamRef reader;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), peer.port, &reader, NULL);
    const char *failure = expectError(reader, kCFErrorDomainPOSIX, ECONNREFUSED, kCFStreamErrorDomainPOSIX, ECONNREFUSED);
    if (failure != NULL) return failure;
    CFRelease(reader);

    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("no-such-host.invalid"), 80, &reader, NULL);
    CFReadStreamOpen(reader);
    UInt8 byte;
    CHECK(CFReadStreamRead(reader, &byte, 1) == -1);
    CFErrorRef error = CFReadStreamCopyError(reader);
    CHECK(error != NULL && CFEqual(CFErrorGetDomain(error), kCFErrorDomainCFNetwork));
    CHECK(CFErrorGetCode(error) == kCFHostErrorUnknown);
    CFDictionaryRef info = CFErrorCopyUserInfo(error);
    CHECK(CFDictionaryContainsKey(info, kCFGetAddrInfoFailureKey));
    CFRelease(info);
    CFRelease(error);
    CHECK(CFReadStreamGetError(reader).domain == 12);
    CFRelease(reader);
    CHECK(openSockets() == before);
    return NULL;
}

// Events on a run loop.

struct Log {
    char text[256];
    int retains, releases;
    CFRunLoopRef loop;
    Boolean closesAtBytes, isWriter;
};

static void *retainLog(void *info) { ((struct Log *)info)->retains++; return info; }
static void releaseLog(void *info) { ((struct Log *)info)->releases++; }

static void note(struct Log *log, CFStreamEventType event) {
    const char *name = event == kCFStreamEventOpenCompleted ? "open " : event == kCFStreamEventHasBytesAvailable ? "bytes "
        : event == kCFStreamEventCanAcceptBytes ? "space " : event == kCFStreamEventErrorOccurred ? "error " : "end ";
    if (strlen(log->text) + 10 < sizeof log->text) strcat(log->text, name);
}

static void readEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    struct Log *log = info;
    note(log, event);
    UInt8 bytes[64];
    if (event == kCFStreamEventHasBytesAvailable && CFReadStreamRead(stream, bytes, sizeof bytes) < 0) note(log, kCFStreamEventErrorOccurred);
    if (event == kCFStreamEventEndEncountered || event == kCFStreamEventErrorOccurred || (event == kCFStreamEventHasBytesAvailable && log->closesAtBytes)) {
        CFReadStreamClose(stream);
        CFRunLoopStop(log->loop);
    }
}

static void writeEvent(CFWriteStreamRef stream, CFStreamEventType event, void *info) {
    note(info, event);
    if (event == kCFStreamEventCanAcceptBytes) {
        CFWriteStreamWrite(stream, (const UInt8 *)"hello", 5);
        CFWriteStreamUnscheduleFromRunLoop(stream, ((struct Log *)info)->loop, kCFRunLoopCommonModes);
    }
}

static const CFOptionFlags allEvents = kCFStreamEventOpenCompleted | kCFStreamEventHasBytesAvailable | kCFStreamEventCanAcceptBytes
    | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered;

// Parity: SK-033, SK-070, SK-071, SK-072, SK-073, SK-074, SK-077, SK-080
const char *CFNetworkEventsProgram(void) {
    int before = openSockets();
    struct Peer peer;
    CHECK(PeerStart(&peer, echo) == 0);
    struct Log readLog = {.loop = CFRunLoopGetCurrent(), .closesAtBytes = TRUE}, writeLog = {.loop = CFRunLoopGetCurrent()};
    CFStreamClientContext readContext = {0, &readLog, retainLog, releaseLog, NULL}, writeContext = {0, &writeLog, retainLog, releaseLog, NULL};
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("localhost"), peer.port, &reader, &writer);
    CHECK(CFReadStreamSetClient(reader, allEvents, readEvent, &readContext));
    CHECK(CFWriteStreamSetClient(writer, allEvents, writeEvent, &writeContext));
    CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFWriteStreamScheduleWithRunLoop(writer, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CHECK(CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped);
    CHECK(!strcmp(readLog.text, "open bytes "));
    CHECK(!strcmp(writeLog.text, "open space "));
    CHECK(readLog.retains == readLog.releases + 1);
    CHECK(CFReadStreamSetClient(reader, kCFStreamEventNone, NULL, NULL) && readLog.retains == readLog.releases);
    releasePair(reader, writer);
    CHECK(writeLog.retains > 0 && writeLog.retains == writeLog.releases);
    PeerStop(&peer);

    // The end, and an error, on a stream that is released in its own callback's run loop turn.
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    memset(&readLog, 0, sizeof readLog);
    readLog.loop = CFRunLoopGetCurrent();
    CFStreamCreatePairWithSocket(NULL, pair[0], &reader, NULL);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue));
    CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), CFSTR("a mode of its own"));
    CHECK(CFReadStreamSetClient(reader, allEvents, readEvent, &readContext));
    CHECK(CFReadStreamOpen(reader));
    close(pair[1]);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, FALSE) != kCFRunLoopRunStopped && readLog.text[0] == 0);
    CHECK(CFRunLoopRunInMode(CFSTR("a mode of its own"), 20, FALSE) == kCFRunLoopRunStopped);
    CHECK(!strcmp(readLog.text, "open end "));
    CFRelease(reader);
    CHECK(readLog.retains > 0 && readLog.retains == readLog.releases);

    memset(&readLog, 0, sizeof readLog);
    readLog.loop = CFRunLoopGetCurrent();
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), peer.port, &reader, NULL);
    CHECK(CFReadStreamSetClient(reader, allEvents, readEvent, &readContext));
    CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFReadStreamOpen(reader);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped);
    CHECK(!strcmp(readLog.text, "error "));
    CFRelease(reader);

    // Released while it is open, without being closed: no event follows, and the run loop has no source left. (CoreFoundation
    // keeps a stream that is still scheduled.)
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CFStreamCreatePairWithSocket(NULL, pair[0], &reader, NULL);
    CFReadStreamSetProperty(reader, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue);
    CFReadStreamSetClient(reader, allEvents, readEvent, &readContext);
    CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CHECK(CFReadStreamOpen(reader));
    CFReadStreamUnscheduleFromRunLoop(reader, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFRelease(reader);
    CHECK(send(pair[1], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE); // closed
    close(pair[1]);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunFinished);
    CHECK(openSockets() == before);
    return NULL;
}

/// A blocking read of a stream that is scheduled on a run loop which does not run.
const char *CFNetworkMixedProgram(void) {
    struct Peer peer;
    CHECK(PeerStart(&peer, echo) == 0);
    struct Log log = {.loop = CFRunLoopGetCurrent()};
    CFStreamClientContext context = {0, &log, NULL, NULL, NULL};
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), peer.port, &reader, &writer);
    CFReadStreamSetClient(reader, allEvents, readEvent, &context);
    CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), CFSTR("never run"));
    CFWriteStreamScheduleWithRunLoop(writer, CFRunLoopGetCurrent(), CFSTR("never run"));
    CHECK(CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
    const char *failure = expectEcho(reader, writer);
    if (failure != NULL) return failure;
    CHECK(log.text[0] == 0 || !strcmp(log.text, "open "));
    releasePair(reader, writer);
    PeerStop(&peer);
    return NULL;
}

static void queueEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    UInt8 bytes[1024];
    CFIndex *total = info;
    if (event == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, bytes, sizeof bytes);
        if (count > 0) total[0] += count;
    }
    if (event == kCFStreamEventEndEncountered || event == kCFStreamEventErrorOccurred) {
        total[1] = (CFIndex)event;
        dispatch_semaphore_signal((dispatch_semaphore_t)(void *)total[2]);
    }
}

// Parity: SK-082
const char *CFNetworkQueueProgram(void) {
    int pair[2];
    char bytes[20000] = {0};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CFReadStreamRef reader;
    CFStreamCreatePairWithSocket(NULL, pair[0], &reader, NULL);
    CFReadStreamSetProperty(reader, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue);
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    CFIndex total[3] = {0, 0, (CFIndex)(void *)done};
    CFStreamClientContext context = {0, total, NULL, NULL, NULL};
    dispatch_queue_t queue = dispatch_queue_create("CFNetworkQueueProgram", NULL);
    CFReadStreamSetClient(reader, allEvents, queueEvent, &context);
    CFReadStreamSetDispatchQueue(reader, queue);
    CHECK(CFReadStreamOpen(reader));
    CHECK(write(pair[1], bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    close(pair[1]);
    CHECK(dispatch_semaphore_wait(done, dispatch_time(0, 20000000000)) == 0);
    CHECK(total[0] == (CFIndex)sizeof bytes && total[1] == kCFStreamEventEndEncountered);
    CFReadStreamSetDispatchQueue(reader, NULL);
    CFReadStreamClose(reader);
    CFRelease(reader);
    dispatch_release(queue);
    dispatch_release(done);
    return NULL;
}
