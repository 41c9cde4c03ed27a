internal import CProxyScript
public import FoundationEssentials
internal import Glibc

/// A proxy auto-configuration script (PAC): a function in JavaScript that says which proxies to use for a URL.
///
/// ```swift
/// let script = try ProxyScript(file: "/etc/proxy.pac")
/// for choice in try await script.choices(for: url) { print(choice) }   // http://proxy.example:3128, direct
/// ```
///
/// It is run by libpacparser, which is looked for when a script is first run (`apt-get install libpacparser1`); nothing links it.
/// Each question is answered by a process of its own, made by fork(2): a script may come from anywhere and never end, and its
/// engine cannot be stopped, so the process is. It has ``timeLimit`` and ``memoryLimit``, no files but those it opens, and may
/// write none. A script can ask name servers, as `dnsResolve` does, and learns this machine's name and address.
///
/// Replaces `CFNetworkCopyProxiesForAutoConfigurationScript` and `CFNetworkExecuteProxyAutoConfigurationScript`.
public struct ProxyScript: Sendable, Hashable {
    /// Most bytes of a script: 1 MiB.
    public static let largestScript = 1 << 20

    /// Most bytes of an answer: 16 KiB.
    public static let longestAnswer = 16 * 1024

    /// Most memory that a script may have, beside what its process begins with: 64 MiB.
    public static let memoryLimit = 64 << 20

    /// Most scripts that run at once for tasks; the others wait for their turn.
    public static let mostProcesses = 8

    /// The script.
    public let text: String

    /// The longest that one run may take, with its questions to name servers. Default 10 s.
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

    /// A script in a file.
    ///
    /// What is no plain file, such as a FIFO, may make wait for ten seconds.
    ///
    /// - Throws: as ``init(_:)``; an `errno` if the file cannot be read, `ETIMEDOUT` if nothing came.
    public init(file path: String) throws(StreamError) {
        try self.init(file: path, within: .seconds(10))
    }

    init(file path: String, within limit: Duration) throws(StreamError) {
        let bytes: [UInt8]
        do throws(StreamError) {
            let stream = ReadStream(path: path)
            try stream.set(.readLimit, to: limit)
            try stream.open()
            defer { stream.close() }
            bytes = try stream.contents(limit: ProxyScript.largestScript)
        } catch  where error.isPOSIX(EMSGSIZE) {
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

    /// Whether libpacparser is here.
    ///
    /// - Throws: domain `http`, code 308 (`kCFErrorPACFileError`), with a sentence that says what to install.
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
        let question = try question(for: url)
        try await ProxyScriptTurns.shared.enter()
        defer { ProxyScriptTurns.shared.leave() }
        let process = try ProxyScriptProcess(self, question)
        return try await process.choices()
    }

    /// Asks the script, waiting on the calling thread. Replaces `CFNetworkCopyProxiesForAutoConfigurationScript`.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func choices(for url: URL) throws(StreamError) -> [ProxyChoice] {
        let process = try ProxyScriptProcess(self, try question(for: url))
        return try process.blockingChoices()
    }

    private func question(for url: URL) throws(StreamError) -> ProxyScriptQuestion {
        try ProxyScript.checkAvailability()
        guard let question = ProxyScriptQuestion(url) else { throw StreamError(posix: EINVAL, .scriptNeedsHost) }
        return question
    }
}

extension ReadStream {
    /// Reads to the end without asking for `await`: for files, which hardly wait.
    fileprivate func contents(limit: Int) throws(StreamError) -> [UInt8] {
        try readAll(limit: limit)
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
