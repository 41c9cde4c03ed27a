@_spi(Compression) internal import HTTPStream
internal import StreamKit

/// The options of compression, the extension permessage-deflate (RFC 7692).
///
/// ```swift
/// var configuration = WebSocket.Configuration()
/// configuration.compression = WebSocketCompression()
/// ```
///
/// Messages are compressed only if both sides agree. A compressed message that contains a secret beside bytes that an attacker
/// chooses reveals the secret by its length; leave compression off for such messages. With context, each connection takes about
/// 300 KiB of memory. zlib (Debian: `zlib1g`) must be installed.
public struct WebSocketCompression: Hashable, Sendable {
    /// The effort of the compression, from 1, the fastest, to 9, the smallest result. Default 6.
    public var level = 6

    /// The shortest message that is compressed, in bytes. Default 64.
    public var minimumLength = 64

    /// The largest window of the messages sent, as a power of two from 9 to 15. Default 15. The peer may require a smaller one.
    public var sendWindowBits = 15

    /// The largest window of the messages received, as a power of two from 8 to 15. Default 15. A client that does not support
    /// the parameter uses 15.
    public var receiveWindowBits = 15

    /// Whether the messages sent may refer to earlier ones. Default true; false saves memory.
    public var keepsSendContext = true

    /// Whether the messages received may refer to earlier ones. Default true; false saves memory of the peer.
    public var keepsReceiveContext = true

    /// The defaults stated at each property.
    public init() {}

    /// - Throws: ``WebSocketError/Code/invalidArgument`` for a value out of its range.
    func validate() throws(WebSocketError) {
        guard 1...9 ~= level, minimumLength >= 0, 9...15 ~= sendWindowBits, 8...15 ~= receiveWindowBits else {
            throw .invalidArgument("An option of WebSocketCompression is out of its range.")
        }
    }
}

/// The parameters of compression on which both sides have agreed.
public struct WebSocketCompressionAgreement: Hashable, Sendable {
    /// The window of the messages sent, as a power of two.
    public var sendWindowBits: Int
    /// The window of the messages received, as a power of two.
    public var receiveWindowBits: Int
    /// Whether the messages sent may refer to earlier ones.
    public var keepsSendContext: Bool
    /// Whether the messages received may refer to earlier ones.
    public var keepsReceiveContext: Bool
    /// The effort of the compression.
    var level: Int
    /// The shortest message that is compressed.
    var minimumLength: Int

    init(_ options: WebSocketCompression) {
        sendWindowBits = options.sendWindowBits
        receiveWindowBits = options.receiveWindowBits
        keepsSendContext = options.keepsSendContext
        keepsReceiveContext = options.keepsReceiveContext
        level = options.level
        minimumLength = options.minimumLength
    }
}

/// The bytes at the end of a flushed deflate block, which a message leaves out (RFC 7692 §7.2.1).
private let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

/// Compresses messages.
struct MessageDeflater: Sendable {
    private let agreement: WebSocketCompressionAgreement
    /// Made for the first message.
    private var zlib: Zlib?
    private var piece: [UInt8] = []

    init(_ agreement: WebSocketCompressionAgreement) {
        self.agreement = agreement
    }

    /// Returns a message in compressed form; nil if it is to be sent as it is, because it is short, zlib is not installed, or
    /// zlib does not support the window (8).
    mutating func compress(_ message: [UInt8]) -> [UInt8]? {
        guard message.count >= agreement.minimumLength, !message.isEmpty, agreement.sendWindowBits >= 9 else {
            return nil
        }
        guard
            let zlib = zlib
                ?? (try? Zlib(deflating: .raw(windowBits: agreement.sendWindowBits), level: agreement.level))
        else { return nil }
        self.zlib = zlib
        if piece.isEmpty { piece = [UInt8](repeating: 0, count: 16 * 1024) }
        var output: [UInt8] = []
        var position = 0
        while true {
            guard
                let step = piece.withUnsafeMutableBytes({
                    zlib.deflate(message.span.bytes.extracting(droppingFirst: position), into: $0)
                })
            else { return restart() }
            output.append(contentsOf: piece[..<step.produced])
            position += step.consumed
            if step.produced < piece.count, position == message.count { break }
        }
        guard output.suffix(4).elementsEqual(tail) else { return restart() }
        output.removeLast(4)
        if !agreement.keepsSendContext { _ = zlib.restart() }
        return output
    }

    /// Forgets the context, which the peer's may no longer equal; the message is sent as it is.
    private mutating func restart() -> [UInt8]? {
        zlib = nil
        return nil
    }
}

/// Decompresses messages, one bounded piece at a time.
struct MessageInflater: Sendable {
    private static let pieceSize = 16 * 1024

    private let agreement: WebSocketCompressionAgreement
    /// Made for the first compressed message.
    private var zlib: Zlib?
    private var piece: [UInt8] = []

    init(_ agreement: WebSocketCompressionAgreement) {
        self.agreement = agreement
    }

    /// Decompresses bytes of a message, and appends the result to `message`.
    ///
    /// - Parameter limit: the longest message. Not more than a piece beyond it is produced.
    mutating func decompress(_ input: [UInt8], into message: inout [UInt8], limit: Int) throws(WebSocketError) {
        let zlib = try engine()
        if piece.isEmpty { piece = [UInt8](repeating: 0, count: MessageInflater.pieceSize) }
        var position = 0
        while true {
            guard
                let step = piece.withUnsafeMutableBytes({
                    zlib.inflate(input.span.bytes.extracting(droppingFirst: position), into: $0)
                })
            else { throw .invalidCompression }
            guard message.count + step.produced <= limit else {
                throw .tooLong("a message that decompresses to more than \(limit) bytes", limit: limit)
            }
            message.append(contentsOf: piece[..<step.produced])
            position += step.consumed
            // A sender may end the deflate data within a message (RFC 7692 §7.2.3.4).
            if step.hasEnded, !zlib.restart() { throw .invalidCompression }
            if position == input.count, step.produced < piece.count { return }
        }
    }

    private mutating func engine() throws(WebSocketError) -> Zlib {
        if let zlib { return zlib }
        do throws(StreamError) {
            let zlib = try Zlib(inflating: .raw(windowBits: 15))
            self.zlib = zlib
            return zlib
        } catch {
            throw WebSocketError(error)
        }
    }

    /// Completes a message.
    mutating func finish(into message: inout [UInt8], limit: Int) throws(WebSocketError) {
        try decompress(tail, into: &message, limit: limit)
        if !agreement.keepsReceiveContext, zlib?.restart() == false { throw .invalidCompression }
    }
}
