import Foundation
import NetKit

/// The clients of a command: one for each server and user, so that several URLs share a login.
final class FTPClients: Sendable {
    private struct Key: Hashable {
        var scheme: String?
        var host: String?
        var port: Int?
        var user: String?
        var password: String?
        var type: Substring?

        init(_ url: URL) {
            (scheme, host, port) = (url.scheme?.lowercased(), url.host()?.lowercased(), url.port)
            (user, password, type) = (url.user(), url.password(), FTPOptions.type(of: url))
        }
    }

    private let clients = Locked<[Key: FTPClient]>([:])

    /// The client for the server and user of a URL, made on first use.
    func client(for url: URL, make: () throws -> FTPClient) throws -> FTPClient {
        let key = Key(url)
        return try clients.withLock { clients in
            if let client = clients[key] { return client }
            let client = try make()
            clients[key] = client
            return client
        }
    }

    /// Logs out.
    func close() async {
        for client in clients.withLock({ Array($0.values) }) { await client.close() }
    }
}
