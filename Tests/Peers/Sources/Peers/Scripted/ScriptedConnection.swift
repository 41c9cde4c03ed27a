internal import Glibc

/// One connection of a ``ScriptedServer``, for its script. All methods block, and throw after ``Deadline/ofHangs``.
public final class ScriptedConnection: Sendable {
    private struct State {
        var descriptor: Int32
        var recording = Recording()
    }

    /// The number of the connection; 0 for the first of its server.
    public let number: Int
    private let state: Guarded<State>
    private static let timeout = Int(Deadline.ofHangs)

    init(_ descriptor: Int32, number: Int) {
        self.number = number
        state = Guarded(State(descriptor: descriptor))
        var limit = timeval(tv_sec: Self.timeout, tv_usec: 0)
        var yes: Int32 = 1
        var timestamps = TimestampFlags.acknowledgements
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPING, &timestamps, socklen_t(MemoryLayout<UInt32>.size))
    }

    deinit {
        close()
    }

    /// The bytes received so far, and how the client ended the connection.
    public var recording: Recording { state.withLock { $0.recording } }

    // MARK: Receiving

    /// Reads exactly these bytes.
    ///
    /// - Throws: ``PeerError/Code/unexpected`` if other bytes or the end arrive.
    public func expect(_ text: String) throws(PeerError) {
        try expect(Array(text.utf8))
    }

    /// Reads exactly these bytes.
    ///
    /// - Throws: ``PeerError/Code/unexpected`` if other bytes or the end arrive.
    public func expect(_ bytes: [UInt8]) throws(PeerError) {
        let received = try read(bytes.count)
        guard received == bytes else {
            throw PeerError(.unexpected, "expected \(Self.quoted(bytes)), received \(Self.quoted(received))")
        }
    }

    /// Reads `count` bytes.
    ///
    /// - Throws: ``PeerError/Code/unexpected`` if the connection ends first.
    @discardableResult
    public func read(_ count: Int) throws(PeerError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let chunk = try readSome(limit: count - bytes.count)
            guard !chunk.isEmpty else {
                throw PeerError(
                    .unexpected, "expected \(count) bytes, but the connection ended after \(Self.quoted(bytes))")
            }
            bytes += chunk
        }
        return bytes
    }

    /// Reads up to and including `delimiter`, and no further byte.
    ///
    /// - Throws: ``PeerError/Code/unexpected`` if the connection ends first.
    @discardableResult
    public func read(until delimiter: String) throws(PeerError) -> String {
        let delimiter = Array(delimiter.utf8)
        var bytes: [UInt8] = []
        while !bytes.suffix(delimiter.count).elementsEqual(delimiter) {
            bytes += try read(1)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads up to and including the empty line after the head of an HTTP message.
    ///
    /// - Throws: ``PeerError/Code/unexpected`` if the connection ends first.
    @discardableResult
    public func readHead() throws(PeerError) -> String {
        try read(until: "\r\n\r\n")
    }

    /// Reads until the client ends or resets the connection.
    ///
    /// - Throws: ``PeerError/Code/timedOut`` if it does neither.
    @discardableResult
    public func readToEnd() throws(PeerError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let chunk: [UInt8]
            do throws(PeerError) {
                chunk = try readSome(limit: 65536)
            } catch {
                if recording.ending == .reset { return bytes }
                throw error
            }
            if chunk.isEmpty { return bytes }
            bytes += chunk
        }
    }

    // MARK: Sending

    /// Sends these bytes.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the client has closed the connection.
    public func send(_ text: String) throws(PeerError) {
        try send(Array(text.utf8))
    }

    /// Sends these bytes, in pieces of `size` bytes if given.
    ///
    /// Each piece is sent after the client's kernel has acknowledged the previous one, so that each is a separate segment.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the client has closed the connection.
    public func send(_ bytes: [UInt8], inPiecesOf size: Int = .max) throws(PeerError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            try sendPiece(rest.prefix(size))
            rest = rest.dropFirst(size)
            if !rest.isEmpty { try awaitDelivery() }
        }
    }

    /// Sends `bytes` one by one, each after `signal` is fired.
    ///
    /// - Throws: ``PeerError/Code/timedOut`` if the signal is not fired; ``PeerError/Code/refused`` if the client has closed the
    ///   connection.
    public func drip(_ bytes: [UInt8], on signal: Signal) throws(PeerError) {
        for byte in bytes {
            try wait(for: signal)
            try send([byte])
        }
    }

    /// Waits until the client's kernel has acknowledged all sent bytes.
    ///
    /// The kernel puts a timestamp into the socket's error queue when the last byte of a piece has been acknowledged, which
    /// `poll` reports. (Room in the send buffer is no such event: `poll` reports it only when a third of the buffer is free.)
    ///
    /// - Throws: ``PeerError/Code/timedOut``; ``PeerError/Code/refused`` if the client has reset the connection.
    public func awaitDelivery() throws(PeerError) {
        let descriptor = state.withLock { $0.descriptor }
        while true {
            // Before the bytes are counted: a timestamp that arrives later ends the wait.
            discardTimestamps(descriptor)
            var unsent: Int32 = 0
            // SIOCOUTQ has the same value as TIOCOUTQ, which Swift imports.
            if ioctl(descriptor, UInt(TIOCOUTQ), &unsent) != 0 || unsent == 0 { return }
            var wait = pollfd(fd: descriptor, events: 0, revents: 0)
            let count = poll(&wait, 1, Int32(Self.timeout) * 1000)
            if count == 0 {
                throw PeerError(.timedOut, "the client did not acknowledge \(unsent) bytes within \(Self.timeout) s")
            }
            if count > 0, wait.revents & Int16(POLLHUP) != 0 {
                throw PeerError(.refused, "the connection ended before the client acknowledged \(unsent) bytes")
            }
        }
    }

    /// Values of SO_TIMESTAMPING, which Swift does not import.
    private enum TimestampFlags {
        private static let software: UInt32 = 1 << 4
        private static let acknowledged: UInt32 = 1 << 9
        private static let withoutData: UInt32 = 1 << 11

        /// A timestamp for each piece whose last byte the other side has acknowledged.
        static let acknowledgements = software | acknowledged | withoutData
    }

    private func discardTimestamps(_ descriptor: Int32) {
        var message = msghdr()
        while recvmsg(descriptor, &message, Int32(MSG_ERRQUEUE | MSG_DONTWAIT)) >= 0 {}
    }

    /// Waits until the test fires the signal.
    ///
    /// - Throws: ``PeerError/Code/timedOut``.
    public func wait(for signal: Signal) throws(PeerError) {
        try signal.block(seconds: Double(Self.timeout))
    }

    // MARK: Ending

    /// Closes the sending side (FIN); receiving continues.
    public func finish() {
        _ = shutdown(state.withLock { $0.descriptor }, Int32(SHUT_WR))
    }

    /// Resets the connection (RST), after the client's kernel has acknowledged all sent bytes.
    public func reset() {
        try? awaitDelivery()
        var linger = linger(l_onoff: 1, l_linger: 0)
        let descriptor = state.withLock { $0.descriptor }
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        close()
    }

    /// Closes the connection. If the client has sent bytes that the script did not read, the kernel sends a reset.
    public func close() {
        state.withLock { state in
            if state.descriptor >= 0 { Glibc.close(state.descriptor) }
            state.descriptor = -1
        }
    }

    /// Wakes a script that is blocked on this connection.
    func interrupt() {
        state.withLock { _ = shutdown($0.descriptor, Int32(SHUT_RDWR)) }
    }

    func record(_ error: PeerError) {
        state.withLock { $0.recording.error = error }
    }

    // MARK: System calls

    /// Reads at least one byte; returns no bytes at the end.
    private func readSome(limit: Int) throws(PeerError) -> [UInt8] {
        let descriptor = state.withLock { $0.descriptor }
        var chunk = [UInt8](repeating: 0, count: min(limit, 65536))
        var count = 0
        repeat { count = recv(descriptor, &chunk, chunk.count, 0) } while count < 0 && errno == EINTR
        let code = errno
        state.withLock { state in
            if count > 0 { state.recording.received += chunk[..<count] }
            if count == 0 { state.recording.ending = .finished }
            if count < 0 && code == ECONNRESET { state.recording.ending = .reset }
        }
        if count < 0 {
            throw PeerError(
                code == EAGAIN ? .timedOut : .unexpected,
                code == EAGAIN
                    ? "nothing received within \(Self.timeout) s"
                    : "receiving failed: \(String(cString: strerror(code)))")
        }
        return Array(chunk[..<count])
    }

    private func sendPiece(_ bytes: ArraySlice<UInt8>) throws(PeerError) {
        let descriptor = state.withLock { $0.descriptor }
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                throw PeerError(.refused, "sending failed: \(String(cString: strerror(errno)))")
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func quoted(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).debugDescription
    }
}

/// A signal from a test to a scripted peer, or in the other direction, to continue.
///
/// A script that waits for a signal pauses exactly as long as the test needs.
///
/// ```swift
/// let halfRead = Signal()
/// let server = try ScriptedServer { connection throws(PeerError) in
///     try connection.send("half")
///     try connection.wait(for: halfRead)
///     try connection.send("the rest")
/// }
/// // read "half" with the code under test, then:
/// halfRead.fire()
/// ```
public final class Signal: Sendable {
    private let count = Guarded(0)

    /// Creates a signal that is not fired.
    public init() {}

    /// Ends one wait: a current one, or else the next.
    public func fire() {
        count.withLock { $0 += 1 }
    }

    /// Waits until the signal is fired, without blocking a thread of Swift's pool.
    ///
    /// - Throws: ``PeerError/Code/timedOut`` after `seconds`.
    public func wait(seconds: Double = Deadline.ofHangs) async throws(PeerError) {
        try await onNewThread { () throws(PeerError) in try self.block(seconds: seconds) }
    }

    func block(seconds: Double) throws(PeerError) {
        let fired: Void? = count.wait(seconds: seconds) { count in
            guard count > 0 else { return nil }
            count -= 1
            return ()
        }
        if fired == nil { throw PeerError(.timedOut, "the signal was not fired within \(seconds) s") }
    }
}
