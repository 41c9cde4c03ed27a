internal import CProxyScript
public import FoundationEssentials
internal import Glibc
internal import HostResolver

/// A proxy auto-configuration script (PAC): a function in JavaScript that says which proxies to use for a URL.
///
/// ```swift
/// let script = try ProxyScript(file: "/etc/proxy.pac")
/// for choice in try await script.choices(for: url) { print(choice) }   // http://proxy.example:3128, direct
/// ```
///
/// libpacparser runs it, which is looked for when a script is first run (`apt-get install libpacparser1`); nothing links it. Each question is
/// answered by a helper process, because a script may come from anywhere and never end, and its engine cannot be stopped. The helper is
/// this program's own file, executed anew and taken over before `main`: no other file has to be installed, and nothing of this
/// program's memory is in it. Its environment has `TZ` and `LD_LIBRARY_PATH` at most, its one descriptor is a socket to this
/// process, and it can neither open another nor start a process: seccomp(2) ends it if it tries. It has ``timeLimit`` and ``memoryLimit``.
/// Names that the script wants looked up, as with `dnsResolve`, this process looks up, at most ``mostNames``; a script also learns
/// this machine's name and address.
///
/// A program that loads StreamKit as a shared library, or that has more privileges than its user, cannot run scripts.
///
/// Replaces `CFNetworkCopyProxiesForAutoConfigurationScript` and `CFNetworkExecuteProxyAutoConfigurationScript`.
public struct ProxyScript: Sendable, Hashable {
    /// Most bytes of a script: 1 MiB.
    public static let largestScript = 1 << 20

    /// Most bytes of an answer: 16 KiB.
    public static let longestAnswer = 16 * 1024

    /// Most memory that a script may have, beside what its process begins with: 64 MiB.
    public static let memoryLimit = 64 << 20

    /// Most names that one run of a script may have looked up: 64.
    public static let mostNames = 64

    /// Most scripts that run at once for tasks; the others wait for their turn.
    public static let mostProcesses = 8

    /// The script.
    public let text: String

    /// The longest that one run may take, with its questions to name servers and, for a task, with the wait for its turn
    /// (``mostProcesses``). Default 10 s.
    public var timeLimit: Duration = .seconds(10)

    /// A script from its text.
    ///
    /// - Throws: `EFBIG` if it is larger than ``largestScript``; `EINVAL` if there is a NUL in it.
    public init(_ text: String) throws(StreamError) {
        if text.utf8.count > ProxyScript.largestScript {
            throw StreamError(posix: EFBIG, .scriptTooLarge(ProxyScript.largestScript))
        }
        if text.utf8.contains(0) { throw StreamError(posix: EINVAL, .scriptUnreadable("there is a NUL in it")) }
        self.text = text
    }

    /// A script in a regular file.
    ///
    /// - Throws: as ``init(_:)``; `EINVAL` for a FIFO, a device or a socket, which are not opened; another `errno` if the file cannot be
    ///   read.
    public init(file path: String) throws(StreamError) {
        let bytes: [UInt8]
        do throws(StreamError) {
            bytes = try RegularFile.read(path, limit: ProxyScript.largestScript)
        } catch  where error.isPOSIX(EFBIG) {
            throw StreamError(posix: EFBIG, .scriptTooLarge(ProxyScript.largestScript), underlying: error)
        }
        try self.init(bytes: bytes)
    }

    /// A script as it came over the network: UTF-8, with or without a byte order mark, else ISO 8859-1.
    public init(bytes: [UInt8]) throws(StreamError) {
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        try self.init(
            String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { .init($0) })))
    }

    /// Whether scripts can be run here: whether there is libpacparser, and a helper process can be made.
    ///
    /// - Throws: domain `http`, code 308 (`kCFErrorPACFileError`), with a sentence that says what is missing.
    public static func checkAvailability() throws(StreamError) {
        if let reason = netkit_pac_missing() { throw .scriptsUnavailable(String(cString: reason)) }
    }

    /// Asks the script which proxies to use for a URL. Replaces `CFNetworkExecuteProxyAutoConfigurationScript`.
    ///
    /// It is told the host and, for `http` and `ftp`, the URL without user, password and fragment; for other schemes the place
    /// alone. Cancelling ends its process.
    ///
    /// - Returns: what to try, in order; never empty, and never another script.
    /// - Throws: domain `http`, code 308 (`kCFErrorPACFileError`): libpacparser is missing, the script cannot be run or failed,
    ///   took too long, or answered nonsense; ``StreamError/cancelled``; `EINVAL` for a URL without a host.
    public nonisolated(nonsending) func choices(for url: URL) async throws(StreamError) -> [ProxyChoice] {
        try await choices(for: url, resolver: SystemResolver.shared)
    }

    nonisolated(nonsending) func choices(
        for url: URL, resolver: any Resolver
    ) async throws(StreamError) -> [ProxyChoice] {
        let conversation = ProxyScriptConversation(text, try question(for: url))
        let deadline = ContinuousClock.now + timeLimit
        do throws(StreamError) {
            try await ProxyScriptTurns.shared.enter(until: Moment(deadline))
        } catch {
            throw error == .timedOut ? .script(.scriptTooSlow(timeLimit), underlying: error) : error
        }
        defer { ProxyScriptTurns.shared.leave() }
        return try await ProxyScriptProcess(limit: timeLimit, until: deadline).choices(
            conversation, resolver: resolver)
    }

    /// Asks the script, waiting on the calling thread. Replaces `CFNetworkCopyProxiesForAutoConfigurationScript`.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func choices(for url: URL) throws(StreamError) -> [ProxyChoice] {
        let conversation = ProxyScriptConversation(text, try question(for: url))
        return try ProxyScriptProcess(limit: timeLimit).blockingChoices(conversation, resolver: SystemResolver.shared)
    }

    private func question(for url: URL) throws(StreamError) -> ProxyScriptQuestion {
        try ProxyScript.checkAvailability()
        guard let question = ProxyScriptQuestion(url) else { throw StreamError(posix: EINVAL, .scriptNeedsHost) }
        return question
    }
}

extension ProxyScriptSource {
    /// The script, if it is here: a text, or a `file` URL.
    ///
    /// - Throws: as ``ProxyScript/init(file:)``; `ENOTSUP` for any other URL: NetKit loads those of `http` and `https`.
    public func script() throws(StreamError) -> ProxyScript {
        switch self {
        case .text(let text): return try ProxyScript(text)
        case .url(let text):
            guard let url = URL(string: text), url.isFileURL else {
                throw StreamError(posix: ENOTSUP, .scriptElsewhere(text))
            }
            return try ProxyScript(file: url.path(percentEncoded: false))
        }
    }
}
