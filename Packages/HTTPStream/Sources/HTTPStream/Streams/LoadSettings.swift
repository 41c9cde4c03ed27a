internal import HTTPMessage
@_spi(Packages) internal import StreamKit

/// What a session adds to the options of a load. A separate object, because streams without a session have none of it.
final class SessionSettings: Sendable {
    /// The logins for the proxies of the route.
    let logins: ProxyLogins
    /// Whether to fail with ``ConnectionGone`` instead of opening a connection: the request's login is valid only on the idle one.
    let needsIdleConnection: Bool
    /// The protocol to which the request offers to switch; nil for none.
    let upgrade: String?
    /// The permission for the request, which ends when the connection is released, or once the request has a stream of a shared one; nil if
    /// there is no limit.
    let permit: Admission.Permit?

    init(logins: ProxyLogins, needsIdleConnection: Bool, upgrade: String?, permit: Admission.Permit?) {
        self.logins = logins
        self.needsIdleConnection = needsIdleConnection
        self.upgrade = upgrade
        self.permit = permit
    }
}

/// The options of a load, set before it begins, and what a session adds to them.
///
/// Loads share their options, which are large: a copy for each load would cost 900 instructions. Most streams differ from each other in
/// the pool alone, which is therefore a member of its own.
struct LoadSettings: Sendable {
    private final class SharedOptions: Sendable {
        /// The default options.
        static let usual = SharedOptions(HTTPOptions())
        /// The default options of streams that are made with a pool.
        static let ofPool = {
            var options = HTTPOptions()
            options.keepsConnection = true
            return SharedOptions(options)
        }()

        let options: HTTPOptions

        init(_ options: HTTPOptions) { self.options = options }
    }

    private var shared: SharedOptions
    /// The pool of idle connections.
    var pool: HTTPConnectionPool
    /// What a session adds; nil for a stream of its own.
    var session: SessionSettings?

    /// - Parameter pool: the pool to which the connection returns; nil for a connection that is not kept.
    init(pool: HTTPConnectionPool? = nil) {
        if let pool {
            (shared, self.pool) = (.ofPool, pool)
        } else {
            (shared, self.pool) = (.usual, .shared)
        }
    }

    init(_ options: HTTPOptions) {
        shared = SharedOptions(options)
        pool = options.pool
    }

    /// Checks options. The second result is the properties in ``HTTPOptions/connection`` that have to be set at the stream, since some are
    /// its own.
    static func checked(
        _ options: HTTPOptions
    ) throws(StreamError) -> (settings: LoadSettings, others: StreamProperties) {
        try options.check()
        if options.connection.isEmpty { return (LoadSettings(options), StreamProperties()) }
        let (own, others) = options.connection.split(by: .connection)
        if others.isEmpty { return (LoadSettings(options), others) }
        if let label = HTTPOptions.table.label(in: others) {
            throw .misplaced("connection[.http(\\.\(label))]", instead: "HTTPOptions.\(label)")
        }
        var options = options
        options.connection = own
        return (LoadSettings(options), others)
    }

    /// The options, apart from the ``pool``.
    var options: HTTPOptions { _read { yield shared.options } }

    /// All options, with the ``pool``.
    private var all: HTTPOptions {
        var all = shared.options
        all.pool = pool
        return all
    }

    /// Whether the request offers to switch to another protocol.
    var offersSwitch: Bool { if let session { session.upgrade != nil } else { false } }

    /// What the carrier of a request adds to it.
    var preparation: RequestPreparation {
        RequestPreparation(
            keepsConnection: options.keepsConnection, decodesContent: options.decodesContent, upgrade: session?.upgrade,
            keepsEmptyUserAgent: options.keepsEmptyUserAgent)
    }

    /// Whether only the properties of the connection can lead this load elsewhere than to the host of its URL.
    var routeIsInPropertiesOnly: Bool {
        // Not a comparison with nil, which would copy the settings.
        guard case .none = options.proxySettings, case .none = options.endpoints else { return false }
        return true
    }

    /// Whether no option can lead this load elsewhere than to the host of its URL: the common case, which then costs nothing.
    var isDirect: Bool { routeIsInPropertiesOnly && options.connection.isEmpty }

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
        var changed = all
        if try !HTTPOptions.table.set(value, named: name, in: &changed) {
            // The stream itself enforces its read limit.
            if name == StreamProperty<Duration>.readTimeout.name || !StreamKind.http.properties.honours(name) {
                return false
            }
            changed.connection.set(value, named: name)
        }
        shared = SharedOptions(changed)
        pool = changed.pool
        return true
    }

    /// The value of a property of HTTP streams, or of the connection if it was set.
    func value(named name: String) -> (any Sendable)? {
        HTTPOptions.table.value(named: name, in: all) ?? options.connection.value(named: name)
    }
}
