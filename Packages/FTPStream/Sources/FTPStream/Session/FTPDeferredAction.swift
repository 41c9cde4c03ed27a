internal import StreamKit

/// What a conversation closes and returns to a pool. The ``FTPTransport`` performs these actions after it has released
/// its lock, because each may run code that takes the lock.
enum FTPDeferredAction: Sendable {
    /// Closes a data connection.
    case close(StreamPair)
    /// Closes a socket that listens for the data connection, or a data connection from another host.
    case invalidate(Socket)
    /// Closes the data connection of a completed or abandoned upload.
    case stopLingering(FTPLingeringClose)
    /// Ends a session.
    case end(FTPControl)
    /// Returns a session to a pool.
    case keep(FTPControl, FTPSessionPool)
    /// Receives the outstanding replies of a session, then returns it to a pool.
    case recover(FTPControl, isAborting: Bool, FTPSessionPool, EventLoop)

    func perform() {
        switch self {
        case .close(let pair): pair.close()
        case .invalidate(let socket): socket.invalidate()
        case .stopLingering(let lingering): lingering.stop()
        case .end(let control): control.close()
        case .keep(let control, let pool): pool.put(control)
        case .recover(let control, let isAborting, let pool, let loop):
            FTPRecovery.run(control, isAborting: isAborting, pool: pool, loop: loop)
        }
    }
}

/// The end of the data connection of an upload over TLS. Reads what the server still sends, its session tickets and close_notify,
/// and then closes the connection.
///
/// Closing at once would answer the tickets with a reset, which may overtake data that was sent. Not closing at all would delay
/// servers that confirm the upload only when the connection is closed (proftpd, by ten seconds).
final class FTPLingeringClose: Sendable {
    /// The most bytes that are read, many times the size of tickets and a close_notify. Then the connection is closed.
    static let maximumLength = 64 * 1024

    private let pair: StreamPair

    init(_ pair: StreamPair, loop: EventLoop) {
        self.pair = pair
        Task(executorPreference: loop) {
            var scrap = [UInt8](repeating: 0, count: 4096)
            var total = 0
            while total < Self.maximumLength, let count = try? await pair.input.read(into: &scrap), count > 0 {
                total += count
            }
            pair.close()
        }
    }

    /// Closes the connection: the server has confirmed the upload, or the upload was abandoned.
    func stop() {
        pair.close()
    }
}

/// Resynchronizes a session in the background so that it can run another job: aborts its transfer and receives outstanding
/// replies.
enum FTPRecovery {
    /// - Parameter isAborting: whether a transfer is running.
    static func run(_ control: FTPControl, isAborting: Bool, pool: FTPSessionPool, loop: EventLoop) {
        let deadline = Moment.now + FTPTimeLimits.recovery
        Task(executorPreference: loop) {
            // Ends every wait below, including those of sending.
            let timer = loop.schedule(at: deadline) { [pair = control.pair] in pair.close() }
            defer { timer.cancel() }
            do throws(StreamError) {
                let action = try StreamError.converting { () throws(FTPError) in
                    try isAborting ? control.machine.abort() : control.machine.resynchronize()
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

    /// Handles one reply, or waits until the connection is readable.
    private static func receive(_ control: FTPControl) async throws(StreamError) {
        guard let reply = try control.tryReceive() else {
            let result = await control.pair.input.waitPoint.readerWait(for: .readable, until: nil)
            guard result == .ready else { throw .timedOut }
            return
        }
        let action = try StreamError.converting { () throws(FTPError) in try control.machine.receive(reply) }
        try await send(action, on: control)
    }
}

/// The end of an idle session: QUIT (RFC 959 §4.1.1), whose reply comes before the server closes the connection.
enum FTPQuit {
    static func run(_ control: FTPControl) async {
        let timer = control.pair.input.waitPoint.loop.schedule(at: .now + FTPTimeLimits.quit) {
            [pair = control.pair] in
            pair.close()
        }
        defer {
            timer.cancel()
            control.close()
        }
        guard let quit = try? FTPCommand("QUIT"), (try? await control.pair.output.writeAll(quit.bytes)) != nil else {
            return
        }
        _ = try? await control.pair.input.read(upTo: 512)
    }
}
