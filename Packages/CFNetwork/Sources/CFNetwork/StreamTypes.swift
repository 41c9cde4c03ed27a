// The types of CFStream.h and CFRunLoop.h as Swift declares them on Apple's systems.

public import CoreFoundation
public import Foundation

/// A read stream. It is an `InputStream`, as on Apple's systems: with a delegate, run loops and properties.
public typealias CFReadStream = InputStream
/// A write stream. It is an `OutputStream`, as on Apple's systems: with a delegate, run loops and properties.
public typealias CFWriteStream = OutputStream

/// The function that receives the events of a read stream. In addition to a function in C, it may be a closure with captures.
public typealias CFReadStreamClientCallBack = (CFReadStream?, CFStreamEventType, UnsafeMutableRawPointer?) -> Void
/// The function that receives the events of a write stream. In addition to a function in C, it may be a closure with captures.
public typealias CFWriteStreamClientCallBack = (CFWriteStream?, CFStreamEventType, UnsafeMutableRawPointer?) -> Void

/// A mode of a run loop.
@frozen
public struct CFRunLoopMode: RawRepresentable, Hashable, @unchecked Sendable {
    // Any thread may read a CFString that is not changed, and the name of a mode, a key, must not be changed.
    /// The name of the mode.
    public let rawValue: CFString

    /// Creates a mode with a name.
    public init(rawValue: CFString) { self.rawValue = rawValue }

    /// Creates a mode with a name.
    public init(_ rawValue: CFString) { self.rawValue = rawValue }

    /// The mode for everything that is not modal.
    public static let defaultMode = CFRunLoopMode(bridge(kCFRunLoopDefaultMode))
    /// All modes that were added to the common modes, the default mode among them.
    public static let commonModes = CFRunLoopMode(bridge(kCFRunLoopCommonModes))

    /// The name as CoreFoundation's functions expect it: they recognize the common modes by the address of their constant.
    var object: CoreFoundation.CFString { self == .commonModes ? kCFRunLoopCommonModes : bridge(rawValue) }
}

/// The name of a property of a stream.
@frozen
public struct CFStreamPropertyKey: RawRepresentable, Hashable, @unchecked Sendable {
    // Any thread may read a CFString that is not changed, and the name of a property, a key, must not be changed.
    /// The name of the property, such as `kCFStreamPropertyHTTPResponseHeader`.
    public let rawValue: CFString

    /// Creates a key with a name.
    public init(rawValue: CFString) { self.rawValue = rawValue }

    /// Creates a key with a name.
    public init(_ rawValue: CFString) { self.rawValue = rawValue }

    /// The bytes written to memory (CFData).
    public static let dataWritten = CFStreamPropertyKey("kCFStreamPropertyDataWritten" as CFString)
    /// Whether a write stream continues at the end of its file (CFBoolean).
    public static let appendToFile = CFStreamPropertyKey("kCFStreamPropertyAppendToFile" as CFString)
    /// The position in a file (CFNumber).
    public static let fileCurrentOffset = CFStreamPropertyKey("kCFStreamPropertyFileCurrentOffset" as CFString)
    /// The descriptor of a socket (CFData).
    public static let socketNativeHandle = CFStreamPropertyKey("kCFStreamPropertySocketNativeHandle" as CFString)
    /// The name of the host of a socket stream (CFString).
    public static let socketRemoteHostName = CFStreamPropertyKey("kCFStreamPropertySocketRemoteHostName" as CFString)
    /// The port of a socket stream (CFNumber).
    public static let socketRemotePortNumber = CFStreamPropertyKey(
        "kCFStreamPropertySocketRemotePortNumber" as CFString)

    var object: CoreFoundation.CFString { bridge(rawValue) }
}

/// A client of a stream: a Swift closure behind a function in C, and the program's context.
///
/// The stream retains the client through the functions of its own context.
final class StreamClient<Stream: Foundation.Stream> {
    let callBack: (Stream?, CFStreamEventType, UnsafeMutableRawPointer?) -> Void
    private let context: CFStreamClientContext
    private let info: UnsafeMutableRawPointer?
    private(set) weak var stream: Stream?

    init(
        _ stream: Stream, _ context: UnsafeMutablePointer<CFStreamClientContext>?,
        _ callBack: @escaping (Stream?, CFStreamEventType, UnsafeMutableRawPointer?) -> Void
    ) {
        self.stream = stream
        self.callBack = callBack
        let context = context?.pointee ?? CFStreamClientContext()
        self.context = context
        info = context.info.map { context.retain?($0) ?? $0 }
    }

    deinit {
        if let info, let release = context.release { release(info) }
    }

    /// The context with which CoreFoundation calls this client.
    var ownContext: CFStreamClientContext {
        CFStreamClientContext(
            version: 0, info: Unmanaged.passUnretained(self).toOpaque(),
            retain: { info in
                info.map { Unmanaged<AnyObject>.fromOpaque($0).retain().toOpaque() }
            },
            release: { info in
                if let info { Unmanaged<AnyObject>.fromOpaque(info).release() }
            },
            copyDescription: nil)
    }

    /// Calls the closure with the stream, or with another object for it if the program has released that.
    func deliver(_ event: CFStreamEventType, _ substitute: () -> Stream) {
        callBack(stream ?? substitute(), event, info)
    }
}
