internal import EventLoops

/// Watches one ``DaemonReference`` on a loop.
///
/// The watch takes one message in a turn of the loop, and waits for the descriptor only once the library was found without any:
/// the descriptor is watched for edges, and there is none for messages that came together. It ends when it is closed, and after
/// the first failure.
final class DaemonWatch: Sendable {
    private let reference: DaemonReference
    private let point: WaitPoint

    /// - Parameter take: called on the loop with the replies of the daemon, in batches; a failure is the last of all.
    init(_ reference: DaemonReference, loop: EventLoop, take: @escaping @Sendable ([DaemonReply]) -> Void) {
        self.reference = reference
        let point = WaitPoint(descriptor: reference.descriptor, ownership: .borrowed, loop: loop)
        self.point = point
        Task(executorPreference: loop) {
            guard point.enter(.reader) == .entered else { return }
            defer { point.leave(.reader) }
            while !point.isClosed(.reader) {
                let (replies, mayHaveMore) = reference.replies()
                if !replies.isEmpty { take(replies) }
                if replies.contains(where: \.isFailure) { return }
                if mayHaveMore { point.signalNextTurn(.readable) }
                switch await point.readerWait(for: .readable, until: nil) {
                case .ready: continue
                case .failed(let number): return take([.failed(MulticastSocket.failure(number))])
                // Nothing but closing ends it otherwise: there is no deadline, no other reader, and no one has the task.
                case .closed, .cancelled, .timedOut, .busy: return
                }
            }
        }
    }

    deinit { end() }

    /// Announces another TXT record; the daemon's error number.
    func update(_ record: TXTRecord) -> Int32 {
        reference.update(record)
    }

    /// Ends the operation; what it published is gone. Idempotent.
    func end() {
        point.close()
        reference.end()
    }
}
