// The classes of this library's CoreFoundation objects.

#include "CFNetworkRuntime.h"
#if __has_include(<CoreFoundation/CFRuntime.h>)
#include <CoreFoundation/CFRuntime.h>
#else
#include <../../../swift/CoreFoundation/CFRuntime.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(
    sizeof(CFRuntimeBase) == sizeof(((struct CFNObject *)0)->base), "this toolchain has another layout of CoreFoundation objects");

static void finalize(CFTypeRef object) { cfn_release(CFNObjectState(object)); }
static CFStringRef describe(CFTypeRef object) { return cfn_describe(CFNObjectState(object), object); }

static Boolean equal(CFTypeRef object, CFTypeRef other) { return cfn_equal(CFNObjectState(object), CFNObjectState(other)); }
static CFHashCode hash(CFTypeRef object) { return cfn_hash(CFNObjectState(object)); }

static CFTypeID registerClass(const char *name, Boolean isComparable) {
    CFRuntimeClass *class = calloc(1, sizeof *class); // The runtime keeps it, and its name, until the process ends.
    CFTypeID type = _kCFRuntimeNotATypeID;
    if (class != NULL) {
        class->className = strdup(name);
        class->finalize = finalize;
        class->copyDebugDesc = describe;
        class->equal = isComparable ? equal : NULL;
        class->hash = isComparable ? hash : NULL;
        type = _CFRuntimeRegisterClass(class);
    }
    if (type == _kCFRuntimeNotATypeID) {
        fprintf(stderr, "CFNetwork: this toolchain's CoreFoundation does not accept the class %s; use a supported toolchain\n", name);
        abort();
    }
    return type;
}

CFTypeID CFNClassRegister(const char *name) { return registerClass(name, FALSE); }
CFTypeID CFNComparableClassRegister(const char *name) { return registerClass(name, TRUE); }

CFTypeRef CFNObjectCreate(CFAllocatorRef allocator, CFTypeID type, const void *state) {
    struct CFNObject *object = (struct CFNObject *)_CFRuntimeCreateInstance(allocator, type, sizeof object->state, NULL);
    if (object == NULL) return NULL;
    if (CFGetTypeID(object) != type) {
        fprintf(stderr, "CFNetwork: this toolchain's CoreFoundation has another object layout; use a supported toolchain\n");
        abort();
    }
    object->state = (void *)state;
    return object;
}

CFMutableDictionaryRef CFNDictionaryCreate(void) {
    return CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
}

CFMutableArrayRef CFNArrayCreate(void) { return CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks); }

void CFNProxyResultCall(CFProxyAutoConfigurationResultCallback callback, void *client, CFArrayRef proxies, CFErrorRef error) {
    callback(client, proxies, error);
}
