#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/// The address 127.0.0.1, port 0.
static CFDataRef createLoopbackAddress(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return CFDataCreate(NULL, (const UInt8 *)&address, sizeof address);
}

// Parity: HR-001, HR-002, HR-003, HR-004, HR-006, HR-008, HR-014, HR-015, HR-016, HR-017, HR-018
const char *CFNetworkHostProgram(void) {
    Boolean isResolved = TRUE;
    CFHostRef host = CFHostCreateWithName(kCFAllocatorDefault, CFSTR("localhost"));
    CHECK(host != NULL && CFGetTypeID(host) == CFHostGetTypeID());
    CHECK(CFHostGetAddressing(host, &isResolved) == NULL && !isResolved && CFHostGetReachability(host, NULL) == NULL);
    CFArrayRef names = CFHostGetNames(host, &isResolved);
    CHECK(CFArrayGetCount(names) == 1 && CFEqual(CFArrayGetValueAtIndex(names, 0), CFSTR("localhost")) && !isResolved);
    CFStringRef description = CFCopyDescription(host);
    CHECK(CFStringHasPrefix(description, CFSTR("<CFHost 0x")) && CFStringHasSuffix(description, CFSTR("{localhost}")));
    CFRelease(description);

    // Without a client, the call waits for the result.
    CFStreamError error = {-5, -5};
    CHECK(CFHostStartInfoResolution(host, kCFHostAddresses, &error) && error.domain == -5);
    CFArrayRef addresses = CFHostGetAddressing(host, &isResolved);
    CHECK(isResolved && addresses != NULL && CFArrayGetCount(addresses) > 0 && CFHostGetAddressing(host, NULL) == addresses);
    for (CFIndex i = 0; i < CFArrayGetCount(addresses); i++) {
        CFDataRef data = CFArrayGetValueAtIndex(addresses, i);
        struct sockaddr_in6 address;
        CHECK(CFDataGetLength(data) <= (CFIndex)sizeof address);
        memcpy(&address, CFDataGetBytePtr(data), (size_t)CFDataGetLength(data));
        CHECK((address.sin6_family == AF_INET || address.sin6_family == AF_INET6) && address.sin6_port == 0);
    }
    CHECK(CFHostStartInfoResolution(host, kCFHostNames, NULL) && CFHostGetNames(host, &isResolved) != NULL && isResolved);
    CHECK(CFHostStartInfoResolution(host, kCFHostReachability, NULL));
    CFDataRef reachability = CFHostGetReachability(host, &isResolved);
    UInt32 flags;
    CHECK(isResolved && CFDataGetLength(reachability) == sizeof flags);
    memcpy(&flags, CFDataGetBytePtr(reachability), sizeof flags);
    CHECK(flags & 1 << 1);
    CHECK(!CFHostStartInfoResolution(host, 7, &error) && error.domain == kCFStreamErrorDomainPOSIX && error.error == 22);
    CFHostCancelInfoResolution(host, kCFHostNames); // none runs
    CFHostCancelInfoResolution(host, 7);

    // A copy has the results.
    CFHostRef copy = CFHostCreateCopy(NULL, host);
    CHECK(copy != host && !CFEqual(copy, host) && CFEqual(CFHostGetAddressing(copy, &isResolved), addresses) && isResolved);
    const void *both[] = {host, copy};
    CFSetRef set = CFSetCreate(NULL, both, 2, &kCFTypeSetCallBacks);
    CHECK(CFSetGetCount(set) == 2 && CFSetContainsValue(set, copy));
    CFRelease(set);
    CFRelease(copy);
    CFRelease(host);

    // From an address.
    CFDataRef address = createLoopbackAddress();
    host = CFHostCreateWithAddress(NULL, address);
    addresses = CFHostGetAddressing(host, &isResolved);
    CHECK(CFArrayGetCount(addresses) == 1 && CFEqual(CFArrayGetValueAtIndex(addresses, 0), address) && !isResolved);
    CHECK(CFHostGetNames(host, NULL) == NULL);
    CFRelease(host);
    CFMutableDataRef short_ = CFDataCreateMutableCopy(NULL, 0, address);
    CFDataSetLength(short_, 5);
    CHECK(CFHostCreateWithAddress(NULL, short_) == NULL);
    CFRelease(short_);
    CFRelease(address);

    // Failures.
    host = CFHostCreateWithName(NULL, CFSTR("a..b"));
    CHECK(!CFHostStartInfoResolution(host, kCFHostAddresses, &error));
    CHECK(error.domain == kCFStreamErrorDomainNetDB && error.error == 8 && CFHostGetAddressing(host, NULL) == NULL);
    CHECK(!CFHostStartInfoResolution(host, kCFHostAddresses, NULL));
    CFRelease(host);
    return NULL;
}

struct Client {
    int retains, releases, calls;
    CFHostInfoType kind;
    CFStreamError error;
    pthread_t thread;
    CFHostRef host;
};

static const void *retainClient(const void *info) { ((struct Client *)info)->retains++; return info; }
static void releaseClient(const void *info) { ((struct Client *)info)->releases++; }

static void ended(CFHostRef host, CFHostInfoType kind, const CFStreamError *error, void *info) {
    struct Client *client = info;
    client->calls++;
    client->kind = kind;
    client->error = *error;
    client->thread = pthread_self();
    client->host = host;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static Boolean runs(void) { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped; }

// Parity: HR-007, HR-009, HR-010, HR-011, HR-012, HR-013, HR-025
const char *CFNetworkHostEventsProgram(void) {
    struct Client client = {0};
    CFHostClientContext context = {0, &client, retainClient, releaseClient, NULL};
    CFHostRef host = CFHostCreateWithName(NULL, CFSTR("localhost"));
    CHECK(CFHostSetClient(host, ended, &context) && client.retains == 1 && client.releases == 0);
    CFHostScheduleWithRunLoop(host, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFStreamError error = {0, 0};
    CHECK(CFHostStartInfoResolution(host, kCFHostAddresses, &error) && client.calls == 0);
    CHECK(runs() && client.calls == 1 && client.kind == kCFHostAddresses && client.error.error == 0 && client.error.domain == 0);
    CHECK(client.host == host && pthread_equal(client.thread, pthread_self()) && CFHostGetAddressing(host, NULL) != NULL);

    // One lookup at a time, and one call for each, also if it is cancelled.
    CHECK(CFHostStartInfoResolution(host, kCFHostReachability, NULL));
    Boolean isRefused = !CFHostStartInfoResolution(host, kCFHostNames, &error);
    CHECK(runs() && (!isRefused || (error.domain == kCFStreamErrorDomainPOSIX && error.error == 16)));
    if (!isRefused && client.calls == 2) CHECK(runs());
    CHECK(client.calls == (isRefused ? 2 : 3));
    client.calls = 0;
    CHECK(CFHostStartInfoResolution(host, kCFHostAddresses, NULL));
    CFHostCancelInfoResolution(host, kCFHostAddresses);
    CHECK(runs() && client.calls == 1);
    CHECK(client.error.error == 0 || (client.error.domain == kCFStreamErrorDomainPOSIX && client.error.error == 125));
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE) != kCFRunLoopRunHandledSource && client.calls == 1);

    // A result waits until the host is scheduled again.
    CFHostUnscheduleFromRunLoop(host, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CHECK(CFHostStartInfoResolution(host, kCFHostAddresses, NULL));
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE) == kCFRunLoopRunFinished && client.calls == 1);
    CFHostScheduleWithRunLoop(host, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CHECK(runs() && client.calls == 2);

    // A client is replaced, and removed while a lookup runs.
    struct Client second = {0};
    context.info = &second;
    CHECK(CFHostSetClient(host, ended, &context) && client.retains == 1 && client.releases == 1 && second.retains == 1);
    CHECK(CFHostStartInfoResolution(host, kCFHostNames, NULL) && CFHostSetClient(host, NULL, NULL) && second.releases == 1);
    CHECK(CFHostStartInfoResolution(host, kCFHostAddresses, NULL)); // waits
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE) != kCFRunLoopRunStopped && second.calls == 0);

    // The host is released while a lookup runs.
    CHECK(CFHostSetClient(host, ended, &context) && CFHostStartInfoResolution(host, kCFHostNames, NULL));
    CFRelease(host);
    CHECK(second.retains == 2 && second.releases == 2);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE) == kCFRunLoopRunFinished && second.calls == 0);
    return NULL;
}

static void echo(struct Peer *peer, int connection) {
    char bytes[64];
    for (ssize_t count; (count = recv(connection, bytes, sizeof bytes, 0)) > 0;) send(connection, bytes, (size_t)count, MSG_NOSIGNAL);
}

// Parity: SK-011, SK-059, HR-024
const char *CFNetworkHostStreamsProgram(void) {
    int before = openSockets();
    struct Peer peer;
    CHECK(PeerStart(&peer, echo) == 0);
    CFDataRef address = createLoopbackAddress();
    for (int round = 0; round < 3; round++) {
        CFHostRef host = round == 2 ? CFHostCreateWithAddress(NULL, address) : CFHostCreateWithName(NULL, CFSTR("localhost"));
        if (round == 1) CHECK(CFHostStartInfoResolution(host, kCFHostAddresses, NULL));
        CFReadStreamRef reader;
        CFWriteStreamRef writer;
        CFStreamCreatePairWithSocketToCFHost(NULL, host, peer.port, &reader, &writer);
        CHECK(reader != NULL && writer != NULL && CFReadStreamOpen(reader) && CFWriteStreamOpen(writer));
        UInt8 bytes[8] = "hello";
        CHECK(CFWriteStreamWrite(writer, bytes, 5) == 5 && CFReadStreamRead(reader, bytes, 5) == 5);
        CFHostRef remote = (CFHostRef)CFReadStreamCopyProperty(reader, kCFStreamPropertySocketRemoteHost);
        CHECK(remote != NULL && remote != host && CFGetTypeID(remote) == CFHostGetTypeID());
        CHECK(round == 2 ? CFHostGetAddressing(remote, NULL) != NULL : CFHostGetNames(remote, NULL) != NULL);
        CFRelease(remote);
        CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertySocketRemoteHost, host));
        CFReadStreamClose(reader);
        CFWriteStreamClose(writer);
        CFRelease(reader);
        CFRelease(writer);
        // One half, and ports that do not exist.
        CFStreamCreatePairWithSocketToCFHost(NULL, host, peer.port, &reader, NULL);
        CHECK(reader != NULL && CFReadStreamOpen(reader));
        CFReadStreamClose(reader);
        CFRelease(reader);
        CFStreamCreatePairWithSocketToCFHost(NULL, host, 65536, &reader, &writer);
        CHECK(reader == NULL && writer == NULL);
        CFStreamCreatePairWithSocketToCFHost(NULL, host, -1, NULL, &writer);
        CHECK(writer == NULL);
        CFRelease(host);
    }
    CFRelease(address);
    CFReadStreamRef reader;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("localhost"), peer.port, &reader, NULL);
    CHECK(CFReadStreamCopyProperty(reader, kCFStreamPropertySocketRemoteHost) == NULL);
    CFRelease(reader);
    PeerStop(&peer);
    CHECK(openSockets() == before);
    return NULL;
}
