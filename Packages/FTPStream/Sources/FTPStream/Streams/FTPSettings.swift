internal import StreamKit

/// The properties set on an FTP stream.
struct FTPSettings: Sendable {
    /// The properties of both connections.
    var properties = StreamProperties()
    var userName: String?
    var password: String?
    var account: String?
    /// The mode of data connections if it was set; otherwise the default applies.
    var passiveMode: Bool?
    var passiveModeDefault = true
    var fetchesInfo = false
    var keepsConnection = true
    var appends = false
    var transfersText = false
    var offset: UInt64 = 0
    var security: FTPSecurity?
    var proxy: FTPProxy?
    var pool: FTPSessionPool?
    var replyLimit = FTPTimeLimits.reply
    var keepAlive = FTPTimeLimits.keepAlive
    var listing = FTPListingCommand.automatic
    /// All properties as they were set, for readers.
    private(set) var all = StreamProperties()

    /// Sets a property. One that is not specific to FTP applies to the connections.
    mutating func set(_ value: (any Sendable)?, named name: String) {
        let defaults = FTPSettings()
        all.set(value, named: name)
        switch name {
        case StreamProperty<String>.ftpUserName.name: userName = value as? String
        case StreamProperty<String>.ftpPassword.name: password = value as? String
        case StreamProperty<String>.ftpAccount.name: account = value as? String
        case StreamProperty<Bool>.ftpUsesPassiveMode.name: passiveMode = value as? Bool
        case StreamProperty<Bool>.ftpPassiveModeDefault.name:
            passiveModeDefault = value as? Bool ?? defaults.passiveModeDefault
        case StreamProperty<Bool>.ftpFetchesResourceInfo.name: fetchesInfo = value as? Bool ?? defaults.fetchesInfo
        case StreamProperty<Bool>.ftpKeepsConnection.name: keepsConnection = value as? Bool ?? defaults.keepsConnection
        case StreamProperty<Bool>.ftpTransfersText.name:
            transfersText = value as? Bool ?? defaults.transfersText
        case StreamProperty<Bool>.ftpAppends.name: appends = value as? Bool ?? defaults.appends
        case StreamProperty<UInt64>.ftpTransferOffset.name: offset = value as? UInt64 ?? defaults.offset
        case StreamProperty<FTPSecurity>.ftpSecurity.name: security = value as? FTPSecurity
        case StreamProperty<FTPProxy>.ftpProxy.name: proxy = value as? FTPProxy
        case StreamProperty<FTPSessionPool>.ftpPool.name: pool = value as? FTPSessionPool
        case StreamProperty<Duration>.ftpReplyTimeout.name: replyLimit = value as? Duration ?? defaults.replyLimit
        case StreamProperty<Duration>.ftpKeepAlive.name: keepAlive = value as? Duration ?? defaults.keepAlive
        case StreamProperty<FTPListingCommand>.ftpListingCommand.name:
            listing = value as? FTPListingCommand ?? defaults.listing
        default: properties.set(value, named: name)
        }
    }

    /// Checks that a command can carry the value.
    static func check(_ value: (any Sendable)?, named name: String) throws(StreamError) {
        let isSecret = [
            StreamProperty<String>.ftpUserName, StreamProperty<String>.ftpPassword, StreamProperty<String>.ftpAccount,
        ].contains { $0.name == name }
        if isSecret, let text = value as? String, text.utf8.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) {
            throw StreamError(.badArgument("\(name) contains a line end or NUL."))
        }
    }

    /// The security of a session.
    ///
    /// The scheme `ftps`, ``StreamProperty/tls``, and a configuration in ``StreamProperty/ftpSecurity`` other than the default
    /// each require TLS. A session that requires TLS never falls back to plaintext, and never replaces one configuration by
    /// another.
    ///
    /// - Throws: ``FTPError/Code/badArgument`` if TLS is required and ``StreamProperty/ftpSecurity`` allows plaintext, if TLS is
    ///   required for data connections alone, or if both properties have configurations and these differ.
    func security(at location: FTPLocation) throws(FTPError) -> FTPSecurity {
        let configuration = properties[.tls]
        var security: FTPSecurity
        if let explicit = self.security {
            security = explicit
            let isConfigured = explicit.configuration != TLSConfiguration()
            let isRequired = location.isSecure || configuration != nil || isConfigured
            if isRequired, !explicit.control.isMandatory { throw .contradictorySecurity }
            if explicit.control == .off, explicit.data != .off { throw .dataWithoutControl }
            if isConfigured, let configuration, configuration != explicit.configuration {
                throw .contradictoryConfigurations
            }
        } else if location.isSecure {
            security = location.port == FTPLocation.securePort ? .implicit : .required
        } else {
            security = configuration == nil ? .off : .required
        }
        if let configuration { security.configuration = configuration }
        return security
    }

    var isPassive: Bool { passiveMode ?? passiveModeDefault }

    /// How an upload treats the existing contents of the file.
    var writing: FTPJob.Writing { appends ? .append : offset > 0 ? .resume(offset) : .replace }

    /// The key of the session that a job at `location` needs.
    func key(for location: FTPLocation, loop: EventLoop) throws(FTPError) -> FTPSessionKey {
        let security = try security(at: location)
        var connectionProperties = properties
        connectionProperties[.tls] = nil  // part of the security
        var user = userName.map { Array($0.utf8) } ?? location.user
        // Anonymous login (RFC 1635): by custom the password is a mail address; this one identifies no user.
        let password =
            self.password.map { Array($0.utf8) } ?? location.password
            ?? (user == nil ? Array("anonymous@".utf8) : [])
        user = user ?? Array("anonymous".utf8)
        var login = FTPLogin(user: user ?? [], password: password)
        login.account = account.map { Array($0.utf8) }
        login.control = security.control
        login.data = security.data
        login.clearsControl = security.clearsControl
        login.isPassive = isPassive
        if let proxy {
            let isIPv6 = location.host.contains(":")
            let host = isIPv6 ? "[\(location.host)]" : location.host
            let port = location.port == FTPLocation.plainPort ? "" : ":\(location.port)"
            login.user += Array("@\(host)\(port)".utf8)
            if proxy.userName == nil, proxy.password != nil { throw .proxyPasswordWithoutUser }
            login.proxyUser = proxy.userName.map { Array($0.utf8) }
            login.proxyPassword = proxy.password.map { Array($0.utf8) }
        }
        // Refuses invalid characters before anything is sent.
        for secret in [
            login.user, login.password, login.account ?? [], login.proxyUser ?? [], login.proxyPassword ?? [],
        ] {
            _ = try FTPCommand("PASS", bytes: secret)
        }
        return FTPSessionKey(
            host: location.host, port: location.port, proxy: proxy, login: login, configuration: security.configuration,
            shape: ConnectionShape(of: connectionProperties, in: .connection), loop: ObjectIdentifier(loop))
    }
}

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

    /// Leaves the TLS configuration out: hashing its certificates would cost more than comparing the few keys that differ only
    /// in it.
    func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(login.user)
    }
}
