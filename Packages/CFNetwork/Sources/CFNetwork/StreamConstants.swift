// The constants of the toolchain's CFStream.h as CFString.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CoreFoundation
public import Foundation

/// The SOCKS proxy of a stream (CFDictionary).
public var kCFStreamPropertySOCKSProxy: CFString { bridge(CoreFoundation.kCFStreamPropertySOCKSProxy) }

/// The proxy's host (CFString).
public var kCFStreamPropertySOCKSProxyHost: CFString { bridge(CoreFoundation.kCFStreamPropertySOCKSProxyHost) }

/// The proxy's port (CFNumber).
public var kCFStreamPropertySOCKSProxyPort: CFString { bridge(CoreFoundation.kCFStreamPropertySOCKSProxyPort) }

/// The SOCKS version, one of the following two.
public var kCFStreamPropertySOCKSVersion: CFString { bridge(CoreFoundation.kCFStreamPropertySOCKSVersion) }

/// SOCKS version 4.
public var kCFStreamSocketSOCKSVersion4: CFString { bridge(CoreFoundation.kCFStreamSocketSOCKSVersion4) }

/// SOCKS version 5.
public var kCFStreamSocketSOCKSVersion5: CFString { bridge(CoreFoundation.kCFStreamSocketSOCKSVersion5) }

/// The user name at the proxy (CFString).
public var kCFStreamPropertySOCKSUser: CFString { bridge(CoreFoundation.kCFStreamPropertySOCKSUser) }

/// The password at the proxy (CFString).
public var kCFStreamPropertySOCKSPassword: CFString { bridge(CoreFoundation.kCFStreamPropertySOCKSPassword) }

/// Whether and how the stream uses TLS, one of the following.
public var kCFStreamPropertySocketSecurityLevel: CFString {
    bridge(CoreFoundation.kCFStreamPropertySocketSecurityLevel)
}

/// No TLS.
public var kCFStreamSocketSecurityLevelNone: CFString { bridge(CoreFoundation.kCFStreamSocketSecurityLevelNone) }

/// SSL 2, which is refused.
public var kCFStreamSocketSecurityLevelSSLv2: CFString { bridge(CoreFoundation.kCFStreamSocketSecurityLevelSSLv2) }

/// SSL 3, which is refused.
public var kCFStreamSocketSecurityLevelSSLv3: CFString { bridge(CoreFoundation.kCFStreamSocketSecurityLevelSSLv3) }

/// TLS 1.0.
public var kCFStreamSocketSecurityLevelTLSv1: CFString { bridge(CoreFoundation.kCFStreamSocketSecurityLevelTLSv1) }

/// The highest version that both sides support.
public var kCFStreamSocketSecurityLevelNegotiatedSSL: CFString {
    bridge(CoreFoundation.kCFStreamSocketSecurityLevelNegotiatedSSL)
}

/// Whether the stream closes its socket (CFBoolean).
public var kCFStreamPropertyShouldCloseNativeSocket: CFString {
    bridge(CoreFoundation.kCFStreamPropertyShouldCloseNativeSocket)
}
