#ifndef CFNETWORK_RUNTIME_H
#define CFNETWORK_RUNTIME_H

// The interface between CFNetworkC and CFNetworkEngine: classes of CoreFoundation objects, each with one Swift object as its
// state (functions named CFN…, defined in C), and the functions that C calls (named cfn_…, defined in Swift).

#include <CFNetwork/CFNetwork.h>

CF_EXTERN_C_BEGIN

/// A CoreFoundation object of this library. CFNObjectCreate verifies the layout.
struct CFNObject {
    uintptr_t base[3];
    void *_Nullable state;
};

/// Registers a class of objects and returns its type identifier. Not thread-safe: call it from one static initializer.
/// Ends the program with a message if the toolchain's CoreFoundation does not accept the class.
CFTypeID CFNClassRegister(const char *_Nonnull name);

/// Creates an object whose state is a retained Swift object. The object releases its state when it is deallocated.
/// Returns NULL, and releases nothing, if the allocator has no memory.
CFTypeRef _Nullable CFNObjectCreate(CFAllocatorRef _Nullable allocator, CFTypeID type, const void *_Nonnull state);

/// The state of an object.
static inline void *_Nonnull CFNObjectState(const void *_Nonnull object) {
    return ((const struct CFNObject *)object)->state;
}

/// Creates an empty dictionary that retains its keys and values.
CFMutableDictionaryRef _Nonnull CFNDictionaryCreate(void);

/// Functions of the toolchain's CoreFoundation that no header of its module map declares.
extern void _CFRuntimeBridgeTypeToClass(CFTypeID type, const void *_Nonnull isa);
extern void _CFDeinit(const void *_Nonnull object);

/// Defined in Swift: releases a state.
void cfn_release(void *_Nonnull state);
/// Defined in Swift: the description of an object, retained.
CFStringRef _Nonnull cfn_describe(const void *_Nonnull state, const void *_Nonnull object);

CF_EXTERN_C_END

#endif
