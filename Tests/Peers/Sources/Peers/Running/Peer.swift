/// A real server that tests start, talk to and stop. All peers have the same verbs.
///
/// ```swift
/// let nginx = Nginx()
/// try nginx.start()
/// defer { nginx.stop() }
/// ```
///
/// A peer listens on loopback only (or in a ``NetworkNamespace``), on ports of its own, and keeps its files in a private
/// folder. It ends with ``stop()``, when the last reference to it goes away, or when this process ends in whatever way.
public protocol Peer: AnyObject, Sendable {
    /// The program that this peer runs.
    static var program: Program { get }

    /// Its process, if it runs.
    var process: PeerProcess { get }

    /// Starts the server and returns when it accepts connections.
    ///
    /// - Throws: ``PeerError/Code/notInstalled`` naming the Debian package; ``PeerError/Code/exited`` or
    ///   ``PeerError/Code/timedOut`` with the server's log.
    func start() throws(PeerError)
}

extension Peer {
    /// Whether the server is on this machine.
    public static var isInstalled: Bool { program.isInstalled }

    /// The port it listens on; of several, the first. 0 before ``start()``.
    public var port: Int { process.ports.first ?? 0 }

    /// What the server wrote so far: standard output, standard error and its log files.
    public var log: String { process.log }

    /// Waits until the log is as wanted, at most `seconds`; true if it is. Servers log late: squid a tunnel when it has ended.
    public func logs(seconds: Double = 60, _ isAsWanted: @escaping @Sendable (String) -> Bool) async -> Bool {
        let found = try? await onOwnThread { [process] () throws(PeerError) in
            let end = ContinuousClock.now + .seconds(seconds)
            // What has ended and was removed says nothing more.
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

    /// Waits until the log has all of these parts, anywhere, at most `seconds`; true if so.
    public func shows(_ parts: String..., seconds: Double = 60) async -> Bool {
        await logs(seconds: seconds) { log in parts.allSatisfy { log.contains($0) } }
    }

    /// Whether the server runs.
    public var isRunning: Bool { process.isRunning }

    /// Ends the server, waits until it is gone, and removes its files. Safe to call twice.
    public func stop() {
        process.stop()
    }
}
