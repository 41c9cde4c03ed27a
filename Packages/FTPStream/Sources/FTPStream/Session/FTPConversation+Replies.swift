internal import StreamKit

/// Bytes of the control connection.
extension FTPConversation {
    /// Sends what is to be sent and takes a reply; what to wait for, if there is none yet.
    mutating func receiveReply(_ control: FTPControl) throws(StreamError) -> Interest? {
        let outgoing = control.outgoing
        while control.sent < outgoing.count {
            let rest = outgoing.span.bytes.extracting(droppingFirst: control.sent)
            guard let count = try control.pair.output.tryWrite(rest) else {
                place = control.pair.output.waitPoint
                return [.readable, .writable]
            }
            control.sent += count
        }
        if try !control.pair.output.tryFlush() {
            place = control.pair.output.waitPoint
            return [.readable, .writable]
        }
        while true {
            if !control.received.isEmpty {
                var used = 0
                let reply = try Self.converting { () throws(FTPError) in
                    try control.parser.parse(control.received, used: &used)
                }
                control.received = control.received.dropFirst(used)
                if let reply {
                    lastReply = reply
                    try go { (machine) throws(FTPError) in try machine.receive(reply) }
                    return nil
                }
            }
            var buffer = [UInt8](repeating: 0, count: 4096)
            guard let count = try control.pair.input.tryRead(into: &buffer) else {
                place = control.pair.input.waitPoint
                return .readable
            }
            guard count > 0 else { throw StreamError(.connectionLost(before: control.machine.awaitedReply)) }
            control.received = buffer[..<count]
        }
    }

    /// The data connection failed: the server's reply says why, if it comes.
    mutating func awaitReason(for error: StreamError) throws(StreamError) -> Interest? {
        guard let control else { throw error }
        do throws(StreamError) {
            if let interest = try receiveReply(control) { return interest }
        } catch let reason where (reason.underlying as? FTPError)?.code != .refused {
            throw error
        }
        guard case .talking(.ready) = phase else {
            phase = .failing(error)
            return nil
        }
        throw error  // the server was content, and we are not
    }
}
