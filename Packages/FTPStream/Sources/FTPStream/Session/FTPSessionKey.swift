@_spi(Packages) internal import StreamKit

/// Everything that must be equal for two jobs to share a session: server, proxy, login, security and connection properties.
struct FTPSessionKey: Sendable, Hashable {
    var host: String
    var port: UInt16
    var proxy: FTPProxy?
    var login: FTPLogin
    var configuration: TLSConfiguration
    /// The properties with which the control connection is opened.
    var shape: ConnectionShape
    var loop: ObjectIdentifier

    /// The key of the session that a job at `location` needs.
    init(_ options: FTPOptions, at location: FTPLocation, loop: EventLoop) throws(FTPError) {
        let security = try FTPSecurity(options, at: location)
        var connection = options.connection
        connection[.tls] = nil  // part of the security
        host = location.host
        port = location.port
        proxy = options.proxy
        login = try FTPLogin(options, security, at: location)
        configuration = security.configuration
        shape = ConnectionShape(of: connection, in: .connection)
        self.loop = ObjectIdentifier(loop)
    }

    /// Leaves the TLS configuration out: hashing its certificates would cost more than comparing the few keys that differ only
    /// in it.
    func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(login.user)
    }
}

extension FTPSecurity {
    /// The security of a session.
    ///
    /// The scheme `ftps`, `StreamProperty.tls`, and a configuration in ``FTPOptions/security`` other than the default each require
    /// TLS. A session that requires TLS never falls back to plaintext, and never replaces one configuration by another.
    ///
    /// - Throws: ``FTPError/Code/badArgument`` if TLS is required and ``FTPOptions/security`` allows plaintext, if TLS is required for
    ///   data connections alone, or if both properties have configurations and these differ.
    fileprivate init(_ options: FTPOptions, at location: FTPLocation) throws(FTPError) {
        let configuration = options.connection[.tls]
        if let explicit = options.security {
            self = explicit
            let isConfigured = explicit.configuration != TLSConfiguration()
            let isRequired = location.isSecure || configuration != nil || isConfigured
            if isRequired, !explicit.control.isMandatory { throw .contradictorySecurity }
            if explicit.control == .off, explicit.data != .off { throw .dataWithoutControl }
            if isConfigured, let configuration, configuration != explicit.configuration {
                throw .contradictoryConfigurations
            }
        } else if location.isSecure {
            self = location.port == FTPLocation.securePort ? .implicit : .required
        } else {
            self = configuration == nil ? .off : .required
        }
        if let configuration { self.configuration = configuration }
    }
}

extension FTPLogin {
    fileprivate init(
        _ options: FTPOptions, _ security: FTPSecurity, at location: FTPLocation
    ) throws(FTPError) {
        let user = options.userName.map { Array($0.utf8) } ?? location.user
        // Anonymous login (RFC 1635): by custom the password is a mail address; this one identifies no user.
        let password =
            options.password.map { Array($0.utf8) } ?? location.password
            ?? (user == nil ? Array("anonymous@".utf8) : [])
        self.init(user: user ?? Array("anonymous".utf8), password: password)
        account = options.account.map { Array($0.utf8) }
        control = security.control
        data = security.data
        clearsControl = security.clearsControl
        isPassive = options.isPassive
        if let proxy = options.proxy {
            let host = URLAuthority.bracketed(location.host)
            let port = location.port == FTPLocation.plainPort ? "" : ":\(location.port)"
            self.user += Array("@\(host)\(port)".utf8)
            if proxy.userName == nil, proxy.password != nil { throw .proxyPasswordWithoutUser }
            proxyUser = proxy.userName.map { Array($0.utf8) }
            proxyPassword = proxy.password.map { Array($0.utf8) }
        }
        // Refuses invalid characters before anything is sent.
        for secret in [self.user, password, account ?? [], proxyUser ?? [], proxyPassword ?? []] {
            _ = try FTPCommand("PASS", bytes: secret)
        }
    }
}
