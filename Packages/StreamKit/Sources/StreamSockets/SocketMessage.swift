internal import EventLoops
internal import Glibc
public import HostResolver

// MARK: - Receiving

extension Socket {
    /// Receives a datagram, or available bytes of a stream; nil if there are none. Never waits.
    ///
    /// The part of a datagram that does not fit into `buffer` is lost, as ``SocketReception/isTruncated`` then tells.
    ///
    /// - Throws: the failure of the connection; `ECONNREFUSED` on a connected datagram socket whose peer does not
    ///   listen.
    public func tryReceive(into buffer: inout MutableRawSpan) throws(StreamError) -> SocketReception? {
        try attempt(.reader) { () throws(StreamError) in try receiveOnce(into: &buffer) }
    }

    /// Waits on the calling thread for a datagram, or for bytes of a stream. See `tryReceive(into:)`.
    ///
    /// - Throws: as `tryReceive(into:)`; ``StreamError/timedOut`` at the deadline, having consumed nothing;
    ///   ``StreamError/closed``.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func receive(
        into buffer: inout MutableRawSpan, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) -> SocketReception {
        try perform(.reader, until: deadline) { () throws(StreamError) in try receiveOnce(into: &buffer) }
    }

    /// Waits for a datagram, or for bytes of a stream. See `tryReceive(into:)`.
    ///
    /// - Throws: as `tryReceive(into:)`; ``StreamError/timedOut`` at the deadline and ``StreamError/cancelled``, having
    ///   consumed nothing; ``StreamError/closed``.
    public nonisolated(nonsending) func receive(
        into buffer: inout MutableRawSpan, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) -> SocketReception {
        try await perform(.reader, until: deadline) { () throws(StreamError) in try receiveOnce(into: &buffer) }
    }

    /// Receives up to `limit` bytes; nil if nothing is available. Never waits. See `tryReceive(into:)`.
    public func tryReceive(upTo limit: Int) throws(StreamError) -> SocketMessage? {
        try attempt(.reader) { () throws(StreamError) in try receiveOnce(upTo: limit) }
    }

    /// Waits on the calling thread and receives up to `limit` bytes. See `receive(into:until:)`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func receive(
        upTo limit: Int, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) -> SocketMessage {
        try perform(.reader, until: deadline) { () throws(StreamError) in try receiveOnce(upTo: limit) }
    }

    /// Waits and receives up to `limit` bytes. See `receive(into:until:)`.
    public nonisolated(nonsending) func receive(
        upTo limit: Int, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) -> SocketMessage {
        try await perform(.reader, until: deadline) { () throws(StreamError) in try receiveOnce(upTo: limit) }
    }

    private func receiveOnce(into buffer: inout MutableRawSpan) throws(StreamError) -> SocketReception? {
        try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try receiveOnce(into: bytes)
        }
    }

    private func receiveOnce(into bytes: UnsafeMutableRawBufferPointer) throws(StreamError) -> SocketReception? {
        if bytes.isEmpty, !type.keepsMessages { throw StreamError(posix: EINVAL, .emptyBuffer) }
        do throws(StreamError) {
            let reception = try Syscalls.receive(point.descriptor, into: bytes, keepsMessages: type.keepsMessages)
            // The end may result from our own close, which shuts the socket down to wake this call.
            if let reception, reception.count == 0, point.isClosed(.reader) { throw StreamError.closed }
            return reception
        } catch {
            throw point.isClosed(.reader) ? .closed : error
        }
    }

    /// Call inside the reader half.
    func receiveOnce(upTo limit: Int) throws(StreamError) -> SocketMessage? {
        var reception: SocketReception?
        var failure: StreamError?
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, limit)) { buffer, count in
            do throws(StreamError) {
                reception = try receiveOnce(into: UnsafeMutableRawBufferPointer(buffer))
                count = reception?.count ?? 0
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return reception.map { SocketMessage(bytes, $0) }
    }
}

// MARK: - Sending

extension Socket {
    /// Sends a datagram, or as many bytes of a stream as fit now; nil if none do. Never waits and never raises SIGPIPE.
    ///
    /// - Parameters:
    ///   - bytes: the bytes to send; a datagram is sent entirely or not at all.
    ///   - address: the recipient; nil on a connected socket.
    /// - Returns: the number of bytes that the system accepted.
    /// - Throws: `EMSGSIZE` if a datagram is too long; `EDESTADDRREQ` or `ENOTCONN` without an address; `EPIPE`;
    ///   `ECONNRESET`.
    public func trySend(_ bytes: RawSpan, to address: SocketAddress? = nil) throws(StreamError) -> Int? {
        try attempt(.writer) { () throws(StreamError) in try sendOnce(bytes, to: address) }
    }

    /// Waits on the calling thread until a datagram, or at least one byte of a stream, is sent. See
    /// ``trySend(_:to:)-(RawSpan,_)``.
    ///
    /// - Throws: as the call that does not wait; ``StreamError/timedOut`` at the deadline, having sent nothing;
    ///   ``StreamError/closed``.
    ///
    /// Replaces `CFSocketSendData`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func send(
        _ bytes: RawSpan, to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) -> Int {
        try perform(.writer, until: deadline) { () throws(StreamError) in try sendOnce(bytes, to: address) }
    }

    /// Waits until a datagram, or at least one byte of a stream, is sent. See ``trySend(_:to:)-(RawSpan,_)``.
    ///
    /// - Throws: as the call that does not wait; ``StreamError/timedOut`` and ``StreamError/cancelled``, having sent
    ///   nothing; ``StreamError/closed``.
    public nonisolated(nonsending) func send(
        _ bytes: RawSpan, to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) -> Int {
        try await perform(.writer, until: deadline) { () throws(StreamError) in try sendOnce(bytes, to: address) }
    }

    /// Waits on the calling thread until all bytes are sent. A datagram is sent as one.
    ///
    /// - Throws: as `send(_:to:until:)`; an unknown part of a stream may have been sent.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func sendAll(
        _ bytes: RawSpan, to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        var sent = 0
        repeat {
            sent += try complete(.writer, until: deadline) { () throws(StreamError) in
                try sendOnce(bytes.extracting(droppingFirst: sent), to: address)
            }
        } while !type.keepsMessages && sent < bytes.byteCount
    }

    /// Waits until all bytes are sent. A datagram is sent as one.
    ///
    /// - Throws: as `send(_:to:until:)`; an unknown part of a stream may have been sent.
    public nonisolated(nonsending) func sendAll(
        _ bytes: RawSpan, to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        var sent = 0
        repeat {
            sent += try await complete(.writer, until: deadline) { () throws(StreamError) in
                try sendOnce(bytes.extracting(droppingFirst: sent), to: address)
            }
        } while !type.keepsMessages && sent < bytes.byteCount
    }

    private func sendOnce(_ bytes: RawSpan, to address: SocketAddress?) throws(StreamError) -> Int? {
        do throws(StreamError) {
            return try bytes.withUnsafeBytes { (bytes) throws(StreamError) in
                try Syscalls.send(point.descriptor, bytes, to: address)
            }
        } catch {
            throw point.isClosed(.writer) ? .closed : error
        }
    }
}

/// Transfers of arrays.
extension Socket {
    /// Receives into an array, up to its length. See ``tryReceive(into:)-(MutableRawSpan)``.
    public func tryReceive(into buffer: inout [UInt8]) throws(StreamError) -> SocketReception? {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try tryReceive(into: &bytes)
    }

    /// Receives into an array, up to its length. See `receive(into:until:)`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func receive(
        into buffer: inout [UInt8], until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) -> SocketReception {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try receive(into: &bytes, until: deadline)
    }

    /// Receives into an array, up to its length. See `receive(into:until:)`.
    public nonisolated(nonsending) func receive(
        into buffer: inout [UInt8], until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) -> SocketReception {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try await receive(into: &bytes, until: deadline)
    }

    /// Sends as many bytes as fit now; nil if none do. See ``trySend(_:to:)-(RawSpan,_)``.
    public func trySend(_ bytes: [UInt8], to address: SocketAddress? = nil) throws(StreamError) -> Int? {
        try trySend(bytes.span.bytes, to: address)
    }

    /// Sends a datagram or part of a stream. See `send(_:to:until:)`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func send(
        _ bytes: [UInt8], to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) -> Int {
        try send(bytes.span.bytes, to: address, until: deadline)
    }

    /// Sends a datagram or part of a stream. See `send(_:to:until:)`.
    public nonisolated(nonsending) func send(
        _ bytes: [UInt8], to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) -> Int {
        try await send(bytes.span.bytes, to: address, until: deadline)
    }

    /// Sends all bytes. See `sendAll(_:to:until:)`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func sendAll(
        _ bytes: [UInt8], to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) {
        try sendAll(bytes.span.bytes, to: address, until: deadline)
    }

    /// Sends all bytes. See `sendAll(_:to:until:)`.
    public nonisolated(nonsending) func sendAll(
        _ bytes: [UInt8], to address: SocketAddress? = nil, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) {
        try await sendAll(bytes.span.bytes, to: address, until: deadline)
    }
}

/// The result of a receive: the number of bytes, the sender, and whether all of it fitted.
public struct SocketReception: Sendable, Hashable {
    /// The number of bytes received into the front of the buffer.
    ///
    /// On a stream, 0 is the end: the peer sends no more. On a datagram socket, 0 is an empty datagram.
    public let count: Int

    /// The original length of the datagram; more than ``count`` if the buffer was too small. On a stream, ``count``.
    public let fullLength: Int

    /// The sender of the datagram; nil on connected streams and for a Unix socket without a name.
    public let sender: SocketAddress?

    /// True if the buffer was smaller than the datagram, the rest of which is lost. The C name is `MSG_TRUNC`.
    public var isTruncated: Bool { fullLength > count }
}

/// A received datagram, or part of a stream, with its bytes.
public struct SocketMessage: Sendable, Hashable {
    /// The received bytes. On a stream, an empty array means the end.
    public let bytes: [UInt8]

    /// The original length of the datagram; more than `bytes.count` if the limit was too small.
    public let fullLength: Int

    /// The sender's address; nil on connected streams and for a Unix socket without a name.
    public let sender: SocketAddress?

    /// True if the datagram was longer than the limit; the rest is lost.
    public var isTruncated: Bool { fullLength > bytes.count }

    init(_ bytes: [UInt8], _ reception: SocketReception) {
        self.bytes = bytes
        fullLength = reception.fullLength
        sender = reception.sender
    }
}
