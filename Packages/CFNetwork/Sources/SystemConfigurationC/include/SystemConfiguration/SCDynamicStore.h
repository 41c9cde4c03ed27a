#ifndef SYSTEMCONFIGURATION_SCDYNAMICSTORE_H
#define SYSTEMCONFIGURATION_SCDYNAMICSTORE_H

#include <SystemConfiguration/SCDefs.h>

CF_EXTERN_C_BEGIN

/// A session with the settings and the state of this machine's network: values by key, and changes of them. A CoreFoundation object; two
/// are equal only if they are the same. It is thread-safe.
typedef const struct CF_BRIDGED_TYPE(id) __SCDynamicStore *SCDynamicStoreRef;

/// The pointer that is passed to a session's callback, with the functions that retain, release and describe it. The version is 0. They may be called
/// on any thread. If the library is looking for changes when the program releases the session, it releases the pointer when it has finished, soon after
/// that CFRelease and on a thread of its own.
typedef struct SCDynamicStoreContext {
    CFIndex version;
    void *_Nullable info;
    const void *_Nonnull (*_Nullable retain)(const void *_Nonnull info);
    void (*_Nullable release)(const void *_Nonnull info);
    CFStringRef _Nonnull (*_Nullable copyDescription)(const void *_Nonnull info);
} SCDynamicStoreContext;

/// Called on the run loop or queue of a session when values of its notification keys have changed: once for all keys (CFArray of CFString)
/// that have changed since the last call.
typedef void (*SCDynamicStoreCallBack)(SCDynamicStoreRef _Nonnull store, CFArrayRef _Nonnull changedKeys, void *_Nullable info);

/// Option of a session (CFBoolean): whether its temporary values get keys of their own. Without effect, since no session adds values.
CF_EXPORT const CFStringRef _Nonnull kSCDynamicStoreUseSessionKeys CF_REFINED_FOR_SWIFT;

/// The type identifier of sessions.
CF_EXPORT CFTypeID SCDynamicStoreGetTypeID(void);

/// Creates a session with the name of the program, and retains the context's pointer until the session is deallocated, or soon after: see
/// SCDynamicStoreContext. The callback may be NULL for a session that only reads. Returns NULL, with kSCStatusInvalidArgument unless the name is a string,
/// and with kSCStatusFailed without memory.
CF_EXPORT SCDynamicStoreRef _Nullable SCDynamicStoreCreate(CFAllocatorRef _Nullable allocator, CFStringRef _Nullable name, SCDynamicStoreCallBack _Nullable callout, SCDynamicStoreContext *_Nullable context) CF_REFINED_FOR_SWIFT;

/// Creates a session as SCDynamicStoreCreate does. The options, a dictionary or NULL (kSCDynamicStoreUseSessionKeys), have no effect; an object of
/// another type is refused with kSCStatusInvalidArgument.
CF_EXPORT SCDynamicStoreRef _Nullable SCDynamicStoreCreateWithOptions(CFAllocatorRef _Nullable allocator, CFStringRef _Nullable name, CFDictionaryRef _Nullable storeOptions, SCDynamicStoreCallBack _Nullable callout, SCDynamicStoreContext *_Nullable context) CF_REFINED_FOR_SWIFT;

/// Creates the source that calls the session's callback on the run loops that it is added to. It keeps the session until it is
/// invalidated or released. Returns NULL with kSCStatusNotifierActive if the session has a queue.
CF_EXPORT CFRunLoopSourceRef _Nullable SCDynamicStoreCreateRunLoopSource(CFAllocatorRef _Nullable allocator, SCDynamicStoreRef _Nullable store, CFIndex order) CF_REFINED_FOR_SWIFT;

#ifndef __swift__
/// Calls the session's callback on a dispatch queue; NULL ends the calls. On that queue, none follows when the function has returned. Returns
/// FALSE with kSCStatusNotifierActive if the session has another queue, or a source of a run loop.
CF_EXPORT Boolean SCDynamicStoreSetDispatchQueue(SCDynamicStoreRef _Nullable store, dispatch_queue_t _Nullable queue);
#endif

/// The keys (CFArray of CFString) that match a pattern, a POSIX extended regular expression for the whole key, without back-references. A pattern
/// that is invalid is refused with kSCStatusInvalidArgument, and so is one of more than 1,024 bytes, with more than 32 groups within each
/// other, or of more than 2,048 places: one for each character, each range in brackets (a class has up to four), and each + and ?; two for each *
/// and |. An interval has the places of the operands, ?, * and + that it stands for. Returns NULL with kSCStatusFailed without a descriptor. The session
/// may be NULL.
CF_EXPORT CFArrayRef _Nullable SCDynamicStoreCopyKeyList(SCDynamicStoreRef _Nullable store, CFStringRef _Nullable pattern) CF_REFINED_FOR_SWIFT;

/// The present value of a key. Returns NULL with kSCStatusNoKey if it has none, and with kSCStatusFailed without a descriptor. The session may be NULL.
CF_EXPORT CFPropertyListRef _Nullable SCDynamicStoreCopyValue(SCDynamicStoreRef _Nullable store, CFStringRef _Nullable key) CF_REFINED_FOR_SWIFT;

/// The values of the keys that exist among some keys, and of those that match some patterns, at one instant. Returns NULL
/// with kSCStatusInvalidArgument for an element that is not a string and for an invalid pattern, and with kSCStatusFailed without a descriptor. The
/// session may be NULL.
CF_EXPORT CFDictionaryRef _Nullable SCDynamicStoreCopyMultiple(SCDynamicStoreRef _Nullable store, CFArrayRef _Nullable keys, CFArrayRef _Nullable patterns) CF_REFINED_FOR_SWIFT;

/// Sets the keys whose changes are reported, instead of the former ones, and patterns of further keys, which may not exist yet. Changes from
/// now on are reported; NULL for both ends the reports. Returns FALSE, and keeps the former keys: with kSCStatusNoStoreSession without a session, with
/// kSCStatusInvalidArgument for an element that is not a string and for an invalid pattern, with kSCStatusFailed without a descriptor.
CF_EXPORT Boolean SCDynamicStoreSetNotificationKeys(SCDynamicStoreRef _Nullable store, CFArrayRef _Nullable keys, CFArrayRef _Nullable patterns) CF_REFINED_FOR_SWIFT;

/// The keys (CFArray of CFString) that have changed since the last call of this function or of the callback; empty if there are none.
/// Returns NULL with kSCStatusNoStoreSession without a session.
CF_EXPORT CFArrayRef _Nullable SCDynamicStoreCopyNotifiedKeys(SCDynamicStoreRef _Nullable store) CF_REFINED_FOR_SWIFT;

/// Returns FALSE: with kSCStatusInvalidArgument for an argument of another type, else with kSCStatusAccessError, since the values are the system's.
CF_EXPORT Boolean SCDynamicStoreAddValue(SCDynamicStoreRef _Nullable store, CFStringRef _Nullable key, CFPropertyListRef _Nullable value) CF_REFINED_FOR_SWIFT;
/// Returns FALSE: with kSCStatusInvalidArgument for an argument of another type, else with kSCStatusAccessError, since the values are the system's.
CF_EXPORT Boolean SCDynamicStoreAddTemporaryValue(SCDynamicStoreRef _Nullable store, CFStringRef _Nullable key, CFPropertyListRef _Nullable value) CF_REFINED_FOR_SWIFT;
/// Returns FALSE: with kSCStatusInvalidArgument for an argument of another type, else with kSCStatusAccessError, since the values are the system's.
CF_EXPORT Boolean SCDynamicStoreSetValue(SCDynamicStoreRef _Nullable store, CFStringRef _Nullable key, CFPropertyListRef _Nullable value) CF_REFINED_FOR_SWIFT;
/// Returns FALSE: with kSCStatusInvalidArgument for an argument of another type, else with kSCStatusAccessError, since the values are the system's.
CF_EXPORT Boolean SCDynamicStoreSetMultiple(SCDynamicStoreRef _Nullable store, CFDictionaryRef _Nullable keysToSet, CFArrayRef _Nullable keysToRemove, CFArrayRef _Nullable keysToNotify) CF_REFINED_FOR_SWIFT;
/// Returns FALSE: with kSCStatusInvalidArgument for an argument of another type, else with kSCStatusAccessError, since the values are the system's.
CF_EXPORT Boolean SCDynamicStoreRemoveValue(SCDynamicStoreRef _Nullable store, CFStringRef _Nullable key) CF_REFINED_FOR_SWIFT;
/// Returns FALSE: with kSCStatusInvalidArgument for an argument of another type, else with kSCStatusAccessError, since only the system reports changes.
CF_EXPORT Boolean SCDynamicStoreNotifyValue(SCDynamicStoreRef _Nullable store, CFStringRef _Nullable key) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
