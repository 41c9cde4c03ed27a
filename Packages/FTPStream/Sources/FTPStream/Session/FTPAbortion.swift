internal import StreamKit

/// Ends a transfer that was given up, so that its session can do another job. Runs by itself; nobody waits for it.
enum FTPAbortion {
    /// How long the server may take to come back into step.
    static let limit = Duration.seconds(5)

    static func run(_ control: FTPControl, pool: FTPSessionPool, loop: EventLoop) {
        let deadline = Moment.now + limit
        Task(executorPreference: loop) {
            do throws(StreamError) {
                let commands = try FTPConversation.converting { () throws(FTPError) in try control.machine.abort() }
                let output = control.pair.output
                try await output.writeAll(commands.flatMap(\.bytes))
                while !control.machine.isUsable { try await receive(control, until: deadline) }
                guard control.isIdle else { return control.close() }
                pool.put(control)
            } catch {
                control.close()
            }
        }
    }

    private static func receive(
        _ control: FTPControl, until deadline: Moment
    ) async throws(StreamError) {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count: Int
        if let taken = try control.pair.input.tryRead(into: &buffer) {
            count = taken
        } else {
            let wake = await control.pair.input.waitPoint.readerWait(for: .readable, until: deadline)
            guard wake == .ready else { throw .timedOut }
            return
        }
        guard count > 0 else { throw .closed }
        control.received = buffer[..<count]
        while !control.received.isEmpty {
            var used = 0
            let reply = try FTPConversation.converting { () throws(FTPError) in
                try control.parser.parse(control.received, used: &used)
            }
            control.received = control.received.dropFirst(used)
            guard let reply else { return }
            _ = try FTPConversation.converting { () throws(FTPError) in try control.machine.receive(reply) }
        }
    }
}
