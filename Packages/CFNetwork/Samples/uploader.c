// Uploads a file over HTTP on the run loop, and logs in to the server and to a proxy.
//
//   ./uploader FILE URL [--user NAME:PASSWORD] [--proxy HOST:PORT] [--proxy-user NAME:PASSWORD] [--post]
//
// The body is streamed from the file for each attempt. Authentication is that of the programming guide: an authentication object is
// made from the first challenge, applied with the credentials of the command line, and given up when the server rejects them.

#include <CFNetwork/CFNetwork.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *path;
    CFURLRef url;
    CFHTTPMessageRef request;
    CFDictionaryRef proxy;
    CFReadStreamRef stream;
    // For the server and for the proxy.
    CFStringRef user[2], password[2];
    CFHTTPAuthenticationRef authentication[2];
    CFIndex received;
    int status, attempts;
} Upload;

static CFStringRef copyText(const char *bytes, size_t length) {
    return CFStringCreateWithBytes(kCFAllocatorDefault, (const UInt8 *)bytes, (CFIndex)length, kCFStringEncodingUTF8, false);
}

static void splitUser(const char *option, CFStringRef *user, CFStringRef *password) {
    const char *colon = strchr(option, ':');
    *user = copyText(option, colon ? (size_t)(colon - option) : strlen(option));
    *password = copyText(colon ? colon + 1 : "", colon ? strlen(colon + 1) : 0);
}

static CFDictionaryRef copyProxy(const char *option) {
    const char *colon = strrchr(option, ':');
    int port = colon ? atoi(colon + 1) : 3128;
    CFNumberRef number = CFNumberCreate(kCFAllocatorDefault, kCFNumberIntType, &port);
    CFStringRef host = copyText(option, colon ? (size_t)(colon - option) : strlen(option));
    // For http URLs and, by CONNECT, for https URLs.
    const void *keys[] = {
        kCFStreamPropertyHTTPProxyHost, kCFStreamPropertyHTTPProxyPort, kCFStreamPropertyHTTPSProxyHost, kCFStreamPropertyHTTPSProxyPort,
    };
    const void *values[] = {host, number, host, number};
    CFDictionaryRef proxy =
        CFDictionaryCreate(kCFAllocatorDefault, keys, values, 4, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFRelease(host);
    CFRelease(number);
    return proxy;
}

static void report(const char *what, CFStreamError error) {
    fprintf(stderr, "%s: error %d of domain %d\n", what, (int)error.error, (int)error.domain);
}

static void finish(Upload *upload) {
    if (!upload->stream) return;
    CFReadStreamSetClient(upload->stream, kCFStreamEventNone, NULL, NULL);
    CFReadStreamUnscheduleFromRunLoop(upload->stream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFReadStreamClose(upload->stream);
    CFRelease(upload->stream);
    upload->stream = NULL;
}

static Boolean start(Upload *upload);

/// Answers a challenge of the server (401) or of the proxy (407), and sends the request again. Returns false if that is in vain.
static Boolean answer(Upload *upload, CFHTTPMessageRef response, int which) {
    CFStreamError error = {0, 0};
    if (!upload->authentication[which]) {
        upload->authentication[which] = CFHTTPAuthenticationCreateFromResponse(kCFAllocatorDefault, response);
    }
    if (!CFHTTPAuthenticationIsValid(upload->authentication[which], &error)) {
        report(which ? "proxy login" : "login", error);
        return false;
    }
    // A Kerberos ticket needs neither.
    if (!upload->user[which] && CFHTTPAuthenticationRequiresUserNameAndPassword(upload->authentication[which])) return false;
    if (!CFHTTPMessageApplyCredentials(
            upload->request, upload->authentication[which], upload->user[which], upload->password[which], &error)) {
        report("credentials", error);
        return false;
    }
    finish(upload);
    return start(upload);
}

static void event(CFReadStreamRef stream, CFStreamEventType type, void *info) {
    Upload *upload = (Upload *)info;
    if (type == kCFStreamEventHasBytesAvailable) {
        UInt8 buffer[8192];
        CFIndex count = CFReadStreamRead(stream, buffer, sizeof buffer);
        if (count > 0) upload->received += count;
        return;
    }
    if (type == kCFStreamEventErrorOccurred) {
        report("upload", CFReadStreamGetError(stream));
    } else {
        CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
        upload->status = (int)CFHTTPMessageGetResponseStatusCode(response);
        Boolean isChallenge = upload->status == 401 || upload->status == 407;
        Boolean goesOn = isChallenge && answer(upload, response, upload->status == 407);
        CFRelease(response);
        if (goesOn) return;
    }
    finish(upload);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static Boolean start(Upload *upload) {
    CFStreamClientContext context = {0, upload, NULL, NULL, NULL};
    CFURLRef file = CFURLCreateFromFileSystemRepresentation(
        kCFAllocatorDefault, (const UInt8 *)upload->path, (CFIndex)strlen(upload->path), false);
    CFReadStreamRef body = CFReadStreamCreateWithFile(kCFAllocatorDefault, file);
    CFRelease(file);
    upload->attempts++;
    upload->stream = CFReadStreamCreateForStreamedHTTPRequest(kCFAllocatorDefault, upload->request, body);
    CFRelease(body);
    // A login of a connection (NTLM, Negotiate) needs the same one again.
    CFReadStreamSetProperty(upload->stream, kCFStreamPropertyHTTPAttemptPersistentConnection, kCFBooleanTrue);
    if (upload->proxy && !CFReadStreamSetProperty(upload->stream, kCFStreamPropertyHTTPProxy, upload->proxy)) return false;
    CFReadStreamSetClient(
        upload->stream, kCFStreamEventHasBytesAvailable | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered, event, &context);
    CFReadStreamScheduleWithRunLoop(upload->stream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    return CFReadStreamOpen(upload->stream);
}

int main(int argc, char **argv) {
    Upload upload;
    CFStringRef method = CFSTR("PUT");
    struct stat file;
    memset(&upload, 0, sizeof upload);
    if (argc < 3 || stat(argv[1], &file) != 0) {
        fprintf(stderr, "usage: uploader FILE URL [--user U:P] [--proxy H:P] [--proxy-user U:P] [--post]\n");
        return 2;
    }
    upload.path = argv[1];
    CFStringRef text = copyText(argv[2], strlen(argv[2]));
    upload.url = CFURLCreateWithString(kCFAllocatorDefault, text, NULL);
    CFRelease(text);
    if (!upload.url) {
        fprintf(stderr, "'%s' is not a URL\n", argv[2]);
        return 2;
    }
    for (int index = 3; index < argc; index++) {
        if (!strcmp(argv[index], "--post")) method = CFSTR("POST");
        if (index + 1 == argc) break;
        if (!strcmp(argv[index], "--user")) splitUser(argv[index + 1], &upload.user[0], &upload.password[0]);
        if (!strcmp(argv[index], "--proxy-user")) splitUser(argv[index + 1], &upload.user[1], &upload.password[1]);
        if (!strcmp(argv[index], "--proxy")) upload.proxy = copyProxy(argv[index + 1]);
    }
    upload.request = CFHTTPMessageCreateRequest(kCFAllocatorDefault, method, upload.url, kCFHTTPVersion1_1);
    CFStringRef length = CFStringCreateWithFormat(kCFAllocatorDefault, NULL, CFSTR("%lld"), (long long)file.st_size);
    CFHTTPMessageSetHeaderFieldValue(upload.request, CFSTR("Content-Length"), length);
    CFRelease(length);

    if (start(&upload)) CFRunLoopRun();
    printf("status %d after %d attempts, %ld bytes received\n", upload.status, upload.attempts, (long)upload.received);
    for (int which = 0; which < 2; which++) {
        if (upload.authentication[which]) CFRelease(upload.authentication[which]);
        if (upload.user[which]) CFRelease(upload.user[which]);
        if (upload.password[which]) CFRelease(upload.password[which]);
    }
    if (upload.proxy) CFRelease(upload.proxy);
    CFRelease(upload.request);
    CFRelease(upload.url);
    return upload.status >= 200 && upload.status < 300 ? 0 : 1;
}
