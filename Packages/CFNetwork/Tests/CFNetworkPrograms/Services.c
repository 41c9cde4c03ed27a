#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static Boolean isFailure(CFStreamError error, SInt32 code) { return error.domain == kCFStreamErrorDomainNetServices && error.error == code; }

// Parity: SD-080, SD-081, SD-082, SD-083, SD-101
const char *CFNetworkServiceProgram(void) {
    CFNetServiceRef service = CFNetServiceCreate(kCFAllocatorDefault, CFSTR("local."), CFSTR("_http._tcp."), CFSTR("Étage 2"), 8080);
    CHECK(CFGetTypeID(service) == CFNetServiceGetTypeID());
    CHECK(CFEqual(CFNetServiceGetDomain(service), CFSTR("local.")) && CFEqual(CFNetServiceGetType(service), CFSTR("_http._tcp.")));
    CFStringRef name = CFNetServiceGetName(service);
    CHECK(CFStringGetLength(name) == 7 && CFNetServiceGetName(service) == name && CFNetServiceGetPortNumber(service) == 8080);
    CHECK(CFNetServiceGetTargetHost(service) == NULL && CFNetServiceGetAddressing(service) == NULL && CFNetServiceGetTXTData(service) == NULL);

    // Equal services have the same name, type and domain.
    CFNetServiceRef same = CFNetServiceCreate(NULL, CFSTR("local"), CFSTR("_HTTP._tcp"), name, 0), copy = CFNetServiceCreateCopy(NULL, service);
    CFNetServiceRef other = CFNetServiceCreate(NULL, CFSTR("local."), CFSTR("_http._tcp."), CFSTR("Other"), 8080);
    CHECK(same != service && CFEqual(same, service) && CFHash(same) == CFHash(service) && CFEqual(copy, service) && !CFEqual(other, service));
    CHECK(!CFEqual(service, name) && CFNetServiceGetPortNumber(copy) == 8080);
    const void *all[] = {service, same, copy, other};
    CFSetRef set = CFSetCreate(NULL, all, 4, &kCFTypeSetCallBacks);
    CHECK(CFSetGetCount(set) == 2);
    CFRelease(set);
    CFStringRef description = CFCopyDescription(other);
    CHECK(CFStringHasPrefix(description, CFSTR("<CFNetService 0x")) && CFStringHasSuffix(description, CFSTR("{Other _http._tcp. local.}")));
    CFRelease(description);

    // TXT records.
    const void *keys[] = {CFSTR("path"), CFSTR("flag"), CFSTR("data")};
    const UInt8 data[] = {0, 255};
    CFDataRef bytes = CFDataCreate(NULL, data, 2);
    const void *values[] = {CFSTR("/é"), kCFNull, bytes};
    CFDictionaryRef pairs = CFDictionaryCreate(NULL, keys, values, 3, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFDataRef record = CFNetServiceCreateTXTDataWithDictionary(NULL, pairs);
    CHECK(record != NULL && CFDataGetLength(record) == 8 + 5 + 9);
    CFDictionaryRef decoded = CFNetServiceCreateDictionaryWithTXTData(NULL, record);
    CHECK(CFDictionaryGetCount(decoded) == 3 && CFEqual(CFDictionaryGetValue(decoded, CFSTR("data")), bytes));
    CHECK(CFDataGetLength(CFDictionaryGetValue(decoded, CFSTR("flag"))) == 0 && CFDataGetLength(CFDictionaryGetValue(decoded, CFSTR("path"))) == 3);
    CFRelease(decoded);
    CFRelease(pairs);
    CHECK(CFNetServiceSetTXTData(service, record) && CFEqual(CFNetServiceGetTXTData(service), record));
    CHECK(CFNetServiceGetProtocolSpecificInformation(service) != NULL);
    CFNetServiceSetProtocolSpecificInformation(service, CFSTR("a=1\001b=2"));
    CHECK(CFEqual(CFNetServiceGetProtocolSpecificInformation(service), CFSTR("a=1\001b=2")));
    CHECK(CFNetServiceSetTXTData(service, record) && CFEqual(CFNetServiceGetTXTData(service), record));
    CFMutableDataRef broken = CFDataCreateMutableCopy(NULL, 0, record);
    CFDataSetLength(broken, CFDataGetLength(record) - 1);
    CHECK(CFNetServiceCreateDictionaryWithTXTData(NULL, broken) == NULL && !CFNetServiceSetTXTData(service, broken));
    CFRelease(broken);
    const void *badKey = CFSTR("a=b"), *badValue = kCFBooleanTrue, *key = CFSTR("a");
    pairs = CFDictionaryCreate(NULL, &badKey, values, 1, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CHECK(CFNetServiceCreateTXTDataWithDictionary(NULL, pairs) == NULL);
    CFRelease(pairs);
    pairs = CFDictionaryCreate(NULL, &key, &badValue, 1, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CHECK(CFNetServiceCreateTXTDataWithDictionary(NULL, pairs) == NULL);
    CFRelease(pairs);
    CFRelease(record);
    CFRelease(bytes);

    // What cannot start.
    CFStreamError error = {0, 0};
    CFNetServiceRef bad = CFNetServiceCreate(NULL, CFSTR(""), CFSTR("http"), CFSTR("x"), 80);
    CHECK(!CFNetServiceRegisterWithOptions(bad, 0, &error) && isFailure(error, kCFNetServicesErrorBadArgument));
    CHECK(!CFNetServiceResolveWithTimeout(bad, 1, NULL) && !CFNetServiceRegisterWithOptions(service, 2, NULL));
    CFReadStreamRef reader;
    CFStreamCreatePairWithSocketToNetService(NULL, bad, &reader, NULL);
    CHECK(reader == NULL);
    CFNetServiceCancel(service); // nothing runs
    CFRelease(bad);
    CFRelease(other);
    CFRelease(copy);
    CFRelease(same);
    CFRelease(service);
    return NULL;
}

struct Client {
    int retains, releases, calls;
    CFStreamError error;
    CFOptionFlags flags;
    CFTypeRef object;
    CFIndex length;
    Boolean stopsSearch;
};

static const void *retainClient(const void *info) { ((struct Client *)info)->retains++; return info; }
static void releaseClient(const void *info) { ((struct Client *)info)->releases++; }

static void serviceEvent(CFNetServiceRef service, CFStreamError *error, void *info) {
    struct Client *client = info;
    client->calls++;
    client->error = *error;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void browserEvent(CFNetServiceBrowserRef browser, CFOptionFlags flags, CFTypeRef object, CFStreamError *error, void *info) {
    struct Client *client = info;
    client->calls++;
    client->error = *error;
    client->flags = flags;
    if (client->object != NULL) CFRelease(client->object);
    client->object = object == NULL ? NULL : CFRetain(object);
    CFStreamError reason = {-1, 7};
    if (client->stopsSearch) CFNetServiceBrowserStopSearch(browser, &reason);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void monitorEvent(CFNetServiceMonitorRef monitor, CFNetServiceRef service, CFNetServiceMonitorType type, CFDataRef data, CFStreamError *error, void *info) {
    struct Client *client = info;
    client->calls++;
    client->error = *error;
    client->length = data == NULL ? -1 : CFDataGetLength(data);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static Boolean runs(void) { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped; }

static void echo(struct Peer *peer, int connection) {
    char bytes[64];
    for (ssize_t count; (count = recv(connection, bytes, sizeof bytes, 0)) > 0;) send(connection, bytes, (size_t)count, MSG_NOSIGNAL);
}

// Parity: SK-012, SK-059, SD-084, SD-085, SD-086, SD-088, SD-089, SD-090, SD-092, SD-093, SD-094, SD-095, SD-096, SD-097
// Parity: SD-098, SD-099, SD-100, SD-103
const char *CFNetworkServicesProgram(void) {
    struct Peer peer;
    CHECK(PeerStartOnAllAddresses(&peer, echo) == 0);
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFStringRef type = CFStringCreateWithFormat(NULL, NULL, CFSTR("_nkc%d._tcp"), (int)getpid());
    struct Client own = {0}, found = {0}, seen = {0}, remote = {0};
    CFNetServiceClientContext context = {0, &own, retainClient, releaseClient, NULL};

    // Registered: the client is called on the run loop.
    CFNetServiceRef service = CFNetServiceCreate(NULL, CFSTR(""), type, CFSTR("Own.1"), peer.port);
    const UInt8 first[] = {3, 'a', '=', '1'}, second[] = {4, 'a', '=', '2', '2'};
    CFDataRef record = CFDataCreate(NULL, first, sizeof first);
    CHECK(CFNetServiceSetTXTData(service, record));
    CFRelease(record);
    CHECK(CFNetServiceSetClient(service, serviceEvent, &context) && own.retains == 1);
    CFNetServiceScheduleWithRunLoop(service, loop, kCFRunLoopDefaultMode);
    CFStreamError error = {0, 0};
    CHECK(CFNetServiceRegisterWithOptions(service, 0, &error) && own.calls == 0);
    CHECK(!CFNetServiceResolveWithTimeout(service, 1, &error) && isFailure(error, kCFNetServicesErrorInProgress));
    CHECK(runs() && own.calls == 1 && own.error.error == 0 && CFEqual(CFNetServiceGetName(service), CFSTR("Own.1")));

    // Found.
    context.info = &found;
    CFNetServiceBrowserRef browser = CFNetServiceBrowserCreate(NULL, browserEvent, &context);
    CHECK(CFGetTypeID(browser) == CFNetServiceBrowserGetTypeID() && found.retains == 1);
    CFNetServiceBrowserScheduleWithRunLoop(browser, loop, kCFRunLoopDefaultMode);
    CHECK(CFNetServiceBrowserSearchForServices(browser, CFSTR("local."), type, NULL) && found.calls == 0);
    CHECK(!CFNetServiceBrowserSearchForDomains(browser, FALSE, &error) && isFailure(error, kCFNetServicesErrorInProgress));
    CHECK(runs() && found.calls == 1 && !(found.flags & (kCFNetServiceFlagRemove | kCFNetServiceFlagIsDomain)));
    CHECK(found.object != NULL && CFEqual(found.object, service));
    CFNetServiceRef target = (CFNetServiceRef)CFRetain(found.object);

    // Resolved, on the run loop and by a call that waits.
    context.info = &remote;
    CFNetServiceSetClient(target, serviceEvent, &context);
    CFNetServiceScheduleWithRunLoop(target, loop, kCFRunLoopDefaultMode);
    CHECK(CFNetServiceResolveWithTimeout(target, 0, &error) && remote.calls == 0);
    record = CFDataCreate(NULL, first, sizeof first);
    CHECK(!CFNetServiceSetTXTData(target, record));
    while (CFNetServiceGetAddressing(target) == NULL) CHECK(runs() && remote.error.error == 0);
    CHECK(CFNetServiceGetPortNumber(target) == peer.port && CFNetServiceGetTargetHost(target) != NULL);
    int calls = remote.calls;
    CFNetServiceCancel(target);
    while (!isFailure(remote.error, kCFNetServicesErrorCancel)) CHECK(runs());
    CHECK(remote.calls > calls);
    CHECK(CFNetServiceResolveWithTimeout(target, 0.05, &error));
    while (!isFailure(remote.error, kCFNetServicesErrorTimeout)) CHECK(runs());
    CFNetServiceUnscheduleFromRunLoop(target, loop, kCFRunLoopDefaultMode);
    CFNetServiceSetClient(target, NULL, NULL);
    CHECK(remote.retains == 1 && remote.releases == 1);
    CHECK(CFNetServiceResolveWithTimeout(target, 20, &error) && CFEqual(CFNetServiceGetTXTData(target), record));
    CFRelease(record);
    CFNetServiceRef absent = CFNetServiceCreate(NULL, CFSTR("local."), type, CFSTR("Absent"), 0);
    CHECK(!CFNetServiceResolveWithTimeout(absent, 0.05, &error) && isFailure(error, kCFNetServicesErrorTimeout));
    CFRelease(absent);

    // Connected.
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    absent = CFNetServiceCreate(NULL, CFSTR("local."), type, CFSTR("Own.1"), 0); // not resolved
    CFStreamCreatePairWithSocketToNetService(NULL, absent, &reader, &writer);
    CFNetServiceRef peerService = (CFNetServiceRef)CFReadStreamCopyProperty(reader, kCFStreamPropertySocketRemoteNetService);
    CHECK(peerService != NULL && CFEqual(peerService, absent) && CFEqual(CFNetServiceGetName(peerService), CFSTR("Own.1")));
    CFRelease(peerService);
    CFRelease(absent);
    UInt8 bytes[8] = "hello";
    CHECK(CFReadStreamOpen(reader) && CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, bytes, 5) == 5);
    CHECK(CFReadStreamRead(reader, bytes, 5) == 5);
    CFReadStreamClose(reader);
    CFWriteStreamClose(writer);
    CFRelease(reader);
    CFRelease(writer);

    // Monitored: the record, and its change.
    context.info = &seen;
    CFNetServiceMonitorRef monitor = CFNetServiceMonitorCreate(NULL, target, monitorEvent, &context);
    CHECK(CFGetTypeID(monitor) == CFNetServiceMonitorGetTypeID());
    CFNetServiceMonitorScheduleWithRunLoop(monitor, loop, kCFRunLoopDefaultMode);
    CHECK(!CFNetServiceMonitorStart(monitor, 2, &error) && isFailure(error, kCFNetServicesErrorBadArgument));
    CHECK(CFNetServiceMonitorStart(monitor, kCFNetServiceMonitorTXT, &error));
    while (seen.calls == 0) CHECK(runs());
    CHECK(seen.length == sizeof first && seen.error.error == 0);
    record = CFDataCreate(NULL, second, sizeof second);
    CHECK(CFNetServiceSetTXTData(service, record));
    CFRelease(record);
    while (seen.length != sizeof second) CHECK(runs());
    CFNetServiceMonitorStop(monitor, NULL);
    while (seen.length != -1) CHECK(runs());
    CHECK(isFailure(seen.error, kCFNetServicesErrorCancel));
    CFNetServiceMonitorUnscheduleFromRunLoop(monitor, loop, kCFRunLoopDefaultMode);
    CFNetServiceMonitorInvalidate(monitor);
    CHECK(seen.retains == 1 && seen.releases == 1);
    CHECK(!CFNetServiceMonitorStart(monitor, kCFNetServiceMonitorTXT, &error) && isFailure(error, kCFNetServicesErrorInvalid));
    CFRelease(monitor);
    CFRelease(target);

    // Withdrawn: the browser reports an equal object as gone, then the error that it is stopped with.
    CFNetServiceCancel(service);
    while (!isFailure(own.error, kCFNetServicesErrorCancel) || !(found.flags & kCFNetServiceFlagRemove)) CHECK(runs());
    CHECK(CFEqual(found.object, service));
    CFStreamError reason = {-1, 5};
    calls = found.calls;
    CFNetServiceBrowserStopSearch(browser, &reason);
    CHECK(runs() && found.calls == calls + 1 && found.error.domain == -1 && found.error.error == 5 && found.object == NULL);
    CFNetServiceBrowserUnscheduleFromRunLoop(browser, loop, kCFRunLoopDefaultMode);

    // A search that waits: local is found at once, and the callback ends the search.
    found.stopsSearch = TRUE;
    CHECK(!CFNetServiceBrowserSearchForDomains(browser, TRUE, &error) && error.domain == -1 && error.error == 7);
    CHECK(found.object != NULL && CFEqual(found.object, CFSTR("local.")));
    CHECK((found.flags & kCFNetServiceFlagIsDomain) && (found.flags & kCFNetServiceFlagIsRegistrationDomain));
    CFNetServiceBrowserInvalidate(browser);
    CFNetServiceBrowserInvalidate(browser);
    CHECK(found.retains == 1 && found.releases == 1);
    CHECK(!CFNetServiceBrowserSearchForServices(browser, CFSTR(""), type, &error) && isFailure(error, kCFNetServicesErrorInvalid));
    CFRelease(browser);
    CFRelease(found.object);
    CFRelease(service);
    CHECK(own.retains == 1 && own.releases == 1);
    CFRelease(type);
    PeerStop(&peer);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE) == kCFRunLoopRunFinished);
    return NULL;
}
