internal import EventLoops
internal import Glibc

extension Socket {
    /// Converts the connected socket to a pair of streams, which must still be opened. The socket object is invalid
    /// afterwards.
    ///
    /// ```swift
    /// for try await client in listener.accepted {
    ///     let pair = try client.makeStreams()
    ///     try pair.open()
    ///     …
    /// }
    /// ```
    ///
    /// The streams close the descriptor if this socket would have. Replaces `CFStreamCreatePairWithSocket` on an
    /// accepted descriptor.
    ///
    /// - Throws: `EINVAL` unless this is a connected stream socket; ``StreamError/busy`` while a call is in progress.
    ///   The socket is unchanged then.
    public func makeStreams() throws(StreamError) -> StreamPair {
        guard type == .stream, state.withLock({ $0.phase }) == .connected else {
            throw StreamError(posix: EINVAL, .notAStream)
        }
        try enter(.reader)
        defer { leave(.reader) }
        try enter(.writer)
        // No other call is inside the halves, and leaving the closed point makes the loop forget the descriptor.
        let ownership = point.ownership
        pump.end()
        let descriptor = point.detach()
        point.leave(.writer)
        if descriptor < 0 { throw .closed }
        return StreamPair(descriptor: descriptor, ownership: ownership, loop: point.loop)
    }
}
