// An HTTP server on a CFSocket: it parses requests with CFHTTPMessage, and answers with the request's path or body.
//
//   ./localserver 8080        GET /quit ends it; port 0 is any free port, which is printed

#include <CFNetwork/CFNetwork.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef struct {
    CFReadStreamRef readStream;
    CFWriteStreamRef writeStream;
    CFHTTPMessageRef request;
    CFDataRef answer;
    CFIndex sent;
    Boolean quits;
} Client;

static const CFIndex maximumLength = 1 << 20;

static void endClient(Client *client) {
    CFReadStreamSetClient(client->readStream, kCFStreamEventNone, NULL, NULL);
    CFWriteStreamSetClient(client->writeStream, kCFStreamEventNone, NULL, NULL);
    CFReadStreamUnscheduleFromRunLoop(client->readStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFWriteStreamUnscheduleFromRunLoop(client->writeStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFReadStreamClose(client->readStream);
    CFWriteStreamClose(client->writeStream);
    CFRelease(client->readStream);
    CFRelease(client->writeStream);
    CFRelease(client->request);
    if (client->answer) CFRelease(client->answer);
    if (client->quits) CFRunLoopStop(CFRunLoopGetCurrent());
    free(client);
}

/// Sends as much of the answer as the client takes, and ends the connection after the rest.
static void sendAnswer(Client *client) {
    CFIndex length = CFDataGetLength(client->answer);
    while (client->sent < length && CFWriteStreamCanAcceptBytes(client->writeStream)) {
        CFIndex count = CFWriteStreamWrite(client->writeStream, CFDataGetBytePtr(client->answer) + client->sent, length - client->sent);
        if (count < 0) {
            endClient(client);
            return;
        }
        client->sent += count;
    }
    if (client->sent == length) endClient(client);
}

static void makeAnswer(Client *client, CFIndex status, CFStringRef reason, CFDataRef body) {
    CFHTTPMessageRef response = CFHTTPMessageCreateResponse(kCFAllocatorDefault, status, reason, kCFHTTPVersion1_1);
    CFStringRef length = CFStringCreateWithFormat(kCFAllocatorDefault, NULL, CFSTR("%ld"), (long)CFDataGetLength(body));
    CFHTTPMessageSetHeaderFieldValue(response, CFSTR("Content-Length"), length);
    CFHTTPMessageSetHeaderFieldValue(response, CFSTR("Content-Type"), CFSTR("text/plain; charset=utf-8"));
    CFHTTPMessageSetHeaderFieldValue(response, CFSTR("Connection"), CFSTR("close"));
    CFStringRef method = CFHTTPMessageCopyRequestMethod(client->request);
    if (!method || CFStringCompare(method, CFSTR("HEAD"), 0) != kCFCompareEqualTo) CFHTTPMessageSetBody(response, body);
    client->answer = CFHTTPMessageCopySerializedMessage(response);
    if (method) CFRelease(method);
    CFRelease(length);
    CFRelease(response);
    sendAnswer(client);
}

static void answerText(Client *client, CFIndex status, CFStringRef reason, CFStringRef text) {
    CFDataRef body = CFStringCreateExternalRepresentation(kCFAllocatorDefault, text, kCFStringEncodingUTF8, '?');
    makeAnswer(client, status, reason, body);
    CFRelease(body);
}

/// Answers a request once its head and body are complete.
static void handle(Client *client) {
    CFStringRef lengthText = CFHTTPMessageCopyHeaderFieldValue(client->request, CFSTR("Content-Length"));
    CFIndex expected = lengthText ? CFStringGetIntValue(lengthText) : 0;
    CFDataRef body = CFHTTPMessageCopyBody(client->request);
    CFIndex length = body ? CFDataGetLength(body) : 0;
    if (lengthText) CFRelease(lengthText);
    if (expected > maximumLength) {
        answerText(client, 413, CFSTR("Content Too Large"), CFSTR("too large\n"));
    } else if (length >= expected) {
        CFStringRef method = CFHTTPMessageCopyRequestMethod(client->request);
        CFURLRef url = CFHTTPMessageCopyRequestURL(client->request);
        CFStringRef path = CFURLCopyPath(url);
        if (CFStringCompare(method, CFSTR("POST"), 0) == kCFCompareEqualTo) {
            makeAnswer(client, 200, CFSTR("OK"), body);
        } else {
            client->quits = CFEqual(path, CFSTR("/quit"));
            CFStringRef text = CFStringCreateWithFormat(kCFAllocatorDefault, NULL, CFSTR("%@ %@\n"), method, path);
            answerText(client, 200, CFSTR("OK"), text);
            CFRelease(text);
        }
        CFRelease(path);
        CFRelease(url);
        CFRelease(method);
    }
    if (body) CFRelease(body);
}

static void readCallBack(CFReadStreamRef stream, CFStreamEventType type, void *info) {
    Client *client = (Client *)info;
    if (type != kCFStreamEventHasBytesAvailable) {
        if (!client->answer) endClient(client);
        return;
    }
    UInt8 buffer[4096];
    CFIndex count = CFReadStreamRead(stream, buffer, sizeof buffer);
    if (count <= 0 || client->answer) return;
    if (!CFHTTPMessageAppendBytes(client->request, buffer, count)) {
        answerText(client, 400, CFSTR("Bad Request"), CFSTR("not HTTP\n"));
    } else if (CFHTTPMessageIsHeaderComplete(client->request)) {
        handle(client);
    }
}

static void writeCallBack(CFWriteStreamRef stream, CFStreamEventType type, void *info) {
    Client *client = (Client *)info;
    if (type == kCFStreamEventErrorOccurred) {
        endClient(client);
    } else if (client->answer) {
        sendAnswer(client);
    }
}

static void acceptCallBack(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    Client *client = (Client *)calloc(1, sizeof *client);
    CFStreamClientContext context = {0, client, NULL, NULL, NULL};
    CFStreamCreatePairWithSocket(kCFAllocatorDefault, *(const CFSocketNativeHandle *)data, &client->readStream, &client->writeStream);
    client->request = CFHTTPMessageCreateEmpty(kCFAllocatorDefault, true);
    CFReadStreamSetProperty(client->readStream, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue);
    CFReadStreamSetClient(
        client->readStream, kCFStreamEventHasBytesAvailable | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered, readCallBack, &context);
    CFWriteStreamSetClient(client->writeStream, kCFStreamEventCanAcceptBytes | kCFStreamEventErrorOccurred, writeCallBack, &context);
    CFReadStreamScheduleWithRunLoop(client->readStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFWriteStreamScheduleWithRunLoop(client->writeStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFReadStreamOpen(client->readStream);
    CFWriteStreamOpen(client->writeStream);
}

int main(int argc, char **argv) {
    CFSocketRef listener = CFSocketCreate(kCFAllocatorDefault, PF_INET, SOCK_STREAM, IPPROTO_TCP, kCFSocketAcceptCallBack, acceptCallBack, NULL);
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CFDataRef data = CFDataCreate(kCFAllocatorDefault, (const UInt8 *)&address, sizeof address);
    if (!listener || CFSocketSetAddress(listener, data) != kCFSocketSuccess) {
        fprintf(stderr, "the port is not free\n");
        return 1;
    }
    CFRelease(data);
    data = CFSocketCopyAddress(listener);
    printf("%d\n", ntohs(((const struct sockaddr_in *)CFDataGetBytePtr(data))->sin_port));
    fflush(stdout);
    CFRelease(data);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(kCFAllocatorDefault, listener, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopCommonModes);
    CFRelease(source);
    CFRunLoopRun();
    CFSocketInvalidate(listener);
    CFRelease(listener);
    return 0;
}
