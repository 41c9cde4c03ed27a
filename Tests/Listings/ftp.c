// FTP (chapter 5): an upload, a directory listing and a download, through a structure with both streams.
// run: vsftpd $PEER_URL $SCRATCH
// run: proftpd $PEER_URL $SCRATCH
// run: pure-ftpd $PEER_URL $SCRATCH
// run: pyftpdlib $PEER_URL $SCRATCH
// prints: sent 100000 bytes\n(entry .*\n)*entry sent.txt, 100000 bytes\n(entry .*\n)*listed\nreceived 100000 bytes, the same\nerror 550 of domain 6\n
#include "Listings.h"

#define kMyBufferSize 32768
#include "listing 5-1"

static CFIndex bytesRead, bytesWritten, totalBytesRead;

static void end(const char *result) {
    if (result) puts(result);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void download(MyStreamInfo *info) {
#include "listing 5-2"
    return;
exit:
    end("the file cannot be written");
}

static void upload(MyStreamInfo *info) {
#include "listing 5-3"
    if (bytesRead == 0) end(NULL);
    return;
exit:
    end("the file cannot be read");
}

// Prints an entry, where listing 5-5 has a comment.
static CFIndex parse(CFAllocatorRef allocator, const UInt8 *bytes, CFIndex length, CFDictionaryRef *entry) {
    CFIndex consumed = CFFTPCreateParsedResourceListing(allocator, bytes, length, entry);
    if (consumed > 0 && *entry) {
        SInt64 size = -1;
        CFNumberRef number = (CFNumberRef)CFDictionaryGetValue(*entry, kCFFTPResourceSize);
        if (number) CFNumberGetValue(number, kCFNumberSInt64Type, &size);
        printf("entry %s, %ld bytes\n", cString((CFStringRef)CFDictionaryGetValue(*entry, kCFFTPResourceName)), (long)size);
    }
    return consumed;
}
#define CFFTPCreateParsedResourceListing parse

static void list(MyStreamInfo *info) {
    CFIndex bufSize = 0, bytesConsumed, totalBytesConsumed = 0;
    UInt8 *bufRemaining;
    CFDictionaryRef parsedDict = NULL;
    switch (0) {
    default:
#include "listing 5-4"
#include "listing 5-5"
    }
}

static void (*work)(MyStreamInfo *info);

static void readEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    if (event == kCFStreamEventHasBytesAvailable) work((MyStreamInfo *)info);
    if (event == kCFStreamEventEndEncountered) end(NULL);
    if (event == kCFStreamEventErrorOccurred) reportError(CFReadStreamGetError(stream));
}

static void writeEvent(CFWriteStreamRef stream, CFStreamEventType event, void *info) {
    if (event == kCFStreamEventCanAcceptBytes) work((MyStreamInfo *)info);
    if (event == kCFStreamEventErrorOccurred) reportError(CFWriteStreamGetError(stream));
}

static MyStreamInfo info;
static const CFOptionFlags allEvents =
    kCFStreamEventHasBytesAvailable | kCFStreamEventCanAcceptBytes | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered;

static CFURLRef below(const char *folder, const char *name) {
    char string[512];
    snprintf(string, sizeof string, "%s%s", folder, name);
    return *string == '/' ? CFURLCreateFromFileSystemRepresentation(NULL, (UInt8 *)string, (CFIndex)strlen(string), FALSE) : address(string);
}

/// Opens both streams, runs the work on the events of the remote one, and closes them.
static void transfer(CFReadStreamRef readStream, CFWriteStreamRef writeStream, void (*function)(MyStreamInfo *info)) {
    CFStreamClientContext context = {0, &info, NULL, NULL, NULL};
    memset(&info, 0, sizeof info);
    totalBytesRead = 0;
    info.readStream = readStream;
    info.writeStream = writeStream;
    work = function;
    if (function == upload) {
        CFWriteStreamSetClient(writeStream, allEvents, writeEvent, &context);
        CFWriteStreamScheduleWithRunLoop(writeStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    } else {
        CFReadStreamSetClient(readStream, allEvents, readEvent, &context);
        CFReadStreamScheduleWithRunLoop(readStream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    }
    const void *user = CFSTR("ann"), *password = CFSTR("open sesame");
    CFReadStreamSetProperty(readStream, kCFStreamPropertyFTPUserName, user);
    CFReadStreamSetProperty(readStream, kCFStreamPropertyFTPPassword, password);
    if (writeStream) {
        CFWriteStreamSetProperty(writeStream, kCFStreamPropertyFTPUserName, user);
        CFWriteStreamSetProperty(writeStream, kCFStreamPropertyFTPPassword, password);
        CFWriteStreamOpen(writeStream);
    }
    CFReadStreamOpen(readStream);
    run();
    CFReadStreamClose(readStream);
    CFRelease(readStream);
    if (!writeStream) return;
    CFWriteStreamClose(writeStream);
    CFRelease(writeStream);
}

int main(int argc, char **argv) {
    const char *folder = argv[1], *scratch = argv[2];
    static UInt8 sent[100000], received[100001];
    for (size_t index = 0; index < sizeof sent; index++) sent[index] = (UInt8)(index * 7919 >> 8);
    char path[512];
    snprintf(path, sizeof path, "%s/source", scratch);
    FILE *file = fopen(path, "w");
    fwrite(sent, 1, sizeof sent, file);
    fclose(file);

    transfer(CFReadStreamCreateWithFile(NULL, below(scratch, "/source")), CFWriteStreamCreateWithFTPURL(NULL, below(folder, "sent.txt")), upload);
    printf("sent %u bytes\n", (unsigned)info.totalBytesWritten);
    transfer(CFReadStreamCreateWithFTPURL(NULL, below(folder, "")), NULL, list);
    puts("listed");
    transfer(CFReadStreamCreateWithFTPURL(NULL, below(folder, "sent.txt")), CFWriteStreamCreateWithFile(NULL, below(scratch, "/target")), download);
    snprintf(path, sizeof path, "%s/target", scratch);
    file = fopen(path, "r");
    size_t count = fread(received, 1, sizeof received, file);
    fclose(file);
    printf("received %zu bytes, %s\n", count, count == sizeof sent && memcmp(sent, received, count) == 0 ? "the same" : "others");
    transfer(CFReadStreamCreateWithFTPURL(NULL, below(folder, "missing")), CFWriteStreamCreateWithFile(NULL, below(scratch, "/missing")), download);
    return 0;
}
