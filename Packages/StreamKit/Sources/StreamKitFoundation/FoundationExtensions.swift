public import Foundation
// These types take and return StreamKit's streams, so one import is enough.
@_exported public import StreamKit

extension Foundation.Stream {
    /// Makes the two streams of a TCP connection to a host, by name or address, and a port. Either may be omitted.
    ///
    /// Nothing is looked up or connected before one of them is opened. A port outside 1…65535 makes no streams.
    /// Replaces Foundation's method of the same name, which Linux lacks.
    public class func getStreamsToHost(
        withName hostname: String, port: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {
        guard let port = UInt16(exactly: port), port > 0 else {
            inputStream?.pointee = nil
            outputStream?.pointee = nil
            return
        }
        getStreams(of: StreamPair(host: hostname, port: port), inputStream: inputStream, outputStream: outputStream)
    }

    /// Makes two connected streams in this process: bytes written to one are read from the other, through a buffer.
    ///
    /// Replaces Foundation's method of the same name, which Linux lacks.
    ///
    /// - Parameter bufferSize: the size in bytes, at least 1. A full buffer makes writes wait.
    public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {
        let pair = StreamPair.bound(bufferSize: max(1, bufferSize))
        inputStream?.pointee = BridgedInputStream(pair.input)
        outputStream?.pointee = BridgedOutputStream(pair.output)
    }

    /// Wraps the two streams of a connection that has properties of its own: through proxies, to a Unix socket, to a
    /// resolved host, on a descriptor.
    ///
    /// ```swift
    /// let pair = StreamPair(descriptor: accepted, ownership: .owned)
    /// var input: InputStream?
    /// var output: OutputStream?
    /// Stream.getStreams(of: pair, inputStream: &input, outputStream: &output)
    /// ```
    ///
    /// A half that is omitted is closed.
    public class func getStreams(
        of pair: StreamPair, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {
        let streams = BridgedStreams(pair)
        if let inputStream {
            inputStream.pointee = BridgedInputStream(streams)
        } else {
            pair.input.close()
        }
        if let outputStream {
            outputStream.pointee = BridgedOutputStream(streams)
        } else {
            pair.output.close()
        }
    }

    /// Sets a property whose value is not an object, as code for Apple's platforms does.
    ///
    /// ```swift
    /// input.setProperty(StreamSocketSecurityLevel.negotiatedSSL, forKey: .socketSecurityLevelKey)
    /// ```
    @discardableResult
    public func setProperty(_ property: Any?, forKey key: PropertyKey) -> Bool {
        setProperty(property.map { $0 as AnyObject }, forKey: key)
    }
}

extension StreamError {
    /// The error in the form of Foundation's streams: an `NSError` with the domain and code of Apple's platforms.
    ///
    /// | domain | `NSError` domain | code |
    /// |---|---|---|
    /// | `posix` | `NSPOSIXErrorDomain` | `errno` |
    /// | `ssl` | `NSStreamSocketSSLErrorDomain` | SecureTransport's |
    /// | `socks` | `NSStreamSOCKSErrorDomain` | sub-domain and value |
    /// | `netDB`, `http`, `ftp`, `netServices` | `kCFErrorDomainCFNetwork` | `StreamError.networkErrorNumber` |
    ///
    /// `localizedDescription` is the message, `NSUnderlyingErrorKey` is this error, and `StreamError.details` are under
    /// CFNetwork's keys.
    public var foundationError: NSError {
        var code = code
        var details: [String: Any] = [NSLocalizedDescriptionKey: description, NSUnderlyingErrorKey: self]
        let domain: String
        switch self.domain {
        case .posix: domain = NSPOSIXErrorDomain
        case .ssl: domain = NSStreamSocketSSLErrorDomain
        case .socks: domain = NSStreamSOCKSErrorDomain
        case .netDB, .http, .ftp, .netServices:
            domain = NetworkErrorNumber.domain
            code = networkErrorNumber?.rawValue ?? code
        default: domain = "kCFStreamErrorDomain\(self.domain.rawValue)"
        }
        for (key, value) in self.details {
            switch value {
            case .number(let number): details[key.rawValue] = number
            case .text(let text): details[key.rawValue] = text
            }
        }
        return NSError(domain: domain, code: code, userInfo: details)
    }
}
