// Services (appendix A): registered, found, resolved and ended.
// run:
// prints: registered Sales Laser Printer.*\nfound Sales Laser Printer.*\nresolved port 515 .*\nended
#include "Listings.h"

static CFNetServiceRef resolved;
static CFNetServiceBrowserRef browser;
static CFStringRef ownName;

// The bodies of the callbacks, which the listings leave to their reader.
static void registered(CFNetServiceRef service, CFStreamError *failure) {
    if (failure->error) return reportError(*failure);
    ownName = CFStringCreateCopy(NULL, CFNetServiceGetName(service));
    printf("registered %s\n", cString(ownName));
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void found(CFTypeRef object, CFOptionFlags flags) {
    if (flags & (kCFNetServiceFlagIsDomain | kCFNetServiceFlagRemove) || !object) return;
    CFStringRef name = CFNetServiceGetName((CFNetServiceRef)object);
    if (!ownName || !CFEqual(name, ownName)) return;
    printf("found %s\n", cString(name));
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void isResolved(CFNetServiceRef service) {
    CFArrayRef addresses = CFNetServiceGetAddressing(service);
    if (!addresses || CFArrayGetCount(addresses) == 0 || done) return;
    done = TRUE;
    printf("resolved port %d of %s\n", (int)CFNetServiceGetPortNumber(service), cString(CFNetServiceGetTargetHost(service)));
    CFRunLoopStop(CFRunLoopGetCurrent());
}

// The objects that the listings keep in variables of their own.
static CFNetServiceBrowserRef createBrowser(CFAllocatorRef allocator, CFNetServiceBrowserClientCallBack callBack, CFNetServiceClientContext *context) {
    return browser = CFNetServiceBrowserCreate(allocator, callBack, context);
}
static CFNetServiceRef createService(CFAllocatorRef allocator, CFStringRef domain, CFStringRef type, CFStringRef name, SInt32 port) {
    return resolved = CFNetServiceCreate(allocator, domain, type, name, port);
}

#include "listing A-2"
#define CFNetServiceBrowserCreate createBrowser
#include "listing A-3"
#define CFNetServiceCreate createService
#include "listing A-4"
#undef CFNetServiceCreate
#include "listing A-5"
#include "listing A-6"

int main(int argc, char **argv) {
#include "listing A-1"
    startBonjour(netService);
    run();
    if (!MyStartBrowsingForServices(serviceType, CFSTR("local."))) return 1;
    run();
    MyResolveService(ownName, serviceType, CFSTR("local."));
    run();
    MyCancelResolve(resolved);
    MyStopBrowsingForServices(browser);
    CFNetServiceCancel(netService);
    CFRelease(netService);
    puts("ended");
    return 0;
}
