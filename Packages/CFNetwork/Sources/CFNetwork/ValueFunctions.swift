// Functions of CoreFoundation that programs with CFNetwork call, with the types that Swift has on Apple's systems. Functions whose
// parameters do not tell the two classes apart, such as CFStringCreateWithCString, are not among them.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation
public import Foundation

// MARK: Strings and URLs

/// The length of a string in UTF-16 units.
public func CFStringGetLength(_ theString: CFString!) -> CFIndex { theString?.length ?? 0 }

/// The bytes of a string in an encoding; nil if it has other characters and `lossByte` is 0.
public func CFStringCreateExternalRepresentation(
    _ alloc: CFAllocator!, _ theString: CFString!, _ encoding: CFStringEncoding, _ lossByte: UInt8
) -> CFData! {
    CoreFoundation.CFStringCreateExternalRepresentation(alloc, theString.map { bridge($0) }, encoding, lossByte)
        .map { bridge($0) }
}

/// Creates a URL, which may be relative to another; nil for text that is not a URL.
public func CFURLCreateWithString(_ allocator: CFAllocator!, _ URLString: CFString!, _ baseURL: CFURL!) -> CFURL! {
    CoreFoundation.CFURLCreateWithString(allocator, URLString.map { bridge($0) }, baseURL.map { bridge($0) })
        .map { bridge($0) }
}

/// The text of a URL as it was created.
public func CFURLGetString(_ anURL: CFURL!) -> CFString! { anURL.map { $0.relativeString as CFString } }

/// The URL resolved against its base.
public func CFURLCopyAbsoluteURL(_ relativeURL: CFURL!) -> CFURL! { relativeURL?.absoluteURL.map { $0 as CFURL } }

/// The scheme of a URL.
public func CFURLCopyScheme(_ anURL: CFURL!) -> CFString! { anURL?.scheme.map { $0 as CFString } }

/// The host of a URL.
public func CFURLCopyHostName(_ anURL: CFURL!) -> CFString! { anURL?.host.map { $0 as CFString } }

/// The path of a URL with its escapes.
public func CFURLCopyPath(_ anURL: CFURL!) -> CFString! {
    CoreFoundation.CFURLCopyPath(anURL.map { bridge($0) }).map { bridge($0) }
}

/// The port of a URL; -1 if it has none.
public func CFURLGetPortNumber(_ anURL: CFURL!) -> Int32 { CoreFoundation.CFURLGetPortNumber(anURL.map { bridge($0) }) }

// MARK: Data

/// The number of bytes of an object.
public func CFDataGetLength(_ theData: CFData!) -> CFIndex { theData?.length ?? 0 }

/// The bytes of an object, valid while it lives and is not changed.
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
    theData?.bytes.assumingMemoryBound(to: UInt8.self)
}

// MARK: Collections

/// The number of elements.
public func CFArrayGetCount(_ theArray: CFArray!) -> CFIndex { theArray?.count ?? 0 }

/// An element, which the array keeps.
public func CFArrayGetValueAtIndex(_ theArray: CFArray!, _ idx: CFIndex) -> UnsafeRawPointer! {
    CoreFoundation.CFArrayGetValueAtIndex(theArray.map { bridge($0) }, idx)
}

/// The number of entries.
public func CFDictionaryGetCount(_ theDict: CFDictionary!) -> CFIndex { theDict?.count ?? 0 }

/// The value of a key, which the dictionary keeps; nil if it has none.
public func CFDictionaryGetValue(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> UnsafeRawPointer! {
    CoreFoundation.CFDictionaryGetValue(theDict.map { bridge($0) }, key)
}

// MARK: Sockets

/// Binds a socket to an address (a sockaddr), and listens.
@discardableResult
public func CFSocketSetAddress(_ s: CFSocket!, _ address: CFData!) -> CFSocketError {
    CoreFoundation.CFSocketSetAddress(s, address.map { bridge($0) })
}

/// Connects a socket to an address (a sockaddr) within a time in seconds; a negative time does not wait.
@discardableResult
public func CFSocketConnectToAddress(_ s: CFSocket!, _ address: CFData!, _ timeout: CFTimeInterval) -> CFSocketError {
    CoreFoundation.CFSocketConnectToAddress(s, address.map { bridge($0) }, timeout)
}

/// Sends data, to an address (a sockaddr) unless the socket is connected, within a time in seconds.
@discardableResult
public func CFSocketSendData(
    _ s: CFSocket!, _ address: CFData!, _ data: CFData!, _ timeout: CFTimeInterval
) -> CFSocketError {
    CoreFoundation.CFSocketSendData(s, address.map { bridge($0) }, data.map { bridge($0) }, timeout)
}

// MARK: Results
// A function below differs from CoreFoundation's only by its result. It is chosen where Foundation's class is needed, as in
// `CFErrorCopyDescription(error) as String`; a variable without a type gets CoreFoundation's.

/// The name of the domain of errors.
public typealias CFErrorDomain = CFString

/// The domain of an error, such as `kCFErrorDomainCFNetwork`.
@_disfavoredOverload
public func CFErrorGetDomain(_ err: CFError!) -> CFErrorDomain! {
    CoreFoundation.CFErrorGetDomain(err).map { bridge($0) }
}

/// The message of an error.
@_disfavoredOverload
public func CFErrorCopyDescription(_ err: CFError!) -> CFString! {
    CoreFoundation.CFErrorCopyDescription(err).map { bridge($0) }
}

/// The cause of an error; nil if it is unknown.
@_disfavoredOverload
public func CFErrorCopyFailureReason(_ err: CFError!) -> CFString! {
    CoreFoundation.CFErrorCopyFailureReason(err).map { bridge($0) }
}

/// The facts about an error, such as the reply of an FTP server under `kCFFTPStatusCodeKey`.
@_disfavoredOverload
public func CFErrorCopyUserInfo(_ err: CFError!) -> CFDictionary! {
    CoreFoundation.CFErrorCopyUserInfo(err).map { bridge($0) }
}

/// The local address of a socket (a sockaddr).
@_disfavoredOverload
public func CFSocketCopyAddress(_ s: CFSocket!) -> CFData! { CoreFoundation.CFSocketCopyAddress(s).map { bridge($0) } }

/// The address of a socket's peer (a sockaddr).
@_disfavoredOverload
public func CFSocketCopyPeerAddress(_ s: CFSocket!) -> CFData! {
    CoreFoundation.CFSocketCopyPeerAddress(s).map { bridge($0) }
}

/// Creates a string of the text of a C string in an encoding; nil if the text is not valid.
@_disfavoredOverload
public func CFStringCreateWithCString(
    _ alloc: CFAllocator!, _ cStr: UnsafePointer<CChar>!, _ encoding: CFStringEncoding
) -> CFString! {
    CoreFoundation.CFStringCreateWithCString(alloc, cStr, encoding).map { bridge($0) }
}

/// Creates a URL of bytes in an encoding, which may be relative to another; nil for text that is not a URL.
@_disfavoredOverload
public func CFURLCreateWithBytes(
    _ allocator: CFAllocator!, _ URLBytes: UnsafePointer<UInt8>!, _ length: CFIndex, _ encoding: CFStringEncoding,
    _ baseURL: CFURL?
) -> CFURL! {
    CoreFoundation.CFURLCreateWithBytes(allocator, URLBytes, length, encoding, baseURL.map { bridge($0) })
        .map { bridge($0) }
}

/// Creates an object with a copy of bytes.
@_disfavoredOverload
public func CFDataCreate(_ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) -> CFData! {
    CoreFoundation.CFDataCreate(allocator, bytes, length).map { bridge($0) }
}
