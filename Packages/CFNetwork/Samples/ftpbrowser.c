// Lists, fetches, sends and creates files of an FTP server on the run loop.
//
//   ./ftpbrowser list  ftp://host/folder/           entries with type, size and date
//   ./ftpbrowser get   ftp://host/file   FILE
//   ./ftpbrowser put   ftp://host/file   FILE
//   ./ftpbrowser mkdir ftp://host/folder/
//
// FTP_USER and FTP_PASSWORD in the environment log in; without them, the login is anonymous.

#define _DEFAULT_SOURCE // DT_DIR
#include <CFNetwork/CFNetwork.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBufferSize = 32768 };

typedef struct {
    CFReadStreamRef readStream;
    CFWriteStreamRef writeStream;
    UInt8 buffer[kBufferSize];
    CFIndex start, end; // the bytes in the buffer
    long long total;
    int failed;
} Transfer;

static void stop(Transfer *transfer, const char *what, CFStreamError error) {
    if (what) {
        // FTP's own errors are the codes of its replies.
        fprintf(stderr, "%s: %s %d\n", what, error.domain == kCFStreamErrorDomainFTP ? "reply" : "error", (int)error.error);
        transfer->failed = 1;
    }
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static const CFStreamError noError = {0, 0};

static void printEntry(CFDictionaryRef entry) {
    char name[512] = "", date[64] = "-";
    int type = 0;
    long long size = 0;
    CFStringRef text = (CFStringRef)CFDictionaryGetValue(entry, kCFFTPResourceName);
    CFNumberRef number = (CFNumberRef)CFDictionaryGetValue(entry, kCFFTPResourceSize);
    CFNumberRef kind = (CFNumberRef)CFDictionaryGetValue(entry, kCFFTPResourceType);
    CFDateRef modified = (CFDateRef)CFDictionaryGetValue(entry, kCFFTPResourceModDate);
    if (text) CFStringGetCString(text, name, sizeof name, kCFStringEncodingUTF8);
    if (number) CFNumberGetValue(number, kCFNumberLongLongType, &size);
    if (kind) CFNumberGetValue(kind, kCFNumberIntType, &type);
    if (modified) snprintf(date, sizeof date, "%.0f", CFDateGetAbsoluteTime(modified));
    printf("%c %10lld %s %s\n", type == DT_DIR ? 'd' : type == DT_LNK ? 'l' : '-', size, date, name);
}

/// Parses the complete lines of the buffer, and keeps the rest for the next event.
static void parse(Transfer *transfer, Boolean isEnd) {
    CFIndex consumed;
    do {
        CFDictionaryRef entry = NULL;
        consumed = CFFTPCreateParsedResourceListing(NULL, transfer->buffer + transfer->start, transfer->end - transfer->start, &entry);
        if (consumed > 0) transfer->start += consumed;
        if (entry) {
            printEntry(entry);
            CFRelease(entry);
        }
    } while (consumed > 0);
    memmove(transfer->buffer, transfer->buffer + transfer->start, (size_t)(transfer->end - transfer->start));
    transfer->end -= transfer->start;
    transfer->start = 0;
    if (consumed < 0 || transfer->end == kBufferSize || (isEnd && transfer->end > 0)) stop(transfer, "the listing cannot be read", noError);
}

static void listEvent(CFReadStreamRef stream, CFStreamEventType type, void *info) {
    Transfer *transfer = (Transfer *)info;
    if (type == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, transfer->buffer + transfer->end, kBufferSize - transfer->end);
        if (count > 0) {
            transfer->end += count;
            transfer->total += count;
            parse(transfer, false);
        }
    } else if (type == kCFStreamEventEndEncountered) {
        parse(transfer, true);
        stop(transfer, NULL, noError);
    } else if (type == kCFStreamEventErrorOccurred) {
        stop(transfer, "list", CFReadStreamGetError(stream));
    }
}

static void getEvent(CFReadStreamRef stream, CFStreamEventType type, void *info) {
    Transfer *transfer = (Transfer *)info;
    if (type == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, transfer->buffer, kBufferSize), written = 0;
        while (written < count) {
            CFIndex result = CFWriteStreamWrite(transfer->writeStream, transfer->buffer + written, count - written);
            if (result <= 0) {
                stop(transfer, "the file cannot be written", CFWriteStreamGetError(transfer->writeStream));
                return;
            }
            written += result;
        }
        if (count > 0) transfer->total += count;
    } else if (type == kCFStreamEventEndEncountered) {
        stop(transfer, NULL, noError);
    } else if (type == kCFStreamEventErrorOccurred) {
        stop(transfer, "get", CFReadStreamGetError(stream));
    }
}

static void putEvent(CFWriteStreamRef stream, CFStreamEventType type, void *info) {
    Transfer *transfer = (Transfer *)info;
    if (type == kCFStreamEventCanAcceptBytes && transfer->readStream) {
        if (transfer->start == transfer->end) {
            transfer->start = 0;
            transfer->end = CFReadStreamRead(transfer->readStream, transfer->buffer, kBufferSize);
            if (transfer->end <= 0) {
                stop(transfer, transfer->end < 0 ? "the file cannot be read" : NULL, CFReadStreamGetError(transfer->readStream));
                return;
            }
        }
        CFIndex count = CFWriteStreamWrite(stream, transfer->buffer + transfer->start, transfer->end - transfer->start);
        if (count > 0) {
            transfer->start += count;
            transfer->total += count;
        }
    } else if (type == kCFStreamEventEndEncountered) {
        stop(transfer, NULL, noError); // a directory has been created
    } else if (type == kCFStreamEventErrorOccurred) {
        stop(transfer, transfer->readStream ? "put" : "mkdir", CFWriteStreamGetError(stream));
    }
}

static CFStringRef copyVariable(const char *name) {
    const char *value = getenv(name);
    return value ? CFStringCreateWithCString(kCFAllocatorDefault, value, kCFStringEncodingUTF8) : NULL;
}

static CFURLRef copyFile(const char *path) {
    return CFURLCreateFromFileSystemRepresentation(kCFAllocatorDefault, (const UInt8 *)path, (CFIndex)strlen(path), false);
}

int main(int argc, char **argv) {
    static Transfer transfer;
    if (argc < 3) {
        fprintf(stderr, "usage: ftpbrowser list|get|put|mkdir URL [FILE]\n");
        return 2;
    }
    const char *command = argv[1];
    CFStringRef text = CFStringCreateWithCString(kCFAllocatorDefault, argv[2], kCFStringEncodingUTF8);
    CFURLRef url = CFURLCreateWithString(kCFAllocatorDefault, text, NULL), file = argc > 3 ? copyFile(argv[3]) : NULL;
    CFStringRef user = copyVariable("FTP_USER"), password = copyVariable("FTP_PASSWORD");
    CFStreamClientContext context = {0, &transfer, NULL, NULL, NULL};
    CFOptionFlags events = kCFStreamEventHasBytesAvailable | kCFStreamEventCanAcceptBytes | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered;
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    Boolean sends = !strcmp(command, "put") || !strcmp(command, "mkdir");

    if (sends) {
        CFWriteStreamRef stream = transfer.writeStream = CFWriteStreamCreateWithFTPURL(kCFAllocatorDefault, url);
        if (file) transfer.readStream = CFReadStreamCreateWithFile(kCFAllocatorDefault, file);
        if (user) CFWriteStreamSetProperty(stream, kCFStreamPropertyFTPUserName, user);
        if (password) CFWriteStreamSetProperty(stream, kCFStreamPropertyFTPPassword, password);
        if (transfer.readStream && !CFReadStreamOpen(transfer.readStream)) stop(&transfer, argv[3], CFReadStreamGetError(transfer.readStream));
        CFWriteStreamSetClient(stream, events, putEvent, &context);
        CFWriteStreamScheduleWithRunLoop(stream, loop, kCFRunLoopCommonModes);
        if (!transfer.failed && CFWriteStreamOpen(stream)) CFRunLoopRun();
        CFWriteStreamUnscheduleFromRunLoop(stream, loop, kCFRunLoopCommonModes);
        CFWriteStreamClose(stream);
        // The server confirms an upload when it is closed.
        if (!transfer.failed && CFWriteStreamGetStatus(stream) == kCFStreamStatusError) stop(&transfer, "put", CFWriteStreamGetError(stream));
    } else {
        CFReadStreamRef stream = transfer.readStream = CFReadStreamCreateWithFTPURL(kCFAllocatorDefault, url);
        if (file) transfer.writeStream = CFWriteStreamCreateWithFile(kCFAllocatorDefault, file);
        if (user) CFReadStreamSetProperty(stream, kCFStreamPropertyFTPUserName, user);
        if (password) CFReadStreamSetProperty(stream, kCFStreamPropertyFTPPassword, password);
        if (transfer.writeStream) CFWriteStreamOpen(transfer.writeStream);
        CFReadStreamSetClient(stream, events, transfer.writeStream ? getEvent : listEvent, &context);
        CFReadStreamScheduleWithRunLoop(stream, loop, kCFRunLoopCommonModes);
        if (CFReadStreamOpen(stream)) CFRunLoopRun();
        CFReadStreamUnscheduleFromRunLoop(stream, loop, kCFRunLoopCommonModes);
        if (transfer.writeStream) CFWriteStreamClose(transfer.writeStream);
    }
    if (transfer.readStream) CFReadStreamClose(transfer.readStream), CFRelease(transfer.readStream);
    if (transfer.writeStream) CFRelease(transfer.writeStream);
    if (file) CFRelease(file);
    if (user) CFRelease(user);
    if (password) CFRelease(password);
    CFRelease(url);
    CFRelease(text);
    if (!transfer.failed) printf("%s: %lld bytes\n", command, transfer.total);
    return transfer.failed;
}
