// Loads a URL with CFNetwork on the run loop, and prints the status line, the length of the body and the final URL.
//
//   cc get.c $(pkg-config --cflags --libs CFNetwork) -o get && ./get http://localhost:8000/
//
// Source for C11 and later and for C++; nothing in it is specific to Linux.

#include <CFNetwork/CFNetwork.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    CFIndex length;
    CFStreamError error;
    Boolean failed;
} Load;

static void print(const char *label, CFStringRef text) {
    char buffer[512] = "";
    if (text) CFStringGetCString(text, buffer, sizeof buffer, kCFStringEncodingUTF8);
    printf("%s%s\n", label, buffer);
}

static void received(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    Load *load = (Load *)info;
    UInt8 bytes[4096];
    if (event == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, bytes, sizeof bytes);
        if (count > 0) load->length += count;
        return;
    }
    if (event == kCFStreamEventErrorOccurred) {
        load->failed = true;
        load->error = CFReadStreamGetError(stream);
    }
    CFRunLoopStop(CFRunLoopGetCurrent());
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 64;
    }
    CFURLRef url = CFURLCreateWithBytes(NULL, (const UInt8 *)argv[1], (CFIndex)strlen(argv[1]), kCFStringEncodingUTF8, NULL);
    CFHTTPMessageRef request = url ? CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1) : NULL;
    if (!request) {
        fprintf(stderr, "not a URL: %s\n", argv[1]);
        return 64;
    }
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("Accept"), CFSTR("*/*"));
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue);

    Load load = {0, {0, 0}, false};
    CFStreamClientContext context = {0, &load, NULL, NULL, NULL};
    CFOptionFlags events = kCFStreamEventHasBytesAvailable | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered;
    CFReadStreamSetClient(stream, events, received, &context);
    CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    if (CFReadStreamOpen(stream)) CFRunLoopRun();

    int status = 0;
    CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
    if (response && !load.failed) {
        CFStringRef line = CFHTTPMessageCopyResponseStatusLine(response);
        print("", line);
        printf("%ld bytes\n", (long)load.length);
        CFURLRef last = (CFURLRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPFinalURL);
        print("", last ? CFURLGetString(last) : NULL);
        if (last) CFRelease(last);
        if (line) CFRelease(line);
    } else {
        fprintf(stderr, "error %d of domain %ld\n", (int)load.error.error, (long)load.error.domain);
        status = 1;
    }
    if (response) CFRelease(response);
    CFReadStreamClose(stream);
    CFReadStreamSetClient(stream, kCFStreamEventNone, NULL, NULL);
    CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFRelease(stream);
    CFRelease(request);
    CFRelease(url);
    return status;
}
