internal import EventLoops

/// Watches one ``DaemonReference`` on a loop.
final class DaemonWatch: Sendable {
    private let reference: DaemonReference
    private let point: WaitPoint

    /// - Parameter take: told, on the loop, what the daemon says, in batches.
    init(_ reference: DaemonReference, loop: EventLoop, take: @escaping @Sendable ([DaemonReply]) -> Void) {
        self.reference = reference
        let point = WaitPoint(descriptor: reference.descriptor, ownership: .borrowed, loop: loop)
        self.point = point
        Task(executorPreference: loop) {
            guard point.enter(.reader) == .entered else { return }
            defer { point.leave(.reader) }
            while !point.isClosed(.reader) {
                let replies = reference.replies()
                if replies.isEmpty {
                    _ = await point.readerWait(for: .readable, until: nil)
                } else {
                    take(replies)
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
