// Creates, uses and releases objects of every type of CFNetwork many times, with failures, and reports what remains: memory and
// descriptors. Scripts/lib/cfnetwork-rounds runs it, under valgrind and with three run loops on three threads.
//
//   ./rounds ROUNDS THREADS HTTP-URL FTP-URL [TYPE]       for THREADS other than 1, each thread does all rounds
//
// Without TYPE, the slow types do a part of the rounds.

#include <CFNetwork/CFNetwork.h>
#include <Security/Security.h>
#include <SystemConfiguration/SystemConfiguration.h>
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *httpURL, *ftpURL, *onlyType;
static atomic_int problems;

#define EXPECT(condition) ((condition) ? (void)0 : problem(#condition, __LINE__))
static void problem(const char *text, int line) {
    if (atomic_fetch_add(&problems, 1) < 20) fprintf(stderr, "rounds.c:%d: %s\n", line, text);
}

static CFURLRef below(const char *base, const char *path) {
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("%s%s"), base, path);
    CFURLRef url = CFURLCreateWithString(NULL, text, NULL);
    CFRelease(text);
    return url;
}

static CFHTTPMessageRef request(const char *method, CFURLRef url) {
    CFStringRef name = CFStringCreateWithCString(NULL, method, kCFStringEncodingASCII);
    CFHTTPMessageRef message = CFHTTPMessageCreateRequest(NULL, name, url, kCFHTTPVersion1_1);
    CFRelease(name);
    return message;
}

// MARK: Values

static void messages(int round) {
    static const char text[] = "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: 5\r\n\r\nhello";
    CFURLRef url = below("http://example.org/", "path");
    CFHTTPMessageRef message = request("GET", url);
    CFHTTPMessageSetHeaderFieldValue(message, CFSTR("A"), CFSTR("b"));
    CFHTTPMessageRef copy = CFHTTPMessageCreateCopy(NULL, message), response = CFHTTPMessageCreateEmpty(NULL, false);
    CFDataRef data = CFHTTPMessageCopySerializedMessage(copy);
    for (size_t index = 0; index < sizeof text - 1; index++) EXPECT(CFHTTPMessageAppendBytes(response, (const UInt8 *)text + index, 1));
    CFDictionaryRef fields = CFHTTPMessageCopyAllHeaderFields(response);
    CFDataRef body = CFHTTPMessageCopyBody(response);
    CFStringRef line = CFHTTPMessageCopyResponseStatusLine(response), description = CFCopyDescription(response);
    EXPECT(CFDataGetLength(body) == 5 && CFDictionaryGetCount(fields) == 2);
    CFHTTPMessageRef broken = CFHTTPMessageCreateEmpty(NULL, true);
    EXPECT(!CFHTTPMessageAppendBytes(broken, (const UInt8 *)"no http\r\n\r\n", 11));

    CFHTTPAuthenticationRef authentication = CFHTTPAuthenticationCreateFromResponse(NULL, response);
    CFStreamError error;
    EXPECT(CFHTTPAuthenticationIsValid(authentication, &error));
    EXPECT(CFHTTPMessageApplyCredentials(copy, authentication, CFSTR("user"), CFSTR("password"), &error));
    CFArrayRef domains = CFHTTPAuthenticationCopyDomains(authentication);
    CFStringRef realm = CFHTTPAuthenticationCopyRealm(authentication), method = CFHTTPAuthenticationCopyMethod(authentication);
    CFTypeRef all[] = {url, message, copy, response, data, fields, body, line, description, broken, authentication, domains, realm, method};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) CFRelease(all[index]);
}

static void proxies(int round) {
    CFURLRef url = below("http://example.org/", "");
    CFDictionaryRef settings = CFNetworkCopySystemProxySettings();
    CFArrayRef list = CFNetworkCopyProxiesForURL(url, settings);
    // A machine without an engine cannot run scripts, and says so.
    CFErrorRef error = NULL, fault = NULL;
    CFArrayRef scripted = CFNetworkCopyProxiesForAutoConfigurationScript(
        CFSTR("function FindProxyForURL(url, host) { return \"PROXY p:1; DIRECT\"; }"), url, &error);
    EXPECT(scripted ? CFArrayGetCount(scripted) == 2 && !error : error != NULL);
    EXPECT(!CFNetworkCopyProxiesForAutoConfigurationScript(CFSTR("function FindProxyForURL(url, host) { throw 1; }"), url, &fault) && fault);
    CFTypeRef all[] = {url, settings, list, scripted, error, fault};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) {
        if (all[index]) CFRelease(all[index]);
    }
}

// MARK: Streams

typedef struct {
    long bytes;
    Boolean ended, failed;
} Result;

static void event(CFReadStreamRef stream, CFStreamEventType type, void *info) {
    Result *result = info;
    UInt8 buffer[4096];
    if (type == kCFStreamEventHasBytesAvailable) {
        CFIndex count = CFReadStreamRead(stream, buffer, sizeof buffer);
        if (count > 0) result->bytes += count;
    } else if (type == kCFStreamEventEndEncountered || type == kCFStreamEventErrorOccurred) {
        result->ended = true;
        result->failed = type == kCFStreamEventErrorOccurred;
        CFRunLoopStop(CFRunLoopGetCurrent());
    }
}

/// Reads a stream to its end on the run loop or in blocking calls, and releases it.
static Result readAll(CFReadStreamRef stream, Boolean onRunLoop) {
    Result result = {0, false, false};
    if (onRunLoop) {
        CFStreamClientContext context = {0, &result, NULL, NULL, NULL};
        CFReadStreamSetClient(
            stream, kCFStreamEventHasBytesAvailable | kCFStreamEventEndEncountered | kCFStreamEventErrorOccurred, event, &context);
        CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        if (CFReadStreamOpen(stream)) {
            // A run with a time limit leaves 270 bytes of the toolchain's timer behind each time.
            while (!result.ended) CFRunLoopRun();
        } else {
            result.failed = true;
        }
        CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        CFReadStreamSetClient(stream, 0, NULL, NULL);
    } else {
        UInt8 buffer[4096];
        CFIndex count = CFReadStreamOpen(stream) ? 0 : -1;
        while (count == 0 && (count = CFReadStreamRead(stream, buffer, sizeof buffer)) > 0) {
            result.bytes += count;
            count = 0;
        }
        result.failed = count < 0;
    }
    if (result.failed) {
        CFErrorRef error = CFReadStreamCopyError(stream);
        EXPECT(error != NULL);
        if (error) CFRelease(error);
    }
    CFReadStreamClose(stream);
    CFRelease(stream);
    return result;
}

static CFReadStreamRef load(const char *path) {
    CFURLRef url = *path == ':' ? below("http://127.0.0.1", path) : below(httpURL, path);
    CFHTTPMessageRef message = request("GET", url);
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, message);
    CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue);
    CFRelease(message);
    CFRelease(url);
    return stream;
}

static void loads(int round) {
    EXPECT(readAll(load("/hello"), round & 1).bytes == 6);
    EXPECT(readAll(load("/chain"), round & 1).bytes == 6);
    EXPECT(readAll(load("/drop"), round & 1).failed); // closed without a response
    EXPECT(readAll(load(":1/"), round & 1).failed);   // refused
    // Closed with the body unread.
    CFReadStreamRef stream = load("/hello");
    UInt8 byte;
    EXPECT(CFReadStreamOpen(stream) && CFReadStreamRead(stream, &byte, 1) == 1);
    CFTypeRef response = CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
    EXPECT(response && CFHTTPMessageGetResponseStatusCode((CFHTTPMessageRef)response) == 200);
    CFRelease(response);
    CFReadStreamClose(stream);
    CFRelease(stream);
    CFRelease(load("/hello")); // never opened
}

static void uploads(int round) {
    CFURLRef url = below(httpURL, "/upload/rounds");
    CFHTTPMessageRef message = request("PUT", url);
    CFReadStreamRef body = CFReadStreamCreateWithBytesNoCopy(NULL, (const UInt8 *)"hello", 5, kCFAllocatorNull);
    CFHTTPMessageSetHeaderFieldValue(message, CFSTR("Content-Length"), CFSTR("5"));
    CFReadStreamRef stream = CFReadStreamCreateForStreamedHTTPRequest(NULL, message, body);
    EXPECT(!readAll(stream, round & 1).failed);
    CFRelease(body);
    CFRelease(message);
    CFRelease(url);
}

static void transfers(int round) {
    CFURLRef url = below(ftpURL, ""), missing = below(ftpURL, "missing");
    EXPECT(!readAll(CFReadStreamCreateWithFTPURL(NULL, url), round & 1).failed);
    EXPECT(readAll(CFReadStreamCreateWithFTPURL(NULL, missing), round & 1).failed);
    CFRelease(url);
    CFRelease(missing);
}

static void pairs(int round) {
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    CFStreamCreateBoundPair(NULL, &reader, &writer, 64);
    EXPECT(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, (const UInt8 *)"hello", 5) == 5);
    CFWriteStreamClose(writer);
    CFRelease(writer);
    EXPECT(readAll(reader, round & 1).bytes == 5);
    // Refused, and a host that does not exist.
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), 1, &reader, NULL);
    EXPECT(readAll(reader, round & 1).failed);
    if (round % 16 == 0) {
        CFHostRef host = CFHostCreateWithName(NULL, CFSTR("no.such.host.invalid"));
        CFStreamCreatePairWithSocketToCFHost(NULL, host, 80, &reader, &writer);
        EXPECT(readAll(reader, round & 1).failed);
        CFWriteStreamClose(writer);
        CFRelease(writer);
        CFRelease(host);
    }
}

// MARK: Hosts and services

static void hostEvent(CFHostRef host, CFHostInfoType type, const CFStreamError *error, void *info) { CFRunLoopStop(CFRunLoopGetCurrent()); }

static void hosts(int round) {
    CFHostClientContext context = {0, NULL, NULL, NULL, NULL};
    CFHostRef host = CFHostCreateWithName(NULL, CFSTR("localhost")), copy = CFHostCreateCopy(NULL, host);
    EXPECT(CFHostStartInfoResolution(host, kCFHostAddresses, NULL) && CFHostGetAddressing(host, NULL));
    CFHostSetClient(copy, hostEvent, &context);
    CFHostScheduleWithRunLoop(copy, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    EXPECT(CFHostStartInfoResolution(copy, kCFHostAddresses, NULL));
    if (round & 1) CFHostCancelInfoResolution(copy, kCFHostAddresses);
    else CFRunLoopRun();
    CFHostUnscheduleFromRunLoop(copy, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFHostSetClient(copy, NULL, NULL);
    CFRelease(copy);
    CFRelease(host);
}

static void serviceEvent(CFNetServiceRef service, CFStreamError *error, void *info) {}
static void browserEvent(CFNetServiceBrowserRef browser, CFOptionFlags flags, CFTypeRef object, CFStreamError *error, void *info) {}
static void monitorEvent(CFNetServiceMonitorRef monitor, CFNetServiceRef service, CFNetServiceMonitorType type, CFDataRef data, CFStreamError *error, void *info) {}

static void services(int round) {
    CFNetServiceClientContext context = {0, NULL, NULL, NULL, NULL};
    CFStreamError error;
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFNetServiceRef service = CFNetServiceCreate(NULL, CFSTR("local."), CFSTR("_nkr._tcp."), CFSTR("Round"), 9);
    CFNetServiceSetClient(service, serviceEvent, &context);
    CFNetServiceScheduleWithRunLoop(service, loop, kCFRunLoopDefaultMode);
    EXPECT(CFNetServiceResolveWithTimeout(service, 5, &error));
    CFNetServiceBrowserRef browser = CFNetServiceBrowserCreate(NULL, browserEvent, &context);
    CFNetServiceBrowserScheduleWithRunLoop(browser, loop, kCFRunLoopDefaultMode);
    EXPECT(CFNetServiceBrowserSearchForServices(browser, CFSTR("local."), CFSTR("_nkr._tcp."), &error));
    CFNetServiceMonitorRef monitor = CFNetServiceMonitorCreate(NULL, service, monitorEvent, &context);
    CFNetServiceMonitorScheduleWithRunLoop(monitor, loop, kCFRunLoopDefaultMode);
    EXPECT(CFNetServiceMonitorStart(monitor, kCFNetServiceMonitorTXT, &error));
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false);
    CFNetServiceMonitorStop(monitor, NULL);
    CFNetServiceMonitorUnscheduleFromRunLoop(monitor, loop, kCFRunLoopDefaultMode);
    CFNetServiceMonitorInvalidate(monitor);
    CFNetServiceBrowserStopSearch(browser, &error);
    CFNetServiceBrowserUnscheduleFromRunLoop(browser, loop, kCFRunLoopDefaultMode);
    CFNetServiceBrowserInvalidate(browser);
    CFNetServiceUnscheduleFromRunLoop(service, loop, kCFRunLoopDefaultMode);
    CFNetServiceSetClient(service, NULL, NULL);
    CFNetServiceCancel(service);
    CFRelease(monitor);
    CFRelease(browser);
    CFRelease(service);
}

static void diagnoses(int round) {
    CFURLRef url = below("http://127.0.0.1:1/", "");
    CFNetDiagnosticRef diagnosis = CFNetDiagnosticCreateWithURL(NULL, url);
    CFStringRef description = NULL;
    CFNetDiagnosticCopyNetworkStatusPassively(diagnosis, &description);
    if (description) CFRelease(description);
    CFRelease(diagnosis);
    CFRelease(url);
}

// MARK: SystemConfiguration

#ifndef __HAS_DISPATCH__
extern dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
extern void dispatch_release(void *object);
#endif

/// The references to all contexts. One that a call holds on another thread outlasts its round.
static atomic_int references;

static const void *retainCount(const void *info) { atomic_fetch_add((atomic_int *)info, 1); return info; }
static void releaseCount(const void *info) { atomic_fetch_sub((atomic_int *)info, 1); }
static void keysChanged(SCDynamicStoreRef store, CFArrayRef keys, void *info) {}

static void stores(int round) {
    SCDynamicStoreContext context = {0, &references, retainCount, releaseCount, NULL};
    SCDynamicStoreRef store = SCDynamicStoreCreate(NULL, CFSTR("rounds"), keysChanged, &context);
    CFStringRef key = SCDynamicStoreKeyCreateNetworkInterfaceEntity(NULL, kSCDynamicStoreDomainState, CFSTR("lo"), kSCEntNetIPv4);
    CFStringRef pattern = CFSTR("State:/Network/.*");
    CFArrayRef keys = CFArrayCreate(NULL, (const void **)&key, 1, &kCFTypeArrayCallBacks);
    CFArrayRef patterns = CFArrayCreate(NULL, (const void **)&pattern, 1, &kCFTypeArrayCallBacks);
    EXPECT(SCDynamicStoreSetNotificationKeys(store, keys, patterns) && !SCDynamicStoreSetNotificationKeys(store, patterns, (CFArrayRef)key));
    if (round & 1) {
        CFRunLoopSourceRef source = SCDynamicStoreCreateRunLoopSource(NULL, store, 0);
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true);
        if (round & 2) CFRunLoopSourceInvalidate(source);
        else CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
        CFRelease(source);
    } else {
        dispatch_queue_t queue = dispatch_queue_create("rounds", NULL);
        EXPECT(SCDynamicStoreSetDispatchQueue(store, queue));
        if (round & 2) EXPECT(SCDynamicStoreSetDispatchQueue(store, NULL));
        dispatch_release(queue);
    }
    CFTypeRef all[] = {
        SCDynamicStoreCopyValue(store, key), SCDynamicStoreCopyMultiple(store, keys, patterns), SCDynamicStoreCopyKeyList(store, pattern),
        SCDynamicStoreCopyProxies(store), SCDynamicStoreCopyComputerName(store, NULL), SCDynamicStoreCopyLocalHostName(store),
        SCDynamicStoreCopyNotifiedKeys(store), CFCopyDescription(store), SCCopyLastError(), keys, patterns, key, store};
    EXPECT(!SCDynamicStoreCopyValue(store, CFSTR("nothing")) && SCError() == kSCStatusNoKey);
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) CFRelease(all[index]);
}

static void flagsChanged(SCNetworkReachabilityRef target, SCNetworkReachabilityFlags flags, void *info) {}

static void reachabilities(int round) {
    SCNetworkReachabilityContext context = {0, &references, retainCount, releaseCount, NULL};
    SCNetworkReachabilityFlags flags = 0;
    SCNetworkReachabilityRef target = SCNetworkReachabilityCreateWithName(NULL, round % 16 ? "localhost" : "none.invalid");
    EXPECT(SCNetworkReachabilitySetCallback(target, flagsChanged, &context) && SCNetworkReachabilityGetFlags(target, &flags));
    if (round & 1) {
        EXPECT(SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode));
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true);
        if (round & 2) EXPECT(SCNetworkReachabilityUnscheduleFromRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode));
    } else {
        dispatch_queue_t queue = dispatch_queue_create("rounds", NULL);
        EXPECT(SCNetworkReachabilitySetDispatchQueue(target, queue));
        if (round & 2) EXPECT(SCNetworkReachabilitySetDispatchQueue(target, NULL));
        dispatch_release(queue);
    }
    EXPECT(!SCNetworkReachabilityCreateWithName(NULL, ""));
    if (round & 4) EXPECT(SCNetworkReachabilitySetCallback(target, NULL, NULL));
    CFRelease(target);
}

// MARK: Security

/// The certificate of StreamKit's tests: self-signed, for 127.0.0.1, valid until 2126.
static const UInt8 der[] = {
    0x30, 0x82, 0x01, 0x94, 0x30, 0x82, 0x01, 0x3a, 0xa0, 0x03, 0x02, 0x01, 0x02, 0x02, 0x14, 0x13, 0x81, 0xbd, 0x39, 0x9b, 0xb1, 0xaf, 0xae, 0x4c,
    0x13, 0x91, 0xc2, 0xb7, 0xb8, 0xbc, 0x0a, 0xb0, 0x68, 0x6c, 0x45, 0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02, 0x30,
    0x16, 0x31, 0x14, 0x30, 0x12, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, 0x0b, 0x4e, 0x65, 0x74, 0x4b, 0x69, 0x74, 0x54, 0x65, 0x73, 0x74, 0x73, 0x30,
    0x20, 0x17, 0x0d, 0x32, 0x36, 0x31, 0x31, 0x32, 0x32, 0x32, 0x31, 0x31, 0x35, 0x35, 0x35, 0x5a, 0x18, 0x0f, 0x32, 0x31, 0x32, 0x36, 0x31, 0x30,
    0x32, 0x39, 0x32, 0x31, 0x31, 0x35, 0x35, 0x35, 0x5a, 0x30, 0x16, 0x31, 0x14, 0x30, 0x12, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, 0x0b, 0x4e, 0x65,
    0x74, 0x4b, 0x69, 0x74, 0x54, 0x65, 0x73, 0x74, 0x73, 0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
    0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04, 0x41, 0xac, 0xa0, 0xcc, 0xc6, 0x91, 0x13, 0x47, 0xf4, 0x65, 0x8a, 0x9c,
    0x4f, 0xe0, 0xc6, 0x64, 0xdb, 0x2b, 0xaa, 0xf6, 0xf6, 0xdb, 0x8f, 0xee, 0x15, 0x96, 0x3d, 0x9d, 0x18, 0x60, 0x82, 0x01, 0x47, 0xb1, 0x5e, 0x7b,
    0x79, 0xfc, 0x28, 0xb1, 0x0d, 0xe1, 0x94, 0x1d, 0x60, 0xd9, 0xc6, 0x47, 0x96, 0x6c, 0x42, 0xab, 0xff, 0x0d, 0xae, 0x4d, 0x80, 0xdc, 0xd3, 0xd2,
    0xa2, 0x75, 0x1d, 0x4d, 0xa3, 0x64, 0x30, 0x62, 0x30, 0x1d, 0x06, 0x03, 0x55, 0x1d, 0x0e, 0x04, 0x16, 0x04, 0x14, 0x2b, 0xca, 0x87, 0x5c, 0xff,
    0xea, 0x71, 0xb9, 0x85, 0xcc, 0x58, 0x03, 0x0b, 0x7b, 0xdd, 0xb9, 0xc3, 0xf1, 0x1a, 0xd9, 0x30, 0x1f, 0x06, 0x03, 0x55, 0x1d, 0x23, 0x04, 0x18,
    0x30, 0x16, 0x80, 0x14, 0x2b, 0xca, 0x87, 0x5c, 0xff, 0xea, 0x71, 0xb9, 0x85, 0xcc, 0x58, 0x03, 0x0b, 0x7b, 0xdd, 0xb9, 0xc3, 0xf1, 0x1a, 0xd9,
    0x30, 0x0f, 0x06, 0x03, 0x55, 0x1d, 0x13, 0x01, 0x01, 0xff, 0x04, 0x05, 0x30, 0x03, 0x01, 0x01, 0xff, 0x30, 0x0f, 0x06, 0x03, 0x55, 0x1d, 0x11,
    0x04, 0x08, 0x30, 0x06, 0x87, 0x04, 0x7f, 0x00, 0x00, 0x01, 0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02, 0x03, 0x48,
    0x00, 0x30, 0x45, 0x02, 0x21, 0x00, 0xa5, 0x01, 0x77, 0x1a, 0xee, 0xd2, 0xbf, 0x4f, 0xc8, 0x77, 0x78, 0xac, 0x47, 0x69, 0xb7, 0xd2, 0xce, 0x6d,
    0x54, 0x0d, 0x30, 0x6e, 0x3f, 0x75, 0x3c, 0xe5, 0x5a, 0x4e, 0xa4, 0x83, 0x01, 0xb1, 0x02, 0x20, 0x18, 0xf7, 0x5f, 0x5f, 0xa8, 0x6e, 0x6b, 0xaa,
    0x20, 0x03, 0x34, 0x0b, 0x38, 0xb5, 0x59, 0xcc, 0x92, 0xc5, 0xb3, 0x13, 0x7a, 0xb8, 0x9a, 0x46, 0x47, 0x51, 0x3f, 0x44, 0x22, 0x5e, 0x26, 0x2d};

static void passwords(int round) {
    char user[32];
    int length = snprintf(user, sizeof user, "user %p %d", (void *)&user, round);
    SecKeychainItemRef item = NULL, found = NULL;
    EXPECT(SecKeychainAddInternetPassword(NULL, 4, "host", 1, "r", (UInt32)length, user, 2, "/a", 80, kSecProtocolTypeHTTP, kSecAuthenticationTypeHTTPDigest, 6, "secret", &item) == noErr);
    EXPECT(SecKeychainAddInternetPassword(NULL, 4, "host", 1, "r", (UInt32)length, user, 2, "/a", 80, kSecProtocolTypeHTTP, kSecAuthenticationTypeHTTPDigest, 6, "secret", NULL) == errSecDuplicateItem);
    UInt32 size = 0;
    void *data = NULL;
    EXPECT(SecKeychainFindInternetPassword(NULL, 4, "host", 0, NULL, (UInt32)length, user, 0, NULL, 0, kSecProtocolTypeAny, kSecAuthenticationTypeAny, &size, &data, &found) == noErr && size == 6);
    SecKeychainItemFreeContent(NULL, data);
    SecKeychainAttribute attributes[] = {{kSecAccountItemAttr, 0, NULL}, {kSecLabelItemAttr, 0, NULL}};
    SecKeychainAttributeList list = {2, attributes};
    EXPECT(SecKeychainItemCopyContent(found, NULL, &list, &size, &data) == noErr);
    SecKeychainItemFreeContent(&list, data);
    EXPECT(SecKeychainItemModifyContent(item, NULL, 3, "new") == noErr && SecKeychainItemCopyContent(NULL, NULL, &list, NULL, NULL) == errSecInvalidItemRef);
    SecKeychainSearchRef search = NULL;
    SecKeychainAttribute account = {kSecAccountItemAttr, (UInt32)length, user};
    SecKeychainAttributeList wanted = {1, &account};
    EXPECT(SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, &wanted, &search) == noErr);
    SecKeychainItemRef next = NULL;
    EXPECT(SecKeychainSearchCopyNext(search, &next) == noErr);
    CFMutableDictionaryRef query = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFStringRef name = CFStringCreateWithCString(NULL, user, kCFStringEncodingUTF8);
    CFDictionarySetValue(query, kSecClass, kSecClassInternetPassword);
    CFDictionarySetValue(query, kSecAttrAccount, name);
    CFDictionarySetValue(query, kSecReturnAttributes, kCFBooleanTrue);
    CFDictionarySetValue(query, kSecReturnData, kCFBooleanTrue);
    if (round & 1) CFDictionarySetValue(query, kSecMatchLimit, kSecMatchLimitAll);
    CFTypeRef result = NULL;
    EXPECT(SecItemCopyMatching(query, &result) == noErr);
    CFDictionarySetValue(query, CFSTR("unknown"), name);
    EXPECT(SecItemCopyMatching(query, NULL) == errSecParam);
    EXPECT(SecKeychainItemDelete(item) == noErr && SecKeychainItemDelete(found) == errSecItemNotFound);
    CFStringRef description = CFCopyDescription(found);
    CFTypeRef all[] = {item, found, search, next, query, name, result, description};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) CFRelease(all[index]);
}

static void certificates(int round) {
    CFDataRef data = CFDataCreate(NULL, der, sizeof der), wrong = CFDataCreate(NULL, (const UInt8 *)"x", 1);
    SecCertificateRef certificate = SecCertificateCreateWithData(NULL, data);
    EXPECT(!SecCertificateCreateWithData(NULL, wrong));
    CFStringRef name = NULL;
    EXPECT(SecCertificateCopyCommonName(certificate, &name) == noErr);
    SecPolicyRef policy = round & 1 ? SecPolicyCreateSSL(TRUE, CFSTR("127.0.0.1")) : SecPolicyCreateBasicX509();
    SecTrustRef trust = NULL;
    EXPECT(SecTrustCreateWithCertificates(certificate, policy, &trust) == noErr);
    CFArrayRef anchors = CFArrayCreate(NULL, (const void **)&certificate, round & 2 ? 1 : 0, &kCFTypeArrayCallBacks);
    EXPECT(SecTrustSetAnchorCertificates(trust, anchors) == noErr);
    CFErrorRef error = NULL;
    EXPECT(SecTrustEvaluateWithError(trust, &error) == ((round & 2) != 0) && (error == NULL) == ((round & 2) != 0));
    CFArrayRef chain = SecTrustCopyCertificateChain(trust), items = NULL;
    EXPECT(SecPKCS12Import(wrong, NULL, &items) == errSecPassphraseRequired);
    CFTypeRef all[] = {data, wrong, certificate, policy, trust, anchors, chain, CFCopyDescription(trust), SecCertificateCopyData(certificate),
        SecCertificateCopySubjectSummary(certificate)};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) CFRelease(all[index]);
    if (name) CFRelease(name);
    if (error) CFRelease(error);
}

// MARK: Counting

// Without files in /proc: a thread of libdispatch opens some every second while others work.
static int descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char target[16] = "";
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target) > 0 && strncmp(target, "/proc/", 6)) count++;
    }
    closedir(folder);
    return count;
}

// A lost object is larger than this many bytes.
#define LARGEST_GROWTH 64

static const struct {
    const char *name;
    void (*run)(int round);
    int part; // this type does one round in so many, unless it is the only one
} types[] = {
    {"messages", messages, 1}, {"proxies", proxies, 20}, {"loads", loads, 1},      {"uploads", uploads, 1},    {"transfers", transfers, 4},
    {"pairs", pairs, 1},       {"hosts", hosts, 1},      {"services", services, 1}, {"diagnoses", diagnoses, 4},
    {"stores", stores, 1},     {"reach", reachabilities, 1},
    {"passwords", passwords, 4}, {"certificates", certificates, 1},
};

static int rounds;
static Boolean prints;

static void *work(void *argument) {
    for (size_t index = 0; index < sizeof types / sizeof *types; index++) {
        if (onlyType && strcmp(onlyType, types[index].name)) continue;
        int count = rounds / (onlyType ? 1 : types[index].part), first = count / 4;
        size_t memory = 0;
        int open = 0;
        for (int round = 0; round < count; round++) {
            if (prints && round == first) {
                memory = mallinfo2().uordblks;
                open = descriptors();
            }
            types[index].run(round);
        }
        if (!prints) continue;
        // Timers and idle connections end on the loop of the library, which may lag behind on a busy machine. Where a transfer began before
        // the former connection was free, two connections of FTP are idle now, for a minute.
        long growth = 0;
        for (int wait = 0; wait < 3500; wait++) {
            growth = (long)(mallinfo2().uordblks - memory);
            if (descriptors() <= open && growth <= LARGEST_GROWTH * (count - first)) break;
            usleep(20000);
        }
        printf("%-10s %5d rounds, %6.1f bytes per round, %d descriptors\n", types[index].name, count, (double)growth / (count - first),
               descriptors() - open);
        fflush(stdout);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    rounds = atoi(argv[1]);
    int threads = atoi(argv[2]);
    httpURL = argv[3];
    ftpURL = argv[4];
    onlyType = argc > 5 ? argv[5] : NULL;
    prints = threads == 1;
    // A keychain of its own.
    char folder[] = "/tmp/rounds-XXXXXX";
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent", 1);
    setenv("XDG_DATA_HOME", mkdtemp(folder), 1);
    if (threads == 1) {
        work(NULL);
    } else {
        pthread_t workers[16];
        for (int index = 0; index < threads && index < 16; index++) pthread_create(&workers[index], NULL, work, NULL);
        for (int index = 0; index < threads && index < 16; index++) pthread_join(workers[index], NULL);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command)) return 2;
    printf("%d problems\n", problems);
    return problems != 0;
}
