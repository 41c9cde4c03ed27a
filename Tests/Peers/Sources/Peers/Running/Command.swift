internal import Foundation
internal import Glibc

/// A run of a command-line program such as `curl`, `openssl` or `dig`, up to its end.
///
/// ```swift
/// let answer = try await Command("curl", "-sS", "--cacert", authority.root, nginx.url(.tls, "/hello")).run()
/// #expect(answer.text == "hello\n")
/// ```
public struct Command: Sendable {
    /// The result of a command.
    public struct Result: Hashable, Sendable {
        /// The exit status: 0 for success; 128 + the signal number if a signal ended the command.
        public var status: Int32
        /// Its standard output.
        public var output: [UInt8]
        /// Its standard error, as text.
        public var errors: String
        /// Its standard output, as text.
        public var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// The program to run.
    public var program: Program
    /// The arguments, without the name of the program.
    public var arguments: [String]
    /// The contents of standard input.
    public var input: [UInt8] = []
    /// Environment variables besides `PATH` and the locale. No others are inherited from this process.
    public var environment: [String: String] = [:]
    /// The namespace to run in; nil means the machine's own network.
    public var namespace: NetworkNamespace?

    /// Creates a command for the program `name` of the Debian package of the same name.
    public init(_ name: String, _ arguments: String...) {
        self.init(Program(name), arguments)
    }

    /// Creates a command for `program`.
    public init(_ program: Program, _ arguments: [String], input: [UInt8] = [], in namespace: NetworkNamespace? = nil) {
        self.program = program
        self.arguments = arguments
        self.input = input
        self.namespace = namespace
    }

    /// Runs the command and waits for its end, without blocking a thread of Swift's pool.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``; ``PeerError/Code/timedOut`` after `seconds`, when the command has been ended.
    ///   A status other than 0 is not an error.
    public func run(seconds: Double = 60) async throws(PeerError) -> Result {
        try await onOwnThread { () throws(PeerError) in try runBlocking(seconds: seconds) }
    }

    /// Runs the command and waits for its end, blocking the calling thread.
    ///
    /// - Throws: As the asynchronous form.
    @available(*, noasync, message: "await run() instead")
    public func run(seconds: Double = 60) throws(PeerError) -> Result {
        try runBlocking(seconds: seconds)
    }

    private func runBlocking(seconds: Double) throws(PeerError) -> Result {
        let scratch = try ScratchFolder(program.name)
        let (program, arguments) = try namespace?.entering(program, arguments) ?? (program, arguments)
        let child = try ChildProcess(
            program, arguments, environment: environment,
            input: input.isEmpty ? .nothing : .file(try scratch.write("in", input)),
            output: scratch.file("out"), errors: scratch.file("err"))
        let status = child.exited(within: seconds)
        child.stop()
        let result = Result(
            status: status ?? -1, output: try readBytes(scratch.file("out")), errors: try readText(scratch.file("err")))
        if status == nil {
            throw PeerError(.timedOut, "\(program.name) did not end in \(seconds) s", log: result.errors + result.text)
        }
        return result
    }

    /// Runs the command and returns its output; a status other than 0 is an error.
    func check() throws(PeerError) -> [UInt8] {
        let result = try runBlocking(seconds: 60)
        guard result.status == 0 else {
            throw PeerError(
                .exited, "\(program.name) \(arguments.joined(separator: " ")): status \(result.status)",
                log: result.errors + result.text)
        }
        return result.output
    }
}
