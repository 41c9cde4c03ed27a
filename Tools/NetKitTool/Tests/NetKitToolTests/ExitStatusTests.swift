import Glibc
import NetKit
import Testing

@testable import netkit

// Testing has a type of the same name.
typealias Status = netkit.ExitStatus

@Suite struct ExitStatusTests {
    private static func posix(_ number: CInt, _ reason: StreamErrorReason? = nil) -> StreamError {
        StreamError(domain: .posix, code: Int(number), sentence: Sentence("x", "X"), reason: reason)
    }

    private static func tls(_ failure: TLSFailure, _ reason: StreamErrorReason? = nil) -> StreamError {
        StreamError(domain: .ssl, code: failure.rawValue, sentence: Sentence("x", "X"), reason: reason)
    }

    private static func http(_ number: HTTPErrorNumber, _ reason: StreamErrorReason? = nil) -> StreamError {
        StreamError(domain: .http, code: number.rawValue, sentence: Sentence("x", "X"), reason: reason)
    }

    private static func script(_ reason: StreamErrorReason) -> StreamError {
        let number = HTTPErrorNumber.ProxyError.automaticConfigurationFile
        return StreamError(domain: .http, code: number.rawValue, sentence: Sentence("x", "X"), reason: reason)
    }

    /// A row for each reason, and some errors without one that differ from it.
    @Test(arguments: [
        (tls(.protocolViolation, .foreignProtocol), Status.handshakeFailed),
        (tls(.protocolViolation, .foreignReply), .handshakeFailed),
        (tls(.badConfiguration, .encryptedKey), .handshakeFailed),
        (http(.connectionLost, .cutShort), .cutShort), (http(.connectionLost), .noAnswer),
        (http(.parseFailure, .undecodable), .undecodable), (http(.parseFailure, .notResumed), .notResumed),
        (http(.parseFailure), .invalidResponse), (posix(EACCES, .localFile), .localFile), (posix(EACCES), .other),
        // A local disk that does not answer is no time limit of the network.
        (posix(ETIMEDOUT, .unansweredCall), .localFile), (posix(ETIMEDOUT), .timedOut),
        (posix(EAGAIN, .unansweredCall), .localFile), (posix(EAGAIN), .other),
        (posix(EINVAL, .invalidProxySettings), .proxyRefused), (posix(ENOTSUP, .scriptNotRunnable), .other),
        (script(.scriptUnreachable), .proxyRefused), (script(.scriptMissing), .proxyRefused),
        (posix(EINVAL, .scriptInvalid), .other),
    ])
    func theReasonDecidesBeforeTheCode(_ error: StreamError, _ status: Status) {
        #expect(Status(error, after: nil) == status)
    }
}
