// Prints changes of this machine's network: the flags of hosts, and the keys of the dynamic store.
//
//   watch [--queue] ADDRESS…
//
// Each line has the time of CLOCK_MONOTONIC in seconds. The first lines have the present flags, followed by "ready".
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <SystemConfiguration/SystemConfiguration.h>
#include <dispatch/dispatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void reached(SCNetworkReachabilityRef target, SCNetworkReachabilityFlags flags, void *info) {
    (void)target;
    printf("%.6f flags %s %x\n", now(), (const char *)info, (unsigned)flags);
}

static void changed(SCDynamicStoreRef store, CFArrayRef keys, void *info) {
    (void)store, (void)info;
    double time = now();
    for (CFIndex index = 0; index < CFArrayGetCount(keys); index++) {
        char key[256];
        if (CFStringGetCString((CFStringRef)CFArrayGetValueAtIndex(keys, index), key, sizeof key, kCFStringEncodingUTF8)) printf("%.6f key %s\n", time, key);
    }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    Boolean usesQueue = argc > 1 && strcmp(argv[1], "--queue") == 0;
    dispatch_queue_t queue = dispatch_queue_create("watch", NULL);
    for (int index = usesQueue ? 2 : 1; index < argc; index++) {
        SCNetworkReachabilityRef target = SCNetworkReachabilityCreateWithName(NULL, argv[index]);
        SCNetworkReachabilityFlags flags = 0;
        SCNetworkReachabilityContext context = {0, argv[index], NULL, NULL, NULL};
        if (!target || !SCNetworkReachabilitySetCallback(target, reached, &context)) return 1;
        if (!(usesQueue ? SCNetworkReachabilitySetDispatchQueue(target, queue)
                        : SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)))
            return 1;
        if (!SCNetworkReachabilityGetFlags(target, &flags)) return 1;
        printf("%.6f flags %s %x\n", now(), argv[index], (unsigned)flags);
    }
    SCDynamicStoreRef store = SCDynamicStoreCreate(NULL, CFSTR("watch"), changed, NULL);
    CFStringRef pattern = CFSTR("State:/Network/.*");
    CFArrayRef patterns = CFArrayCreate(NULL, (const void **)&pattern, 1, &kCFTypeArrayCallBacks);
    if (!store || !SCDynamicStoreSetNotificationKeys(store, NULL, patterns)) return 1;
    CFRunLoopSourceRef source = usesQueue ? NULL : SCDynamicStoreCreateRunLoopSource(NULL, store, 0);
    if (usesQueue && !SCDynamicStoreSetDispatchQueue(store, queue)) return 1;
    if (source) CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    printf("%.6f ready\n", now());
    if (usesQueue) dispatch_semaphore_wait(dispatch_semaphore_create(0), DISPATCH_TIME_FOREVER);
    CFRunLoopRun();
    return 0;
}
