internal import Glibc

/// The process of a ``Peer``: starts and ends the program, and provides its ports, folder and log.
public final class PeerProcess: Sendable {
    /// How to start the program on its ports, and how to recognize that it is ready.
    struct Launch {
        var arguments: [String]
        var environment: [String: String] = [:]
        /// The sockets on which the program listens when it is ready.
        var sockets: [ListeningSocket]
        /// The Unix sockets on which the program listens when it is ready.
        var paths: [String] = []
        /// A text that the log contains when the program is ready, for programs that may still fail after they listen.
        var announcement: String?
        /// The names of log files in the scratch folder, besides the output.
        var logs: [String] = []
        /// Whether a descendant of the process listens, instead of the process itself.
        var ownerIsDescendant = false
        /// Whether the program's standard input is connected to ``PeerProcess/send(_:)``.
        var hasInput = false
    }

    private struct State {
        var ports: [Int] = []
        var scratch: ScratchFolder?
        var child: ChildProcess?
        var input: Int32 = -1
        var logs: [String] = []
        var lastLog = ""
    }

    /// The namespace of the server; nil means the machine's own network.
    let namespace: NetworkNamespace?
    private let state = Guarded(State())

    init(in namespace: NetworkNamespace? = nil) {
        self.namespace = namespace
    }

    deinit {
        stop()
    }

    /// The server's ports, in the order that its peer documents. Empty before the start.
    public var ports: [Int] { state.withLock { $0.ports } }

    /// The process id; nil if the server is not running.
    public var pid: Int32? { state.withLock { $0.child?.isRunning == true ? $0.child?.pid : nil } }

    /// Whether the server is running.
    public var isRunning: Bool { pid != nil }

    /// The server's output so far; after it has stopped, its whole output.
    public var log: String {
        state.withLock { state in
            guard let scratch = state.scratch else { return state.lastLog }
            return state.logs.map { (try? readText(scratch.file($0))) ?? "" }.joined()
        }
    }

    /// The server's private folder.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    func folder() throws(PeerError) -> ScratchFolder {
        guard let scratch = state.withLock({ $0.scratch }) else {
            throw PeerError(.refused, "the peer is not running; call start() first")
        }
        return scratch
    }

    /// Starts `program` with `count` ports, or with the ports `fixed`, and returns when all its sockets listen. If another process
    /// has taken a port in the meantime, tries again with other ports.
    func start(
        _ program: Program, ports count: Int, fixed: [Int]? = nil, seconds: Double = Deadline.ofHangs,
        prepare: (ScratchFolder, [Int]) throws(PeerError) -> Launch
    ) throws(PeerError) {
        guard !isRunning else { throw PeerError(.refused, "\(program.name) is already running") }
        stop()
        for attempt in 1...5 {
            let ports = if let fixed { fixed } else { try PortPool.take(count) }
            let scratch = try ScratchFolder(program.name)
            let launch = try prepare(scratch, ports)
            try launchProgram(program, launch, ports: ports, scratch: scratch)
            do throws(PeerError) {
                return try waitUntilReady(program, launch, seconds: seconds)
            } catch {
                stop()
                if error.code != .noPort || fixed != nil || attempt == 5 { throw error }
            }
        }
    }

    /// Writes to the server's standard input.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running, or was started without an input.
    func send(_ bytes: [UInt8]) throws(PeerError) {
        let input = state.withLock { $0.input }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(input, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw PeerError(.refused, "cannot write to the peer's input", log: log) }
            rest = rest.dropFirst(count)
        }
    }

    /// Closes the server's standard input.
    func endInput() {
        state.withLock { state in
            if state.input >= 0 { close(state.input) }
            state.input = -1
        }
    }

    /// Stops the process until ``resume()``: its sockets accept bytes, but nothing is answered.
    public func pause() {
        if let pid { Glibc.kill(pid, SIGSTOP) }
    }

    /// Continues the process after ``pause()``.
    public func resume() {
        if let pid { Glibc.kill(pid, SIGCONT) }
    }

    /// Ends it and all its descendants with SIGKILL, as a crash does; then as ``stop()``.
    func kill() {
        state.withLock { $0.child }?.kill()
        stop()
    }

    /// Ends it, waits until it is gone, and removes its files. Safe to call twice.
    func stop() {
        let log = log
        endInput()
        let child = state.withLock { state in
            let child = state.child
            state.child = nil
            return child
        }
        child?.stop()
        state.withLock { state in
            state.lastLog = log
            state.scratch?.remove()
            state.scratch = nil
        }
    }

    private func launchProgram(
        _ program: Program, _ launch: Launch, ports: [Int], scratch: ScratchFolder
    ) throws(PeerError) {
        // A socket pair instead of a pipe, because a write to it can suppress SIGPIPE.
        var pair: [Int32] = [-1, -1]
        if launch.hasInput { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) }
        defer { if pair[0] >= 0 { close(pair[0]) } }
        let (program, arguments) = try namespace?.entering(program, launch.arguments) ?? (program, launch.arguments)
        let child = try ChildProcess(
            program, arguments, environment: ["HOME": scratch.path].merging(launch.environment) { $1 },
            folder: scratch.path, input: launch.hasInput ? .descriptor(pair[0]) : .nothing,
            output: scratch.file("output.log"))
        state.withLock { state in
            state.ports = ports
            state.scratch = scratch
            state.child = child
            state.input = pair[1]
            state.logs = ["output.log"] + launch.logs
        }
    }

    private func waitUntilReady(_ program: Program, _ launch: Launch, seconds: Double) throws(PeerError) {
        guard let child = state.withLock({ $0.child }) else { return }
        let end = ContinuousClock.now + .seconds(seconds)
        var pause = Duration.milliseconds(3)
        while true {
            let visible = ListeningSocket.visible(to: child.pid, of: launch.sockets)
            let own = ListeningSocket.inodes(of: child.pid, andDescendants: launch.ownerIsDescendant)
            let foreign = launch.sockets.first { visible[$0].map { own.isDisjoint(with: $0) } ?? false }
            let isReady =
                launch.sockets.allSatisfy { visible[$0].map { !own.isDisjoint(with: $0) } ?? false }
                && launch.paths.allSatisfy { isListening($0, of: child.pid) }
                && launch.announcement.map { log.contains($0) } ?? true
            if isReady { return }
            // While a program drops its privileges, its sockets cannot be read for a moment. So a port counts as taken only
            // when the program has ended or reports it.
            if let status = child.exitStatus {
                let taken = foreign != nil || isAddressInUse
                throw PeerError(
                    taken ? .noPort : .exited, "\(program.name) ended with status \(status) before it was ready",
                    log: log)
            }
            if foreign != nil && isAddressInUse {
                throw PeerError(.noPort, "the port of \(program.name) is taken", log: log)
            }
            if ContinuousClock.now >= end {
                throw PeerError(.timedOut, "\(program.name) was not ready after \(seconds) s", log: log)
            }
            // The kernel has no notification for a listening socket, so this polls. The pauses grow, to leave the processor
            // to slow servers.
            child.end.wait(until: .now + pause)
            pause = min(pause * 5 / 4, .milliseconds(50))
        }
    }

    private var isAddressInUse: Bool {
        let log = log.lowercased()
        return log.contains("address already in use") || log.contains("address in use")
    }

    /// Whether a Unix socket at `path` accepts connections: bit 16 of the flags in /proc/net/unix.
    private func isListening(_ path: String, of pid: pid_t) -> Bool {
        let table = (try? readText("/proc/\(pid)/net/unix")) ?? ""
        return table.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            return fields.count > 7 && fields[3] == "00010000" && fields[7] == path
        }
    }
}
