#ifndef OBJECTS_H
#define OBJECTS_H

#include <CFNetwork/CFNetwork.h>

/// Whether an object, with all that it contains, is one of CoreFoundation or of this library: every function of CoreFoundation accepts
/// such an object. An object of Foundation or Swift is not; it is recognized by its class alone.
Boolean isCoreFoundation(CFTypeRef object);

/// Whether the value of a property is such an object, and the stream has the property.
Boolean readerHas(CFReadStreamRef stream, CFStringRef property);
Boolean writerHas(CFWriteStreamRef stream, CFStringRef property);

#endif
