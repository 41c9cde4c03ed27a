import ArgumentParser
import Glibc
import NetKit

/// What the tool's exit codes mean; curl's numbers where it has one.
enum ExitStatus: Int32 {
    case other = 1
    case badURL = 3
    case nameNotFound = 6
    case notConnected = 7
    case cutShort = 18
    case serverError = 22
    case localFile = 23
    case timedOut = 28
    case handshakeFailed = 35
    case redirects = 47
    case noAnswer = 52
    case connectionLost = 56
    case untrustedCertificate = 60
    case proxyRefused = 97

    var exitCode: ExitCode { ExitCode(rawValue) }

    /// The code for a stream's failure.
    init(_ error: StreamError, after response: HTTPResponse?) {
        if let cause = error.underlying as? HTTPAuthError {
            self = ExitStatus(cause)
            return
        }
        switch error.domain {
        case .netDB:
            self = error.underlying.map { "\($0)" }?.contains("time") == true ? .timedOut : .nameNotFound
        case .ssl:
            self = ExitStatus.isAboutTrust(error) ? .untrustedCertificate : .handshakeFailed
        case .socks: self = .proxyRefused
        case .http where HTTPErrorNumber.ProxyError(rawValue: error.code) != nil: self = .proxyRefused
        case .http:
            switch HTTPErrorNumber(rawValue: error.code) {
            case .badURL: self = .badURL
            case .redirectionLoop: self = .redirects
            case .connectionLost: self = response == nil ? .noAnswer : .cutShort
            default: self = .connectionLost
            }
        case .ftp: self = .serverError
        case .posix where error.sentence.key == "file.open": self = .localFile
        case .posix:
            switch Int32(error.code) {
            case EINVAL where error.underlying is FTPError: self = .badURL
            case ETIMEDOUT: self = .timedOut
            case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, ENOENT: self = .notConnected
            case ECONNRESET, EPIPE, ECONNABORTED: self = .connectionLost
            default: self = .other
            }
        default:
            self = .other
        }
    }

    /// The code for a login that failed.
    private init(_ error: HTTPAuthError) {
        switch error.code {
        case .storeUnavailable, .storeMalformed, .storeNotPrivate, .storeReadOnly, .storeLocked: self = .localFile
        case .timedOut: self = .timedOut
        default: self = .serverError
        }
    }

    private static func isAboutTrust(_ error: StreamError) -> Bool {
        guard let failure = error.tlsFailure else { return false }
        let aboutTrust: Set<TLSFailure> = [
            .invalidChain, .badCertificate, .unknownRoot, .noRoot, .certificateExpired, .certificateNotYetValid,
            .certificateRevoked, .hostNameMismatch,
        ]
        return aboutTrust.contains(failure)
    }
}
