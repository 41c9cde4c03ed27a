import Peers
import StreamKit
import Testing

typealias Origin = Peers.HTTPOrigin

/// nginx with all its features, one server for all tests.
enum SharedNginx {
    static let server = Result {
        let nginx = Nginx()
        try nginx.start()
        return nginx
    }

    static func get() throws -> Nginx { try server.get() }
}

/// The end of a scripted response.
enum Ending: CaseIterable {
    case finish
    case reset
}

extension ScriptedServer {
    /// A server that reads the head of one request per connection, responds with these bytes, and ends the connection.
    convenience init(
        answering answer: String, inPiecesOf size: Int = .max, ending: Ending = .finish
    ) throws(PeerError) {
        let bytes = Array(answer.utf8)
        try self.init { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(bytes, inPiecesOf: size)
            if ending == .reset { connection.reset() }
        }
    }

    func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// Bytes in a pattern that reveals misplaced pieces.
func patterned(_ count: Int) -> [UInt8] {
    let period = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    return Array(repeatElement(period, count: count / 4093 + 1).joined().prefix(count))
}

/// TLS that trusts only the tests' own authority.
func trustingPeers(_ change: (inout TLSConfiguration) throws -> Void = { _ in }) throws -> TLSConfiguration {
    var configuration = TLSConfiguration()
    configuration.trust = .only(file: try CertificateAuthority.shared().root)
    try change(&configuration)
    return configuration
}

extension ReadStream {
    /// Trusts the tests' own authority if the URL is an https URL: for http, `tls` is refused unless redirects are followed.
    func trustPeers() throws {
        if self[.urlDemandsTLS] == true { try set(.tls, to: try trustingPeers()) }
    }
}
