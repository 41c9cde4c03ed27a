internal import Glibc

/// A program that runs beside the test and tells in lines what it does: one of ours in a namespace, or a script.
///
/// ```swift
/// let browser = LineProgram(path, ["browse", "_http._tcp"], in: network.right)
/// try browser.start()
/// #expect(await browser.says("+ Web"))
/// ```
public final class LineProgram: Peer {
    /// `env`, which runs whatever it is given.
    public static let program = Program("env", package: "coreutils")
    /// The running program.
    public let process: PeerProcess
    private let words: [String]

    /// Describes a run of the program at `path`.
    public init(_ path: String, _ arguments: [String], in namespace: NetworkNamespace? = nil) {
        words = [path] + arguments
        process = PeerProcess(in: namespace)
    }

    /// Starts it and returns at once.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 0) { _, _ in PeerProcess.Launch(arguments: words, sockets: []) }
    }

    /// Waits until it has said a line so many times, at most `seconds`; true if it has.
    public func says(_ line: String, times: Int = 1, seconds: Double = 60) async -> Bool {
        await logs(seconds: seconds) { $0.split(separator: "\n").count { $0 == line } >= times }
    }

    /// Ends it without giving it a chance to do anything more.
    public func kill() {
        if let pid = process.pid { Glibc.kill(pid, SIGKILL) }
    }
}
