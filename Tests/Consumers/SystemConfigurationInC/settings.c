// Prints the first IPv4 address of the loopback interface and the flags of localhost, with SystemConfiguration.
//
//   cc settings.c $(pkg-config --cflags --libs CFNetwork) -o settings && ./settings
//
// Source for C11 and later and for C++; nothing in it is specific to Linux but the name of the interface.

#include <SystemConfiguration/SystemConfiguration.h>
#include <stdio.h>

static void reached(SCNetworkReachabilityRef target, SCNetworkReachabilityFlags flags, void *info) {
    (void)target;
    printf("%s: %x\n", (const char *)info, (unsigned)flags);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

int main(void) {
    SCDynamicStoreRef store = SCDynamicStoreCreate(NULL, CFSTR("settings"), NULL, NULL);
    CFStringRef key = SCDynamicStoreKeyCreateNetworkInterfaceEntity(NULL, kSCDynamicStoreDomainState, CFSTR("lo"), kSCEntNetIPv4);
    CFDictionaryRef value = (CFDictionaryRef)SCDynamicStoreCopyValue(store, key);
    if (!value) {
        printf("%s\n", SCErrorString(SCError()));
        return 1;
    }
    CFArrayRef addresses = (CFArrayRef)CFDictionaryGetValue(value, kSCPropNetIPv4Addresses);
    char text[64];
    CFStringGetCString((CFStringRef)CFArrayGetValueAtIndex(addresses, 0), text, sizeof text, kCFStringEncodingUTF8);
    printf("lo: %s\n", text);
    CFRelease(value);
    CFRelease(key);
    CFRelease(store);

    char host[] = "localhost";
    SCNetworkReachabilityContext context = {0, host, NULL, NULL, NULL};
    SCNetworkReachabilityRef target = SCNetworkReachabilityCreateWithName(NULL, host);
    SCNetworkReachabilitySetCallback(target, reached, &context);
    SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFRunLoopRun();
    CFRelease(target);
    return 0;
}
