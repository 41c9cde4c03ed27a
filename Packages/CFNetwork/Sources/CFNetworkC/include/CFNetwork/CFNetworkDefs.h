#ifndef CFNETWORK_CFNETWORKDEFS_H
#define CFNETWORK_CFNETWORKDEFS_H

// Includes the toolchain's CoreFoundation so that clang and gcc compile it as standard C and C++. Every other header of
// CFNetwork includes this one.

// CoreFoundation's umbrella header includes this header for the toolchain's own use; it requires blocks and GNU C.
#ifndef __COREFOUNDATION_FORSWIFTFOUNDATIONONLY__
#define __COREFOUNDATION_FORSWIFTFOUNDATIONONLY__ 1
#endif

// The functions that take a dispatch queue are declared only if this is defined. The toolchain never defines it. g++ comments on
// attributes in <dispatch/dispatch.h>, so for g++ they are declared below.
#if !defined(__HAS_DISPATCH__) && __has_include(<dispatch/dispatch.h>) && (!defined(__cplusplus) || defined(__clang__))
#define __HAS_DISPATCH__ 1
#endif

// Definitions that clang provides and gcc lacks.
#ifndef __clang__
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(__LITTLE_ENDIAN__)
#define __LITTLE_ENDIAN__ 1
#endif
#ifndef _Nullable
#define _Nullable
#define _Nonnull
#define _Null_unspecified
#define _Nullable_result
#endif
#endif

// A C program passes the toolchain's folder with -I. A SwiftPM target cannot; it finds the folder relative to clang's headers.
#if __has_include(<CoreFoundation/CoreFoundation.h>)
#include <CoreFoundation/CoreFoundation.h>
#else
#include <../../../swift/CoreFoundation/CoreFoundation.h>
#endif

#if defined(__cplusplus) && !defined(__HAS_DISPATCH__)
typedef struct dispatch_queue_s *dispatch_queue_t;
CF_EXTERN_C_BEGIN
extern void CFReadStreamSetDispatchQueue(CFReadStreamRef stream, dispatch_queue_t queue);
extern void CFWriteStreamSetDispatchQueue(CFWriteStreamRef stream, dispatch_queue_t queue);
extern dispatch_queue_t CFReadStreamCopyDispatchQueue(CFReadStreamRef stream);
extern dispatch_queue_t CFWriteStreamCopyDispatchQueue(CFWriteStreamRef stream);
CF_EXTERN_C_END
#endif

// The OSStatus of success, which Apple's CoreFoundation includes.
enum { noErr = 0 };

// The toolchain's CFSTR is a statement expression: it cannot be used at file scope or in a static initializer, and its text
// must be ASCII. With -fcf-runtime-abi=swift -DCFNETWORK_CONSTANT_STRINGS, clang creates a constant object without these limits. In C++, a
// function object allows CFSTR everywhere; a constant at file scope is then initialized when the program starts.
#if defined(__clang__) && defined(CFNETWORK_CONSTANT_STRINGS)
#undef CFSTR
#define CFSTR(text) ((CFStringRef)__builtin___CFStringMakeConstantString("" text ""))
#elif defined(__cplusplus)
#undef CFSTR
#define CFSTR(text) \
    ([]() -> CFStringRef { \
        static struct __CFConstStr string = { \
            {(uintptr_t)&_CF_CONSTANT_STRING_SWIFT_CLASS, _CF_CONSTANT_OBJECT_STRONG_RC, 0x07C8}, (uint8_t *)("" text ""), sizeof("" text "") - 1}; \
        return (CFStringRef)&string; \
    }())
#endif

#endif
