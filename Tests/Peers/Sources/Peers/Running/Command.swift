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
    public func run(seconds: Double = Deadline.ofHangs) async throws(PeerError) -> Result {
        try await onNewThread { () throws(PeerError) in try runBlocking(seconds: seconds) }
    }

    /// Runs the command and waits for its end, blocking the calling thread.
    ///
    /// - Throws: As the asynchronous form.
    @available(*, noasync, message: "await run() instead")
    public func run(seconds: Double = Deadline.ofHangs) throws(PeerError) -> Result {
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
        let result = try runBlocking(seconds: Deadline.ofHangs)
        guard result.status == 0 else {
            throw PeerError(
                .exited, "\(program.name) \(arguments.joined(separator: " ")): status \(result.status)",
                log: result.errors + result.text)
        }
        return result.output
    }
}

/// A program that peers run, and the Debian package that contains it.
public struct Program: Hashable, Sendable {
    /// The name of the executable, or its path.
    public var name: String
    /// The Debian package that contains the program; empty if the program is unpacked, not installed.
    public var package: String

    /// The only folder in which to look for the program; nil means all of `PATH`. For example, Debian's Python modules are available
    /// to `/usr/bin/python3` only, not to another Python in `PATH`.
    public var folder: String?

    /// Creates a program with the name `name` of the Debian package `package`, which defaults to the same name.
    public init(_ name: String, package: String? = nil, in folder: String? = nil) {
        self.name = name
        self.package = package ?? name
        self.folder = folder
    }

    /// Whether the program is installed on this machine.
    public var isInstalled: Bool { location != nil }

    /// Why the program is left out; nil if it is not. `Scripts/bootstrap` leaves out a package that this release of Debian or Ubuntu
    /// lacks, if others serve the same. Its tests are enabled by this reason, so that they name it.
    public var omission: String? {
        let list = (try? readText("\(Program.unpackedFolder("left-out"))")) ?? ""
        let line = list.split(separator: "\n").first { $0.hasPrefix("\(package) | ") }
        return line.map { "this release has no \(package); used instead: \($0.dropFirst(package.count + 3))" }
    }

    /// The path of the program, or nil if it is not installed: in ``folder`` if that is set, else in `PATH`, else in the system's
    /// folders, because servers are often outside a user's `PATH`.
    public var location: String? {
        if folder != nil || name.contains("/") {
            let place = folder.map { "\($0)/\(name)" } ?? name
            return FileManager.default.isExecutableFile(atPath: place) ? place : nil
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The path of the program.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``, naming the package. A missing server is always an error, because a skipped test
    ///   proves nothing.
    func located() throws(PeerError) -> String {
        guard let location else {
            if name.contains("/") { throw PeerError(.notInstalled, "'\(name)' is not an executable file") }
            let way = package.isEmpty ? "" : ", or: apt-get install --no-install-recommends \(package)"
            throw PeerError(.notInstalled, "'\(name)' is not installed; run Scripts/bootstrap\(way)")
        }
        return location
    }
}
