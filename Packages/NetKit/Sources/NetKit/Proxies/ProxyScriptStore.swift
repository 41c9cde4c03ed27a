internal import EventLoops
public import FoundationEssentials
internal import HTTPMessage
public import StreamKit

/// Proxy scripts that were loaded, so that not every request loads them anew.
///
/// ```swift
/// let script = try await ProxyScriptStore.shared.script(.url("http://wpad.example/proxy.pac"))
/// ```
///
/// A script at a URL of `http` or `https` is loaded directly, never through a proxy, and kept for ``lifetime``, whatever its
/// response says about caching; a file is read each time.
public final class ProxyScriptStore: Sendable {
    /// The longest that loading one script may take: 10 s.
    public static let loadLimit: Duration = .seconds(10)

    /// Most scripts that are kept; when there are more, all are forgotten.
    public static let mostScripts = 32

    /// The one that HTTP streams use.
    public static let shared = ProxyScriptStore()

    /// How long a script is used before it is loaded anew.
    public let lifetime: Duration

    /// What a script is kept for: a server that one configuration trusts, another may not.
    private struct Key: Hashable {
        let url: String
        let tls: TLSConfiguration
    }

    private let kept = Locked<[Key: (script: ProxyScript, until: Moment)]>([:])

    /// An empty store.
    public init(lifetime: Duration = .seconds(600)) {
        self.lifetime = lifetime
    }

    /// Forgets all scripts, as when the network has changed.
    public func forget() {
        kept.withLock { $0 = [:] }
    }

    /// The script at a place, loaded if need be.
    ///
    /// - Parameters:
    ///   - source: the place.
    ///   - tls: for a script at a URL of `https`: which roots to trust, above all. Scripts are kept for each configuration apart.
    /// - Throws: domain `http`: code 308 (`kCFErrorPACFileError`) if it cannot be loaded, 309 (`kCFErrorPACFileAuth`) if the
    ///   server wants to know who asks; `StreamError.cancelled`.
    public nonisolated(nonsending) func script(
        _ source: ProxyScriptSource, tls: TLSConfiguration = TLSConfiguration()
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
            if kept.count >= ProxyScriptStore.mostScripts { kept = [:] }
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
            try stream.set(.httpFollowsRedirects, to: true)
            try stream.set(.httpTotalLimit, to: ProxyScriptStore.loadLimit)
            try stream.open()
            status = try await stream.response().status.code
            bytes = status == 200 ? try await stream.readAll(limit: ProxyScript.largestScript) : []
        } catch {
            if error == .cancelled { throw error }
            throw .proxy(
                .automaticConfigurationFile,
                Sentence(
                    "script.load", "The proxy script at %1 cannot be loaded. %2", url.publicText, error.description),
                underlying: error)
        }
        guard status == 200 else {
            throw .proxy(
                status == 401 ? .automaticConfigurationFileAuthentication : .automaticConfigurationFile,
                Sentence(
                    "script.status", "The proxy script at %1 cannot be loaded: the server responded with %2.",
                    url.publicText,
                    String(status)))
        }
        return try ProxyScript(bytes: bytes)
    }
}

extension ProxySettings {
    /// What to try for a URL, as `choices(for:)`, and if a script is to decide, what it decides.
    ///
    /// ```swift
    /// var settings = ProxySettings()
    /// settings.script = .url("http://wpad.example/proxy.pac")
    /// let choices = try await settings.resolvedChoices(for: url)
    /// ```
    ///
    /// Replaces `CFNetworkExecuteProxyAutoConfigurationURL`.
    ///
    /// - Throws: as ``ProxyScriptStore/script(_:)`` and `ProxyScript.choices(for:)`. There is then no way to take: a script that
    ///   cannot be run is no leave to go without a proxy.
    public nonisolated(nonsending) func resolvedChoices(
        for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) -> [ProxyChoice] {
        let choices = choices(for: url)
        guard case .script(let source)? = choices.first else { return choices }
        return try await scripts.script(source, tls: tls).choices(for: url)
    }

    /// The ways for a URL, for `StreamProperty.proxies`; if a script is to decide, those that it decides.
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
    /// The same way, through proxies that the application has not named.
    fileprivate var chosenByScript: ProxyRoute {
        ProxyRoute(
            hops: hops.map { hop in
                guard var proxy = hop as? HTTPProxy else { return hop }
                proxy.isNamed = false
                return proxy
            })
    }
}
