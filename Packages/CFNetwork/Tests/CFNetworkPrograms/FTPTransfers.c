#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static const char listing[] = "total 2\r\n-rw-r--r--   1 ann  staff  1234 Jan  2  2020 notes.txt\r\ndrwxr-xr-x   2 ann  staff  4096 Jan  2  2020 pub\r\n";

/// Opens a listener for data and announces it.
static int enterPassiveMode(int connection) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1)) return -1;
    getsockname(listener, (struct sockaddr *)&address, &size);
    char line[64];
    snprintf(line, sizeof line, "229 Entering (|||%d|)\r\n", ntohs(address.sin_port));
    PeerSend(connection, line);
    return listener;
}

/// A server with a file of ten bytes and a directory.
static void serve(struct Peer *peer, int connection) {
    char line[512], answer[600];
    int listener = -1, offset = 0;
    PeerSend(connection, "220 Ready\r\n");
    while (PeerReadLine(connection, line, sizeof line) >= 0) {
        if (strlen(peer->seen) + strlen(line) + 2 < sizeof peer->seen) strcat(strcat(peer->seen, line), "\n");
        if (!strncasecmp(line, "USER", 4)) PeerSend(connection, "331 Password\r\n");
        else if (!strncasecmp(line, "PASS", 4)) PeerSend(connection, strcmp(line + 5, "wrong") ? "230 Welcome\r\n" : "530 No\r\n");
        else if (!strncasecmp(line, "TYPE", 4)) PeerSend(connection, "200 OK\r\n");
        else if (!strncasecmp(line, "SIZE", 4)) PeerSend(connection, "213 10\r\n");
        else if (!strncasecmp(line, "CWD", 3) || !strncasecmp(line, "NOOP", 4)) PeerSend(connection, "250 OK\r\n");
        else if (!strncasecmp(line, "PWD", 3)) PeerSend(connection, "257 \"/\"\r\n");
        else if (!strncasecmp(line, "MKD", 3)) PeerSend(connection, strstr(line, "exists") ? "550 Exists\r\n" : "257 Created\r\n");
        else if (!strncasecmp(line, "REST", 4)) { sscanf(line + 4, "%d", &offset); PeerSend(connection, "350 OK\r\n"); }
        else if (!strncasecmp(line, "EPSV", 4)) { if (listener >= 0) close(listener); listener = enterPassiveMode(connection); }
        else if (!strncasecmp(line, "QUIT", 4)) { PeerSend(connection, "221 Bye\r\n"); break; }
        else if (!strncasecmp(line, "RETR", 4) || !strncasecmp(line, "STOR", 4) || !strncasecmp(line, "LIST", 4)) {
            if (strstr(line, "missing")) { PeerSend(connection, "550 No such file\r\n"); continue; }
            PeerSend(connection, "150 Here it comes\r\n");
            int data = accept(listener, NULL, NULL);
            if (line[0] == 'R' || line[0] == 'r') PeerSend(data, &"0123456789"[offset]);
            else if (line[0] == 'L' || line[0] == 'l') PeerSend(data, listing);
            else {
                char bytes[256];
                ssize_t count, total = 0;
                while ((count = recv(data, bytes, sizeof bytes, 0)) > 0) total += count;
                snprintf(answer, sizeof answer, "received %zd\n", total);
                strcat(peer->seen, answer);
            }
            if (strstr(line, "late")) { // the reply comes when the client has seen the end of the data
                char byte;
                shutdown(data, SHUT_WR);
                recv(data, &byte, 1, 0);
            }
            close(data);
            offset = 0;
            // No confirmation before the client has ended the session: a client that waits for it waits forever.
            if (strstr(line, "abandoned")) { while (PeerReadLine(connection, line, sizeof line) >= 0) {} break; }
            PeerSend(connection, strstr(line, "full") ? "552 Disk full\r\n" : "226 Done\r\n");
        } else PeerSend(connection, "500 Unknown\r\n");
    }
    if (listener >= 0) close(listener);
}

static CFURLRef createURL(const struct Peer *peer, const char *path) {
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("ftp://ann:secret@127.0.0.1:%d%s"), peer->port, path);
    CFURLRef url = CFURLCreateWithString(NULL, text, NULL);
    CFRelease(text);
    return url;
}

static CFReadStreamRef createReader(const struct Peer *peer, const char *path) {
    CFURLRef url = createURL(peer, path);
    CFReadStreamRef stream = CFReadStreamCreateWithFTPURL(NULL, url);
    CFRelease(url);
    CFReadStreamSetProperty(stream, kCFStreamPropertyFTPAttemptPersistentConnection, kCFBooleanFalse);
    return stream;
}

static CFWriteStreamRef createWriter(const struct Peer *peer, const char *path) {
    CFURLRef url = createURL(peer, path);
    CFWriteStreamRef stream = CFWriteStreamCreateWithFTPURL(NULL, url);
    CFRelease(url);
    CFWriteStreamSetProperty(stream, kCFStreamPropertyFTPAttemptPersistentConnection, kCFBooleanFalse);
    return stream;
}

/// Reads to the end. Returns the number of bytes, or -1.
static CFIndex readAll(CFReadStreamRef stream, UInt8 *bytes, CFIndex size) {
    CFIndex total = 0, count = 0;
    while (total < size && (count = CFReadStreamRead(stream, bytes + total, size - total)) > 0) total += count;
    return count < 0 ? -1 : total;
}

static void readEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    UInt8 bytes[256];
    CFMutableStringRef log = info;
    if (event == kCFStreamEventOpenCompleted) CFStringAppend(log, CFSTR("open "));
    if (event == kCFStreamEventHasBytesAvailable) CFStringAppend(log, CFReadStreamRead(stream, bytes, sizeof bytes) > 0 ? CFSTR("bytes ") : CFSTR("nothing "));
    if (event == kCFStreamEventEndEncountered) CFStringAppend(log, CFSTR("end "));
    if (event == kCFStreamEventErrorOccurred) CFStringAppend(log, CFSTR("error "));
    if (event == kCFStreamEventEndEncountered || event == kCFStreamEventErrorOccurred) CFRunLoopStop(CFRunLoopGetCurrent());
}

static void writeEvent(CFWriteStreamRef stream, CFStreamEventType event, void *info) {
    CFMutableStringRef log = info;
    CFStringAppend(log, event == kCFStreamEventOpenCompleted ? CFSTR("open ") : event == kCFStreamEventCanAcceptBytes ? CFSTR("space ")
        : event == kCFStreamEventEndEncountered ? CFSTR("end ") : CFSTR("error "));
    if (event != kCFStreamEventOpenCompleted) CFRunLoopStop(CFRunLoopGetCurrent());
}

// Parity: FT-004, FT-005, FT-006, FT-007, FT-016, FT-017, FT-060
const char *CFNetworkFTPEventsProgram(void) {
    struct Peer peer;
    CHECK(PeerStart(&peer, serve) == 0);
    CFMutableStringRef log = CFStringCreateMutable(NULL, 0);
    CFStreamClientContext context = {0, log, NULL, NULL, NULL};
    CFOptionFlags all = kCFStreamEventOpenCompleted | kCFStreamEventHasBytesAvailable | kCFStreamEventCanAcceptBytes
        | kCFStreamEventErrorOccurred | kCFStreamEventEndEncountered;
    // The end of the data is not an event for bytes, although the server's reply has not arrived.
    const char *paths[] = {"/late", "/missing"};
    const CFStringRef orders[] = {CFSTR("open bytes end "), CFSTR("error ")};
    for (int i = 0; i < 2; i++) {
        CFReadStreamRef reader = createReader(&peer, paths[i]);
        CFStringReplaceAll(log, CFSTR(""));
        CHECK(CFReadStreamSetClient(reader, all, readEvent, &context));
        CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        // The server may have refused the other file when this returns.
        CHECK(CFReadStreamOpen(reader) || i);
        CHECK(i || CFReadStreamGetError(reader).domain == 0);
        CHECK(i || CFReadStreamGetStatus(reader) == kCFStreamStatusOpening || CFReadStreamGetStatus(reader) == kCFStreamStatusOpen);
        CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped && CFEqual(log, orders[i]));
        CFReadStreamClose(reader); // before it is taken off the run loop
        CFReadStreamSetClient(reader, kCFStreamEventNone, NULL, NULL);
        CFReadStreamUnscheduleFromRunLoop(reader, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        CFRelease(reader);
    }
    // Directories: the end means that the server has made it.
    const char *folders[] = {"/directory/", "/exists/"};
    for (int i = 0; i < 2; i++) {
        CFWriteStreamRef writer = createWriter(&peer, folders[i]);
        CFStringReplaceAll(log, CFSTR(""));
        CHECK(CFWriteStreamSetClient(writer, all, writeEvent, &context));
        CFWriteStreamScheduleWithRunLoop(writer, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        CHECK(CFWriteStreamOpen(writer) || i);
        CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped);
        CHECK(i ? CFStringHasSuffix(log, CFSTR("error ")) && CFWriteStreamGetError(writer).error == 550 : CFEqual(log, CFSTR("open end ")));
        CFWriteStreamUnscheduleFromRunLoop(writer, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        CFWriteStreamClose(writer);
        CFRelease(writer);
    }
    CFRelease(log);
    PeerStop(&peer);
    return NULL;
}

// Parity: FT-001, FT-002, FT-003, FT-008, FT-010, FT-011, FT-030, FT-031, FT-035, FT-036, FT-037, FT-043, FT-056
// Parity: FT-060, FT-064
const char *CFNetworkFTPProgram(void) {
    int before = openSockets();
    struct Peer peer;
    UInt8 bytes[512];
    CHECK(PeerStart(&peer, serve) == 0);

    CFReadStreamRef reader = createReader(&peer, "/file");
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyFTPFetchResourceInfo, kCFBooleanTrue));
    CHECK(CFReadStreamOpen(reader) && readAll(reader, bytes, sizeof bytes) == 10 && !memcmp(bytes, "0123456789", 10));
    CFNumberRef size = CFReadStreamCopyProperty(reader, kCFStreamPropertyFTPResourceSize);
    SInt64 number = 0;
    CHECK(size != NULL && CFNumberGetValue(size, kCFNumberSInt64Type, &number) && number == 10);
    CFRelease(size);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertyFTPUsePassiveMode, kCFBooleanTrue)); // open
    CFReadStreamClose(reader);
    CFRelease(reader);

    // Other credentials, and an offset.
    reader = createReader(&peer, "/file");
    number = 6;
    CFNumberRef offset = CFNumberCreate(NULL, kCFNumberSInt64Type, &number);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyFTPFileTransferOffset, offset));
    CFRelease(offset);
    number = -1;
    offset = CFNumberCreate(NULL, kCFNumberSInt64Type, &number);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertyFTPFileTransferOffset, offset));
    CFRelease(offset);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyFTPUserName, CFSTR("bob")));
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyFTPPassword, CFSTR("other")));
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertyFTPUserName, CFSTR("bob\r\nDELE file")));
    CHECK(CFReadStreamCopyProperty(reader, kCFStreamPropertyFTPPassword) == NULL);
    CFStringRef user = CFReadStreamCopyProperty(reader, kCFStreamPropertyFTPUserName);
    CHECK(user != NULL && CFEqual(user, CFSTR("bob")));
    CFRelease(user);
    CHECK(CFReadStreamOpen(reader) && readAll(reader, bytes, sizeof bytes) == 4 && !memcmp(bytes, "6789", 4));
    CFReadStreamClose(reader);
    CFRelease(reader);

    // Errors: the server's replies.
    reader = createReader(&peer, "/missing");
    CFReadStreamOpen(reader);
    CHECK(readAll(reader, bytes, sizeof bytes) == -1);
    CFStreamError error = CFReadStreamGetError(reader);
    CHECK(error.domain == kCFStreamErrorDomainFTP && error.error == 550);
    CFErrorRef object = CFReadStreamCopyError(reader);
    CHECK(CFEqual(CFErrorGetDomain(object), kCFErrorDomainCFNetwork) && CFErrorGetCode(object) == kCFFTPErrorUnexpectedStatusCode);
    CFDictionaryRef info = CFErrorCopyUserInfo(object);
    CHECK(CFDictionaryContainsKey(info, kCFFTPStatusCodeKey));
    CFRelease(info);
    CFRelease(object);
    CFRelease(reader);
    reader = createReader(&peer, "/file");
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyFTPPassword, CFSTR("wrong")));
    CFReadStreamOpen(reader);
    CHECK(readAll(reader, bytes, sizeof bytes) == -1 && CFReadStreamGetError(reader).error == 530);
    CFRelease(reader);

    // The keys of a SOCKS proxy, at a port without a listener: the transfer does not go around it.
    const void *proxyKeys[] = {kCFStreamPropertySOCKSProxyHost, kCFStreamPropertySOCKSProxyPort};
    number = 9;
    CFNumberRef port = CFNumberCreate(NULL, kCFNumberSInt64Type, &number);
    const void *proxyValues[] = {CFSTR("127.0.0.1"), port};
    CFDictionaryRef proxy = CFDictionaryCreate(NULL, proxyKeys, proxyValues, 2, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    reader = createReader(&peer, "/file");
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyFTPProxy, proxy));
    CFReadStreamOpen(reader);
    CHECK(readAll(reader, bytes, sizeof bytes) == -1);
    CFRelease(reader);
    CFRelease(proxy);
    CFRelease(port);

    // A listing.
    reader = createReader(&peer, "/pub/");
    CHECK(CFReadStreamOpen(reader) && readAll(reader, bytes, sizeof bytes) == sizeof listing - 1);
    CHECK(!memcmp(bytes, listing, sizeof listing - 1));
    CFReadStreamClose(reader);
    CFRelease(reader);

    // Uploads. Closing waits for the server's confirmation.
    CFWriteStreamRef writer = createWriter(&peer, "/upload");
    CHECK(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)"abcdef", 6) == 6);
    CFWriteStreamClose(writer);
    CFRelease(writer);
    writer = createWriter(&peer, "/full");
    CHECK(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)"abcdefg", 7) == 7);
    CFWriteStreamClose(writer); // the server could not keep the file
    error = CFWriteStreamGetError(writer);
    CHECK(error.domain == kCFStreamErrorDomainFTP && error.error == 552);
    CFRelease(writer);
    writer = createWriter(&peer, "/abandoned"); // released without being closed
    CHECK(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)"abcdefgh", 8) == 8);
    CFRelease(writer);
    writer = createWriter(&peer, "/directory/");
    CHECK(CFWriteStreamOpen(writer));
    CHECK(CFWriteStreamWrite(writer, (const UInt8 *)"x", 1) <= 0); // waits until the directory exists; nothing can be written
    CHECK(CFWriteStreamGetStatus(writer) != kCFStreamStatusOpening);
    CFWriteStreamClose(writer);
    CFRelease(writer);
    PeerStop(&peer);
    CHECK(strstr(peer.seen, "received 6\n") != NULL);
    CHECK(strstr(peer.seen, "MKD directory\n") != NULL);
    CHECK(strstr(peer.seen, "USER bob\nPASS other\n") != NULL);
    // The sessions end on a thread of the library.
    for (int i = 0; i < 5000 && openSockets() != before; i++) poll(NULL, 0, 1);
    CHECK(openSockets() == before);

    CFURLRef url = CFURLCreateWithString(NULL, CFSTR("http://127.0.0.1/"), NULL);
    CHECK(CFReadStreamCreateWithFTPURL(NULL, url) == NULL && CFWriteStreamCreateWithFTPURL(NULL, url) == NULL);
    CFRelease(url);
    return NULL;
}

static Boolean isText(CFDictionaryRef entry, CFStringRef key, CFStringRef text) {
    CFTypeRef value = CFDictionaryGetValue(entry, key);
    return text == NULL ? value == NULL : value != NULL && CFEqual(value, text);
}

static SInt64 number(CFDictionaryRef entry, CFStringRef key) {
    SInt64 number = -1;
    CFNumberRef value = CFDictionaryGetValue(entry, key);
    if (value != NULL) CFNumberGetValue(value, kCFNumberSInt64Type, &number);
    return number;
}

// Parity: FT-066, FT-067, FT-068, FT-069, FT-070
const char *CFNetworkListingProgram(void) {
    const UInt8 *bytes = (const UInt8 *)listing;
    CFIndex length = sizeof listing - 1;
    CFDictionaryRef entry;
    CFIndex used = CFFTPCreateParsedResourceListing(NULL, bytes, length, &entry);
    CHECK(used == 9 && entry == NULL); // "total 2"
    bytes += used, length -= used;
    CHECK(CFFTPCreateParsedResourceListing(NULL, bytes, 20, &entry) == 0 && entry == NULL); // incomplete
    used = CFFTPCreateParsedResourceListing(NULL, bytes, length, &entry);
    CHECK(used > 40 && entry != NULL);
    CHECK(isText(entry, kCFFTPResourceName, CFSTR("notes.txt")) && isText(entry, kCFFTPResourceOwner, CFSTR("ann")));
    CHECK(isText(entry, kCFFTPResourceGroup, CFSTR("staff")) && isText(entry, kCFFTPResourceLink, NULL));
    CHECK(number(entry, kCFFTPResourceSize) == 1234 && number(entry, kCFFTPResourceMode) == 0644 && number(entry, kCFFTPResourceType) == 8);
    CFDateRef date = CFDictionaryGetValue(entry, kCFFTPResourceModDate);
    CHECK(date != NULL && CFDateGetAbsoluteTime(date) == 1577923200.0 - kCFAbsoluteTimeIntervalSince1970);
    CFRelease(entry);
    bytes += used, length -= used;
    used = CFFTPCreateParsedResourceListing(NULL, bytes, length, &entry);
    CHECK(used == length && entry != NULL && number(entry, kCFFTPResourceType) == 4);
    CFRelease(entry);
    CHECK(CFFTPCreateParsedResourceListing(NULL, bytes, length, NULL) == length);
    CHECK(CFFTPCreateParsedResourceListing(NULL, bytes, 0, &entry) == 0 && entry == NULL);
    // A number after a time is the year or belongs to the name: the lines behind it decide, or a guess.
    static const char budget[] = "-rw-r--r-- 1 u g 12 Jun 28 19:50 2023 Budget.xls\r\n-rw-r--r-- 1 u g 12 Mar  4  2019 a\r\n";
    CFIndex first = strchr(budget, '\n') + 1 - budget;
    CHECK(CFFTPCreateParsedResourceListing(NULL, (const UInt8 *)budget, sizeof budget - 1, &entry) == first && entry != NULL);
    CHECK(isText(entry, kCFFTPResourceName, CFSTR("2023 Budget.xls")));
    CFRelease(entry);
    CHECK(CFFTPCreateParsedResourceListing(NULL, (const UInt8 *)budget, first, &entry) == first && entry != NULL);
    CHECK(isText(entry, kCFFTPResourceName, CFSTR("Budget.xls")));
    CFRelease(entry);
    static UInt8 endless[20000];
    memset(endless, 'x', sizeof endless);
    CHECK(CFFTPCreateParsedResourceListing(NULL, endless, sizeof endless, &entry) == -1 && entry == NULL);
    return NULL;
}
