import FTPStream
import Foundation
import Peers
import Testing

/// The servers that every transfer must work with.
enum ServerKind: String, CaseIterable, CustomTestStringConvertible {
    case vsftpd, proftpd, pureFTPd, pyftpdlib

    var testDescription: String { rawValue }

    func make(_ security: FTPServerSecurity = .off, isIPv6: Bool = false) -> any FTPServer {
        switch self {
        case .vsftpd: Vsftpd(security, isIPv6: isIPv6, hasUsers: true)
        case .proftpd: Proftpd(security, isIPv6: isIPv6)
        case .pureFTPd: PureFTPd(security, isIPv6: isIPv6)
        case .pyftpdlib: PyFTPServer(isIPv6: isIPv6)
        }
    }

    /// A server that runs.
    func started(_ security: FTPServerSecurity = .off, isIPv6: Bool = false) async throws -> any FTPServer {
        let server = make(security, isIPv6: isIPv6)
        try await start(server)
        return server
    }

    /// Whether ``FTPServer/commands()`` tells them.
    var logsCommands: Bool { self != .pureFTPd }

    /// Whether it has MLSD.
    var hasFacts: Bool { self != .vsftpd }

    /// Those that know TLS, in every way that they do.
    static let secure: [(ServerKind, FTPServerSecurity)] = [
        (.vsftpd, .explicit), (.vsftpd, .implicit), (.proftpd, .explicit), (.proftpd, .implicit),
        (.pureFTPd, .explicit),
    ]

    /// Those of them that know CCC.
    static let clearing: [(ServerKind, FTPServerSecurity)] = [
        (.proftpd, .explicit), (.proftpd, .implicit), (.pureFTPd, .explicit),
    ]
}

extension FTPServer {
    /// A client who logs in as `ann` and trusts the tests' authority.
    func client(_ version: StreamKit.TLSVersion? = nil) throws -> FTPClient {
        let client = try FTPClient(address())
        try client.set(.ftpPassword, to: FTPServerAccount.password)
        try client.set(.ftpSecurity, to: try protection(version))
        return client
    }

    /// A stream of a file, read as `ann`.
    func reader(_ path: String, pool: FTPSessionPool) throws -> ReadStream {
        let stream = try ReadStream(ftpURL: address(path))
        try stream.set(.ftpPassword, to: FTPServerAccount.password)
        try stream.set(.ftpSecurity, to: try protection(nil))
        try stream.set(.ftpPool, to: pool)
        return stream
    }

    /// A stream into a file, written as `ann`.
    func writer(_ path: String, pool: FTPSessionPool) throws -> WriteStream {
        let stream = try WriteStream(ftpURL: address(path))
        try stream.set(.ftpPassword, to: FTPServerAccount.password)
        try stream.set(.ftpSecurity, to: try protection(nil))
        try stream.set(.ftpPool, to: pool)
        return stream
    }

    private func address(_ path: String = "") throws -> URL {
        try #require(URL(string: url(path, user: FTPServerAccount.name)))
    }

    /// What the server demands, with one version of TLS only if it is named.
    func protection(_ version: StreamKit.TLSVersion?) throws -> FTPSecurity {
        var configuration = TLSConfiguration()
        configuration.trust = .only(file: try CertificateAuthority.shared().root)
        if let version {
            configuration.minimumVersion = version
            configuration.maximumVersion = version
        }
        return switch security {
        case .off: .off
        case .explicit: FTPSecurity(control: .required, configuration: configuration)
        case .implicit: FTPSecurity(control: .implicit, configuration: configuration)
        }
    }

    /// How often somebody logged in.
    func loginCount() throws -> Int { try commands().count { $0.hasPrefix("USER") } }
}
