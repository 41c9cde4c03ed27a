#include "CFNetworkPrograms.h"
#include "Check.h"
#include <SystemConfiguration/SystemConfiguration.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

// <dispatch/dispatch.h> is in the toolchain's folder, where the C targets of a package do not find it.
extern dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
extern void dispatch_release(void *object);

/// What a second thread does at the same time as the first one.
struct Rival {
    SCDynamicStoreRef store;
    SCNetworkReachabilityRef target;
    CFRunLoopRef loop;
    CFRunLoopSourceRef source;
    pthread_barrier_t barrier;
    atomic_int owners;
    Boolean isRight;
    int reports;
};

enum { rounds = 200 };

/// Waits for the other thread.
static void meet(struct Rival *rival) { pthread_barrier_wait(&rival->barrier); }

static void *createSources(void *info) {
    struct Rival *rival = info;
    for (int i = 0; i < rounds; i++) {
        meet(rival);
        rival->source = SCDynamicStoreCreateRunLoopSource(NULL, rival->store, 0);
        meet(rival);
    }
    return NULL;
}

/// Both threads receive the source of the session.
static Boolean sharesSources(void) {
    struct Rival rival = {0};
    pthread_barrier_init(&rival.barrier, NULL, 2);
    pthread_t thread;
    Boolean isRight = pthread_create(&thread, NULL, createSources, &rival) == 0;
    for (int i = 0; i < rounds; i++) {
        rival.store = SCDynamicStoreCreate(NULL, CFSTR("tests"), NULL, NULL);
        meet(&rival);
        CFRunLoopSourceRef source = SCDynamicStoreCreateRunLoopSource(NULL, rival.store, 0);
        meet(&rival);
        if (source == NULL || source != rival.source) isRight = FALSE;
        CFRelease(rival.source);
        CFRelease(source);
        CFRelease(rival.store);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&rival.barrier);
    return isRight;
}

/// Whether the target belongs to the calling thread alone.
static Boolean ownsAlone(struct Rival *rival) {
    SCNetworkReachabilityFlags flags = 0;
    Boolean isAlone = rival->owners++ == 0 && SCNetworkReachabilityGetFlags(rival->target, &flags);
    return rival->owners-- == 1 && isAlone;
}

static void *useQueue(void *info) {
    struct Rival *rival = info;
    dispatch_queue_t queue = dispatch_queue_create("tests", NULL);
    for (int i = 0; i < rounds; i++) {
        meet(rival);
        if (SCNetworkReachabilitySetDispatchQueue(rival->target, queue)) {
            if (!ownsAlone(rival)) rival->isRight = FALSE;
            SCNetworkReachabilitySetDispatchQueue(rival->target, NULL);
        }
        meet(rival);
    }
    dispatch_release(queue);
    return NULL;
}

/// The target is never on a queue and a run loop.
static Boolean keepsApart(void) {
    struct Rival rival = {.isRight = TRUE};
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    rival.target = SCNetworkReachabilityCreateWithAddress(NULL, (const struct sockaddr *)&own);
    pthread_barrier_init(&rival.barrier, NULL, 2);
    pthread_t thread;
    Boolean isRight = pthread_create(&thread, NULL, useQueue, &rival) == 0;
    for (int i = 0; i < rounds; i++) {
        meet(&rival);
        if (SCNetworkReachabilityScheduleWithRunLoop(rival.target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)) {
            if (!ownsAlone(&rival)) isRight = FALSE;
            if (!SCNetworkReachabilityUnscheduleFromRunLoop(rival.target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)) isRight = FALSE;
        }
        meet(&rival);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&rival.barrier);
    CFRelease(rival.target);
    return isRight && rival.isRight;
}

static void *unscheduleTarget(void *info) {
    struct Rival *rival = info;
    for (int i = 0; i < rounds; i++) {
        meet(rival);
        rival->isRight = SCNetworkReachabilityUnscheduleFromRunLoop(rival->target, rival->loop, CFSTR("another"));
        meet(rival);
    }
    return NULL;
}

static void reached(SCNetworkReachabilityRef target, SCNetworkReachabilityFlags flags, void *info) {
    struct Rival *rival = info;
    if (flags == 0x30002) rival->reports++;
    CFRunLoopStop(rival->loop);
}

const char *CFNetworkScheduleThreadsProgram(void) {
    CHECK(sharesSources());
    CHECK(keepsApart());

    // A run loop that is added while the last one is removed gets the report that the name is found.
    struct Rival rival = {.loop = CFRunLoopGetCurrent()};
    SCNetworkReachabilityContext context = {0, &rival, NULL, NULL, NULL};
    rival.target = SCNetworkReachabilityCreateWithName(NULL, "localhost");
    CHECK(SCNetworkReachabilitySetCallback(rival.target, reached, &context));
    pthread_barrier_init(&rival.barrier, NULL, 2);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, unscheduleTarget, &rival) == 0);
    for (int i = 0; i < rounds; i++) {
        CHECK(SCNetworkReachabilityScheduleWithRunLoop(rival.target, rival.loop, CFSTR("another")));
        meet(&rival);
        CHECK(SCNetworkReachabilityScheduleWithRunLoop(rival.target, rival.loop, kCFRunLoopDefaultMode));
        meet(&rival);
        CHECK(rival.isRight && CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped && rival.reports == i + 1);
        CHECK(SCNetworkReachabilityUnscheduleFromRunLoop(rival.target, rival.loop, kCFRunLoopDefaultMode));
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&rival.barrier);
    CFRelease(rival.target);
    return NULL;
}
