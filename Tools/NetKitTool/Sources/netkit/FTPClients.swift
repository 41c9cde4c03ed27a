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
    /// Makes one client at a time, which may ask at the terminal.
    private let thread = BlockingThreads(limit: 1)

    /// The client for the server and user of a URL, made on first use: off the event loop, since its login may have to be read from a file, or
    /// typed.
    func client(for url: URL, make: @escaping @Sendable () throws -> FTPClient) async throws -> FTPClient {
        let key = Key(url)
        return try await thread.call(within: OutputFile.patience) { [self] in
            if let client = clients.withLock({ $0[key] }) { return client }
            let client = try make()
            clients.withLock { $0[key] = client }
            return client
        }
    }

    /// Logs out.
    func close() async {
        for client in clients.withLock({ Array($0.values) }) { await client.close() }
    }
}
