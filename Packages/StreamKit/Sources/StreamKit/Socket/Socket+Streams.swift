internal import EventLoops
internal import Glibc

extension Socket {
    /// Turns the connection into a pair of streams, still to be opened; this object is invalid from then on.
    ///
    /// ```swift
    /// for try await client in listener.accepted {
    ///     let pair = try client.makeStreams()
    ///     try pair.open()
    ///     …
    /// }
    /// ```
    ///
    /// The streams close the descriptor if this socket would have. Replaces `CFStreamCreatePairWithSocket` on an accepted
    /// descriptor.
    ///
    /// - Throws: `EINVAL` unless it is a connected stream socket; ``StreamError/busy`` while a call is under way. Nothing has
    ///   changed then.
    public func makeStreams() throws(StreamError) -> StreamPair {
        guard type == .stream, state.withLock({ $0.phase }) == .connected else {
            throw StreamError(posix: EINVAL, .notAStream)
        }
        try enter(.reader)
        defer { leave(.reader) }
        try enter(.writer)
        // Inside both halves nobody else is, and when we leave the closed point the loop forgets the descriptor.
        let ownership = point.ownership
        pump.end()
        let descriptor = point.detach()
        point.leave(.writer)
        if descriptor < 0 { throw .closed }
        return StreamPair(descriptor: descriptor, ownership: ownership, loop: point.loop)
    }
}
