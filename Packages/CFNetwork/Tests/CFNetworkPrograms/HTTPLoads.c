#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/// Reads the rest of a request: its fields and body. Keeps the body in `seen`, and its framing in `isChunked`.
static void readRequest(struct Peer *peer, int connection, Boolean *isChunked) {
    char line[1024];
    long length = 0;
    *isChunked = FALSE;
    while (PeerReadLine(connection, line, sizeof line) > 0) {
        if (!strncasecmp(line, "content-length:", 15)) length = atol(line + 15);
        if (!strncasecmp(line, "transfer-encoding: chunked", 26)) *isChunked = TRUE;
    }
    size_t used = 0;
    peer->seen[0] = 0;
    do {
        if (*isChunked && (PeerReadLine(connection, line, sizeof line) <= 0 || (length = strtol(line, NULL, 16)) == 0)) break;
        for (char byte; length > 0 && recv(connection, &byte, 1, 0) == 1; length--)
            if (used + 1 < sizeof peer->seen) peer->seen[used++] = byte;
        if (*isChunked) PeerReadLine(connection, line, sizeof line);
    } while (*isChunked);
    peer->seen[used] = 0;
    if (*isChunked) PeerReadLine(connection, line, sizeof line);
}

static void serve(struct Peer *peer, int connection) {
    char line[1024], answer[8192];
    while (PeerReadLine(connection, line, sizeof line) > 0) {
        Boolean isChunked;
        readRequest(peer, connection, &isChunked);
        char *path = strchr(line, ' ') + 1;
        if (!strncmp(path, "/moved", 6)) {
            snprintf(answer, sizeof answer, "HTTP/1.1 302 Found\r\nLocation: /final?x\r\nContent-Length: 0\r\n\r\n");
        } else if (!strncmp(path, "/missing", 8)) {
            snprintf(answer, sizeof answer, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
        } else if (!strncmp(path, "/garbage", 8)) {
            PeerSend(connection, "What?\r\n\r\n");
            return;
        } else {
            char body[5000];
            snprintf(body, sizeof body, "%s|%s|%s", line, isChunked ? "chunked" : "plain", peer->seen);
            snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
        }
        PeerSend(connection, answer);
    }
}

static CFHTTPMessageRef createRequest(const char *method, const struct Peer *peer, const char *path) {
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("http://127.0.0.1:%d%s"), peer->port, path);
    CFURLRef url = CFURLCreateWithString(NULL, text, NULL);
    CFStringRef name = CFStringCreateWithCString(NULL, method, kCFStringEncodingUTF8);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, name, url, kCFHTTPVersion1_1);
    CFRelease(name);
    CFRelease(url);
    CFRelease(text);
    return request;
}

/// Opens a stream and reads it to the end. Returns whether the body and the status are these.
static Boolean loads(CFReadStreamRef stream, CFIndex status, const char *body) {
    UInt8 bytes[8192];
    CFIndex total = 0, count = -1;
    if (!CFReadStreamOpen(stream)) return FALSE;
    while (total < (CFIndex)sizeof bytes - 1 && (count = CFReadStreamRead(stream, bytes + total, (CFIndex)sizeof bytes - 1 - total)) > 0) total += count;
    if (count < 0) return FALSE;
    bytes[total] = 0;
    CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
    if (response == NULL) return FALSE;
    Boolean isSame = CFHTTPMessageGetResponseStatusCode(response) == status && !strcmp((char *)bytes, body)
        && CFGetTypeID(response) == CFHTTPMessageGetTypeID() && CFHTTPMessageIsHeaderComplete(response);
    CFRelease(response);
    return isSame;
}

static Boolean isNumber(CFTypeRef value, SInt64 expected) {
    SInt64 number = -1;
    if (value == NULL) return FALSE;
    Boolean isSame = CFNumberGetValue(value, kCFNumberSInt64Type, &number) && number == expected;
    CFRelease(value);
    return isSame;
}

// Parity: HM-060, HM-062, HM-064, HM-065, HM-066, HM-067, HM-084, HM-085, HM-086, HM-089, HM-097, HM-098, HM-105, HM-106
const char *CFNetworkHTTPProgram(void) {
    int before = openSockets();
    struct Peer peer;
    CHECK(PeerStart(&peer, serve) == 0);

    CFHTTPMessageRef request = createRequest("GET", &peer, "/a");
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CHECK(stream != NULL && CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader) == NULL);
    CHECK(loads(stream, 200, "GET /a HTTP/1.1|plain|"));
    CHECK(CFReadStreamGetStatus(stream) == kCFStreamStatusAtEnd);
    CHECK(isNumber(CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPRequestBytesWrittenCount), 0));
    CFRelease(stream); // without being closed
    CFRelease(request);

    request = createRequest("POST", &peer, "/b");
    CFDataRef body = CFDataCreate(NULL, (const UInt8 *)"form=1", 6);
    CFHTTPMessageSetBody(request, body);
    CFRelease(body);
    stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFRelease(request);
    CHECK(loads(stream, 200, "POST /b HTTP/1.1|plain|form=1"));
    CHECK(isNumber(CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPRequestBytesWrittenCount), 6));
    CFReadStreamClose(stream);
    CFRelease(stream);

    // Redirects are followed only if the property says so.
    for (int follows = 0; follows < 3; follows++) {
        request = createRequest("GET", &peer, "/moved");
        stream = CFReadStreamCreateForHTTPRequest(NULL, request);
        if (follows == 1) CHECK(CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue));
        if (follows == 2) CFHTTPReadStreamSetRedirectsAutomatically(stream, TRUE);
        CFBooleanRef flag = CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect);
        CHECK(flag == (follows ? kCFBooleanTrue : kCFBooleanFalse));
        CFRelease(flag);
        CHECK(follows ? loads(stream, 200, "GET /final?x HTTP/1.1|plain|") : loads(stream, 302, ""));
        CFURLRef url = CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPFinalURL);
        CHECK(url != NULL && CFStringHasSuffix(CFURLGetString(url), follows ? CFSTR("/final?x") : CFSTR("/moved")));
        CFRelease(url);
        CFHTTPMessageRef last = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPFinalRequest);
        CHECK(last != NULL && CFHTTPMessageIsRequest(last));
        CFStringRef host = CFHTTPMessageCopyHeaderFieldValue(last, CFSTR("Host"));
        CHECK(host != NULL);
        CFRelease(host);
        CFRelease(last);
        CHECK(!CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue)); // open
        CFReadStreamClose(stream);
        CFRelease(stream);
        CFRelease(request);
    }

    // A status is not an error; bytes that are not HTTP are.
    request = createRequest("GET", &peer, "/missing");
    stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CHECK(loads(stream, 404, "none"));
    CFReadStreamClose(stream);
    CFRelease(stream);
    CFRelease(request);
    request = createRequest("GET", &peer, "/garbage");
    stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CHECK(!loads(stream, 200, ""));
    CFStreamError error = CFReadStreamGetError(stream);
    CHECK(error.domain == kCFStreamErrorDomainHTTP && error.error == kCFStreamErrorHTTPParseFailure);
    CFErrorRef object = CFReadStreamCopyError(stream);
    CHECK(CFEqual(CFErrorGetDomain(object), kCFErrorDomainCFNetwork) && CFErrorGetCode(object) == kCFErrorHTTPParseFailure);
    CFRelease(object);
    CFRelease(stream);
    CFRelease(request);

    CFHTTPMessageRef response = CFHTTPMessageCreateResponse(NULL, 200, NULL, kCFHTTPVersion1_1);
    CHECK(CFReadStreamCreateForHTTPRequest(NULL, response) == NULL);
    CFRelease(response);
    PeerStop(&peer);
    CHECK(openSockets() == before);
    return NULL;
}

// Parity: HM-063, HM-107
const char *CFNetworkUploadProgram(void) {
    int before = openSockets();
    struct Peer peer;
    CHECK(PeerStart(&peer, serve) == 0);
    char text[3001];
    memset(text, 'x', 3000);
    text[3000] = 0;
    char expected[4000];
    for (int round = 0; round < 3; round++) {
        CFHTTPMessageRef request = createRequest("PUT", &peer, "/u");
        if (round == 1) CFHTTPMessageSetHeaderFieldValue(request, CFSTR("Content-Length"), CFSTR("3000"));
        CFReadStreamRef body;
        CFWriteStreamRef writer = NULL;
        if (round == 2) { // a stream of this library
            CFStreamCreateBoundPair(NULL, &body, &writer, 4000);
            CHECK(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)text, 3000) == 3000);
            CFWriteStreamClose(writer);
            CFRelease(writer);
        } else {
            body = CFReadStreamCreateWithBytesNoCopy(NULL, (const UInt8 *)text, 3000, kCFAllocatorNull);
        }
        CFReadStreamRef stream = CFReadStreamCreateForStreamedHTTPRequest(NULL, request, body);
        CFRelease(request);
        CFRelease(body);
        snprintf(expected, sizeof expected, "PUT /u HTTP/1.1|%s|%s", round == 1 ? "plain" : "chunked", text);
        CHECK(loads(stream, 200, expected));
        CFReadStreamClose(stream);
        CFRelease(stream);
    }

    // A body that cannot be opened is the stream's error.
    CFURLRef file = CFURLCreateWithFileSystemPath(NULL, CFSTR("/no/such/file"), kCFURLPOSIXPathStyle, FALSE);
    CFReadStreamRef body = CFReadStreamCreateWithFile(NULL, file);
    CFRelease(file);
    CFHTTPMessageRef request = createRequest("PUT", &peer, "/u");
    CFReadStreamRef stream = CFReadStreamCreateForStreamedHTTPRequest(NULL, request, body);
    CFRelease(body);
    CFRelease(request);
    CHECK(!loads(stream, 200, ""));
    CHECK(CFReadStreamGetError(stream).domain == kCFStreamErrorDomainPOSIX && CFReadStreamGetError(stream).error == 2);
    CFRelease(stream);

    // A body whose source stays silent is closed with the stream, although it is being read.
    CFWriteStreamRef writer;
    CFStreamCreateBoundPair(NULL, &body, &writer, 4000);
    CHECK(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)text, 1) == 1);
    request = createRequest("PUT", &peer, "/u");
    stream = CFReadStreamCreateForStreamedHTTPRequest(NULL, request, body);
    CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CHECK(CFReadStreamOpen(stream));
    while (!isNumber(CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPRequestBytesWrittenCount), 1)) CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, TRUE);
    // The next part of the body is being read.
    CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFReadStreamClose(stream);
    while (CFReadStreamGetStatus(body) < kCFStreamStatusAtEnd) sched_yield(); // still open
    CFRelease(stream);
    CFRelease(request);
    CFRelease(body);
    CHECK(CFWriteStreamWrite(writer, (const UInt8 *)text, 1) == -1 && CFWriteStreamGetError(writer).error == EPIPE);
    CFRelease(writer);

    // A stream that is released without being opened.
    body = CFReadStreamCreateWithBytesNoCopy(NULL, (const UInt8 *)text, 3000, kCFAllocatorNull);
    request = createRequest("PUT", &peer, "/u");
    stream = CFReadStreamCreateForStreamedHTTPRequest(NULL, request, body);
    CFRelease(request);
    CFRelease(body);
    CFRelease(stream);
    PeerStop(&peer);
    CHECK(openSockets() == before);
    return NULL;
}

// Parity: HM-090, HM-092, HM-098
const char *CFNetworkHTTPConnectionsProgram(void) {
    struct Peer peer;
    for (int persists = 0; persists < 2; persists++) {
        CHECK(PeerStart(&peer, serve) == 0);
        CFReadStreamRef streams[3];
        for (int i = 0; i < 3; i++) {
            CFHTTPMessageRef request = createRequest("GET", &peer, "/p");
            streams[i] = CFReadStreamCreateForHTTPRequest(NULL, request);
            CFRelease(request);
            if (persists) CHECK(CFReadStreamSetProperty(streams[i], kCFStreamPropertyHTTPAttemptPersistentConnection, kCFBooleanTrue));
            CHECK(loads(streams[i], 200, "GET /p HTTP/1.1|plain|"));
            CFReadStreamClose(streams[i]);
            CFRelease(streams[i]);
        }
        if (persists) {
            // Ends the idle connection, which the peer still serves.
            shutdown(peer.listener, SHUT_RDWR);
            CHECK(peer.connections == 1);
            CFHTTPMessageRef request = createRequest("GET", &peer, "/garbage");
            CFReadStreamRef last = CFReadStreamCreateForHTTPRequest(NULL, request);
            CFRelease(request);
            CFReadStreamSetProperty(last, kCFStreamPropertyHTTPAttemptPersistentConnection, kCFBooleanTrue);
            CHECK(!loads(last, 200, ""));
            CFRelease(last);
        }
        PeerStop(&peer);
        CHECK(peer.connections == (persists ? 1 : 3));
    }

    // A proxy sees the whole URL.
    for (int old = 0; old < 2; old++) {
        CHECK(PeerStart(&peer, serve) == 0);
        CFURLRef url = CFURLCreateWithString(NULL, CFSTR("http://origin.example/path"), NULL);
        CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
        CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
        int port = peer.port;
        CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &port);
        const void *keys[] = {kCFStreamPropertyHTTPProxyHost, kCFStreamPropertyHTTPProxyPort}, *values[] = {CFSTR("127.0.0.1"), number};
        CFDictionaryRef proxy = CFDictionaryCreate(NULL, keys, values, 2, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
        if (old) CFHTTPReadStreamSetProxy(stream, CFSTR("127.0.0.1"), port);
        else CHECK(CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPProxy, proxy));
        CFDictionaryRef copy = CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPProxy);
        CHECK(copy != NULL && CFEqual(CFDictionaryGetValue(copy, kCFStreamPropertyHTTPProxyHost), CFSTR("127.0.0.1")));
        CFRelease(copy);
        CHECK(!CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPProxy, CFSTR("127.0.0.1")));
        CHECK(loads(stream, 200, "GET http://origin.example/path HTTP/1.1|plain|"));
        CFReadStreamClose(stream);
        CFRelease(stream);
        CFRelease(proxy);
        CFRelease(number);
        CFRelease(request);
        CFRelease(url);
        PeerStop(&peer);
    }
    return NULL;
}

static void loadEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    CFMutableStringRef text = info;
    UInt8 bytes[16]; // smaller than the body: several events
    if (event == kCFStreamEventOpenCompleted) CFStringAppend(text, CFSTR("[open]"));
    if (event == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, bytes, sizeof bytes);
        CFStringRef part = CFStringCreateWithBytes(NULL, bytes, count > 0 ? count : 0, kCFStringEncodingUTF8, FALSE);
        CFStringAppend(text, part);
        CFRelease(part);
    }
    if (event == kCFStreamEventEndEncountered || event == kCFStreamEventErrorOccurred) {
        CFStringAppend(text, event == kCFStreamEventEndEncountered ? CFSTR("[end]") : CFSTR("[error]"));
        CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
        CFReadStreamClose(stream);
        CFRelease(stream); // the last reference
    }
}

// Parity: HM-080, SK-080
const char *CFNetworkHTTPEventsProgram(void) {
    int before = openSockets();
    struct Peer peer;
    CHECK(PeerStart(&peer, serve) == 0);
    CFMutableStringRef text = CFStringCreateMutable(NULL, 0);
    CFHTTPMessageRef request = createRequest("GET", &peer, "/events");
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFRelease(request);
    CFStreamClientContext context = {0, text, (void *(*)(void *))CFRetain, (void (*)(void *))CFRelease, (CFStringRef(*)(void *))CFCopyDescription};
    CFOptionFlags events = kCFStreamEventOpenCompleted | kCFStreamEventHasBytesAvailable | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered;
    CHECK(CFReadStreamSetClient(stream, events, loadEvent, &context));
    CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CHECK(CFReadStreamOpen(stream));
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunFinished); // nothing is scheduled any more
    CHECK(CFEqual(text, CFSTR("[open]GET /events HTTP/1.1|plain|[end]")));
    CFRelease(text);
    PeerStop(&peer);
    CHECK(openSockets() == before);
    return NULL;
}
