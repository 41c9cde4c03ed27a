/// A real server that tests start, connect to and stop. All peers have the same methods.
///
/// ```swift
/// let nginx = Nginx()
/// try nginx.start()
/// defer { nginx.stop() }
/// ```
///
/// A peer listens only on loopback or in a ``NetworkNamespace``, on free ports, and keeps its files in a private folder. It ends
/// with ``stop()``, when the last reference to it is released, or when this process ends for whatever reason.
public protocol Peer: AnyObject, Sendable {
    /// The program that this peer runs.
    static var program: Program { get }

    /// The process of the server.
    var process: PeerProcess { get }

    /// Starts the server and returns when it accepts connections.
    ///
    /// - Throws: ``PeerError/Code/notInstalled`` naming the Debian package; ``PeerError/Code/exited`` or
    ///   ``PeerError/Code/timedOut`` with the server's log.
    func start() throws(PeerError)
}

extension Peer {
    /// Whether the server is installed on this machine.
    public static var isInstalled: Bool { program.isInstalled }

    /// The server's port, or the first of several. 0 before ``start()``.
    public var port: Int { process.ports.first ?? 0 }

    /// The server's output so far: standard output, standard error and its log files.
    public var log: String { process.log }

    /// Waits until the log satisfies `isAsWanted`, at most for `seconds`. Returns whether it does.
    ///
    /// Servers log late: squid, for example, logs a tunnel when it has ended.
    public func logs(seconds: Double = 60, _ isAsWanted: @escaping @Sendable (String) -> Bool) async -> Bool {
        let found = try? await onOwnThread { [process] () throws(PeerError) in
            let end = ContinuousClock.now + .seconds(seconds)
            // The log of a stopped server does not change any more.
            guard let folder = try? process.folder() else { return isAsWanted(process.log) }
            let watch = try FolderWatch(folder.path)
            while !isAsWanted(process.log) {
                if ContinuousClock.now >= end { return false }
                watch.wait(until: end)
            }
            return true
        }
        return found ?? false
    }

    /// Waits until the log contains all these parts, at most for `seconds`. Returns whether it does.
    public func shows(_ parts: String..., seconds: Double = 60) async -> Bool {
        await logs(seconds: seconds) { log in parts.allSatisfy { log.contains($0) } }
    }

    /// Whether the server is running.
    public var isRunning: Bool { process.isRunning }

    /// Ends the server, waits until it has ended, and removes its files. Safe to call twice.
    public func stop() {
        process.stop()
    }
}
