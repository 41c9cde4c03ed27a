internal import EventLoops
public import HostResolver

/// Transfers of arrays.
extension Socket {
    /// Receives into an array, up to its length. See ``tryReceive(into:)-(MutableRawSpan)``.
    public func tryReceive(into buffer: inout [UInt8]) throws(StreamError) -> SocketReception? {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try tryReceive(into: &bytes)
    }

    /// Receives into an array, up to its length. See `receive(into:until:)`.
    @available(*, noasync, message: "blocks the thread; write 'await'")
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
    @available(*, noasync, message: "blocks the thread; write 'await'")
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
    @available(*, noasync, message: "blocks the thread; write 'await'")
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
