import StreamKit

extension Rules {
    /// The rule by which a certificate was refused.
    static func name(of error: StreamError) -> String {
        switch error.tlsFailure {
        case .certificateExpired, .certificateNotYetValid: "certificateDates"
        case .hostNameMismatch: "hostNameMismatch"
        case .badCertificate: "weakCertificate"
        case .invalidChain: "invalidChain"
        case .unknownRoot, .noRoot: "unknownRoot"
        default: "tls \(error)"
        }
    }
}
