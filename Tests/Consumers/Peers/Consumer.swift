import Peers

/// Somebody else's test of somebody else's client, against a real nginx with certificates made for the occasion.
@main struct Consumer {
    static func main() async throws {
        let nginx = Nginx()
        try nginx.start()
        defer { nginx.stop() }
        let root = try CertificateAuthority.shared().root
        let client = Command(Program("curl"), ["--silent", "--location", "--cacert", root, nginx.url(.tls, "/chain")])
        let said = try await client.run().text
        let seen = try await nginx.requests(4)
        let first = seen.count { $0.requestOnConnection == 1 }
        print("\(said.dropLast()), verified, after \(seen.count) requests on \(first) connection")
    }
}
