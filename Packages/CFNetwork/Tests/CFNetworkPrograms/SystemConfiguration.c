#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Objects.h"
#include <CFNetwork/CFNetwork.h>
#include <SystemConfiguration/SystemConfiguration.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// <dispatch/dispatch.h> is in the toolchain's folder, where the C targets of a package do not find it.
extern dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
extern void dispatch_release(void *object);
extern void dispatch_sync_f(dispatch_queue_t queue, void *context, void (*work)(void *));

/// Whether a call failed with a status.
static Boolean failed(Boolean hasFailed, int status) { return hasFailed && SCError() == status; }

/// The value of a key in the value of a key of the store; NULL if there is none. The caller releases it.
static CFTypeRef copyProperty(CFStringRef key, CFStringRef property) {
    CFDictionaryRef value = SCDynamicStoreCopyValue(NULL, key);
    CFTypeRef result = value == NULL ? NULL : CFDictionaryGetValue(value, property);
    if (result != NULL) CFRetain(result);
    if (value != NULL) CFRelease(value);
    return result;
}

/// Releases an object after comparing it.
static Boolean equals(CFTypeRef object, CFTypeRef wanted) {
    Boolean isEqual = object != NULL && CFEqual(object, wanted);
    if (object != NULL) CFRelease(object);
    return isEqual;
}

const char *CFNetworkStoreKeysProgram(void) {
    CHECK(equals(SCDynamicStoreKeyCreateProxies(NULL), CFSTR("State:/Network/Global/Proxies")));
    CHECK(equals(SCDynamicStoreKeyCreateComputerName(NULL), CFSTR("Setup:/System")));
    CHECK(equals(SCDynamicStoreKeyCreateHostNames(NULL), CFSTR("Setup:/Network/HostNames")));
    CHECK(equals(SCDynamicStoreKeyCreateLocation(NULL), CFSTR("Setup:")));
    CHECK(equals(SCDynamicStoreKeyCreateNetworkGlobalEntity(NULL, kSCDynamicStoreDomainState, kSCEntNetIPv4), CFSTR("State:/Network/Global/IPv4")));
    CHECK(equals(SCDynamicStoreKeyCreateNetworkInterface(NULL, kSCDynamicStoreDomainState), CFSTR("State:/Network/Interface")));
    CHECK(equals(SCDynamicStoreKeyCreateNetworkInterfaceEntity(NULL, kSCDynamicStoreDomainState, CFSTR("lo"), kSCEntNetLink),
        CFSTR("State:/Network/Interface/lo/Link")));
    CHECK(equals(SCDynamicStoreKeyCreateNetworkInterfaceEntity(NULL, kSCDynamicStoreDomainState, CFSTR("lo"), NULL), CFSTR("State:/Network/Interface/lo")));
    CHECK(equals(SCDynamicStoreKeyCreateNetworkServiceEntity(NULL, kSCDynamicStoreDomainSetup, kSCCompAnyRegex, kSCEntNetDNS),
        CFSTR("Setup:/Network/Service/[^/]+/DNS")));
    CHECK(equals(SCDynamicStoreKeyCreate(NULL, CFSTR("%@x/%d"), kSCDynamicStoreDomainState, 7), CFSTR("State:x/7")) && SCError() == kSCStatusOK);
    CFStringRef none = NULL;
    CHECK(failed(SCDynamicStoreKeyCreateNetworkInterface(NULL, none) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCDynamicStoreKeyCreateNetworkGlobalEntity(NULL, (CFStringRef)kCFBooleanTrue, kSCEntNetDNS) == NULL, kSCStatusInvalidArgument));
    CHECK(CFEqual(kSCPropNetProxiesHTTPProxy, kCFNetworkProxiesHTTPProxy) && CFEqual(kSCPropNetProxiesExceptionsList, kCFNetworkProxiesExceptionsList));

    // Errors.
    CHECK(SCDynamicStoreKeyCreateNetworkInterface(NULL, none) == NULL);
    CFErrorRef error = SCCopyLastError();
    CHECK(isCoreFoundation(error));
    CHECK(CFErrorGetCode(error) == kSCStatusInvalidArgument && CFEqual(CFErrorGetDomain(error), kCFErrorDomainSystemConfiguration));
    CFRelease(error);
    for (int status = -1; status < 5010; status++) CHECK(SCErrorString(status) != NULL && SCErrorString(status)[0] != 0);
    CHECK(strcmp(SCErrorString(kSCStatusNoKey), SCErrorString(kSCStatusFailed)) != 0);
    return NULL;
}

const char *CFNetworkStoreProgram(void) {
    SCDynamicStoreRef store = SCDynamicStoreCreate(NULL, CFSTR("tests"), NULL, NULL);
    CHECK(store != NULL && CFGetTypeID(store) == SCDynamicStoreGetTypeID() && SCError() == kSCStatusOK);
    CFStringRef description = CFCopyDescription(store);
    CHECK(CFStringHasPrefix(description, CFSTR("<SCDynamicStore 0x")) && CFStringHasSuffix(description, CFSTR("{tests}")));
    CFRelease(description);

    // Values that every machine has.
    CHECK(equals(copyProperty(CFSTR("State:/Network/Interface/lo/Link"), kSCPropNetLinkActive), kCFBooleanTrue));
    CFArrayRef names = copyProperty(CFSTR("State:/Network/Interface"), kSCDynamicStorePropNetInterfaces);
    CHECK(names != NULL && CFArrayContainsValue(names, CFRangeMake(0, CFArrayGetCount(names)), CFSTR("lo")));
    CFRelease(names);
    CFArrayRef addresses = copyProperty(CFSTR("State:/Network/Interface/lo/IPv4"), kSCPropNetIPv4Addresses);
    CFArrayRef masks = copyProperty(CFSTR("State:/Network/Interface/lo/IPv4"), kSCPropNetIPv4SubnetMasks);
    CHECK(CFEqual(CFArrayGetValueAtIndex(addresses, 0), CFSTR("127.0.0.1")) && CFEqual(CFArrayGetValueAtIndex(masks, 0), CFSTR("255.0.0.0")));
    CHECK(copyProperty(CFSTR("State:/Network/Interface/lo/IPv4"), kSCPropNetIPv4BroadcastAddresses) == NULL);
    CFRelease(addresses);
    CFRelease(masks);
    CFStringEncoding encoding = 0;
    CFStringRef name = SCDynamicStoreCopyComputerName(store, &encoding);
    CHECK(name != NULL && CFStringGetLength(name) > 0 && encoding == kCFStringEncodingUTF8);
    CHECK(equals(copyProperty(CFSTR("Setup:/System"), kSCPropSystemComputerName), name));
    CFRelease(name);
    name = SCDynamicStoreCopyLocalHostName(NULL);
    CHECK(name != NULL && equals(copyProperty(CFSTR("Setup:/Network/HostNames"), kSCPropNetLocalHostName), name));
    CFRelease(name);
    CHECK(failed(SCDynamicStoreCopyLocation(store) == NULL, kSCStatusNoKey));

    // The proxies, under all three names.
    setenv("http_proxy", "http://proxy.example:3128", 1);
    CFDictionaryRef proxies = SCDynamicStoreCopyProxies(store), value = SCDynamicStoreCopyValue(store, CFSTR("State:/Network/Global/Proxies"));
    CHECK(CFEqual(CFDictionaryGetValue(proxies, kSCPropNetProxiesHTTPProxy), CFSTR("proxy.example")) && CFEqual(proxies, value));
    CHECK(equals(CFNetworkCopySystemProxySettings(), proxies));
    CFRelease(proxies);
    CFRelease(value);
    const void *everything[] = {CFSTR(".*")};
    CFArrayRef any = CFArrayCreate(NULL, everything, 1, &kCFTypeArrayCallBacks);
    value = SCDynamicStoreCopyMultiple(store, NULL, any);
    CHECK(isCoreFoundation(value) && CFDictionaryContainsKey(value, CFSTR("State:/Network/Global/Proxies")));
    CFRelease(any);
    CFRelease(value);
    setenv("http_proxy", "ftp://no", 1);
    CHECK(failed(SCDynamicStoreCopyProxies(NULL) == NULL, kSCStatusFailed));
    CHECK(failed(SCDynamicStoreCopyValue(NULL, CFSTR("State:/Network/Global/Proxies")) == NULL, kSCStatusNoKey));
    unsetenv("http_proxy");

    // Patterns are for whole keys, and of the extended kind.
    CFArrayRef list = SCDynamicStoreCopyKeyList(store, CFSTR("State:/Network/Interface/(lo|none)/Lin."));
    CHECK(isCoreFoundation(list) && CFArrayGetCount(list) == 1);
    CHECK(CFEqual(CFArrayGetValueAtIndex(list, 0), CFSTR("State:/Network/Interface/lo/Link")));
    CFRelease(list);
    list = SCDynamicStoreCopyKeyList(NULL, CFSTR("State:/Network/Interface/lo"));
    CHECK(list != NULL && CFArrayGetCount(list) == 0);
    CFRelease(list);
    CHECK(failed(SCDynamicStoreCopyKeyList(store, CFSTR("(")) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCDynamicStoreCopyKeyList(store, NULL) == NULL, kSCStatusInvalidArgument));
    const void *keys[] = {CFSTR("Setup:/System"), CFSTR("Setup:/Nothing")}, *patterns[] = {CFSTR("State:/Network/Interface/lo/.*")};
    CFArrayRef wanted = CFArrayCreate(NULL, keys, 2, &kCFTypeArrayCallBacks), expressions = CFArrayCreate(NULL, patterns, 1, &kCFTypeArrayCallBacks);
    value = SCDynamicStoreCopyMultiple(store, wanted, expressions);
    CHECK(CFDictionaryContainsKey(value, keys[0]) && !CFDictionaryContainsKey(value, keys[1]));
    CHECK(CFDictionaryContainsKey(value, CFSTR("State:/Network/Interface/lo/Link")) && !CFDictionaryContainsKey(value, CFSTR("State:/Network/Interface")));
    CFRelease(value);
    value = SCDynamicStoreCopyMultiple(NULL, NULL, NULL);
    CHECK(value != NULL && CFDictionaryGetCount(value) == 0);
    CFRelease(value);

    // Nothing is written.
    CHECK(failed(!SCDynamicStoreSetValue(store, CFSTR("Setup:/System"), CFSTR("x")), kSCStatusAccessError));
    CHECK(failed(!SCDynamicStoreAddValue(store, CFSTR("State:/x"), CFSTR("x")), kSCStatusAccessError));
    CHECK(failed(!SCDynamicStoreAddTemporaryValue(store, CFSTR("State:/x"), CFSTR("x")), kSCStatusAccessError));
    CHECK(failed(!SCDynamicStoreRemoveValue(store, CFSTR("Setup:/System")), kSCStatusAccessError));
    CHECK(failed(!SCDynamicStoreNotifyValue(store, CFSTR("Setup:/System")), kSCStatusAccessError));
    CHECK(failed(!SCDynamicStoreSetMultiple(store, NULL, NULL, NULL), kSCStatusAccessError));
    CHECK(failed(!SCDynamicStoreSetValue(store, NULL, CFSTR("x")), kSCStatusInvalidArgument));

    // Options have no effect.
    const void *option = kSCDynamicStoreUseSessionKeys, *isOn = kCFBooleanTrue;
    CFDictionaryRef options = CFDictionaryCreate(NULL, &option, &isOn, 1, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    for (int i = 0; i < 2; i++) {
        SCDynamicStoreRef session = SCDynamicStoreCreateWithOptions(NULL, CFSTR("tests"), i == 0 ? options : NULL, NULL, NULL);
        CHECK(session != NULL && SCError() == kSCStatusOK && CFGetTypeID(session) == SCDynamicStoreGetTypeID());
        CHECK(equals(SCDynamicStoreCopyValue(session, CFSTR("State:/Network/Interface")), value = SCDynamicStoreCopyValue(store, CFSTR("State:/Network/Interface"))));
        CFRelease(value);
        CFRelease(session);
    }
    CFRelease(options);

    // Arguments that are NULL or of another type.
    CFTypeRef number = kCFBooleanTrue;
    CHECK(failed(SCDynamicStoreCreate(NULL, NULL, NULL, NULL) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCDynamicStoreCreate(NULL, number, NULL, NULL) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCDynamicStoreCopyValue(store, NULL) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCDynamicStoreCopyValue((SCDynamicStoreRef)number, CFSTR("Setup:/System")) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCDynamicStoreCopyValue(store, CFSTR("Setup:/Nothing")) == NULL, kSCStatusNoKey));
    CHECK(failed(SCDynamicStoreCopyMultiple(store, number, NULL) == NULL, kSCStatusInvalidArgument));
    const void *others[] = {number};
    CFArrayRef numbers = CFArrayCreate(NULL, others, 1, &kCFTypeArrayCallBacks);
    CHECK(failed(!SCDynamicStoreSetNotificationKeys(store, numbers, NULL), kSCStatusInvalidArgument));
    CHECK(failed(!SCDynamicStoreSetNotificationKeys(NULL, wanted, NULL), kSCStatusNoStoreSession));
    CHECK(failed(SCDynamicStoreCopyNotifiedKeys(NULL) == NULL, kSCStatusNoStoreSession));
    CHECK(failed(SCDynamicStoreCreateRunLoopSource(NULL, NULL, 0) == NULL, kSCStatusNoStoreSession));
    CHECK(failed(!SCDynamicStoreSetDispatchQueue(NULL, NULL), kSCStatusNoStoreSession));
    CHECK(SCDynamicStoreSetNotificationKeys(store, NULL, NULL) && SCError() == kSCStatusOK);
    CFRelease(numbers);
    CFRelease(wanted);
    CFRelease(expressions);
    CFRelease(store);
    return NULL;
}

struct Client {
    atomic_int retains, releases, calls;
    pthread_t thread;
    CFIndex keys;
    Boolean isRight;
    SCNetworkReachabilityFlags flags;
    CFRunLoopRef loop; // Stopped by each call.
    sem_t *onQueue;    // Instead of the run loop.
};

static const void *retainClient(const void *info) { ((struct Client *)info)->retains++; return info; }
static void releaseClient(const void *info) { ((struct Client *)info)->releases++; }
/// Waits until the client has been released that often: another thread may still look at an object whose last reference here is gone.
static Boolean isReleased(struct Client *client, int times) {
    while (client->releases < times) sched_yield();
    return client->releases == times;
}
static CFStringRef describeClient(const void *info) { return CFStringCreateCopy(NULL, CFSTR("a client")); }

static void called(struct Client *client) {
    client->thread = pthread_self();
    client->calls++;
    if (client->onQueue != NULL) sem_post(client->onQueue); else CFRunLoopStop(client->loop);
}

static void changed(SCDynamicStoreRef store, CFArrayRef keys, void *info) {
    struct Client *client = info;
    client->keys = CFArrayGetCount(keys);
    client->isRight = client->keys == 1 && CFEqual(CFArrayGetValueAtIndex(keys, 0), CFSTR("State:/Network/Global/Proxies"))
        && CFGetTypeID(store) == SCDynamicStoreGetTypeID();
    called(client);
}

static Boolean runs(void) { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped; }

/// Replaces the settings file as an editor does.
static Boolean writeSettings(const char *folder, const char *text) {
    char path[512], draft[512];
    snprintf(path, sizeof path, "%s/netkit/proxies", folder);
    snprintf(draft, sizeof draft, "%s/netkit/draft-XXXXXX", folder);
    int file = mkstemp(draft);
    if (file < 0) return FALSE;
    Boolean isWritten = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return isWritten && rename(draft, path) == 0;
}

static void nothing(void *context) {}

const char *CFNetworkStoreChangesProgram(void) {
    char folder[] = "/tmp/cfnetwork-store-XXXXXX", path[512];
    CHECK(mkdtemp(folder) != NULL);
    setenv("XDG_CONFIG_HOME", folder, 1);
    struct Client client = {.loop = CFRunLoopGetCurrent()};
    SCDynamicStoreContext context = {0, &client, retainClient, releaseClient, describeClient};
    SCDynamicStoreRef store = SCDynamicStoreCreate(NULL, CFSTR("tests"), changed, &context);
    CHECK(store != NULL && client.retains == 1);
    CFStringRef description = CFCopyDescription(store);
    CHECK(CFStringHasSuffix(description, CFSTR("{tests, a client}")));
    CFRelease(description);
    CFStringRef key = SCDynamicStoreKeyCreateProxies(NULL);
    CFArrayRef keys = CFArrayCreate(NULL, (const void **)&key, 1, &kCFTypeArrayCallBacks);
    CHECK(SCDynamicStoreSetNotificationKeys(store, keys, NULL));
    CFRunLoopSourceRef source = SCDynamicStoreCreateRunLoopSource(NULL, store, 0), again = SCDynamicStoreCreateRunLoopSource(NULL, store, 0);
    CHECK(source != NULL && source == again);
    CFRelease(again);
    dispatch_queue_t queue = dispatch_queue_create("tests", NULL);
    CHECK(failed(!SCDynamicStoreSetDispatchQueue(store, queue), kSCStatusNotifierActive));
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);

    // The folder of the file is created while it is watched. Each change is reported once.
    snprintf(path, sizeof path, "%s/netkit", folder);
    CHECK(mkdir(path, 0700) == 0 && writeSettings(folder, "http_proxy = http://one.example:1\n"));
    CHECK(runs() && client.calls == 1 && client.isRight && pthread_equal(client.thread, pthread_self()));
    CFDictionaryRef proxies = SCDynamicStoreCopyProxies(store);
    CHECK(CFEqual(CFDictionaryGetValue(proxies, kSCPropNetProxiesHTTPProxy), CFSTR("one.example")));
    CFRelease(proxies);
    CHECK(writeSettings(folder, "auto_config_url = http://example.org/proxy.pac\n"));
    CHECK(runs() && client.calls == 2 && client.isRight);
    proxies = SCDynamicStoreCopyProxies(store);
    CHECK(CFEqual(CFDictionaryGetValue(proxies, kSCPropNetProxiesProxyAutoConfigURLString), CFSTR("http://example.org/proxy.pac")));
    CFRelease(proxies);
    // The same settings again are no change; the next change is.
    CHECK(writeSettings(folder, "# comment\nauto_config_url = http://example.org/proxy.pac\n") && writeSettings(folder, "http_proxy = http://two.example:2\n"));
    CHECK(runs() && client.calls == 3 && client.isRight);
    CFArrayRef notified = SCDynamicStoreCopyNotifiedKeys(store);
    CHECK(notified != NULL && CFArrayGetCount(notified) == 0);
    CFRelease(notified);
    // The folder above is moved away and back.
    char moved[64];
    snprintf(moved, sizeof moved, "%s-moved", folder);
    CHECK(rename(folder, moved) == 0 && runs() && client.calls == 4 && client.isRight);
    CHECK(rename(moved, folder) == 0 && runs() && client.calls == 5 && client.isRight);
    CHECK(writeSettings(folder, "http_proxy = http://three.example:3\n") && runs() && client.calls == 6 && client.isRight);

    // On a queue. The source keeps the session until it is invalid.
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
    sem_t onQueue;
    sem_init(&onQueue, 0, 0);
    client.onQueue = &onQueue;
    CHECK(SCDynamicStoreSetDispatchQueue(store, queue) && SCDynamicStoreSetDispatchQueue(store, queue));
    CHECK(failed(SCDynamicStoreCreateRunLoopSource(NULL, store, 0) == NULL, kSCStatusNotifierActive));
    dispatch_queue_t other = dispatch_queue_create("tests", NULL);
    CHECK(failed(!SCDynamicStoreSetDispatchQueue(store, other), kSCStatusNotifierActive));
    dispatch_release(other);
    snprintf(path, sizeof path, "%s/netkit/proxies", folder);
    CHECK(unlink(path) == 0);
    CHECK(sem_wait(&onQueue) == 0 && client.calls == 7 && client.isRight && !pthread_equal(client.thread, pthread_self()));
    CHECK(SCDynamicStoreSetDispatchQueue(store, NULL));
    dispatch_sync_f(queue, NULL, nothing);

    // Without a callback's place, the keys wait.
    CHECK(writeSettings(folder, "http_proxy = http://three.example:3\n"));
    CFIndex count = 0;
    while (count == 0) {
        notified = SCDynamicStoreCopyNotifiedKeys(store);
        count = CFArrayGetCount(notified);
        CFRelease(notified);
    }
    CHECK(count == 1 && client.calls == 7);
    CHECK(client.releases == 0);
    CFRelease(store);
    CHECK(client.retains == 1 && isReleased(&client, 1));
    CFRelease(keys);
    CFRelease(key);
    dispatch_release(queue);
    CHECK(unlink(path) == 0);
    snprintf(path, sizeof path, "%s/netkit", folder);
    CHECK(rmdir(path) == 0 && rmdir(folder) == 0);
    return NULL;
}

/// The flags of a target, which is released; all bits if they are unknown.
static SCNetworkReachabilityFlags flagsOf(SCNetworkReachabilityRef target) {
    SCNetworkReachabilityFlags flags = 0;
    Boolean isKnown = SCNetworkReachabilityGetFlags(target, &flags);
    CFRelease(target);
    return isKnown ? flags : ~(SCNetworkReachabilityFlags)0;
}

/// The flags of a host, which is released; 0 if it is not found.
static SCNetworkReachabilityFlags flagsOfHost(CFHostRef host) {
    UInt32 flags = 0;
    if (CFHostStartInfoResolution(host, kCFHostReachability, NULL)) memcpy(&flags, CFDataGetBytePtr(CFHostGetReachability(host, NULL)), sizeof flags);
    CFRelease(host);
    return flags;
}

/// An address of either family.
static struct sockaddr_storage addressOf(const char *text) {
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) v4->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) v6->sin6_family = AF_INET6;
    return storage;
}

// Parity: HR-016
const char *CFNetworkReachabilityProgram(void) {
    const SCNetworkReachabilityFlags local =
        kSCNetworkReachabilityFlagsReachable | kSCNetworkReachabilityFlagsIsLocalAddress | kSCNetworkReachabilityFlagsIsDirect;
    CHECK(local == 0x30002 && kSCNetworkReachabilityFlagsConnectionAutomatic == kSCNetworkReachabilityFlagsConnectionOnTraffic);
    SCNetworkReachabilityRef target = SCNetworkReachabilityCreateWithName(NULL, "localhost");
    CHECK(target != NULL && CFGetTypeID(target) == SCNetworkReachabilityGetTypeID());
    CFStringRef description = CFCopyDescription(target);
    CHECK(CFStringHasPrefix(description, CFSTR("<SCNetworkReachability 0x")) && CFStringHasSuffix(description, CFSTR("{localhost}")));
    CFRelease(description);
    CHECK(flagsOf(target) == local);

    // The same flags as CFHost's.
    static const char *const texts[] = {"127.0.0.1", "127.5.6.7", "0.0.0.0", "192.0.2.1", "255.255.255.255", "224.0.0.1", "::1", "::", "2001:db8::1", "ff02::1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sockaddr_storage address = addressOf(texts[i]);
        CFIndex size = address.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        CFDataRef data = CFDataCreate(NULL, (const UInt8 *)&address, size);
        SCNetworkReachabilityFlags flags = flagsOf(SCNetworkReachabilityCreateWithAddress(NULL, (const struct sockaddr *)&address));
        CHECK(flags == flagsOfHost(CFHostCreateWithAddress(NULL, data)));
        CFRelease(data);
        CFStringRef name = CFStringCreateWithCString(NULL, texts[i], kCFStringEncodingASCII);
        CHECK(flags == flagsOfHost(CFHostCreateWithName(NULL, name)) && flags == flagsOf(SCNetworkReachabilityCreateWithName(NULL, texts[i])));
        CFRelease(name);
        if (i == 0 || i == 1) CHECK(flags == local);
    }
    static const char *const names[] = {"localhost", "none.invalid", "a..b", "one.localhost", " "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CFStringRef name = CFStringCreateWithCString(NULL, names[i], kCFStringEncodingASCII);
        CHECK(flagsOfHost(CFHostCreateWithName(NULL, name)) == flagsOf(SCNetworkReachabilityCreateWithName(NULL, names[i])));
        CFRelease(name);
    }

    // Pairs.
    struct sockaddr_storage own = addressOf("127.0.0.1"), foreign = addressOf("192.0.2.1");
    const struct sockaddr *here = (const struct sockaddr *)&own, *there = (const struct sockaddr *)&foreign;
    CHECK(flagsOf(SCNetworkReachabilityCreateWithAddressPair(NULL, here, here)) == local);
    CHECK(flagsOf(SCNetworkReachabilityCreateWithAddressPair(NULL, here, NULL)) == local);
    CHECK(flagsOf(SCNetworkReachabilityCreateWithAddressPair(NULL, NULL, here)) == local);
    CHECK(flagsOf(SCNetworkReachabilityCreateWithAddressPair(NULL, there, here)) == 0);
    CHECK(failed(SCNetworkReachabilityCreateWithAddressPair(NULL, NULL, NULL) == NULL, kSCStatusInvalidArgument));

    // Arguments that are NULL or of another type.
    struct sockaddr_storage none = {.ss_family = AF_UNIX};
    SCNetworkReachabilityFlags flags = 1;
    SCNetworkReachabilityRef other = (SCNetworkReachabilityRef)kCFBooleanTrue;
    CHECK(failed(SCNetworkReachabilityCreateWithAddress(NULL, NULL) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCNetworkReachabilityCreateWithAddress(NULL, (const struct sockaddr *)&none) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCNetworkReachabilityCreateWithName(NULL, NULL) == NULL, kSCStatusInvalidArgument));
    CHECK(failed(SCNetworkReachabilityCreateWithName(NULL, "") == NULL, kSCStatusInvalidArgument));
    CHECK(failed(!SCNetworkReachabilityGetFlags(NULL, &flags), kSCStatusInvalidArgument) && flags == 1);
    CHECK(failed(!SCNetworkReachabilityGetFlags(other, &flags), kSCStatusInvalidArgument));
    CHECK(failed(!SCNetworkReachabilitySetCallback(other, NULL, NULL), kSCStatusInvalidArgument));
    CHECK(failed(!SCNetworkReachabilitySetDispatchQueue(NULL, NULL), kSCStatusInvalidArgument));
    target = SCNetworkReachabilityCreateWithName(NULL, "localhost");
    CHECK(failed(!SCNetworkReachabilityGetFlags(target, NULL), kSCStatusInvalidArgument));
    CHECK(failed(!SCNetworkReachabilityScheduleWithRunLoop(target, NULL, kCFRunLoopDefaultMode), kSCStatusInvalidArgument));
    CHECK(failed(!SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), NULL), kSCStatusInvalidArgument));
    CHECK(failed(!SCNetworkReachabilityScheduleWithRunLoop(target, (CFRunLoopRef)kCFBooleanTrue, kCFRunLoopDefaultMode), kSCStatusInvalidArgument));
    CHECK(failed(!SCNetworkReachabilityUnscheduleFromRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode), kSCStatusInvalidArgument));
    CFRelease(target);
    return NULL;
}

static void reached(SCNetworkReachabilityRef target, SCNetworkReachabilityFlags flags, void *info) {
    ((struct Client *)info)->flags = flags;
    called(info);
}

const char *CFNetworkReachabilityEventsProgram(void) {
    struct Client client = {.loop = CFRunLoopGetCurrent()}, second = {.loop = CFRunLoopGetCurrent()};
    SCNetworkReachabilityContext context = {0, &client, retainClient, releaseClient, describeClient};
    SCNetworkReachabilityContext otherContext = {0, &second, retainClient, releaseClient, NULL};
    dispatch_queue_t queue = dispatch_queue_create("tests", NULL);

    // A name is found once it is scheduled; further changes do not occur here.
    SCNetworkReachabilityRef target = SCNetworkReachabilityCreateWithName(NULL, "localhost");
    CHECK(SCNetworkReachabilitySetCallback(target, reached, &context) && client.retains == 1);
    CHECK(SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) && client.calls == 0);
    CHECK(SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode));
    CHECK(SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), CFSTR("another")));
    CHECK(failed(!SCNetworkReachabilitySetDispatchQueue(target, queue), kSCStatusInvalidArgument));
    CHECK(runs() && client.calls == 1 && client.flags == 0x30002 && pthread_equal(client.thread, pthread_self()));
    CHECK(CFRunLoopRunInMode(CFSTR("another"), 0, TRUE) != kCFRunLoopRunStopped && client.calls == 1);
    CFStringRef description = CFCopyDescription(target);
    CHECK(CFStringHasSuffix(description, CFSTR("{localhost, a client}")));
    CFRelease(description);
    CHECK(SCNetworkReachabilitySetCallback(target, reached, &otherContext) && client.releases == 1 && second.retains == 1);
    CHECK(SCNetworkReachabilitySetCallback(target, NULL, NULL) && second.releases == 1);
    CHECK(SCNetworkReachabilityUnscheduleFromRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode));
    CHECK(failed(!SCNetworkReachabilityUnscheduleFromRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode), kSCStatusInvalidArgument));
    CHECK(SCNetworkReachabilityUnscheduleFromRunLoop(target, CFRunLoopGetCurrent(), CFSTR("another")));

    // On a queue, where the callback is set when the name has been found.
    CHECK(SCNetworkReachabilitySetDispatchQueue(target, queue) && SCNetworkReachabilitySetDispatchQueue(target, queue));
    CHECK(failed(!SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode), kSCStatusInvalidArgument));
    sem_t onQueue;
    sem_init(&onQueue, 0, 0);
    second.onQueue = &onQueue;
    CHECK(SCNetworkReachabilitySetCallback(target, reached, &otherContext));
    CHECK(sem_wait(&onQueue) == 0 && second.calls == 1 && second.flags == 0x30002 && !pthread_equal(second.thread, pthread_self()));
    CHECK(SCNetworkReachabilitySetDispatchQueue(target, NULL) && SCNetworkReachabilitySetDispatchQueue(target, NULL));
    // The callback has told this thread before it has returned.
    dispatch_sync_f(queue, NULL, nothing);
    CFRelease(target);
    CHECK(second.retains == 2 && isReleased(&second, 2));

    // Addresses begin with their present flags. A target that is scheduled can be released.
    struct sockaddr_storage own = addressOf("127.0.0.1");
    target = SCNetworkReachabilityCreateWithAddress(NULL, (const struct sockaddr *)&own);
    CHECK(SCNetworkReachabilitySetCallback(target, reached, &context));
    CHECK(SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode));
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE) != kCFRunLoopRunStopped && client.calls == 1);
    CFRelease(target);
    CHECK(client.retains == 2 && isReleased(&client, 2));
    dispatch_release(queue);
    return NULL;
}
