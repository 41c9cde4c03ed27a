#ifndef CFNETWORK_CONSTANTS_H
#define CFNETWORK_CONSTANTS_H

// String constants. Not part of the public interface. CFSTR cannot be used at file scope; each constant has the layout of the object that
// CFSTR creates.

#include <CFNetwork/CFNetworkDefs.h>
#include <stddef.h>

_Static_assert(
    sizeof(struct __CFConstStr) == 40 && offsetof(struct __CFConstStr, _ptr) == 24 && offsetof(struct __CFConstStr, _length) == 32,
    "this toolchain has another layout of constant strings");

#define STRING(name, text)                                                                                             \
    static struct __CFConstStr name##_ = { { (uintptr_t)&_CF_CONSTANT_STRING_SWIFT_CLASS, _CF_CONSTANT_OBJECT_STRONG_RC, 0x07C8 }, \
        (uint8_t *)(text), sizeof(text) - 1 };                                                                         \
    const CFStringRef name = (CFStringRef)&name##_

#endif
