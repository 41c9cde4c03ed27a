internal import StreamKit

/// Data connections.
extension FTPConversation {
    /// Takes the server's connection; whoever else connects is turned away.
    ///
    /// - Parameter limit: the most that are turned away in this turn of the loop.
    mutating func accept(
        _ control: FTPControl, turningAway limit: Int = strangerLimit
    ) throws(StreamError) -> Interest? {
        guard let listener else { throw .closed }
        let peer = control.peer
        for _ in 0..<limit {
            guard let socket = try listener.tryAccept() else {
                place = listener.waitPoint
                return .readable
            }
            guard let other = socket.peerAddress?.ipAddress, other == peer else {
                deferred.add(.invalidate(socket))
                continue
            }
            let pair = try socket.makeStreams()
            if let configuration = control.dataConfiguration { try pair.set(.tls, to: configuration) }
            try pair.open()
            data = pair
            deferred.add(.invalidate(listener))
            self.listener = nil
            return nil
        }
        place = listener.waitPoint
        place.signalNextTurn(.readable)  // more may wait, and no edge would tell
        return .readable
    }

    /// The most connections from other hosts that are turned away in one turn of the loop.
    static let strangerLimit = 16
}
