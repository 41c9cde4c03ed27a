internal import Foundation
internal import Glibc

/// A program that runs to its end: `curl`, `openssl`, `dig`.
///
/// ```swift
/// let answer = try await Command("curl", "-sS", "--cacert", authority.root, nginx.url(.tls, "/hello")).run()
/// #expect(answer.text == "hello\n")
/// ```
public struct Command: Sendable {
    /// What a command left behind.
    public struct Result: Hashable, Sendable {
        /// 0 if all went well; 128 + the signal's number if a signal ended it.
        public var status: Int32
        /// Its standard output.
        public var output: [UInt8]
        /// Its standard error, as text.
        public var errors: String
        /// Its standard output, as text.
        public var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// What to run.
    public var program: Program
    /// Its arguments, the name of the program not among them.
    public var arguments: [String]
    /// What its standard input gives before the end.
    public var input: [UInt8] = []
    /// Variables besides `PATH` and the locale; nothing is inherited from this process.
    public var environment: [String: String] = [:]
    /// Where it runs; nil means on the machine itself.
    public var namespace: NetworkNamespace?

    /// Describes a run of the program called `name`, which is in the Debian package of that name.
    public init(_ name: String, _ arguments: String...) {
        self.init(Program(name), arguments)
    }

    /// Describes a run of `program`.
    public init(_ program: Program, _ arguments: [String], input: [UInt8] = [], in namespace: NetworkNamespace? = nil) {
        self.program = program
        self.arguments = arguments
        self.input = input
        self.namespace = namespace
    }

    /// Runs it and waits for its end, without keeping one of Swift's threads busy.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``; ``PeerError/Code/timedOut`` after `seconds`, when it has been ended.
    ///   A status other than 0 is no error here.
    public func run(seconds: Double = 60) async throws(PeerError) -> Result {
        try await onOwnThread { () throws(PeerError) in try runBlocking(seconds: seconds) }
    }

    /// Runs it and waits for its end, blocking the calling thread.
    ///
    /// - Throws: as the other one does.
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

    /// Runs it and gives its output; a status other than 0 is an error.
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
