internal import HTTPMessage
internal import StreamKit

/// What a session adds to the options of a load. A separate object, because streams without a session have none of it.
final class SessionSettings: Sendable {
    /// The logins for the proxies of the route.
    let logins: ProxyLogins
    /// Whether to fail with ``ConnectionGone`` instead of opening a connection: the request's login is valid only on the idle one.
    let needsIdleConnection: Bool
    /// The protocol to which the request offers to switch; nil for none.
    let upgrade: String?
    /// The permission for the request, which ends when the connection is released; nil if there is no limit.
    let permit: Admission.Permit?

    init(logins: ProxyLogins, needsIdleConnection: Bool, upgrade: String?, permit: Admission.Permit?) {
        self.logins = logins
        self.needsIdleConnection = needsIdleConnection
        self.upgrade = upgrade
        self.permit = permit
    }
}

/// The options of a load, set before it begins, and what a session adds to them.
struct LoadSettings: Sendable {
    private var stored: StoredOptions
    /// What a session adds; nil for a stream of its own.
    var session: SessionSettings?

    /// The default options, which take no memory of their own.
    init() {
        stored = .usual
    }

    init(_ options: HTTPOptions) {
        stored = StoredOptions(options)
    }

    /// The options of the stream.
    var options: HTTPOptions {
        @inline(__always) _read { yield stored.options }
        _modify {
            if !isKnownUniquelyReferenced(&stored) { stored = StoredOptions(stored.options) }
            yield &stored.options
        }
    }

    /// The options apart from the load, which would otherwise exceed the cache of glibc's allocator, and is moved several times: 800
    /// instructions for each request.
    private final class StoredOptions: @unchecked Sendable {
        // Unchecked: changed only while one load refers to it, under that load's lock.

        static let usual = StoredOptions(HTTPOptions())

        @exclusivity(unchecked) var options: HTTPOptions

        init(_ options: HTTPOptions) { self.options = options }
    }

    /// Whether the request offers to switch to another protocol.
    var offersSwitch: Bool { session?.upgrade != nil }

    /// What the carrier of a request adds to it.
    var preparation: RequestPreparation {
        RequestPreparation(
            keepsConnection: options.keepsConnection, decodesContent: options.decodesContent, upgrade: session?.upgrade,
            keepsEmptyUserAgent: options.keepsEmptyUserAgent)
    }

    /// Whether no option can lead this load elsewhere than to the host of its URL: the common case, which then costs nothing.
    var isDirect: Bool {
        // Not a comparison with nil, which would copy the settings.
        guard case .none = options.proxySettings, case .none = options.endpoints else { return false }
        return options.connection.isEmpty
    }

    /// The time limit of the wait for the response head; nil for none.
    var responseTimeout: Duration? { options.responseTimeout.flatMap { $0 > .zero ? $0 : nil } }

    /// The time for which the connection may accept no bytes of the request; nil for no limit.
    var writeTimeout: Duration? {
        options.connection.isEmpty ? nil : options.connection[.writeTimeout].flatMap { $0 > .zero ? $0 : nil }
    }

    /// The endpoint that replaces the host of an origin; nil for the host itself.
    func endpoint(of origin: HTTPOrigin) -> HTTPEndpoint? { options.endpoints?[origin] }

    /// The proxy settings that determine the routes; nil if the caller has named the routes.
    var usedProxySettings: ProxySettings? {
        guard let known = options.proxySettings, options.connection[.proxies]?.isEmpty != false,
            options.connection[.socksProxy] == nil
        else { return nil }
        return known
    }

    // MARK: Properties

    /// Sets a property of HTTP streams or of their connections; nil restores its default. Returns false for any other
    /// property.
    ///
    /// - Throws: `EINVAL` for a value that the property cannot have.
    mutating func set(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        if try HTTPOptions.table.set(value, named: name, in: &options) { return true }
        // The stream itself enforces its read limit.
        if name == StreamProperty<Duration>.readTimeout.name { return false }
        guard StreamKind.http.properties.honours(name) else { return false }
        options.connection.set(value, named: name)
        return true
    }

    /// The value of a property of HTTP streams, or of the connection if it was set.
    func value(named name: String) -> (any Sendable)? {
        HTTPOptions.table.value(named: name, in: options) ?? options.connection.value(named: name)
    }
}
