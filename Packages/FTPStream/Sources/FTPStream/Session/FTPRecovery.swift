internal import StreamKit

/// Brings a session back into step, so that it can do another job: ends a transfer that was given up, takes answers that are
/// due. Runs by itself; nobody waits for it.
enum FTPRecovery {
    /// - Parameter isAborting: whether a transfer is under way.
    static func run(_ control: FTPControl, isAborting: Bool, pool: FTPSessionPool, loop: EventLoop) {
        let deadline = Moment.now + FTPTimeLimits.recovery
        Task(executorPreference: loop) {
            // Ends every wait below, those of sending too.
            let alarm = loop.schedule(at: deadline) { [pair = control.pair] in pair.close() }
            defer { alarm.cancel() }
            do throws(StreamError) {
                let action = try FTPConversation.converting { () throws(FTPError) in
                    try isAborting ? control.machine.abort() : control.machine.settle()
                }
                try await send(action, on: control)
                while !control.machine.isAtRest { try await receive(control) }
                guard control.isIdle else { return control.close() }
                pool.put(control)
            } catch {
                control.close()
            }
        }
    }

    private static func send(_ action: FTPMachine.Action, on control: FTPControl) async throws(StreamError) {
        if case .send(let command) = action { try await control.pair.output.writeAll(command.bytes) }
    }

    private static func receive(_ control: FTPControl) async throws(StreamError) {
        while !control.received.isEmpty {
            var used = 0
            let reply = try FTPConversation.converting { () throws(FTPError) in
                try control.parser.parse(control.received, used: &used)
            }
            control.received = control.received.dropFirst(used)
            guard let reply else { break }
            let action = try FTPConversation.converting { () throws(FTPError) in try control.machine.receive(reply) }
            return try await send(action, on: control)
        }
        var buffer = [UInt8](repeating: 0, count: 1024)
        guard let count = try control.pair.input.tryRead(into: &buffer) else {
            let wake = await control.pair.input.waitPoint.readerWait(for: .readable, until: nil)
            guard wake == .ready else { throw .timedOut }
            return
        }
        guard count > 0 else { throw .closed }
        control.received = buffer[..<count]
    }
}
