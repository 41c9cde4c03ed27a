internal import AsyncHTTPClient
internal import BenchmarkRows
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Runs the body with a client on one event loop that trusts the benchmark's authority.
func withClient(
    _ arguments: Arguments,
    connections: Int = 8,
    version: HTTPClient.Configuration.HTTPVersion = .http1Only,
    _ body: (HTTPClient) async throws -> Void
) async throws {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(arguments.text("ca"))
    var configuration = HTTPClient.Configuration()
    configuration.tlsConfiguration = tls
    configuration.httpVersion = version
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(8, connections)
    let client = HTTPClient(
        eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)),
        configuration: configuration
    )
    try await body(client)
    try await client.shutdown()
}
