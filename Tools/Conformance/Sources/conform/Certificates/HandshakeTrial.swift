import Foundation
import StreamKit

/// A real handshake between two ends in this process: whether the one believes the other's certificates.
struct HandshakeTrial {
    /// The certificates to show, one's own first, in PEM.
    var chain: [String]
    /// Its private key, in PEM.
    var key: String
    /// Who is believed, in PEM.
    var roots: [String]
    /// Lists of what was revoked, in PEM; with any, every certificate needs one.
    var revocationLists: [String] = []
    /// The name that must be in the certificate; nil where it belongs to a client.
    var peerName: String?
    /// When it must be valid; nil for now.
    var time: Int64?
    /// The client shows the certificates, and not the server.
    var isFromClient = false

    /// What came of it.
    enum Result {
        case accepted
        case refused(StreamError)
        /// The certificates were not even shown: the key or a certificate cannot be used in TLS.
        case notShown(StreamError)
    }

    func run() throws -> Result {
        let identity: TLSIdentity
        do throws(StreamError) {
            // The identity finds its own certificate by the key; the rest keeps its order.
            identity = try TLSIdentity(pem: Array(chain.joined(separator: "\n").utf8), key: Array(key.utf8))
        } catch {
            return .notShown(error)
        }
        var server = TLSConfiguration(server: identity)
        var client = TLSConfiguration()
        var trust = TLSTrust.only(try roots.flatMap { try Certificate.all(in: Array($0.utf8)) })
        let lists = FileManager.default.temporaryDirectory.appending(path: "conform-\(getpid()).crl").path
        defer { unlink(lists) }
        if !revocationLists.isEmpty {
            try revocationLists.joined(separator: "\n").write(toFile: lists, atomically: true, encoding: .utf8)
            trust.revocationLists = [lists]
        }
        if isFromClient {
            // What the server itself shows is nobody's business here.
            server.clientAuthentication = .required
            server.trust = trust
            server.verificationTime = time
            client.identity = identity
            client.verification = .insecureNone
        } else {
            client.trust = trust
            client.peerName = peerName
            client.verificationTime = time
        }
        // Whoever shows something weak must be able to: the judge is the other side.
        let weak = "DEFAULT:@SECLEVEL=0"
        if isFromClient { client.cipherList = weak } else { server.cipherList = weak }
        client.resumesSessions = false
        server.resumesSessions = false
        return try shakeHands(client, server)
    }

    private func shakeHands(_ client: TLSConfiguration, _ server: TLSConfiguration) throws -> Result {
        var descriptors: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors) == 0 else {
            throw CaseError("socketpair: \(String(cString: strerror(errno)))")
        }
        let near = StreamPair(descriptor: descriptors[0], ownership: .owned)
        let far = StreamPair(descriptor: descriptors[1], ownership: .owned)
        defer {
            near.close()
            far.close()
        }
        let (judge, shown) = isFromClient ? (far, near) : (near, far)
        do throws(StreamError) {
            try near.set(.tls, to: client)
            try far.set(.tls, to: server)
            try shown.open()
            try judge.open()
            try judge.output.opened()
        } catch {
            // The side that judges tells its own verdict; anything else is trouble with what was shown.
            let alerts: [TLSFailure] = [.peerHandshakeFailure, .peerInternalError, .closedAbruptly, .badConfiguration]
            return error.tlsFailure.map { !alerts.contains($0) } == true ? .refused(error) : .notShown(error)
        }
        return .accepted
    }
}
