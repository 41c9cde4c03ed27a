internal import EventLoops
public import FoundationEssentials
internal import Glibc
internal import HostResolver

/// A proxy auto-configuration (PAC) script: a JavaScript function that returns the proxies to use for a URL.
///
/// ```swift
/// let script = try ProxyScript(file: "/etc/proxy.pac")
/// for choice in try await script.choices(for: url) { print(choice) }   // http://proxy.example:3128, direct
/// ```
///
/// An engine that the machine has runs the script: JavaScriptCore (`apt-get install libjavascriptcoregtk-6.0-1`), which knows today's
/// JavaScript, or else libpacparser (`apt-get install libpacparser1`), which knows that of 2007. Nothing links them. The functions
/// for scripts, from `isPlainHostName` to `timeRange`, are the same with both; `alert` has no effect.
///
/// Each question is answered by a helper process, because a script may come from anywhere and may never end,
/// and an engine cannot be stopped. The helper is this program's own file, executed anew and taken over before `main`:
/// no other file need be installed, and the helper contains nothing of this program's memory. Its environment has at
/// most `TZ` and `LD_LIBRARY_PATH`, apart from constant settings of the engine. Its only descriptor is a socket to this process. It can
/// neither open another one nor start a process: seccomp(2) ends it if it tries. Its limits are ``timeout`` and ``maximumMemory``. This
/// process looks up the names that the script asks for, as with `dnsResolve`, at most 64 in one run. A script also learns this
/// machine's name and address.
///
/// A program that has more privileges than its user cannot run scripts, nor one that loads StreamKit as a shared library, unless the
/// library has been installed with its helper program, as CFNetwork is.
///
/// Replaces `CFNetworkCopyProxiesForAutoConfigurationScript` and `CFNetworkExecuteProxyAutoConfigurationScript`.
public struct ProxyScript: Sendable, Hashable {
    /// The largest script, in bytes: 1 MiB.
    public static let maximumScriptSize = 1 << 20

    /// The longest answer, in bytes: 16 KiB.
    package static let maximumAnswerLength = 16 * 1024

    /// The maximum memory of a script, in addition to the initial memory of its process, in bytes: 64 MiB.
    public static let maximumMemory = 64 << 20

    /// The maximum number of names that one run of a script may look up: 64.
    package static let maximumNames = 64

    /// The maximum number of scripts that run at once for tasks. Further ones wait for their turn.
    package static let maximumProcesses = 8
    /// The maximum number of runs of one script at once: the others are for other scripts.
    package static let maximumProcessesOfScript = 6
    /// The maximum number of runs of one script about one host at once: the others are for other hosts.
    package static let maximumProcessesOfHost = 3
    private static let sharedTurns = ProxyScriptTurns()

    /// The text of the script.
    public let text: String

    /// The time limit of one run, including its lookups and, for a task, the wait for its turn. Default 10 s.
    ///
    /// Eight scripts run at once, of which one script is at most six, and one script that is asked about one host at most three. A host
    /// for which a script is slow therefore leaves turns to the others.
    public var timeout: Duration = .seconds(10)

    /// The engines that may run the script, the preferred one first.
    var engines = ProxyScriptEngine.allCases

    /// Makes a script from its text.
    ///
    /// - Throws: `EFBIG` if it is larger than ``maximumScriptSize``; `EINVAL` if it contains a NUL byte.
    public init(_ text: String) throws(StreamError) {
        if text.utf8.count > ProxyScript.maximumScriptSize {
            throw StreamError(posix: EFBIG, .scriptTooLarge(ProxyScript.maximumScriptSize), reason: .scriptInvalid)
        }
        if text.utf8.contains(0) {
            throw StreamError(posix: EINVAL, .scriptUnreadable("it contains a NUL byte"), reason: .scriptInvalid)
        }
        self.text = text
    }

    /// Reads a script from a regular file.
    ///
    /// - Throws: the errors of ``init(_:)``; `EINVAL` for a FIFO, a device or a socket, which is not opened; another
    ///   `errno` if the file cannot be read.
    public init(file path: String) throws(StreamError) {
        let bytes: [UInt8]
        do throws(StreamError) {
            bytes = try RegularFile.read(path, limit: ProxyScript.maximumScriptSize)
        } catch  where error.isPOSIX(EFBIG) {
            throw StreamError(
                posix: EFBIG, .scriptTooLarge(ProxyScript.maximumScriptSize), reason: .scriptInvalid, underlying: error)
        }
        try self.init(bytes: bytes)
    }

    /// Makes a script from bytes received over the network: UTF-8, with or without a byte order mark, otherwise ISO
    /// 8859-1.
    public init(bytes: [UInt8]) throws(StreamError) {
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        try self.init(
            String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { .init($0) })))
    }

    /// Checks whether scripts can be run, by running one.
    ///
    /// - Parameter timeout: the script's ``timeout``.
    /// - Throws: domain `http`, code 308 (`kCFErrorPACFileError`), with a message that names what is missing; another error if no
    ///   process can be started at the moment.
    public nonisolated(nonsending) static func checkAvailability(
        timeout: Duration = .seconds(10)
    ) async throws(StreamError) {
        _ = try await trivial(timeout).choices(about: trivialQuestion)
    }

    /// Checks whether scripts can be run, by running one, blocking the thread.
    ///
    /// - Parameter timeout: the script's ``timeout``.
    /// - Throws: the errors of the asynchronous function of the same name.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public static func checkAvailability(timeout: Duration = .seconds(10)) throws(StreamError) {
        _ = try trivial(timeout).choices(about: trivialQuestion)
    }

    private static let trivialQuestion = ProxyScriptQuestion(url: "http://localhost/", host: "localhost")

    private static func trivial(_ timeout: Duration) throws(StreamError) -> ProxyScript {
        var script = try ProxyScript("function FindProxyForURL(url, host) { return 'DIRECT'; }")
        script.timeout = timeout
        return script
    }

    /// Runs the script to choose the proxies for a URL.
    ///
    /// For `http` and `ftp`, the script receives the host and the URL without user, password and fragment. For other
    /// schemes, it receives only the scheme, host and port. Cancelling the task ends the helper process. Replaces
    /// `CFNetworkExecuteProxyAutoConfigurationScript`.
    ///
    /// - Returns: the choices to try, in order; never empty, and never another script.
    /// - Throws: domain `http`, code 308 (`kCFErrorPACFileError`): there is no engine, or the script cannot be
    ///   run, failed, took too long, or returned an invalid answer; ``StreamError/cancelled``; `EINVAL` for a URL
    ///   without a host.
    public nonisolated(nonsending) func choices(for url: URL) async throws(StreamError) -> [ProxyChoice] {
        try await choices(about: try question(for: url))
    }

    /// Runs the script to choose the proxies for a URL, blocking the thread. Replaces
    /// `CFNetworkCopyProxiesForAutoConfigurationScript`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func choices(for url: URL) throws(StreamError) -> [ProxyChoice] {
        try choices(about: try question(for: url))
    }

    nonisolated(nonsending) func choices(
        about question: ProxyScriptQuestion, resolver: any Resolver = SystemResolver.shared,
        turns: ProxyScriptTurns = sharedTurns
    ) async throws(StreamError) -> [ProxyChoice] {
        let conversation = ProxyScriptConversation(text, question)
        let deadline = ContinuousClock.now + timeout
        let subject = ProxyScriptSubject(script: text, host: question.host)
        do throws(WaitError) {
            try await turns.wait(subject, until: Moment(deadline))
        } catch {
            throw error == .timedOut ? .script(.scriptTooSlow(timeout), underlying: StreamError.timedOut) : .cancelled
        }
        defer { turns.end(subject) }
        return try await ProxyScriptProcess(engines, limit: timeout, until: deadline).choices(
            conversation, resolver: resolver)
    }

    @available(*, noasync)
    private func choices(about question: ProxyScriptQuestion) throws(StreamError) -> [ProxyChoice] {
        let conversation = ProxyScriptConversation(text, question)
        return try ProxyScriptProcess(engines, limit: timeout).blockingChoices(
            conversation, resolver: SystemResolver.shared)
    }

    private func question(for url: URL) throws(StreamError) -> ProxyScriptQuestion {
        guard let question = ProxyScriptQuestion(url) else { throw StreamError(posix: EINVAL, .scriptNeedsHost) }
        return question
    }
}

extension ProxyScriptSource {
    /// Returns the script, if it is available locally: a text, or a `file` URL.
    ///
    /// - Throws: the errors of ``ProxyScript/init(file:)``; `ENOTSUP` for any other URL. HTTPStream loads scripts from
    ///   `http` and `https` URLs.
    public func script() throws(StreamError) -> ProxyScript {
        switch self {
        case .text(let text): return try ProxyScript(text)
        case .url(let text):
            guard let url = URL(string: text), url.isFileURL else {
                throw StreamError(posix: ENOTSUP, .scriptNotLocal(text), reason: .scriptMissing)
            }
            return try ProxyScript(file: url.path(percentEncoded: false))
        }
    }
}
