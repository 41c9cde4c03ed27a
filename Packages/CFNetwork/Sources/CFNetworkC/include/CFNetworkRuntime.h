#ifndef CFNETWORK_RUNTIME_H
#define CFNETWORK_RUNTIME_H

// The interface between CFNetworkC and CFNetworkEngine: classes of CoreFoundation objects, each with one Swift object as its state, and the functions
// that C calls, which are marked as defined in Swift. The installed library hides all names of functions that begin with cfn_.

#include <CFNetwork/CFNetwork.h>

CF_EXTERN_C_BEGIN

/// A CoreFoundation object of this library. cfn_object_create verifies the layout.
struct CFNObject {
    uintptr_t base[3];
    void *_Nullable state;
};

/// Registers a class of objects and returns its type identifier. Not thread-safe: call it from one static initializer.
/// Ends the program with a message if the toolchain's CoreFoundation does not accept the class.
CFTypeID cfn_class_register(const char *_Nonnull name);
/// The same for a class whose objects are equal if their states are.
CFTypeID cfn_comparable_class_register(const char *_Nonnull name);

/// Creates an object whose state is a retained Swift object. The object releases its state when it is deallocated.
/// Returns NULL, and releases nothing, if the allocator has no memory.
CFTypeRef _Nullable cfn_object_create(CFAllocatorRef _Nullable allocator, CFTypeID type, const void *_Nonnull state);

/// The state of an object.
static inline void *_Nonnull cfn_object_state(const void *_Nonnull object) {
    return ((const struct CFNObject *)object)->state;
}

/// Creates an empty dictionary that retains its keys and values.
CFMutableDictionaryRef _Nonnull cfn_dictionary_create(void);
/// Creates an empty array that retains its values.
CFMutableArrayRef _Nonnull cfn_array_create(void);

/// A function of the toolchain that this library calls, and its address; NULL if the toolchain does not have it.
struct CFNToolchainFunction {
    const char *_Nonnull name;
    const void *_Nullable address;
};

/// What a toolchain differs in, and its name. NULL for a toolchain that this library can use.
struct CFNToolchainDifference {
    const char *_Nullable difference;
    const char *_Nullable name;
};

/// Compares functions, and the constant string HTTP/1.1, with what this library assumes about the toolchain. cfn_class_register does so for
/// the functions below; Scripts/lib/cfnetwork-toolchain, when the library is installed.
struct CFNToolchainDifference cfn_toolchain_compare(const struct CFNToolchainFunction *_Nonnull functions, size_t count, CFStringRef _Nonnull constant);

/// Functions of the toolchain's CoreFoundation that no header of its module map declares.
extern void _CFRuntimeBridgeTypeToClass(CFTypeID type, const void *_Nonnull isa);
extern void _CFDeinit(const void *_Nonnull object);

/// Defined in Swift: releases a state.
void cfn_release(void *_Nonnull state);
/// Defined in Swift: the description of an object, retained.
CFStringRef _Nonnull cfn_describe(const void *_Nonnull state, const void *_Nonnull object);

/// Defined in Swift: whether two states of one class are equal, and the hash value of a state.
Boolean cfn_equal(const void *_Nonnull state, const void *_Nonnull other);
CFHashCode cfn_hash(const void *_Nonnull state);

/// The retained states of a pair of streams; NULL for arguments without streams.
struct CFNPair {
    void *_Nullable reader;
    void *_Nullable writer;
};

/// Creates a stream that owns a retained state; without memory, releases the state and returns NULL.
CFReadStreamRef _Nullable cfn_read_stream_create(CFAllocatorRef _Nullable allocator, void *_Nonnull state);
CFWriteStreamRef _Nullable cfn_write_stream_create(CFAllocatorRef _Nullable allocator, void *_Nonnull state);

/// Reports an event of a stream to its client. Call it on the run loop that the stream is scheduled on.
void cfn_read_stream_signal(CFReadStreamRef _Nonnull stream, CFStreamEventType event, CFErrorRef _Nullable error);
void cfn_write_stream_signal(CFWriteStreamRef _Nonnull stream, CFStreamEventType event, CFErrorRef _Nullable error);

/// Calls the client of a stream on a dispatch queue of its own, or no longer.
void cfn_read_stream_set_own_queue(CFReadStreamRef _Nonnull stream, Boolean isSet);
void cfn_write_stream_set_own_queue(CFWriteStreamRef _Nonnull stream, Boolean isSet);

/// Calls the callback of a proxy script. The client is NULL if the context's pointer is.
void cfn_proxy_result_call(CFProxyAutoConfigurationResultCallback _Nonnull callback, void *_Nullable client, CFArrayRef _Nonnull proxies, CFErrorRef _Nullable error);

/// Defined in Swift: the states of pairs of streams.
struct CFNPair cfn_pair_with_socket(int socket);
struct CFNPair cfn_pair_with_host(CFStringRef _Nullable host, UInt32 port);
struct CFNPair cfn_pair_with_address(CFDataRef _Nonnull address);
struct CFNPair cfn_pair_with_cfhost(CFHostRef _Nonnull host, SInt32 port);
struct CFNPair cfn_pair_with_service(CFNetServiceRef _Nonnull service);
struct CFNPair cfn_pair_bound(CFIndex size);

/// Defined in Swift: the calls of CoreFoundation to a stream. Errors are retained.
void cfn_read_attach(void *_Nonnull state, CFReadStreamRef _Nonnull stream);
void cfn_write_attach(void *_Nonnull state, CFWriteStreamRef _Nonnull stream);
void cfn_stream_detach(void *_Nonnull state);
Boolean cfn_stream_open(void *_Nonnull state, CFErrorRef _Nullable *_Nonnull error, Boolean *_Nonnull isOpen);
Boolean cfn_stream_opened(void *_Nonnull state, CFErrorRef _Nullable *_Nonnull error);
CFIndex cfn_read_bytes(void *_Nonnull state, UInt8 *_Nonnull bytes, CFIndex count, CFErrorRef _Nullable *_Nonnull error, Boolean *_Nonnull isAtEnd);
CFIndex cfn_write_bytes(void *_Nonnull state, const UInt8 *_Nonnull bytes, CFIndex count, CFErrorRef _Nullable *_Nonnull error);
Boolean cfn_stream_is_ready(void *_Nonnull state);
void cfn_stream_close(void *_Nonnull state);
CFTypeRef _Nullable cfn_stream_copy(void *_Nonnull state, CFStringRef _Nonnull key);
Boolean cfn_stream_set(void *_Nonnull state, CFStringRef _Nonnull key, CFTypeRef _Nullable value);
void cfn_stream_schedule(void *_Nonnull state, CFRunLoopRef _Nonnull loop, CFStringRef _Nonnull mode);
void cfn_stream_unschedule(void *_Nonnull state, CFRunLoopRef _Nonnull loop, CFStringRef _Nonnull mode);

CF_EXTERN_C_END

#endif
