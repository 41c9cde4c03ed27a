import FTPStream
import Foundation
import Peers
import Testing

/// The servers with which every transfer must work.
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

    /// A running server.
    func started(_ security: FTPServerSecurity = .off, isIPv6: Bool = false) async throws -> any FTPServer {
        let server = make(security, isIPv6: isIPv6)
        try await start(server)
        return server
    }

    /// Whether the server logs its commands (``FTPServer/commands()``).
    var logsCommands: Bool { self != .pureFTPd }

    /// Whether it supports MLSD.
    var hasFacts: Bool { self != .vsftpd }

    /// The servers with TLS, with each security that they support.
    static let secure: [(ServerKind, FTPServerSecurity)] = [
        (.vsftpd, .explicit), (.vsftpd, .implicit), (.proftpd, .explicit), (.proftpd, .implicit),
        (.pureFTPd, .explicit),
    ]

    /// The servers that also support CCC.
    static let clearing: [(ServerKind, FTPServerSecurity)] = [
        (.proftpd, .explicit), (.proftpd, .implicit), (.pureFTPd, .explicit),
    ]
}

extension FTPServer {
    /// A client that logs in as `ann` and trusts the tests' authority.
    func client(_ version: StreamKit.TLSVersion? = nil) throws -> FTPClient {
        let client = try FTPClient(address())
        try client.set(.ftp(\.password), to: FTPServerAccount.password)
        try client.set(.ftp(\.security), to: try protection(version))
        return client
    }

    /// A stream of a file, read as `ann`.
    func reader(_ path: String, pool: FTPSessionPool) throws -> ReadStream {
        let stream = try ReadStream(ftpURL: address(path))
        try stream.set(.ftp(\.password), to: FTPServerAccount.password)
        try stream.set(.ftp(\.security), to: try protection(nil))
        try stream.set(.ftp(\.pool), to: pool)
        return stream
    }

    /// A stream into a file, written as `ann`.
    func writer(_ path: String, pool: FTPSessionPool) throws -> WriteStream {
        let stream = try WriteStream(ftpURL: address(path))
        try stream.set(.ftp(\.password), to: FTPServerAccount.password)
        try stream.set(.ftp(\.security), to: try protection(nil))
        try stream.set(.ftp(\.pool), to: pool)
        return stream
    }

    private func address(_ path: String = "") throws -> URL {
        try #require(URL(string: url(path, user: FTPServerAccount.name)))
    }

    /// The security that the server requires, restricted to `version` of TLS unless it is nil.
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

    /// The number of logins.
    func loginCount() throws -> Int { try commands().count { $0.hasPrefix("USER") } }
}
