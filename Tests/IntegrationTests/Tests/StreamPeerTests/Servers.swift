import Foundation
import Peers
import StreamKit

/// Runs `body` on a new thread, which may block and run its run loop.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// Starts a peer, without blocking a thread that runs tasks.
func started<P: Peer & Sendable>(_ peer: P) async throws -> P {
    try await onThread {
        try peer.start()
        return peer
    }
}

/// TLS that trusts only the tests' own authority.
func trustingPeers(_ change: (inout TLSConfiguration) throws -> Void = { _ in }) throws -> TLSConfiguration {
    var configuration = TLSConfiguration()
    configuration.trust = .only(file: try CertificateAuthority.shared().root)
    try change(&configuration)
    return configuration
}
