@_spi(Packages) internal import StreamKit

/// The data connection of a conversation, opened by either side, and the end of the one before.
struct FTPDataConnection: Sendable {
    /// The most connections from other hosts that are closed in one turn of the loop.
    static let maximumForeignConnections = 16

    /// The connection, once it is open or being opened.
    private(set) var pair: StreamPair?
    /// The socket to which the server connects.
    private(set) var listener: Socket?
    /// The connection of an upload over TLS after its close_notify was sent.
    private var lingering: FTPLingeringClose?

    /// Uses a connection to the server, in place of the same one without TLS.
    mutating func use(_ pair: StreamPair) { self.pair = pair }

    /// Listens for a connection from the server.
    mutating func listen(at ip: IPAddress, loop: EventLoop) throws(StreamError) -> SocketAddress {
        let socket = try Socket(listeningAt: .ip(ip, port: 0), backlog: 1, loop: loop)
        listener = socket
        guard let address = socket.localAddress else { throw .closed }
        return address
    }

    /// Accepts the server's connection; connections from other hosts are closed.
    ///
    /// - Parameter maximum: the most connections that are closed in this turn of the loop.
    /// - Returns: what to wait for; nil with the connection.
    mutating func accept(
        of control: FTPControl, rejecting maximum: Int = maximumForeignConnections,
        _ deferred: inout Deferred<FTPDeferredAction>
    ) throws(StreamError) -> WaitPoint.Readiness? {
        guard let listener else { throw .closed }
        let readiness = WaitPoint.Readiness(listener.waitPoint, .reader, for: .readable)
        let peer = control.peer
        for _ in 0..<maximum {
            guard let socket = try listener.tryAccept() else { return readiness }
            guard FTPMachine.isDataPeer(socket.peerAddress?.ipAddress, of: peer) else {
                deferred.add(.invalidate(socket))
                continue
            }
            let accepted = try socket.makeStreams()
            if let configuration = control.dataConfiguration { try accepted.set(.tls, to: configuration) }
            try accepted.open()
            pair = accepted
            deferred.add(.invalidate(listener))
            self.listener = nil
            return nil
        }
        listener.waitPoint.signalNextTurn(.readable)  // more may be pending, and no edge would report them
        return readiness
    }

    /// Reads what the server still sends after an upload over TLS, and then closes the connection.
    mutating func linger(loop: EventLoop) {
        lingering = pair.take().map { FTPLingeringClose($0, loop: loop) }
    }

    /// Closes all that is open.
    mutating func close(_ deferred: inout Deferred<FTPDeferredAction>) {
        if let lingering = lingering.take() { deferred.add(.stopLingering(lingering)) }
        if let listener = listener.take() { deferred.add(.invalidate(listener)) }
        if let pair = pair.take() { deferred.add(.close(pair)) }
    }
}
