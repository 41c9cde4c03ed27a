// A stand-in for the part of Apple's SystemConfiguration that the listings use. The settings are those of the environment.
#ifndef SYSTEMCONFIGURATION_H
#define SYSTEMCONFIGURATION_H

#include <CFNetwork/CFNetwork.h>

typedef CFTypeRef SCDynamicStoreRef;
typedef void (*SCDynamicStoreCallBack)(SCDynamicStoreRef store, CFArrayRef changedKeys, void *info);
typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} SCDynamicStoreContext;

static SCDynamicStoreCallBack changed;
static CFRunLoopSourceRef source;

static inline SCDynamicStoreRef SCDynamicStoreCreate(CFAllocatorRef allocator, CFStringRef name, SCDynamicStoreCallBack callout, SCDynamicStoreContext *context) {
    changed = callout;
    return CFRetain(name);
}
static inline CFStringRef SCDynamicStoreKeyCreateProxies(CFAllocatorRef allocator) {
    return CFStringCreateCopy(allocator, CFSTR("State:/Network/Global/Proxies"));
}
static inline Boolean SCDynamicStoreSetNotificationKeys(SCDynamicStoreRef store, CFArrayRef keys, CFArrayRef patterns) { return TRUE; }
// Without the exceptions, since the servers of the listings have loopback addresses.
static inline CFDictionaryRef SCDynamicStoreCopyProxies(SCDynamicStoreRef store) {
    CFDictionaryRef settings = CFNetworkCopySystemProxySettings();
    CFMutableDictionaryRef copy = CFDictionaryCreateMutableCopy(NULL, 0, settings);
    CFDictionaryRemoveValue(copy, kCFNetworkProxiesExceptionsList);
    CFRelease(settings);
    return copy;
}

static void perform(void *info) { changed(NULL, NULL, NULL); }
static inline CFRunLoopSourceRef SCDynamicStoreCreateRunLoopSource(CFAllocatorRef allocator, SCDynamicStoreRef store, CFIndex order) {
    if (!source) {
        CFRunLoopSourceContext context = {0};
        context.perform = perform;
        source = CFRunLoopSourceCreate(allocator, order, &context);
    }
    return (CFRunLoopSourceRef)CFRetain(source);
}

/// Reports a change of the settings to the run loop.
static inline void changeProxies(void) { CFRunLoopSourceSignal(source); }

#endif
