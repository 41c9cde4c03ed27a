internal import Glibc

/// A program that runs beside the test and reports its progress in lines: a program of this repository in a namespace, or a script.
///
/// ```swift
/// let browser = LineProgram(path, ["browse", "_http._tcp"], in: network.right)
/// try browser.start()
/// #expect(await browser.says("+ Web"))
/// ```
public final class LineProgram: Peer {
    /// `env`, which runs the given command.
    public static let program = Program("env", package: "coreutils")
    /// The process of the server.
    public let process: PeerProcess
    private let words: [String]
    private let hasInput: Bool

    /// Creates a run of the program at `path`.
    ///
    /// - Parameters:
    ///   - path: The path or the name of the program.
    ///   - arguments: Its arguments.
    ///   - hasInput: Whether ``tell(_:)`` can be used; otherwise, its standard input is empty.
    ///   - namespace: The network to run in; nil for that of the machine.
    public init(_ path: String, _ arguments: [String], hasInput: Bool = false, in namespace: NetworkNamespace? = nil) {
        words = [path] + arguments
        self.hasInput = hasInput
        process = PeerProcess(in: namespace)
    }

    /// Starts the program and returns immediately.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 0) { _, _ in
            PeerProcess.Launch(arguments: words, sockets: [], hasInput: hasInput)
        }
    }

    /// Writes a line to the program's standard input.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the program is not running, or has no input.
    public func tell(_ line: String) throws(PeerError) {
        try process.send(Array("\(line)\n".utf8))
    }

    /// Waits until the program has printed the line `times` times, at most for `seconds`. Returns whether it has.
    public func says(_ line: String, times: Int = 1, seconds: Double = Deadline.ofHangs) async -> Bool {
        await logs(seconds: seconds) { $0.split(separator: "\n").count { $0 == line } >= times }
    }

    /// Kills the program (SIGKILL), so that it cannot clean up.
    public func kill() {
        if let pid = process.pid { Glibc.kill(pid, SIGKILL) }
    }
}
