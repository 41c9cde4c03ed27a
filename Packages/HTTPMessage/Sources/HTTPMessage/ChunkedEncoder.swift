/// Puts a body of unknown length into chunks (RFC 9112 §7.1).
///
/// ```swift
/// var output: [UInt8] = []
/// ChunkedEncoder.write(Array("hello".utf8).span.bytes, into: &output)  // 5 CR LF hello CR LF
/// try ChunkedEncoder.writeEnd(into: &output)                           // 0 CR LF CR LF
/// ```
///
/// A driver that gathers its writes sends ``writeHead(of:into:)``, the payload from where it is, and ``chunkEnd``.
public enum ChunkedEncoder {
    /// What follows the payload of a chunk.
    public static let chunkEnd: [UInt8] = [HTTPGrammar.cr, HTTPGrammar.lf]

    /// Appends one chunk. Nothing for an empty payload, as an empty chunk would end the body.
    public static func write(_ payload: RawSpan, into output: inout [UInt8]) {
        guard payload.byteCount > 0 else { return }
        output.reserveCapacity(output.count + payload.byteCount + 20)
        writeHead(of: payload.byteCount, into: &output)
        payload.withUnsafeBytes { output.append(contentsOf: $0) }
        output += chunkEnd
    }

    /// Appends the line before a chunk of `count` bytes.
    ///
    /// - Precondition: `count` is positive.
    public static func writeHead(of count: Int, into output: inout [UInt8]) {
        precondition(count > 0, "the byte count of a chunk must be positive")
        var shift = (Int.bitWidth - count.leadingZeroBitCount - 1) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift) & 0xF
            output.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
            shift -= 4
        }
        output += chunkEnd
    }

    /// Appends the last chunk and the trailer section.
    ///
    /// Throws ``HTTPMessageError/Code/invalidFieldName`` and appends nothing for a trailer that says how to frame, route
    /// or authenticate the message, or what its content is (RFC 9110 §6.5.1).
    public static func writeEnd(trailers: HTTPFields = HTTPFields(), into output: inout [UInt8])
        throws(HTTPMessageError)
    {
        if trailers.contains(where: { HTTPFieldName.unsentInTrailers.contains($0.name) }) {
            throw HTTPMessageError(.invalidFieldName, fault: .caller)
        }
        output.append(UInt8(ascii: "0"))
        output += chunkEnd
        trailers.storage.writeLines(to: &output)
        output += chunkEnd
    }
}
