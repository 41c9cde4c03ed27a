/// Functions that encode a body of unknown length with chunked transfer coding (RFC 9112 §7.1).
///
/// ```swift
/// var output: [UInt8] = []
/// ChunkedEncoder.write(Array("hello".utf8).span.bytes, into: &output)  // 5 CR LF hello CR LF
/// try ChunkedEncoder.writeEnd(into: &output)                           // 0 CR LF CR LF
/// ```
///
/// A driver that uses gathering writes (`writev`) can avoid copying the payload: it sends the output of
/// ``writeHead(of:into:)``, the payload and ``chunkEnd``.
public enum ChunkedEncoder {
    /// The bytes that follow the payload of a chunk: CR LF.
    public static let chunkEnd: [UInt8] = [HTTPGrammar.cr, HTTPGrammar.lf]

    /// Appends one chunk. Appends nothing if the payload is empty, because an empty chunk would end the body.
    public static func write(_ payload: RawSpan, into output: inout [UInt8]) {
        guard payload.byteCount > 0 else { return }
        output.reserveCapacity(output.count + payload.byteCount + 20)
        writeHead(of: payload.byteCount, into: &output)
        payload.withUnsafeBytes { output.append(contentsOf: $0) }
        output += chunkEnd
    }

    /// Appends the size line of a chunk of `count` bytes.
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
    /// Throws ``HTTPMessageError/Code/invalidFieldName`` and appends nothing if a trailer field frames, routes or
    /// authenticates the message or describes its content (RFC 9110 §6.5.1).
    public static func writeEnd(trailers: HTTPFields = HTTPFields(), into output: inout [UInt8])
        throws(HTTPMessageError)
    {
        if trailers.contains(where: { HTTPFieldName.neverSentInTrailers.contains($0.name) }) {
            throw HTTPMessageError(.invalidFieldName, fault: .caller)
        }
        output.append(UInt8(ascii: "0"))
        output += chunkEnd
        trailers.storage.writeLines(to: &output)
        output += chunkEnd
    }
}
