// The documented behaviour of streams and messages that the other programs do not observe.

#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static Boolean isText(CFStringRef string, const char *text) {
    char buffer[512];
    if (string == NULL) return text == NULL;
    Boolean same = text != NULL && CFStringGetCString(string, buffer, sizeof buffer, kCFStringEncodingUTF8) && !strcmp(buffer, text);
    CFRelease(string);
    return same;
}

static CFHTTPMessageRef received(const char *text, Boolean isRequest) {
    CFHTTPMessageRef message = CFHTTPMessageCreateEmpty(NULL, isRequest);
    if (CFHTTPMessageAppendBytes(message, (const UInt8 *)text, (CFIndex)strlen(text))) return message;
    CFRelease(message);
    return NULL;
}

// Parity: HM-005, HM-033, HM-035, HM-038
const char *CFNetworkMessageRulesProgram(void) {
    // Phrases: standard ones, and one for every other status.
    CFHTTPMessageRef message = CFHTTPMessageCreateResponse(NULL, 418, NULL, kCFHTTPVersion1_1);
    CFStringRef line = CFHTTPMessageCopyResponseStatusLine(message);
    CHECK(CFStringHasPrefix(line, CFSTR("HTTP/1.1 418")));
    CFRelease(line);
    CFRelease(message);
    message = CFHTTPMessageCreateResponse(NULL, 201, CFSTR("Made"), kCFHTTPVersion1_0);
    CHECK(isText(CFHTTPMessageCopyResponseStatusLine(message), "HTTP/1.0 201 Made"));
    CFRelease(message);

    // Line ends without CR, empty lines before the first one, and a folded line.
    message = received("\r\n\r\nHTTP/1.1 200 OK\nX-A: one\n\ntwo", FALSE);
    CHECK(message != NULL && CFHTTPMessageIsHeaderComplete(message) && isText(CFHTTPMessageCopyHeaderFieldValue(message, CFSTR("x-a")), "one"));
    CFRelease(message);
    message = received("HTTP/1.1 200 OK\r\nX-A: one\r\n  two\r\n\r\n", FALSE);
    CHECK(message != NULL && isText(CFHTTPMessageCopyHeaderFieldValue(message, CFSTR("X-A")), "one two"));
    CFRelease(message);
    CHECK(received("HTTP/1.1 200 OK\r\n folded: first\r\n\r\n", FALSE) == NULL && received("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", FALSE) == NULL);
    return NULL;
}

static void serve(struct Peer *peer, int connection) {
    char line[512], path[128] = "", fields[1024];
    while (PeerReadLine(connection, line, sizeof line) > 0) {
        snprintf(path, sizeof path, "%.100s", strchr(line, ' ') + 1);
        *strchr(path, ' ') = 0;
        Boolean isHead = !strncmp(line, "HEAD ", 5);
        fields[0] = 0;
        long length = 0;
        while (PeerReadLine(connection, line, sizeof line) > 0) {
            if (!strncasecmp(line, "content-length:", 15)) length = atol(line + 15);
            if (strlen(fields) + strlen(line) + 2 < sizeof fields) strcat(strcat(fields, line), "\n");
        }
        for (char byte; length > 0 && recv(connection, &byte, 1, 0) == 1; length--) continue;
        if (!strcmp(path, "/chunks")) {
            PeerSend(connection, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n");
        } else if (!strcmp(path, "/none")) {
            PeerSend(connection, "HTTP/1.1 204 No Content\r\n\r\n");
        } else if (!strcmp(path, "/continue")) {
            PeerSend(connection, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        } else if (!strcmp(path, "/close")) {
            PeerSend(connection, "HTTP/1.0 200 OK\r\n\r\nuntil the end");
            return;
        } else if (!strcmp(path, "/short")) {
            PeerSend(connection, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
            return;
        } else if (!strcmp(path, "/loop")) {
            PeerSend(connection, "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n");
        } else if (!strcmp(path, "/nowhere")) {
            PeerSend(connection, "HTTP/1.1 302 Found\r\nContent-Length: 4\r\n\r\nhere");
        } else {
            char answer[2048];
            snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(fields), isHead ? "" : fields);
            PeerSend(connection, answer);
        }
    }
}

static struct Peer peer;

/// - Parameter userAgent: NULL for a request without the field.
static CFReadStreamRef createLoadWithAgent(const char *method, const char *path, CFStringRef userAgent) {
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("http://127.0.0.1:%d%s"), peer.port, path);
    CFURLRef url = CFURLCreateWithString(NULL, text, NULL);
    CFStringRef name = CFStringCreateWithCString(NULL, method, kCFStringEncodingUTF8);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, name, url, kCFHTTPVersion1_1);
    if (userAgent != NULL) CFHTTPMessageSetHeaderFieldValue(request, CFSTR("User-Agent"), userAgent);
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("X-Late"), CFSTR("the stream has a copy"));
    CFRelease(request);
    CFRelease(name);
    CFRelease(url);
    CFRelease(text);
    return stream;
}

static CFReadStreamRef createLoad(const char *method, const char *path) { return createLoadWithAgent(method, path, NULL); }

struct Events {
    char text[256];
    char body[2048];
    size_t count;
};

static void loadEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    struct Events *events = info;
    const char *name = event == kCFStreamEventOpenCompleted ? "open " : event == kCFStreamEventHasBytesAvailable ? "bytes "
        : event == kCFStreamEventEndEncountered ? "end " : "error ";
    // Several events for bytes count as one.
    size_t length = strlen(events->text);
    if (event != kCFStreamEventHasBytesAvailable || length < 6 || strcmp(events->text + length - 6, "bytes ")) strcat(events->text, name);
    if (event == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, (UInt8 *)events->body + events->count, (CFIndex)(sizeof events->body - 1 - events->count));
        if (count > 0) events->count += (size_t)count;
    }
    if (event == kCFStreamEventEndEncountered || event == kCFStreamEventErrorOccurred) CFRunLoopStop(CFRunLoopGetCurrent());
}

/// Loads on the run loop. Returns whether the order of events is this one; a callback that reads keeps the body.
static Boolean loads(CFReadStreamRef stream, const char *order, struct Events *events) {
    CFStreamClientContext context = {0, events, NULL, NULL, NULL};
    CFOptionFlags all = kCFStreamEventOpenCompleted | kCFStreamEventHasBytesAvailable | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered;
    memset(events, 0, sizeof *events);
    CFReadStreamSetClient(stream, all, loadEvent, &context);
    CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    Boolean stopped = CFReadStreamOpen(stream) && events->text[0] == 0 && CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped;
    CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    return stopped && !strcmp(events->text, order);
}

static CFHTTPMessageRef copyResponse(CFReadStreamRef stream) {
    return (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
}

// Parity: HM-061, HM-070, HM-071, HM-072, HM-073, HM-074, HM-075, HM-076, HM-077, HM-078, HM-079, HM-080, HM-086, HM-087
const char *CFNetworkTransfersProgram(void) {
    struct Events events;
    CHECK(PeerStart(&peer, serve) == 0);

    // What a stream sends: nothing that the program has not set but Host, User-Agent and Connection.
    CFReadStreamRef stream = createLoad("GET", "/fields");
    CHECK(loads(stream, "open bytes end ", &events));
    char host[64];
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\n", peer.port);
    CHECK(strstr(events.body, host) && strstr(events.body, "User-Agent: ") && strstr(events.body, "Connection: close\n"));
    CHECK(!strstr(events.body, "Accept") && !strstr(events.body, "Content-Length") && !strstr(events.body, "X-Late"));
    CFReadStreamClose(stream);
    CHECK(CFReadStreamGetStatus(stream) == kCFStreamStatusClosed);
    CFHTTPMessageRef response = copyResponse(stream); // also after the end
    CHECK(response != NULL && CFHTTPMessageGetResponseStatusCode(response) == 200 && CFHTTPMessageCopyBody(response) == NULL);
    CFRelease(response);
    CFRelease(stream);
    stream = createLoad("POST", "/fields");
    CHECK(loads(stream, "open bytes end ", &events) && strstr(events.body, "Content-Length: 0\n"));
    CFRelease(stream);

    // A User-Agent that the program has set is sent as it is, also if it is empty.
    stream = createLoadWithAgent("GET", "/fields", CFSTR("mine/1"));
    CHECK(loads(stream, "open bytes end ", &events) && strstr(events.body, "User-Agent: mine/1\n"));
    CFRelease(stream);
    stream = createLoadWithAgent("GET", "/fields", CFSTR(""));
    CHECK(loads(stream, "open bytes end ", &events) && strstr(events.body, "User-Agent: \n"));
    CFRelease(stream);

    // Chunks are decoded, and 100 is not reported.
    stream = createLoad("GET", "/chunks");
    CHECK(loads(stream, "open bytes end ", &events) && !strcmp(events.body, "abcde"));
    response = copyResponse(stream);
    CHECK(CFHTTPMessageCopyHeaderFieldValue(response, CFSTR("Transfer-Encoding")) == NULL && isText(CFHTTPMessageCopyHeaderFieldValue(response, CFSTR("X-A")), "b"));
    CFRelease(response);
    CFRelease(stream);
    stream = createLoad("GET", "/continue");
    CHECK(loads(stream, "open bytes end ", &events) && !strcmp(events.body, "ok"));
    CFRelease(stream);
    stream = createLoad("GET", "/close");
    CHECK(loads(stream, "open bytes end ", &events) && !strcmp(events.body, "until the end"));
    CFRelease(stream);

    // Without a body, the end is the only event after the opening.
    const char *bodiless[][2] = {{"HEAD", "/fields"}, {"GET", "/none"}};
    for (int i = 0; i < 2; i++) {
        stream = createLoad(bodiless[i][0], bodiless[i][1]);
        CHECK(loads(stream, "open end ", &events));
        response = copyResponse(stream);
        CHECK(CFHTTPMessageGetResponseStatusCode(response) == (i ? 204 : 200));
        CFRelease(response);
        CFRelease(stream);
    }

    // A body that is cut off: its bytes, then an error.
    stream = createLoad("GET", "/short");
    CHECK(loads(stream, "open bytes error ", &events) && !strcmp(events.body, "abc") && CFReadStreamGetError(stream).error != 0);
    CHECK(CFReadStreamGetStatus(stream) == kCFStreamStatusError);
    CFReadStreamClose(stream);
    CHECK(CFReadStreamGetStatus(stream) == kCFStreamStatusError);
    CFRelease(stream);

    // Redirects: a loop, and one without a location.
    stream = createLoad("GET", "/loop");
    CHECK(CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue));
    CHECK(loads(stream, "error ", &events) || !strcmp(events.text, "open error "));
    CHECK(CFReadStreamGetError(stream).domain == kCFStreamErrorDomainHTTP && CFReadStreamGetError(stream).error == kCFStreamErrorHTTPRedirectionLoop);
    CFErrorRef error = CFReadStreamCopyError(stream);
    CHECK(CFEqual(CFErrorGetDomain(error), kCFErrorDomainCFNetwork) && CFErrorGetCode(error) == kCFErrorHTTPRedirectionLoopDetected);
    CFRelease(error);
    CFRelease(stream);
    stream = createLoad("GET", "/nowhere");
    CHECK(CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue));
    CHECK(loads(stream, "open bytes end ", &events) && !strcmp(events.body, "here"));
    CFRelease(stream);
    PeerStop(&peer);
    return NULL;
}

/// A pair over one end of a pair of sockets; the other end is `other`.
static void createPair(CFReadStreamRef *reader, CFWriteStreamRef *writer, int *other) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    CFStreamCreatePairWithSocket(NULL, pair[0], reader, writer);
    CFReadStreamSetProperty(*reader, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue);
    *other = pair[1];
}

struct Loop {
    CFIndex total;
    int events;
};

static void loopingEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    struct Loop *loop = info;
    UInt8 bytes[3];
    CFIndex count;
    loop->events++;
    if (event == kCFStreamEventHasBytesAvailable)
        while ((count = CFReadStreamRead(stream, bytes, sizeof bytes)) > 0) loop->total += count;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

// Parity: SK-021, SK-023, SK-030, SK-031, SK-032, SK-034, SK-037, SK-039, SK-045, SK-055, SK-079
const char *CFNetworkStatesProgram(void) {
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    UInt8 bytes[8];
    int other;

    // Opened once, closed as often as wanted, never opened again.
    createPair(&reader, &writer, &other);
    CHECK(CFWriteStreamWrite(writer, bytes, 1) == -1 && CFReadStreamRead(reader, bytes, 1) == -1 && CFReadStreamGetError(reader).domain == 0);
    CHECK(CFReadStreamGetStatus(reader) == kCFStreamStatusNotOpen && !CFReadStreamHasBytesAvailable(reader) && !CFWriteStreamCanAcceptBytes(writer));
    CHECK(CFReadStreamOpen(reader) && !CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
    CHECK(write(other, "abc", 3) == 3 && CFReadStreamRead(reader, bytes, 8) == 3); // does not wait for eight
    CHECK(CFReadStreamRead(reader, bytes, 0) == 0 && CFReadStreamGetStatus(reader) == kCFStreamStatusOpen);
    // One half is closed: the other still works.
    CFReadStreamClose(reader);
    CFReadStreamClose(reader);
    CHECK(CFReadStreamGetStatus(reader) == kCFStreamStatusClosed && CFReadStreamRead(reader, bytes, 1) == -1 && !CFReadStreamOpen(reader));
    CHECK(CFWriteStreamWrite(writer, (const UInt8 *)"x", 1) == 1 && read(other, bytes, 1) == 1);
    // The peer goes: an error, and no signal.
    close(other);
    CHECK(CFWriteStreamWrite(writer, (const UInt8 *)"x", 1) == -1 && CFWriteStreamGetStatus(writer) == kCFStreamStatusError);
    CHECK(CFWriteStreamGetError(writer).domain == kCFStreamErrorDomainPOSIX && CFWriteStreamGetError(writer).error == EPIPE);
    CHECK(CFWriteStreamWrite(writer, (const UInt8 *)"x", 1) == -1 && CFWriteStreamGetError(writer).error == EPIPE);
    CFWriteStreamClose(writer);
    CHECK(CFWriteStreamGetStatus(writer) == kCFStreamStatusError);
    CFRelease(reader);
    CFRelease(writer);

    // The end: the rest, then 0 as often as the program reads.
    createPair(&reader, &writer, &other);
    CHECK(CFReadStreamOpen(reader) && write(other, "ab", 2) == 2);
    close(other);
    CHECK(CFReadStreamRead(reader, bytes, 1) == 1 && CFReadStreamRead(reader, bytes, 8) == 1);
    CHECK(CFReadStreamRead(reader, bytes, 8) == 0 && CFReadStreamGetStatus(reader) == kCFStreamStatusAtEnd && CFReadStreamRead(reader, bytes, 8) == 0);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertySocketNativeHandle, kCFBooleanTrue));
    CFRelease(reader);
    CFRelease(writer);

    // A callback that reads to the end gets no further event for bytes.
    createPair(&reader, &writer, &other);
    struct Loop loop = {0, 0};
    CFStreamClientContext context = {0, &loop, NULL, NULL, NULL};
    CHECK(CFReadStreamSetClient(reader, kCFStreamEventHasBytesAvailable, loopingEvent, &context));
    CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CHECK(CFReadStreamOpen(reader) && write(other, "0123456789", 10) == 10);
    close(other);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped && loop.total == 10);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, FALSE) != kCFRunLoopRunStopped && loop.events == 1);
    CFReadStreamClose(reader);
    CFRelease(reader);
    CFRelease(writer);
    return NULL;
}
