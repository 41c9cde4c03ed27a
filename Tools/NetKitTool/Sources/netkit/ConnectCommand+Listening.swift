import Foundation
@_spi(Packages) import NetKit
import Synchronization

// `netkit connect --listen` and `--udp`.
extension ConnectCommand {
    /// Serves one client.
    func serve() async throws {
        let target = try endpoint()
        // A client whose handshake fails is reported, and the next one may come.
        var configuration = StreamListener.Configuration()
        configuration.maximumConnections = 1
        configuration.onFailure = { error, _ in Terminal.say("netkit: \(error)") }
        do {
            configuration.tls = try connection.serverTLS()
            let listener = try target.listener(configuration)
            announce(listener.addresses)
            try await withNetworkExecutor { [self] in try await serve(on: listener, target) }
        } catch {
            try fail(error)
        }
        if json { Terminal.say(JSONOutput.line(facts(ConnectionReport()))) }
    }

    private func serve(on listener: StreamListener, _ target: ConnectTarget) async throws {
        let result = Mutex<Result<Void, any Error>?>(nil)
        let limit = timeout.map { timeout in
            Task {
                try await EventLoop.shared.sleep(for: .seconds(timeout))
                listener.stop()
            }
        }
        defer { limit?.cancel() }
        try await listener.run { client in
            limit?.cancel()
            // The first client is the only one.
            listener.stop()
            if case .unixSocket(let path) = target { unlink(path) }
            if report {
                Terminal.say("Connection from \(client.input[.remoteAddress].map { "\($0)" } ?? "an unknown address")")
            }
            let outcome = await ConnectPipe.run(client)
            result.withLock { $0 = outcome }
        }
        if case .unixSocket(let path) = target { unlink(path) }
        guard let result = result.withLock({ $0 }) else {
            let limit = TimeLimit.text(timeout ?? 0)
            throw StreamError(posix: ETIMEDOUT, Sentence("tool.noClient", "No client connected within %1.", limit))
        }
        try result.get()
    }

    /// Sends and receives datagrams.
    func exchangeDatagrams() async throws {
        do {
            let socket = try await datagramSocket()
            if listen { announce([socket.localAddress].compactMap { $0 }) }
            let idleTimeout: Duration? = wait.map { .seconds($0) } ?? (listen ? nil : .seconds(1))
            let result = await withNetworkExecutor {
                await DatagramPipe(socket, idleTimeout: idleTimeout).run { peer in
                    if Terminal.isInteractive { Terminal.say("Datagrams from \(peer)") }
                }
            }
            try result.get()
        } catch let error as StreamError where error.isPOSIX(ECONNREFUSED) {
            let sentence = Sentence("tool.noReceiver", "No program receives datagrams at %1.", target)
            try fail(StreamError(posix: ECONNREFUSED, sentence))
        } catch {
            try fail(error)
        }
        if json { Terminal.say(JSONOutput.line(facts(ConnectionReport()))) }
    }

    /// A socket that is bound to the target with `--listen`, else connected to it.
    private func datagramSocket() async throws -> Socket {
        guard case .host(let host, let port) = try endpoint() else {
            throw StreamError(posix: EINVAL)
        }
        if listen {
            if host.isEmpty { return try Self.socketOnAllAddresses(port) }
            return try Socket(boundTo: .ip(IPAddress(host) ?? .v4(.loopback), port: port), .datagram)
        }
        var failure: any Error = StreamError(posix: EHOSTUNREACH)
        for address in try await SystemResolver.shared.addresses(of: HostName(host)) {
            do {
                return try await Socket.connected(to: .ip(address, port: port), .datagram)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// A socket for IPv6 and IPv4, if the machine has both.
    private static func socketOnAllAddresses(_ port: UInt16) throws(StreamError) -> Socket {
        do throws(StreamError) {
            return try Socket(boundTo: .ip(.v6(.any), port: port), .datagram)
        } catch  where error.isPOSIX(EAFNOSUPPORT) || error.isPOSIX(EADDRNOTAVAIL) {
            return try Socket(boundTo: .ip(.v4(.any), port: port), .datagram)
        }
    }

    private func announce(_ addresses: [SocketAddress]) {
        for address in addresses { Terminal.say("Listening on \(address)") }
    }
}
