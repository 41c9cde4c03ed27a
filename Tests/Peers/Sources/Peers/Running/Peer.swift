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

    /// Why this release of Debian or Ubuntu does without the server, for the traits of its tests; nil if it must be installed.
    public static var omission: String? { program.omission }

    /// The server's port, or the first of several. 0 before ``start()``.
    public var port: Int { process.ports.first ?? 0 }

    /// The server's output so far: standard output, standard error and its log files.
    public var log: String { process.log }

    /// Waits until the log satisfies `condition`, at most for `seconds`. Returns whether it does.
    ///
    /// Servers log late: squid, for example, logs a tunnel when it has ended.
    public func logs(seconds: Double = Deadline.ofHangs, _ condition: @escaping @Sendable (String) -> Bool) async
        -> Bool
    {
        let found = try? await onNewThread { [process] () throws(PeerError) in
            let end = ContinuousClock.now + .seconds(seconds)
            // The log of a stopped server does not change any more.
            guard let folder = try? process.folder() else { return condition(process.log) }
            let watch = try FolderWatch(folder.path)
            while !condition(process.log) {
                if ContinuousClock.now >= end { return false }
                watch.wait(until: end)
            }
            return true
        }
        return found ?? false
    }

    /// Waits until the log contains all these parts, at most for `seconds`. Returns whether it does.
    public func shows(_ parts: String..., seconds: Double = Deadline.ofHangs) async -> Bool {
        await logs(seconds: seconds) { log in parts.allSatisfy { log.contains($0) } }
    }

    /// Whether the server is running.
    public var isRunning: Bool { process.isRunning }

    /// Ends the server, waits until it has ended, and removes its files. Safe to call twice.
    public func stop() {
        process.stop()
    }
}

/// The limits of waits for events that must happen.
public enum Deadline {
    /// How long a wait lasts at most, in seconds: a limit for tests that hang, not for slow machines.
    public static let ofHangs: Double = 300
}

/// An error of a peer, with the server's log. Print it for the details.
public struct PeerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The program is not installed; `reason` names the Debian package.
        case notInstalled
        /// The program ended, or a command failed.
        case exited
        /// A deadline passed.
        case timedOut
        /// No free port was found, even after several attempts.
        case noPort
        /// The kernel or the file system refused.
        case refused
        /// A scripted peer received something that its script does not expect.
        case unexpected
    }

    /// The kind of error.
    public var code: Code
    /// A description of the error, for display.
    public var reason: String
    /// The output of the program, the newest last; empty if no program was started.
    public var log: String

    /// Creates an error.
    public init(_ code: Code, _ reason: String, log: String = "") {
        self.code = code
        self.reason = reason
        self.log = log
    }

    /// The reason, followed by the last 4000 characters of the log.
    public var description: String {
        log.isEmpty ? reason : "\(reason)\n--- log ---\n\(log.suffix(4000))"
    }
}
