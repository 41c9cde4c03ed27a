// Sends lines to a TLS server with a client certificate, and prints its answers.
//
//   ./tlsclient HOST PORT CERTIFICATE.pem LINE…       the file has the certificate and its key; - is no certificate
//
// On Apple's systems the identity is a SecIdentityRef; on Linux it may also be the text of the file, as here.

#include <CFNetwork/CFNetwork.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    CFReadStreamRef readStream;
    CFWriteStreamRef writeStream;
    char **lines;
    CFIndex sent; // of the current line, with its newline
    int received, expected;
    char buffer[1024];
    size_t length;
    int failed;
} Session;

static void stop(Session *session, const char *what, CFStreamError error) {
    if (what) {
        fprintf(stderr, "%s: error %d of domain %d\n", what, (int)error.error, (int)error.domain);
        session->failed = 1;
    }
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void printPeer(Session *session) {
    CFArrayRef chain = (CFArrayRef)CFReadStreamCopyProperty(session->readStream, kCFStreamPropertySSLPeerCertificates);
    printf("the server sent %ld certificates\n", chain ? (long)CFArrayGetCount(chain) : 0);
    if (chain) CFRelease(chain);
}

static void readCallBack(CFReadStreamRef stream, CFStreamEventType type, void *info) {
    Session *session = (Session *)info;
    if (type == kCFStreamEventOpenCompleted) printPeer(session);
    if (type == kCFStreamEventErrorOccurred) stop(session, "read", CFReadStreamGetError(stream));
    if (type == kCFStreamEventEndEncountered) stop(session, "the server has closed the connection", (CFReadStreamGetError(stream)));
    if (type != kCFStreamEventHasBytesAvailable) return;
    CFIndex count = CFReadStreamRead(stream, (UInt8 *)session->buffer + session->length, (CFIndex)(sizeof session->buffer - session->length));
    if (count <= 0) return;
    session->length += (size_t)count;
    char *newline;
    while ((newline = (char *)memchr(session->buffer, '\n', session->length))) {
        size_t length = (size_t)(newline - session->buffer);
        printf("%.*s\n", (int)length, session->buffer);
        session->length -= length + 1;
        memmove(session->buffer, newline + 1, session->length);
        if (++session->received == session->expected) {
            CFStreamError none = {0, 0};
            stop(session, NULL, none);
        }
    }
    if (session->length == sizeof session->buffer) session->length = 0; // a line that is too long
}

static void writeCallBack(CFWriteStreamRef stream, CFStreamEventType type, void *info) {
    Session *session = (Session *)info;
    if (type == kCFStreamEventErrorOccurred) stop(session, "write", CFWriteStreamGetError(stream));
    if (type != kCFStreamEventCanAcceptBytes || !*session->lines) return;
    const char *line = *session->lines;
    CFIndex length = (CFIndex)strlen(line);
    const UInt8 *next = session->sent < length ? (const UInt8 *)line + session->sent : (const UInt8 *)"\n";
    CFIndex count = CFWriteStreamWrite(stream, next, session->sent < length ? length - session->sent : 1);
    if (count <= 0) return;
    session->sent += count;
    if (session->sent <= length) return;
    session->sent = 0;
    session->lines++;
}

static CFDataRef copyFile(const char *path) {
    UInt8 bytes[65536];
    FILE *file = fopen(path, "r");
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    return count > 0 ? CFDataCreate(kCFAllocatorDefault, bytes, (CFIndex)count) : NULL;
}

int main(int argc, char **argv) {
    static Session session;
    if (argc < 5) {
        fprintf(stderr, "usage: tlsclient HOST PORT CERTIFICATE.pem LINE...\n");
        return 2;
    }
    session.lines = argv + 4;
    session.expected = argc - 4;
    CFStringRef host = CFStringCreateWithCString(kCFAllocatorDefault, argv[1], kCFStringEncodingUTF8);
    CFHostRef object = CFHostCreateWithName(kCFAllocatorDefault, host);
    CFStreamCreatePairWithSocketToCFHost(kCFAllocatorDefault, object, atoi(argv[2]), &session.readStream, &session.writeStream);

    CFMutableDictionaryRef settings =
        CFDictionaryCreateMutable(kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFDictionarySetValue(settings, kCFStreamSSLLevel, kCFStreamSocketSecurityLevelNegotiatedSSL);
    CFDictionarySetValue(settings, kCFStreamSSLPeerName, host);
    if (strcmp(argv[3], "-")) {
        CFDataRef identity = copyFile(argv[3]);
        if (!identity) {
            fprintf(stderr, "%s cannot be read\n", argv[3]);
            return 2;
        }
        CFArrayRef certificates = CFArrayCreate(kCFAllocatorDefault, (const void **)&identity, 1, &kCFTypeArrayCallBacks);
        CFDictionarySetValue(settings, kCFStreamSSLCertificates, certificates);
        CFRelease(certificates);
        CFRelease(identity);
    }
    if (!CFReadStreamSetProperty(session.readStream, kCFStreamPropertySSLSettings, settings)) {
        fprintf(stderr, "%s is not a certificate with its key\n", argv[3]);
        return 2;
    }
    CFRelease(settings);

    CFStreamClientContext context = {0, &session, NULL, NULL, NULL};
    CFReadStreamSetClient(
        session.readStream,
        kCFStreamEventOpenCompleted | kCFStreamEventHasBytesAvailable | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered,
        readCallBack, &context);
    CFWriteStreamSetClient(session.writeStream, kCFStreamEventCanAcceptBytes | kCFStreamEventErrorOccurred, writeCallBack, &context);
    CFReadStreamScheduleWithRunLoop(session.readStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFWriteStreamScheduleWithRunLoop(session.writeStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    if (CFReadStreamOpen(session.readStream) && CFWriteStreamOpen(session.writeStream)) CFRunLoopRunInMode(kCFRunLoopDefaultMode, 30, false);
    if (session.received < session.expected) session.failed = 1;

    CFReadStreamUnscheduleFromRunLoop(session.readStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFWriteStreamUnscheduleFromRunLoop(session.writeStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFReadStreamClose(session.readStream);
    CFWriteStreamClose(session.writeStream);
    CFRelease(session.readStream);
    CFRelease(session.writeStream);
    CFRelease(object);
    CFRelease(host);
    return session.failed;
}
