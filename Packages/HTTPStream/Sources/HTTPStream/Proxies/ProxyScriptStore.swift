internal import EventLoops
public import FoundationEssentials
internal import HTTPMessage
public import StreamKit

/// A cache of loaded proxy scripts, so that not every request loads its script again.
///
/// ```swift
/// let script = try await ProxyScriptStore.shared.script(.url("http://wpad.example/proxy.pac"))
/// ```
///
/// A script at an `http` or `https` URL is loaded directly, never through a proxy, and kept for ``lifetime``, regardless of its
/// response's caching fields; a file is read each time.
public final class ProxyScriptStore: Sendable {
    /// The time limit for loading one script: 10 s.
    static let usualLoadTimeout: Duration = .seconds(10)

    /// The maximum number of scripts that are kept; beyond it, all are removed.
    static let maximumScripts = 32

    /// The store that HTTP streams use.
    public static let shared = ProxyScriptStore()

    /// The time for which a loaded script is used.
    public let lifetime: Duration

    /// Scripts are kept per TLS configuration: a server that one configuration trusts, another may not.
    private struct Key: Hashable {
        let url: String
        let tls: TLSConfiguration
    }

    private let kept = Locked<[Key: (script: ProxyScript, until: Moment)]>([:])

    /// The time limit for loading one script.
    private let loadTimeout: Duration
    /// The time limit of one run; nil for that of a script.
    private let runTimeout: Locked<Duration?>

    /// An empty store.
    public convenience init(lifetime: Duration = .seconds(600)) {
        self.init(lifetime: lifetime, loadTimeout: ProxyScriptStore.usualLoadTimeout, runTimeout: nil)
    }

    /// A store with other time limits for loading one script, and for one run of it.
    init(lifetime: Duration = .seconds(600), loadTimeout: Duration, runTimeout: Duration?) {
        self.lifetime = lifetime
        self.loadTimeout = loadTimeout
        self.runTimeout = Locked(runTimeout)
    }

    /// Sets the time limit of one run, for tests of anything else: a busy machine may take longer than that of a script.
    func limitRuns(to limit: Duration) { runTimeout.withLock { $0 = limit } }

    /// Removes all scripts, for example after a change of the network.
    public func forget() {
        kept.withLock { $0 = [:] }
    }

    /// Returns the script of a source, loading it if necessary.
    ///
    /// - Parameters:
    ///   - source: the URL or the text of the script.
    ///   - tls: the TLS configuration for a script at an `https` URL, in particular its roots. Scripts are kept per
    ///     configuration.
    /// - Throws: domain `http`: code 308 (`kCFErrorPACFileError`) if the script cannot be loaded, 309 (`kCFErrorPACFileAuth`) if
    ///   the server requires a login; `StreamError.cancelled`.
    public nonisolated(nonsending) func script(
        _ source: ProxyScriptSource, tls: TLSConfiguration = TLSConfiguration()
    ) async throws(StreamError) -> ProxyScript {
        var script = try await loadedScript(source, tls)
        if let limit = runTimeout.withLock({ $0 }) { script.timeout = limit }
        return script
    }

    private nonisolated(nonsending) func loadedScript(
        _ source: ProxyScriptSource, _ tls: TLSConfiguration
    ) async throws(StreamError) -> ProxyScript {
        guard case .url(let text) = source, let url = URL(string: text),
            ["http", "https"].contains(url.scheme?.lowercased())
        else { return try source.script() }
        let key = Key(url: text, tls: tls)
        let found = kept.withLock { kept in kept[key].flatMap { $0.until > .now ? $0.script : nil } }
        if let found { return found }
        let script = try await load(url, tls)
        let until = Moment.now + lifetime
        kept.withLock { kept in
            if kept.count >= ProxyScriptStore.maximumScripts { kept = [:] }
            kept[key] = (script, until)
        }
        return script
    }

    private nonisolated(nonsending) func load(_ url: URL, _ tls: TLSConfiguration) async throws(StreamError)
        -> ProxyScript
    {
        let status: Int
        let bytes: [UInt8]
        do throws(StreamError) {
            let stream = try ReadStream(httpURL: url)
            defer { stream.close() }
            try stream.set(.tls, to: tls)
            try stream.set(.http(\.followsRedirects), to: true)
            try stream.set(.http(\.totalTimeout), to: loadTimeout)
            try stream.open()
            status = try await stream.response().status.code
            bytes = status == 200 ? try await stream.readAll(limit: ProxyScript.maximumScriptSize) : []
        } catch {
            if error == .cancelled { throw error }
            throw .proxy(
                .automaticConfigurationFile,
                Sentence(
                    "script.load", "The proxy script at %1 cannot be loaded. %2", url.publicText, error.description),
                reason: .scriptUnreachable, underlying: error)
        }
        guard status == 200 else {
            throw .proxy(
                status == 401 ? .automaticConfigurationFileAuthentication : .automaticConfigurationFile,
                Sentence(
                    "script.status", "The proxy script at %1 cannot be loaded: the server responded with %2.",
                    url.publicText,
                    String(status)),
                reason: .scriptMissing)
        }
        return try ProxyScript(bytes: bytes)
    }
}

extension ProxySettings {
    /// Returns the proxies to try for a URL, like `choices(for:)`; if a script decides, runs it.
    ///
    /// ```swift
    /// var settings = ProxySettings()
    /// settings.script = .url("http://wpad.example/proxy.pac")
    /// let choices = try await settings.resolvedChoices(for: url)
    /// ```
    ///
    /// Replaces `CFNetworkExecuteProxyAutoConfigurationURL`.
    ///
    /// - Throws: as ``ProxyScriptStore/script(_:)`` and `ProxyScript.choices(for:)`. There is then no route: a script that cannot
    ///   be run does not permit a connection without a proxy.
    public nonisolated(nonsending) func resolvedChoices(
        for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) -> [ProxyChoice] {
        let choices = choices(for: url)
        guard case .script(let source)? = choices.first else { return choices }
        return try await scripts.script(source, tls: tls).choices(for: url)
    }

    /// Returns the routes for a URL, for `StreamProperty.proxies`; if a script decides, runs it.
    ///
    /// - Throws: as `resolvedChoices(for:scripts:)`.
    public nonisolated(nonsending) func resolvedRoutes(
        for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) -> [ProxyRoute] {
        let routes = try await resolvedChoices(for: url, scripts: scripts).routes(tls: tls)
        guard case .script? = choices(for: url).first else { return routes }
        return routes.map(\.chosenByScript)
    }
}

extension ProxyRoute {
    /// The same route, with its proxies marked as chosen by a script.
    fileprivate var chosenByScript: ProxyRoute {
        ProxyRoute(
            hops: hops.map { hop in
                guard var proxy = hop as? HTTPProxy else { return hop }
                proxy.isNamed = false
                return proxy
            })
    }
}
