import Dispatch
import Glibc
import HostResolver
import StreamKit
import Synchronization

/// The program that tests run inside a network namespace: lookups with the system's resolver or with our own, printed in lines.
///
///     resolve-probe system|wire VERB ARGUMENT…
///
///     addresses NAME       the addresses, by an async call
///     blocking NAME        the same, blocking
///     client NAME          the same by a client of HostLookup on a queue, with the number of its calls
///     names ADDRESS        the names of an address
///     aliases NAME         the names of a name
///     share NAME COUNT     `begun` once COUNT lookups run; then the numbers of results and of different ones, and one of them
///     cancel NAME          a lookup that is cancelled as soon as it has begun
///     open ADDRESS PORT    the status of a stream directly after `open()`, and how opening ends within 300 ms
///     stream NAME PORT     the peer and the first line of a stream to a HostLookup's host
///
/// A failure is printed as `error CODE DOMAIN NUMBER`. It is a program because a process is in only
/// one network namespace.
@main struct ResolveProbe {
    static func main() async {
        var arguments = CommandLine.arguments.dropFirst()
        guard let engine = arguments.popFirst(), let verb = arguments.popFirst(), let name = arguments.popFirst() else {
            print("usage: resolve-probe system|wire VERB ARGUMENT…")
            exit(64)
        }
        let resolver: any HostLookup.AnyResolver = engine == "wire" ? WireResolver() : SystemResolver.shared
        do {
            try await run(verb, name, arguments.first, resolver)
        } catch let error as ResolverError {
            print("error \(error.code.rawValue) \(error.domain == .netDB ? "netDB" : "other") \(error.number)")
        } catch {
            print("error \(error)")
        }
    }

    private static func run(
        _ verb: String, _ name: String, _ argument: String?, _ resolver: any HostLookup.AnyResolver
    ) async throws {
        switch verb {
        case "addresses":
            let host = HostLookup(name: name, resolver: resolver)
            say(try await host.addresses().map(\.description))
        case "blocking":
            let result = await withCheckedContinuation { continuation in
                DispatchQueue(label: "blocking").async {
                    let host = HostLookup(name: name, resolver: resolver)
                    continuation.resume(
                        returning: Result { () throws(ResolverError) -> [String] in
                            try host.resolve(.addresses)
                            return host.addresses.value?.map(\.description) ?? []
                        })
                }
            }
            say(try result.get())
        case "client": say(try await callClient(name, resolver))
        case "names":
            guard let address = IPAddress(name) else { return }
            say(try await HostLookup(address: address, resolver: resolver).names())
        case "aliases": say(try await HostLookup(name: name, resolver: resolver).names())
        case "share":
            let queue = DispatchQueue(label: "clients")
            let hosts = (0..<(Int(argument ?? "") ?? 1)).map { _ in HostLookup(name: name, resolver: resolver) }
            let results = AsyncStream<[String]> { continuation in
                for host in hosts {
                    host.setClient { host, _, _ in continuation.yield(host.addresses.value?.map(\.description) ?? []) }
                    host.schedule(on: .queue(queue))
                    do throws(ResolverError) { try host.start(.addresses) } catch { print("error \(error)") }
                }
            }
            say(["begun"])
            var found: [[String]] = []
            for await result in results {
                found.append(result)
                if found.count == hosts.count { break }
            }
            print(found.count, Set(found).count, found[0].joined(separator: " "))
        case "cancel": say(try await callClient(name, resolver, cancels: true))
        case "stream":
            let host = HostLookup(name: name, resolver: resolver)
            try await host.resolve(.addresses)
            let port = UInt16(argument ?? "") ?? 0
            let addresses = (host.addresses.value ?? []).compactMap(\.ipAddress).map {
                SocketAddress.ip($0, port: port)
            }
            let pair = StreamPair(addresses: addresses, name: name)
            try pair.open()
            try await pair.output.writeAll(Array("hello\n".utf8))
            var lines = pair.input.lines().makeAsyncIterator()
            print(pair[.remoteAddress].map(\.description) ?? "?", try await lines.next() ?? "?")
        case "open":
            let pair = StreamPair(host: name, port: UInt16(argument ?? "") ?? 0)
            try pair.set(.openTimeout, to: .milliseconds(300))
            try pair.open()
            let status = pair.output.status
            do throws(StreamError) {
                try await pair.output.opened()
                print(status, "open")
            } catch {
                print(status, error == .timedOut ? "timed out" : "\(error)")
            }
        default: print("error: unknown verb \(verb)")
        }
    }

    /// Looks up with a client, and returns the addresses and the number of its calls.
    private static func callClient(
        _ name: String, _ resolver: any HostLookup.AnyResolver, cancels: Bool = false
    ) async throws -> [String] {
        let queue = DispatchQueue(label: "client")
        let calls = Mutex(0)
        let host = HostLookup(name: name, resolver: resolver)
        let error = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<ResolverError?, any Error>) in
            host.setClient { _, _, error in
                if calls.withLock({
                    $0 += 1
                    return $0
                }) == 1 {
                    continuation.resume(returning: error)
                }
            }
            host.schedule(on: .queue(queue))
            do throws(ResolverError) {
                try host.start(.addresses)
                if cancels { host.cancel(.addresses) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        if let error { throw error }
        queue.sync {}
        return (host.addresses.value ?? []).map(\.description) + ["\(calls.withLock { $0 }) call"]
    }

    /// Prints a line immediately.
    private static func say(_ words: [String]) {
        print(words.joined(separator: " "))
        fflush(nil)
    }
}
