// Streams of this library as objects of CoreFoundation, which provides their clients, statuses and scheduling.

#include "CFNetworkRuntime.h"
#include <sys/socket.h>
#if __has_include(<CoreFoundation/CFStreamAbstract.h>)
#include <CoreFoundation/CFStreamAbstract.h>
#else
#include <../../../swift/CoreFoundation/CFStreamAbstract.h>
#endif

// The state of a stream is its info pointer; the stream owns one reference to it.

static void *reader_create(CFReadStreamRef stream, void *state) { cfn_read_attach(state, stream); return state; }
static void reader_finalize(CFReadStreamRef stream, void *state) { cfn_stream_detach(state); cfn_release(state); }
static CFStringRef reader_describe(CFReadStreamRef stream, void *state) { return cfn_describe(state, stream); }
static Boolean reader_open(CFReadStreamRef stream, CFErrorRef *error, Boolean *isOpen, void *state) { return cfn_stream_open(state, error, isOpen); }
static Boolean reader_opened(CFReadStreamRef stream, CFErrorRef *error, void *state) { return cfn_stream_opened(state, error); }
static CFIndex reader_read(CFReadStreamRef stream, UInt8 *bytes, CFIndex count, CFErrorRef *error, Boolean *isAtEnd, void *state) {
    return cfn_read_bytes(state, bytes, count, error, isAtEnd);
}
static Boolean reader_can(CFReadStreamRef stream, CFErrorRef *error, void *state) { return cfn_stream_is_ready(state); }
static void reader_close(CFReadStreamRef stream, void *state) { cfn_stream_close(state); }
static CFTypeRef reader_copy(CFReadStreamRef stream, CFStringRef key, void *state) { return cfn_stream_copy(state, key); }
static Boolean reader_set(CFReadStreamRef stream, CFStringRef key, CFTypeRef value, void *state) { return cfn_stream_set(state, key, value); }
static void reader_schedule(CFReadStreamRef stream, CFRunLoopRef loop, CFStringRef mode, void *state) { cfn_stream_schedule(state, loop, mode); }
static void reader_unschedule(CFReadStreamRef stream, CFRunLoopRef loop, CFStringRef mode, void *state) { cfn_stream_unschedule(state, loop, mode); }

static const CFReadStreamCallBacks readCallBacks = {
    .version = 2, .create = reader_create, .finalize = reader_finalize, .copyDescription = reader_describe,
    .open = reader_open, .openCompleted = reader_opened, .read = reader_read, .canRead = reader_can, .close = reader_close,
    .copyProperty = reader_copy, .setProperty = reader_set, .schedule = reader_schedule, .unschedule = reader_unschedule,
};

static void *writer_create(CFWriteStreamRef stream, void *state) { cfn_write_attach(state, stream); return state; }
static void writer_finalize(CFWriteStreamRef stream, void *state) { cfn_stream_detach(state); cfn_release(state); }
static CFStringRef writer_describe(CFWriteStreamRef stream, void *state) { return cfn_describe(state, stream); }
static Boolean writer_open(CFWriteStreamRef stream, CFErrorRef *error, Boolean *isOpen, void *state) { return cfn_stream_open(state, error, isOpen); }
static Boolean writer_opened(CFWriteStreamRef stream, CFErrorRef *error, void *state) { return cfn_stream_opened(state, error); }
static CFIndex writer_write(CFWriteStreamRef stream, const UInt8 *bytes, CFIndex count, CFErrorRef *error, void *state) {
    return cfn_write_bytes(state, bytes, count, error);
}
static Boolean writer_can(CFWriteStreamRef stream, CFErrorRef *error, void *state) { return cfn_stream_is_ready(state); }
static void writer_close(CFWriteStreamRef stream, void *state) { cfn_stream_close(state); }
static CFTypeRef writer_copy(CFWriteStreamRef stream, CFStringRef key, void *state) { return cfn_stream_copy(state, key); }
static Boolean writer_set(CFWriteStreamRef stream, CFStringRef key, CFTypeRef value, void *state) { return cfn_stream_set(state, key, value); }
static void writer_schedule(CFWriteStreamRef stream, CFRunLoopRef loop, CFStringRef mode, void *state) { cfn_stream_schedule(state, loop, mode); }
static void writer_unschedule(CFWriteStreamRef stream, CFRunLoopRef loop, CFStringRef mode, void *state) { cfn_stream_unschedule(state, loop, mode); }

static const CFWriteStreamCallBacks writeCallBacks = {
    .version = 2, .create = writer_create, .finalize = writer_finalize, .copyDescription = writer_describe,
    .open = writer_open, .openCompleted = writer_opened, .write = writer_write, .canWrite = writer_can, .close = writer_close,
    .copyProperty = writer_copy, .setProperty = writer_set, .schedule = writer_schedule, .unschedule = writer_unschedule,
};

/// Closes the stream of a state without an object, and releases the state. The other half of a pair would keep the stream open.
static void discard(void *state) {
    cfn_stream_detach(state);
    cfn_release(state);
}

CFReadStreamRef cfn_read_stream_create(CFAllocatorRef allocator, void *state) {
    CFReadStreamRef stream = CFReadStreamCreate(allocator, &readCallBacks, state);
    if (stream == NULL) discard(state);
    return stream;
}

CFWriteStreamRef cfn_write_stream_create(CFAllocatorRef allocator, void *state) {
    CFWriteStreamRef stream = CFWriteStreamCreate(allocator, &writeCallBacks, state);
    if (stream == NULL) discard(state);
    return stream;
}

/// Creates the streams that the caller asks for, and closes the others.
static void makePair(CFAllocatorRef allocator, struct CFNPair pair, CFReadStreamRef *reader, CFWriteStreamRef *writer) {
    if (reader != NULL) *reader = pair.reader == NULL ? NULL : cfn_read_stream_create(allocator, pair.reader);
    if (writer != NULL) *writer = pair.writer == NULL ? NULL : cfn_write_stream_create(allocator, pair.writer);
    if (reader == NULL && pair.reader != NULL) discard(pair.reader);
    if (writer == NULL && pair.writer != NULL) discard(pair.writer);
}

void cfn_read_stream_signal(CFReadStreamRef stream, CFStreamEventType event, CFErrorRef error) { CFReadStreamSignalEvent(stream, event, error); }
void cfn_write_stream_signal(CFWriteStreamRef stream, CFStreamEventType event, CFErrorRef error) { CFWriteStreamSignalEvent(stream, event, error); }

// Swift on Linux does not show the dispatch_queue_t of a DispatchQueue. Its events pass through a queue of the stream's own.
// <dispatch/dispatch.h> is in the toolchain's folder, where the C targets of a package do not find it.
typedef struct dispatch_queue_s *DispatchQueueRef;
extern DispatchQueueRef dispatch_queue_create(const char *label, void *attributes);
extern void dispatch_release(void *object);
extern void CFReadStreamSetDispatchQueue(CFReadStreamRef stream, DispatchQueueRef queue);
extern void CFWriteStreamSetDispatchQueue(CFWriteStreamRef stream, DispatchQueueRef queue);

void cfn_read_stream_set_own_queue(CFReadStreamRef stream, Boolean isSet) {
    DispatchQueueRef queue = isSet ? dispatch_queue_create("CFReadStream", NULL) : NULL;
    CFReadStreamSetDispatchQueue(stream, queue);
    if (queue != NULL) dispatch_release(queue);
}

void cfn_write_stream_set_own_queue(CFWriteStreamRef stream, Boolean isSet) {
    DispatchQueueRef queue = isSet ? dispatch_queue_create("CFWriteStream", NULL) : NULL;
    CFWriteStreamSetDispatchQueue(stream, queue);
    if (queue != NULL) dispatch_release(queue);
}

// The following functions are declared by the toolchain's CFStream.h. Its own definitions jump to NULL, turn error domains into
// kCFStreamErrorDomainCustom, or are missing.

void CFStreamCreatePairWithSocket(CFAllocatorRef allocator, CFSocketNativeHandle socket, CFReadStreamRef *reader, CFWriteStreamRef *writer) {
    makePair(allocator, cfn_pair_with_socket(socket), reader, writer);
}

void CFStreamCreatePairWithSocketToHost(CFAllocatorRef allocator, CFStringRef host, UInt32 port, CFReadStreamRef *reader, CFWriteStreamRef *writer) {
    makePair(allocator, cfn_pair_with_host(host, port), reader, writer);
}

void CFStreamCreatePairWithPeerSocketSignature(
    CFAllocatorRef allocator, const CFSocketSignature *signature, CFReadStreamRef *reader, CFWriteStreamRef *writer) {
    struct CFNPair none = {NULL, NULL};
    Boolean isStream = signature->socketType == SOCK_STREAM && signature->address != NULL;
    makePair(allocator, isStream ? cfn_pair_with_address(signature->address) : none, reader, writer);
}

void CFStreamCreateBoundPair(CFAllocatorRef allocator, CFReadStreamRef *reader, CFWriteStreamRef *writer, CFIndex size) {
    makePair(allocator, cfn_pair_bound(size), reader, writer);
}

void CFStreamCreatePairWithSocketToCFHost(CFAllocatorRef allocator, CFHostRef host, SInt32 port, CFReadStreamRef *reader, CFWriteStreamRef *writer) {
    makePair(allocator, cfn_pair_with_cfhost(host, port), reader, writer);
}

void CFStreamCreatePairWithSocketToNetService(CFAllocatorRef allocator, CFNetServiceRef service, CFReadStreamRef *reader, CFWriteStreamRef *writer) {
    makePair(allocator, cfn_pair_with_service(service), reader, writer);
}

/// The error in the form of older functions; releases it. The domain and code are in the user info of this library's errors.
static CFStreamError streamError(CFErrorRef error) {
    CFStreamError result = {0, 0};
    if (error == NULL) return result;
    CFStringRef domain = CFErrorGetDomain(error);
    result.domain = CFEqual(domain, kCFErrorDomainPOSIX) ? kCFStreamErrorDomainPOSIX
        : CFEqual(domain, kCFErrorDomainOSStatus)        ? kCFStreamErrorDomainMacOSStatus
        : CFEqual(domain, kCFErrorDomainMach)            ? 11
                                                         : kCFStreamErrorDomainCustom;
    result.error = (SInt32)CFErrorGetCode(error);
    CFDictionaryRef info = CFErrorCopyUserInfo(error);
    CFNumberRef number = info == NULL ? NULL : CFDictionaryGetValue(info, CFSTR("_kCFStreamErrorDomainKey"));
    CFNumberRef code = info == NULL ? NULL : CFDictionaryGetValue(info, CFSTR("_kCFStreamErrorCodeKey"));
    if (number != NULL && code != NULL) {
        CFNumberGetValue(number, kCFNumberCFIndexType, &result.domain);
        CFNumberGetValue(code, kCFNumberSInt32Type, &result.error);
    }
    if (info != NULL) CFRelease(info);
    CFRelease(error);
    return result;
}

CFStreamError CFReadStreamGetError(CFReadStreamRef stream) { return streamError(CFReadStreamCopyError(stream)); }
CFStreamError CFWriteStreamGetError(CFWriteStreamRef stream) { return streamError(CFWriteStreamCopyError(stream)); }

// Older functions, in terms of properties.

Boolean CFSocketStreamPairSetSecurityProtocol(CFReadStreamRef reader, CFWriteStreamRef writer, CFStreamSocketSecurityProtocol protocol) {
    CFStringRef level;
    switch (protocol) {
    case kCFStreamSocketSecurityNone: level = kCFStreamSocketSecurityLevelNone; break;
    case kCFStreamSocketSecuritySSLv23: level = kCFStreamSocketSecurityLevelNegotiatedSSL; break;
    case kCFStreamSocketSecurityTLSv1: level = kCFStreamSocketSecurityLevelTLSv1; break;
    default: return FALSE;
    }
    return CFReadStreamSetProperty(reader, kCFStreamPropertySocketSecurityLevel, level)
        && CFWriteStreamSetProperty(writer, kCFStreamPropertySocketSecurityLevel, level);
}

void CFHTTPReadStreamSetRedirectsAutomatically(CFReadStreamRef stream, Boolean follows) {
    CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPShouldAutoredirect, follows ? kCFBooleanTrue : kCFBooleanFalse);
}

void CFHTTPReadStreamSetProxy(CFReadStreamRef stream, CFStringRef host, CFIndex port) {
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberCFIndexType, &port);
    const void *keys[] = {kCFStreamPropertyHTTPProxyHost, kCFStreamPropertyHTTPProxyPort}, *values[] = {host, number};
    CFDictionaryRef proxy = CFDictionaryCreate(NULL, keys, values, 2, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPProxy, proxy);
    CFRelease(proxy);
    CFRelease(number);
}
