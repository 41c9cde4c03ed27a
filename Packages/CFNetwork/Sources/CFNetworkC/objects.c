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

// An installed library may be loaded with another toolchain's Foundation than the one that it was built with. The references are weak,
// so that a missing function ends the program with a message and not in the dynamic linker.
#pragma weak _CFRuntimeRegisterClass
#pragma weak _CFRuntimeCreateInstance
#pragma weak _CFRuntimeBridgeTypeToClass
#pragma weak _CFDeinit

_Static_assert(
    sizeof(CFRuntimeBase) == sizeof(((struct CFNObject *)0)->base), "this toolchain has another layout of CoreFoundation objects");

static void finalize(CFTypeRef object) { cfn_release(cfn_object_state(object)); }
static CFStringRef describe(CFTypeRef object) { return cfn_describe(cfn_object_state(object), object); }

static Boolean equal(CFTypeRef object, CFTypeRef other) { return cfn_equal(cfn_object_state(object), cfn_object_state(other)); }
static CFHashCode hash(CFTypeRef object) { return cfn_hash(cfn_object_state(object)); }

struct CFNToolchainDifference cfn_toolchain_compare(const struct CFNToolchainFunction *functions, size_t count, CFStringRef constant) {
    for (size_t index = 0; index < count; index++)
        if (functions[index].address == NULL) return (struct CFNToolchainDifference){"has no function ", functions[index].name};
    if (CFGetTypeID(constant) != CFStringGetTypeID() || CFStringGetLength(constant) != 8 || CFStringGetCharacterAtIndex(constant, 7) != '1')
        return (struct CFNToolchainDifference){"has another layout of constant strings", ""};
    return (struct CFNToolchainDifference){NULL, NULL};
}

/// Ends the program with a message.
static _Noreturn void refuse(struct CFNToolchainDifference found) {
    fprintf(stderr, "CFNetwork: this toolchain's CoreFoundation %s%s; install CFNetwork with the toolchain that the program runs with\n",
        found.difference, found.name);
    abort();
}

static void verifyToolchain(void) {
    const struct CFNToolchainFunction functions[] = {
        {"_CFRuntimeRegisterClass", (const void *)_CFRuntimeRegisterClass},
        {"_CFRuntimeCreateInstance", (const void *)_CFRuntimeCreateInstance},
        {"_CFRuntimeBridgeTypeToClass", (const void *)_CFRuntimeBridgeTypeToClass},
        {"_CFDeinit", (const void *)_CFDeinit},
    };
    struct CFNToolchainDifference found = cfn_toolchain_compare(functions, sizeof functions / sizeof *functions, kCFHTTPVersion1_1);
    if (found.difference != NULL) refuse(found);
}

static CFTypeID registerClass(const char *name, Boolean isComparable) {
    verifyToolchain();
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
    if (type == _kCFRuntimeNotATypeID) refuse((struct CFNToolchainDifference){"does not accept the class ", name});
    return type;
}

CFTypeID cfn_class_register(const char *name) { return registerClass(name, FALSE); }
CFTypeID cfn_comparable_class_register(const char *name) { return registerClass(name, TRUE); }

CFTypeRef cfn_object_create(CFAllocatorRef allocator, CFTypeID type, const void *state) {
    struct CFNObject *object = (struct CFNObject *)_CFRuntimeCreateInstance(allocator, type, sizeof object->state, NULL);
    if (object == NULL) return NULL;
    if (CFGetTypeID(object) != type) refuse((struct CFNToolchainDifference){"has another layout of objects", ""});
    object->state = (void *)state;
    return object;
}

CFMutableDictionaryRef cfn_dictionary_create(void) {
    return CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
}

CFMutableArrayRef cfn_array_create(void) { return CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks); }

void cfn_proxy_result_call(CFProxyAutoConfigurationResultCallback callback, void *client, CFArrayRef proxies, CFErrorRef error) {
    callback(client, proxies, error);
}
