// Declarations that the guides leave to their readers, shared by the programs of this folder.
#ifndef LISTINGS_H
#define LISTINGS_H

#include <CFNetwork/CFNetwork.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef BUFSIZE
#define BUFSIZE 1024

static long handledBytes;
static Boolean done;

static inline CFStringRef text(const char *bytes) { return CFStringCreateWithCString(NULL, bytes, kCFStringEncodingUTF8); }

static inline CFURLRef address(const char *bytes) {
    CFStringRef string = text(bytes);
    CFURLRef url = CFURLCreateWithString(NULL, string, NULL);
    CFRelease(string);
    if (!url) {
        fprintf(stderr, "invalid URL %s\n", bytes);
        exit(2);
    }
    return url;
}

/// The text as UTF-8, until the next call.
static inline const char *cString(CFStringRef string) {
    static char bytes[1024];
    bytes[0] = 0;
    if (string) CFStringGetCString(string, bytes, sizeof bytes, kCFStringEncodingUTF8);
    return bytes;
}

static inline void handleBytes(const UInt8 *bytes, CFIndex count) {
    handledBytes += count;
    fwrite(bytes, 1, (size_t)count, stdout);
}

static inline void reportError(CFStreamError error) {
    printf("error %d of domain %d\n", (int)error.error, (int)error.domain);
    done = TRUE;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static inline void reportCompletion(void) {
    printf("complete, %ld bytes\n", handledBytes);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

/// Runs the run loop until it is stopped, for at most 20 seconds.
static inline void run(void) {
    if (CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) != kCFRunLoopRunStopped) {
        printf("the run loop was not stopped\n");
        exit(1);
    }
}

#endif
