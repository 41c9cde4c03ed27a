internal import StreamKit

/// What time does: replies that do not come, and signs of life during transfers.
extension FTPConversation {
    /// Begins the time of one command: until its last reply, whatever preliminary replies and how many bytes come before that.
    mutating func startClock() {
        stopClock()
        guard settings.replyLimit > .zero else { return }
        let time = Moment.now + settings.replyLimit
        deadline = (time, loop.schedule(at: time) { [alarm] in alarm.ring() })
    }

    var isLate: Bool { deadline.map { Moment.now >= $0.0 } ?? false }

    mutating func stopClock() {
        deadline.take()?.1.cancel()
    }

    // MARK: Signs of life

    mutating func startSigns() {
        guard settings.keepAlive > .zero else { return }
        nextSign = loop.schedule(at: .now + settings.keepAlive) { [alarm] in alarm.signal() }
    }

    mutating func stopSigns() {
        nextSign.take()?.cancel()
    }

    /// Sends a sign of life, if a transfer is under way. What goes wrong shows when the transfer ends.
    mutating func signal() {
        guard case .transferring = phase, let control, control.sent == control.outgoing.count else { return }
        stopSigns()
        startSigns()
        guard let command = try? control.machine.signOfLife() else { return }
        control.outgoing = command.bytes
        // What there is no room for now goes before the next command.
        control.sent = (try? control.pair.output.tryWrite(command.bytes)) ?? 0
        _ = try? control.pair.output.tryFlush()
    }

    /// Whether the server has said something that ends the transfer, though not all data was moved.
    mutating func hasLastWord() -> Bool {
        guard let control else { return false }
        guard control.machine.unansweredSigns > 0 || !control.received.isEmpty else {
            return control.pair.input.hasBytesAvailable
        }
        while true {
            var parser = control.parser
            var used = 0
            guard let reply = try? parser.parse(control.received, used: &used) else {
                // Half a reply, or none: more bytes, or the end, tell which.
                var buffer = [UInt8](repeating: 0, count: 1024)
                guard let count = try? control.pair.input.tryRead(into: &buffer) else {
                    return control.pair.input.status == .error
                }
                if count == 0 || control.received.count > FTPReplyParser.replyLimit { return true }
                control.received += buffer[..<count]
                continue
            }
            guard control.machine.answersSign(reply) else { return true }
            control.machine.noteAnsweredSign()
            control.parser = parser
            control.received = control.received.dropFirst(used)
        }
    }
}
