public import Foundation
public import StreamKit

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
    /// Stream.getStreams(of: pair, inputStream: &input, outputStream: &output)
    /// ```
    ///
    /// A half that is omitted is closed.
    public class func getStreams(
        of pair: StreamPair, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {
        let connection = BridgedConnection(pair)
        if let inputStream {
            inputStream.pointee = BridgedInputStream(connection)
        } else {
            pair.input.close()
        }
        if let outputStream {
            outputStream.pointee = BridgedOutputStream(connection)
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
