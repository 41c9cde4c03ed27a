@_spi(Packages) internal import EventLoops

/// Reads the replies of one ``DaemonReference`` on a loop.
///
/// It reads one message in each turn of the loop, and waits for the descriptor only after the library had no message:
/// waits are edge-triggered, and messages that arrived together cause only one edge. It ends when it is closed, and
/// after the first failure.
final class DaemonReader: Sendable {
    private let reference: DaemonReference
    private let point: WaitPoint

    /// - Parameter receive: called on the loop with the daemon's replies, in batches; a failure is the last reply.
    init(_ reference: DaemonReference, loop: EventLoop, receive: @escaping @Sendable ([DaemonReply]) -> Void) {
        self.reference = reference
        let point = WaitPoint(descriptor: reference.descriptor, ownership: .borrowed, loop: loop)
        self.point = point
        Task(executorPreference: loop) {
            guard point.enter(.reader) == .entered else { return }
            defer { point.leave(.reader) }
            while !point.isClosed(.reader) {
                let (replies, mayHaveMore) = reference.replies()
                if !replies.isEmpty { receive(replies) }
                if replies.contains(where: \.isFailure) { return }
                if mayHaveMore { point.signalNextTurn(.readable) }
                switch await point.readerWait(for: .readable, until: nil) {
                case .ready: continue
                case .failed(let number): return receive([.failed(ServiceDiscoveryError(errno: number))])
                // Only closing leads here: there is no deadline and no other reader, and the task is never cancelled.
                case .closed, .cancelled, .timedOut, .busy: return
                }
            }
        }
    }

    deinit { end() }

    /// Replaces the published TXT record; returns the daemon's error number, or 0 if there was no error.
    func update(_ record: TXTRecord) -> Int32 {
        reference.update(record)
    }

    /// Reads no further replies, at once. Idempotent.
    func stop() {
        point.close()
    }

    /// Ends the operation and withdraws what it published, which waits for the daemon. Idempotent.
    func end() {
        stop()
        reference.end()
    }
}
