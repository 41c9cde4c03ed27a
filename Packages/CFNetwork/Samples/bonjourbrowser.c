// Browses for services of a type, resolves each, and monitors its TXT record, for some seconds.
//
//   ./bonjourbrowser _http._tcp 10

#include <CFNetwork/CFNetwork.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// The services that were found, with their monitors.
static CFMutableDictionaryRef monitors;
static CFMutableArrayRef services;

static const char *cString(CFStringRef text) {
    static char bytes[1024];
    bytes[0] = 0;
    if (text) CFStringGetCString(text, bytes, sizeof bytes, kCFStringEncodingUTF8);
    return bytes;
}

static void printPair(const void *key, const void *value, void *context) {
    CFDataRef data = (CFDataRef)value;
    printf(" %s=%.*s", cString((CFStringRef)key), (int)CFDataGetLength(data), (const char *)CFDataGetBytePtr(data));
}

static void printRecord(CFNetServiceRef service, CFDataRef record) {
    CFDictionaryRef pairs = record ? CFNetServiceCreateDictionaryWithTXTData(kCFAllocatorDefault, record) : NULL;
    printf("text %s:", cString(CFNetServiceGetName(service)));
    if (pairs) {
        CFDictionaryApplyFunction(pairs, printPair, NULL);
        CFRelease(pairs);
    }
    printf("\n");
    fflush(stdout);
}

static void monitorCallBack(
    CFNetServiceMonitorRef monitor, CFNetServiceRef service, CFNetServiceMonitorType type, CFDataRef data, CFStreamError *error, void *info) {
    if (error && error->error) {
        printf("monitor: error %d\n", (int)error->error);
    } else if (type == kCFNetServiceMonitorTXT && data) {
        printRecord(service, data);
    }
}

static void resolveCallBack(CFNetServiceRef service, CFStreamError *error, void *info) {
    CFArrayRef addresses = CFNetServiceGetAddressing(service);
    if (error->error) {
        if (error->error == kCFNetServicesErrorCancel) return;
        printf("resolve %s: error %d\n", cString(CFNetServiceGetName(service)), (int)error->error);
        return;
    }
    if (!addresses || CFArrayGetCount(addresses) == 0) return;
    for (CFIndex index = 0; index < CFArrayGetCount(addresses); index++) {
        const struct sockaddr *address = (const struct sockaddr *)CFDataGetBytePtr((CFDataRef)CFArrayGetValueAtIndex(addresses, index));
        char name[INET6_ADDRSTRLEN] = "";
        const void *bytes = address->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
                                                          : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;
        inet_ntop(address->sa_family, bytes, name, sizeof name);
        printf("address %s: %s port %d\n", cString(CFNetServiceGetName(service)), name, (int)CFNetServiceGetPortNumber(service));
    }
    fflush(stdout);
    CFNetServiceCancel(service);
}

static void add(CFNetServiceRef found) {
    CFNetServiceClientContext context = {0, NULL, NULL, NULL, NULL};
    CFStreamError error;
    if (CFDictionaryContainsKey(monitors, found)) return;
    CFNetServiceRef service = CFNetServiceCreateCopy(kCFAllocatorDefault, found);
    CFNetServiceMonitorRef monitor = CFNetServiceMonitorCreate(kCFAllocatorDefault, service, monitorCallBack, &context);
    CFNetServiceMonitorScheduleWithRunLoop(monitor, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    if (!CFNetServiceMonitorStart(monitor, kCFNetServiceMonitorTXT, &error)) printf("monitor: error %d\n", (int)error.error);
    CFDictionarySetValue(monitors, found, monitor);
    CFRelease(monitor);

    CFNetServiceSetClient(service, resolveCallBack, &context);
    CFNetServiceScheduleWithRunLoop(service, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    if (!CFNetServiceResolveWithTimeout(service, 5, &error)) printf("resolve: error %d\n", (int)error.error);
    CFArrayAppendValue(services, service);
    CFRelease(service);
}

static void endMonitor(const void *key, const void *value, void *context) {
    CFNetServiceMonitorRef monitor = (CFNetServiceMonitorRef)value;
    CFNetServiceMonitorStop(monitor, NULL);
    CFNetServiceMonitorUnscheduleFromRunLoop(monitor, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFNetServiceMonitorInvalidate(monitor);
}

static void remove_(CFNetServiceRef lost) {
    const void *monitor = CFDictionaryGetValue(monitors, lost);
    if (!monitor) return;
    endMonitor(lost, monitor, NULL);
    CFDictionaryRemoveValue(monitors, lost);
}

static void browseCallBack(CFNetServiceBrowserRef browser, CFOptionFlags flags, CFTypeRef object, CFStreamError *error, void *info) {
    if (error && error->error) {
        printf("browse: error %d of domain %d\n", (int)error->error, (int)error->domain);
        CFRunLoopStop(CFRunLoopGetCurrent());
        return;
    }
    if (!object || (flags & kCFNetServiceFlagIsDomain)) return;
    CFNetServiceRef service = (CFNetServiceRef)object;
    printf("%s %s\n", flags & kCFNetServiceFlagRemove ? "lost" : "found", cString(CFNetServiceGetName(service)));
    fflush(stdout);
    if (flags & kCFNetServiceFlagRemove) {
        remove_(service);
    } else {
        add(service);
    }
}

int main(int argc, char **argv) {
    CFNetServiceClientContext context = {0, NULL, NULL, NULL, NULL};
    CFStreamError error = {0, 0};
    if (argc != 3) {
        fprintf(stderr, "usage: bonjourbrowser TYPE SECONDS\n");
        return 2;
    }
    monitors = CFDictionaryCreateMutable(kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    services = CFArrayCreateMutable(kCFAllocatorDefault, 0, &kCFTypeArrayCallBacks);
    CFStringRef type = CFStringCreateWithCString(kCFAllocatorDefault, argv[1], kCFStringEncodingUTF8);
    CFNetServiceBrowserRef browser = CFNetServiceBrowserCreate(kCFAllocatorDefault, browseCallBack, &context);
    CFNetServiceBrowserScheduleWithRunLoop(browser, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    Boolean searches = CFNetServiceBrowserSearchForServices(browser, CFSTR("local."), type, &error);
    if (searches) {
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, atof(argv[2]), false);
        CFNetServiceBrowserStopSearch(browser, &error);
    } else {
        fprintf(stderr, "search: error %d of domain %d\n", (int)error.error, (int)error.domain);
    }
    CFNetServiceBrowserUnscheduleFromRunLoop(browser, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFNetServiceBrowserInvalidate(browser);
    CFRelease(browser);
    CFDictionaryApplyFunction(monitors, endMonitor, NULL);
    for (CFIndex index = 0; index < CFArrayGetCount(services); index++) {
        CFNetServiceRef service = (CFNetServiceRef)CFArrayGetValueAtIndex(services, index);
        CFNetServiceUnscheduleFromRunLoop(service, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
        CFNetServiceSetClient(service, NULL, NULL);
        CFNetServiceCancel(service);
    }
    CFRelease(services);
    CFRelease(monitors);
    CFRelease(type);
    return searches ? 0 : 1;
}
